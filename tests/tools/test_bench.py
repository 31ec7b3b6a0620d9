"""The command that measures the front end."""

from __future__ import annotations

from texpr.__main__ import main
from texpr.schedule.script import STEPS, parse_script
from texpr.tools.bench import BARS
from texpr.tools.measured import SCRIPTS


def test_every_bar_is_measured(tmp_path, capsys):
    file = tmp_path / "double.tx"
    file.write_text("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }\n")
    assert main(["bench", "frontend", str(file), "--runs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:24].strip() for line in lines] == [*list(BARS)[:4], "double", "proofs", "double"]
    assert all(" ms   bar " in line for line in lines)


def test_a_wrong_file_is_reported(tmp_path, capsys):
    file = tmp_path / "wrong.tx"
    file.write_text("op double(")
    assert main(["bench", "frontend", str(file), "--runs", "1"]) == 1
    assert "found the end of the text" in capsys.readouterr().err


def test_certificates_of_operators_are_measured(tmp_path, capsys):
    file = tmp_path / "some.tx"
    file.write_text("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }\nop total(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }\n")
    assert main(["bench", "certificates", str(file)]) == 0
    double, total, last = capsys.readouterr().out.splitlines()
    assert double.startswith("double ") and "questions" in double
    assert total.endswith("contracted: a * b + c is rounded once")
    assert last.startswith("2 proven, 0 refused; median ")


def test_proofs_of_schedules_are_measured(capsys):
    assert main(["bench", "proofs", "--runs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith('product: split("i", 32) ') and lines[-1].startswith("certificate of the packed product ")
    assert all(" ms   bar " in line for line in lines)


def test_every_kind_of_step_is_measured():
    assert {step.name for _, script in SCRIPTS.values() for step in parse_script(script)} == STEPS.keys()

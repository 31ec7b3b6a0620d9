"""The command that measures the front end."""

from __future__ import annotations

import json
import re

from texpr import poly
from texpr.__main__ import main
from texpr.schedule.script.script import parse_script
from texpr.schedule.steps.registry import rules
from texpr.tools.bench import compiling
from texpr.tools.bench.frontend import BARS
from texpr.tools.bench.measured import COMPILED, SCRIPTS


def test_every_bar_is_measured(tmp_path, capsys):
    file = tmp_path / "double.tx"
    file.write_text("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }\n")
    assert main(["bench", "frontend", str(file), "--runs", "1"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split("  ")[0] == "front end" and head.split()[-2:] == ["ms", "bar"]
    assert [line[:24].strip() for line in lines] == [*list(BARS)[:5], "double", "proofs", "double"]
    assert all(re.fullmatch(r" +\d+\.\d\d +\d+(  over)?", line[24:]) for line in lines)


def test_a_wrong_file_is_reported(tmp_path, capsys):
    file = tmp_path / "wrong.tx"
    file.write_text("op double(")
    assert main(["bench", "frontend", str(file), "--runs", "1"]) == 1
    assert "found the end of the text" in capsys.readouterr().err


def test_certificates_of_operators_are_measured(tmp_path, capsys):
    file = tmp_path / "some.tx"
    file.write_text(
        "op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }\nop total(X: f32[N]) -> y: f32 { y = sum(i: "
        "X[i]) }\n"
    )
    assert main(["bench", "certificates", str(file)]) == 0
    head, double, total, last = capsys.readouterr().out.splitlines()
    assert head.split() == ["operator", "ms", "questions", "rounding"]
    assert re.match(r"double +[\d.]+ +\d+  ", double)
    assert total.endswith("contracted: products are added to sums in one rounding")
    assert last.startswith("2 proven, 0 refused; median ")


def test_proofs_of_schedules_are_measured(capsys):
    assert main(["bench", "proofs", "--runs", "1"]) == 0
    head, *lines, last = capsys.readouterr().out.splitlines()
    assert head.split() == ["step", "ms", "check", "bar"]
    assert lines[0].startswith('product: split("i", 32) ') and lines[-1].startswith(
        "certificate of the packed product "
    )
    numbers = r"  +([\d.]+) +([\d.]+) +\d+(?:  over)?$"
    wholes, checks = zip(*((float(w), float(c)) for line in lines for w, c in re.findall(numbers, line)))
    assert len(wholes) == len(lines) and all(check <= whole for whole, check in zip(wholes, checks))
    assert sum(checks) > 0.3 * sum(wholes) and poly.always.__name__ == "always"
    steps, largest = len(lines) - 2, (max(checks[:-2]), max(wholes[:-2]))
    assert re.fullmatch(
        rf"{steps} steps: checks .* ms \(median\), {largest[0]:.2f} ms \(largest\); whole .* ms, "
        rf"{largest[1]:.2f} ms",
        last,
    )


def test_every_kind_of_step_is_measured():
    assert {step.name for _, script in SCRIPTS.values() for step in parse_script(script)} == rules().keys()


def test_stages_of_compiling_are_measured(capsys, monkeypatch):
    text = "op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }"
    monkeypatch.setattr(compiling, "COMPILED", {"double": (text, {"N": 100}, 15)})
    monkeypatch.setattr(compiling, "_from_disk", lambda runs: [{"double": 0.5}] * runs)
    assert main(["bench", "compile", "--runs", "1"]) == 0
    rows = {
        line[:44].strip(): float(line[44:].split()[0]) for line in capsys.readouterr().out.splitlines()[1:]
    }
    stages = [name for name in rows if ": " in name]
    assert {"schedule: auto", "loop: place", "proof: certificate", "code: emission", "code: llvm"} <= set(
        stages
    )
    assert abs(sum(rows[s] for s in stages) + rows["all else, and waiting for LLVM"] - rows["double"]) < 0.2
    assert rows["double, from the disk cache"] == 0.5


def test_first_calls_are_measured_where_the_cache_has_the_kernels(tmp_path, capsys):
    """Each in less than half of its first time, by the quicker of two: other processes may delay
    one.
    """
    for _ in range(3):
        compiling.in_child(str(tmp_path))
    cold, *warm = map(json.loads, capsys.readouterr().out.splitlines())
    assert all(set(times) == set(COMPILED) for times in (cold, *warm))
    assert all(min(times[name] for times in warm) < cold[name] / 2 for name in COMPILED)


def test_calls_are_measured(capsys):
    assert main(["bench", "calls", "--runs", "1"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert (
        rows[0].startswith("add of 16 floats ")
        and rows[2].startswith("kernel, given output ")
        and len(rows) == 33
    )
    loop = float(rows[1].split()[-2])
    numbers = [[float(n) for n in row[48:].split()[:2]] for row in rows[1:-13]]
    assert all(abs(taken - loop - alone) <= 1.01 for taken, alone in numbers)
    assert re.fullmatch(r"a loop over two threads, begun and ended, hot +-?\d+ +100( +over)?", rows[-13])
    assert all(re.search(r" \d+( +\d+000( +over)?)?$", row.rstrip()) for row in rows[-12:])

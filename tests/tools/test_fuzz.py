"""The fuzzer: its texts, what it finds, how it cuts findings down."""

from __future__ import annotations

from contextlib import nullcontext
from random import Random

import pytest

import texpr.tools.fuzz.trial as trying
from texpr.__main__ import main
from texpr.compiler.imports import library_files
from texpr.support.errors import CompileError, Error
from texpr.tools.fuzz import language, part
from texpr.tools.fuzz.programs import program_text
from texpr.tools.fuzz.shrink import shrunk
from texpr.tools.fuzz.texts import operators, text_of
from texpr.tools.fuzz.trial import trial

PATHS = tuple(map(str, library_files()))
PLUS = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }"


@pytest.mark.parametrize("block", range(6))
def test_nothing_is_found_among_some_texts(block: int):
    for number in range(100 * block, 100 * (block + 1)):
        text = text_of(20, number, PATHS)
        found = trial(text, deep=number % 20 == 0)
        assert found is None, f"text {number}\n{text}\n{found}"


def test_the_same_seed_gives_the_same_texts():
    texts = [text_of(7, k, PATHS) for k in range(50)]
    assert texts == [text_of(7, k, PATHS) for k in range(50)] != [text_of(8, k, PATHS) for k in range(50)]


def test_most_generated_programs_mean_something():
    def means(text: str) -> bool:
        try:
            return [trying._program(op) for op in trying.parse(text).ops.values()] != []
        except Error:
            return False

    assert sum(means(program_text(Random(k))) for k in range(200)) >= 140


def test_operators_come_with_what_they_call():
    texts = [t for t in operators(PATHS) if "op log_softmax" in t or "op attention" in t]
    assert texts and all(t.count("op ") >= 1 for t in texts) and len(operators(PATHS)) > 200


def test_a_crash_a_wrong_result_and_a_slow_text_are_found(monkeypatch):
    assert trial(PLUS, deep=True) is None
    with monkeypatch.context() as patch:
        patch.setattr(trying, "elaborate", lambda *_: 1 // 0)
        assert trial(PLUS, deep=False).kind.startswith("ZeroDivisionError while reading")  # type: ignore[union-attr]
    with monkeypatch.context() as patch:
        patch.setattr(trying, "interpret", lambda program, arrays: (arrays[0] + 2,))
        assert trial(PLUS, deep=True).kind == "a wrong result"  # type: ignore[union-attr]
    with monkeypatch.context() as patch:
        patch.setattr(trying, "READ_SECONDS", -1.0)
        assert trial(PLUS, deep=False).kind == "slow to read"  # type: ignore[union-attr]
    with monkeypatch.context() as patch:
        patch.setattr(trying, "show_program", lambda program, with_callees: "op g(")
        assert trial(PLUS, deep=False).kind == "what is printed is refused"  # type: ignore[union-attr]


def test_a_finding_is_cut_down():
    text = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 123456789012345678901 * (X[i] @ 3) }"
    assert shrunk(text, lambda t: "@" in t and "X" in t, seconds=5) in ("X@", "X @")


def test_the_command(tmp_path, capsys):
    only = ["fuzz", "--only", "language", "--findings", str(tmp_path / "found")]
    assert main([*only, "--texts", "100", "--seed", "3", "--deep", "0"]) == 0
    assert "100 texts, 0 kinds of findings" in capsys.readouterr().out
    assert not (tmp_path / "found").exists()
    (tmp_path / "one.tx").write_text(PLUS)
    assert main(["fuzz", "--replay", str(tmp_path / "one.tx")]) == 0
    assert "nothing goes wrong" in capsys.readouterr().out


def test_a_text_that_ends_the_process_is_found_and_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(language, "SHRINK_SECONDS", 0.5)
    monkeypatch.setattr(language, "text_of", lambda seed, number, paths: PLUS if number else "X" + PLUS)

    def dies(function: str, *arguments: object, seconds: float):
        if function.endswith(":batch") and 0 not in arguments[1]:  # type: ignore[operator]
            return [], {}
        if function.endswith(":one") and not bytes(arguments[0]).startswith(b"X"):  # type: ignore[arg-type]
            return None
        raise CompileError("the child process was ended by SIGSEGV")

    monkeypatch.setattr(part, "_in_child", dies)
    assert (
        main(["fuzz", "--only", "language", "--texts", "3", "--seed", "3", "--findings", str(tmp_path)]) == 1
    )
    written = sorted(p.suffix for p in tmp_path.iterdir())
    assert written == [".tx", ".txt"]
    assert next(tmp_path.glob("*.tx")).read_text().startswith("X")
    assert "SIGSEGV" in capsys.readouterr().out


def test_a_child_may_wait_and_not_compute_for_long(monkeypatch):
    monkeypatch.setattr(part, "PATIENCE", 3000)  # on a machine with much other work

    def child(name: str) -> object:
        return part._in_child(f"tests.runtime.process.child_functions:{name}", 1.2, seconds=1)

    assert child("sleep") is None
    with pytest.raises(CompileError, match="the child process took more than 1 s of processor time") as error:
        child("compute")
    assert part.ended(error.value).kind == "the child process took more than a while of processor time"
    assert child("sleep") is None


def test_kernels_and_their_gradients_run_beside_pages_that_cannot_be_touched(monkeypatch):
    sides = []
    monkeypatch.setattr(trying, "options", lambda guard: sides.append(guard) or nullcontext())
    assert trial(PLUS, deep=True) is None
    assert len(sides) == 2
    assert set(sides) <= {"end", "begin"}

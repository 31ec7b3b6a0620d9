"""`python -m texpr check`: all errors of several files, as text and as data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr.__main__ import main
from texpr.tools.check import checked

TEXT = """# a comment
op f(X: f32[N]) -> Y: f32[N] {
  Y[i] = X[i + 1]
}

op g(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }
op h(X: f32[N]) -> Y: f32[N] { Y[i] = X[i }
op k(X: f32[N]) -> Y: f32[N] { Y[i] = Z[i] }
op m(X: f32[N]) -> Y: f32[N] { T = f(X)  Y[i] = T[i] }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.tx").write_text(TEXT)
    Path("b.tx").write_text("op b(X: f32[N]; s) -> Y: f32[N] { Y[i] = s * X[i] }\n")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["check", *arguments])
    return code, *capsys.readouterr()


def test_all_errors_of_several_files(folder, capsys):
    code, out, err = run(capsys, "a.tx", "b.tx")
    assert (code, out) == (
        1,
        "a.tx:\ng(X): proven for all sizes\nb.tx:\nb(X): needs s; proven when it is called\n",
    )
    assert (
        err
        == """\
found `}`, expected `,`, `]` or `|`
  --> a.tx:7:43
  7 | op h(X: f32[N]) -> Y: f32[N] { Y[i] = X[i }
    |                                           ^
    `[` was opened at line 7, column 40
error[bounds]: X is read outside its shape
  --> a.tx:3:12
  3 |   Y[i] = X[i + 1]
    |            ^^^^^ axis 0 has size N = 1, index is 1
    at N=1, i=0
  help: guard the read: X[i + 1 | 0]
error[name]: unknown tensor `Z`
  --> a.tx:8:39
  8 | op k(X: f32[N]) -> Y: f32[N] { Y[i] = Z[i] }
    |                                       ^
  help: known here: X, Y
"""
    )


def test_data(folder, capsys):
    code, out, err = run(capsys, "--json", "a.tx", "b.tx", "none.tx")
    found = json.loads(out)
    assert (code, err, found["version"], found["texpr"]) == (1, "", 1, tx.__version__)
    first, second, third = found["files"]
    assert first["operators"] == [{"name": "g", "inputs": ["X"], "needs": []}]
    assert [e["place"]["line"] for e in first["errors"]] == [7, 3, 8]
    assert second == {
        "file": "b.tx",
        "operators": [{"name": "b", "inputs": ["X"], "needs": ["s"]}],
        "errors": [],
    }
    assert third["errors"][0]["text"] == "error[file]: none.tx: No such file or directory"
    assert first["errors"][1] == {
        "version": 1,
        "class": "CheckError",
        "code": "bounds",
        "message": "X is read outside its shape",
        "label": "axis 0 has size N = 1, index is 1",
        "notes": ["at N=1, i=0"],
        "help": "guard the read: X[i + 1 | 0]",
        "place": {
            "file": "a.tx",
            "line": 3,
            "column": 12,
            "end_line": 3,
            "end_column": 17,
            "start": 54,
            "stop": 59,
        },
        "witness": {"sizes": {"N": 1}, "instances": [{"i": 0}], "tensor": None, "element": None},
        "alternatives": [
            {
                "help": "guard the read: X[i + 1 | 0]",
                "edits": [
                    {
                        "file": "a.tx",
                        "line": 3,
                        "column": 17,
                        "end_line": 3,
                        "end_column": 17,
                        "start": 59,
                        "stop": 59,
                        "new": " | 0",
                    }
                ],
            }
        ],
        "text": "error[bounds]: X is read outside its shape\n  --> a.tx:3:12\n  3 |   Y[i] = X[i + 1]\n"
        "    |            ^^^^^ axis 0 has size N = 1, index is 1\n    at N=1, i=0\n"
        "  help: guard the read: X[i + 1 | 0]",
    }


def test_the_edits_of_an_alternative_make_the_file_right(folder):
    error = next(c.error for c in checked("a.tx") if c.error is not None and c.error.code == "bounds")
    start, stop = error.span.start, error.span.stop
    assert TEXT[start:stop] == "i + 1"
    fixed = TEXT[:stop] + " | 0" + TEXT[stop:]
    Path("a.tx").write_text(fixed)
    assert [c.name for c in checked("a.tx") if c.error is None] == ["f", "g", "m"]


def test_a_name_that_is_declared_twice(folder, capsys):
    Path("twice.tx").write_text("op a(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }\n" * 2)
    code, _, err = run(capsys, "twice.tx")
    assert code == 1 and "twice.tx:2:4" in err and err.count("error[") == 1


def test_a_text_without_operators(folder, capsys):
    Path("empty.tx").write_text("# nothing\n")
    code, out, err = run(capsys, "empty.tx")
    assert (code, out) == (1, "") and err.startswith("empty program\n")


def test_a_refused_step_has_its_witness_as_data():
    running = tx.op("op running(X: f64[N]) -> Y: f64[N] { Y[i] = Y[i - 1 | 0] + X[i] }")
    with pytest.raises(tx.ScheduleError) as caught:
        tx.schedule(running).reverse("i")
    found = caught.value.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert (found["class"], found["code"]) == ("ScheduleError", "order")
    assert found["witness"] == {
        "sizes": {"N": 2},
        "instances": [{"i": 0}, {"i": 1}],
        "tensor": "Y",
        "element": [0],
    }


@pytest.mark.parametrize("error", [tx.Error, tx.CallError, tx.CompileError, tx.MissingExtra])
def test_any_error_is_data(error):
    found = error("said", code="x", notes=["one"], help="do").to_dict()
    assert json.loads(json.dumps(found)) == found and found["class"] == error.__name__
    assert found["text"] == "error[x]: said\n    one\n  help: do"
    assert found["place"] is None and found["witness"] is None and found["alternatives"] == []


def test_the_sizes_of_a_call_that_fails_are_numbers():
    dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
    with pytest.raises(tx.CallError) as caught:
        dot(np.ones(3, "f4"), np.ones(4, "f4"))
    assert json.loads(json.dumps(caught.value.to_dict()))["code"] == "shape"

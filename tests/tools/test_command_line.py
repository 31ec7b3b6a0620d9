"""`python -m texpr`: what each command prints, and what it says to wrong arguments."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr.__main__ import command_line, main

FILE = """op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }
op scale<T: float>(X: T[*S]; by) -> Y: T[*S] { Y[*s] = X[*s] * by }
"""
MATMUL = ["--op", "matmul", "M=8", "N=8", "K=8"]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "ops.tx"
    path.write_text(FILE)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def test_show_tensor(file, capsys):
    code, out, err = run(capsys, "show", file, "--stage", "tensor", "--op", "scale", "by=2.5", "T=f64")
    assert (code, err) == (0, "")
    assert out == "op scale(X: f64[*S]; by = 2.5) -> Y: f64[*S] {\n  Y[*s] = X[*s] * 2.5\n}\n"


def test_show_loop(file, capsys, golden):
    code, out, _ = run(capsys, "show", file, "--stage", "loop", *MATMUL)
    assert code == 0
    golden(out)


def test_show_scheduled(file, capsys, tmp_path, golden):
    script = tmp_path / "steps.txt"
    script.write_text('split("i", 4)\nparallel("io")\n')
    code, out, _ = run(capsys, "show", file, "--script", str(script), *MATMUL)
    assert code == 0
    golden(out)
    code, out, _ = run(capsys, "show", file, *MATMUL)
    assert code == 0 and "vector" in out and out.startswith("kernel matmul")


@pytest.mark.parametrize(
    "stage, word", [("llvm", "@texpr_matmul(ptr"), ("asm", "texpr_matmul:"), ("ptx", ".visible .entry")]
)
def test_show_code(stage, word, file, capsys):
    code, out, err = run(capsys, "show", file, "--stage", stage, *MATMUL)
    assert (code, err) == (0, "")
    assert word in out


def test_show_for_another_machine(file, capsys):
    code, out, _ = run(capsys, "show", file, "--stage", "asm", "--target", "aarch64", *MATMUL)
    assert code == 0 and "texpr_matmul:" in out and "fmla" in out


def test_run_on_files(file, capsys, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6.0).reshape(2, 3))
    for way in ([], ["--interpret"]):
        code, out, err = run(capsys, "run", file, "--op", "scale", "by=2", f"X={tmp_path / 'x.npy'}", *way)
        assert (code, out, err) == (0, "Y: float64[2, 3]\n[[ 0.  2.  4.]\n [ 6.  8. 10.]]\n", "")


def test_run_on_random_inputs(file, capsys, tmp_path):
    results = [
        run(
            capsys,
            "run",
            file,
            "--op",
            "matmul",
            "M=4",
            "N=3",
            "K=5",
            "--seed",
            seed,
            "--out",
            str(tmp_path / f"{name}.npz"),
        )
        for name, seed in (("a", "1"), ("b", "1"), ("c", "2"))
    ]
    assert results[0] == results[1] != results[2] and results[0][1].startswith("C: float32[4, 3]\n[[")
    kept = np.load(tmp_path / "a.npz")
    assert set(kept) == {"A", "B", "C"}
    np.testing.assert_allclose(kept["C"], kept["A"] @ kept["B"], rtol=1e-4)


def test_run_of_several_operators(file, capsys, tmp_path):
    code, out, _ = run(
        capsys, "run", file, "M=1", "N=1", "K=2", "S=2", "by=3", "--out", str(tmp_path / "all.npz")
    )
    assert code == 0 and "C: float32[1, 1]" in out and "Y: float32[2]" in out
    assert set(np.load(tmp_path / "all.npz")) == {"matmul.A", "matmul.B", "matmul.C", "scale.X", "scale.Y"}


def test_trace(file, capsys, tmp_path, golden):
    script = tmp_path / "steps.txt"
    script.write_text('split("i", 2)\nreorder("io", "j", "k", "ii")\n')
    code, out, err = run(
        capsys, "trace", file, "--op", "matmul", "M=3", "N=1", "K=2", "--script", str(script)
    )
    assert (code, err) == (0, "")
    golden(out)
    code, out, _ = run(capsys, "trace", file, "--op", "scale", "S=3", "by=2", "--naive", "--limit", "1")
    assert re.fullmatch(
        r"# scale\nd?\w+=0 +Y\[0\] = \S+\n\.\.\. 2 more stores; --limit 3 prints them all\n", out
    ), out


def test_check(file, capsys):
    assert run(capsys, "check", file) == (
        0,
        "matmul(A, B): proven for all sizes\nscale(X): needs by; proven when it is called\n",
        "",
    )


def test_check_names_the_place(tmp_path, capsys):
    path = tmp_path / "wrong.tx"
    path.write_text("op f(X: f32[N]) -> Y: f32[N] {\n  Y[i] = X[i + 1]\n}\n")
    code, out, err = run(capsys, "check", str(path))
    assert (code, out) == (1, "")
    assert err.startswith("error[bounds]: X is read outside its shape\n") and f"{path}:2:" in err


def test_cache(capsys, tmp_path):
    with tx.options(cache_dir=tmp_path / "cache"):
        tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }")(np.zeros(3, "f4"))
        _, shown, _ = run(capsys, "cache")
        assert str(tmp_path) in shown and "0.0 of 1024 MiB" in shown and "entries    0\n" not in shown
        _, cleared, _ = run(capsys, "cache", "clear")
        assert "entries    0\n" in cleared
        assert not [f for f in tmp_path.rglob("*") if f.is_file()]
    with tx.options(cache_dir=None):
        assert "no directory" in run(capsys, "cache")[1]


def test_tune(capsys, file, tmp_path):
    with tx.options(cache_dir=tmp_path / "cache"):
        code, out, err = run(capsys, "tune", file, *MATMUL, "--trials", "2")
    assert code == 0 and not err
    head, *steps = out.splitlines()
    assert (
        re.fullmatch(r"# matmul: [\d.]+ us, default [\d.]+ us \([\d.]+ times\), \d trials", head)
        and 'allow_fma("sums")' in steps
    )


def test_tune_needs_sizes(capsys, file):
    assert "missing: N, K" in run(capsys, "tune", file, "--op", "matmul", "M=8")[2].replace("K, N", "N, K")


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"texpr {tx.__version__}\n")


def test_a_missing_package_is_said_without_a_trace(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "texpr.tools.show", None)
    code, out, err = run(capsys, "show", "ops.tx")
    assert (code, out) == (1, "") and err == (
        "error[import]: import of texpr.tools.show halted; None in sys.modules\n"
        "  help: `python -m texpr doctor` says what to install\n"
    )


WRONG = {
    "run: sizes": (
        ["run", "FILE", "--op", "matmul", "M=3"],
        "error[arguments]: random inputs of matmul need all sizes; missing: K, N\n"
        "  help: write K=8, or inputs as files: A=file.npy\n",
    ),
    "run: no array": (
        ["run", "FILE", "--op", "scale", "X=FILE", "by=1"],
        "error[arguments]: FILE holds no array\n  help: np.save writes arrays\n",
    ),
    "run: no file": (
        ["run", "FILE", "--op", "scale", "X=none.npy", "by=1"],
        "none.npy: No such file or directory\n",
    ),
    "trace: sizes": (
        ["trace", "FILE", "--op", "matmul", "M=3", "N=3"],
        "error[arguments]: a trace of matmul needs all sizes; missing: K\n  help: write K=4\n",
    ),
    "no file": (["show", "none.tx"], "none.tx: No such file or directory\n"),
    "no op": (
        ["show", "FILE", "--op", "conv"],
        "error[arguments]: the file has no operator `conv`\n  help: it has matmul, scale\n",
    ),
    "no size": (
        ["show", "FILE", "--op", "matmul", "Q=3"],
        "error[arguments]: matmul has no size, constant or dtype variable `Q`\n  help: sizes: K, M, N\n",
    ),
    "no value": (["show", "FILE", "--op", "matmul", "M"], "error[arguments]: `M` is not NAME=VALUE\n"),
    "text": (
        ["show", "FILE", "--op", "matmul", "M=x"],
        "error[arguments]: the size M is 'x', expected an integer of at least 0\n",
    ),
    "negative": (
        ["show", "FILE", "--op", "matmul", "M=-1"],
        "error[arguments]: the size M is -1, expected an integer of at least 0\n",
    ),
    "dtype": (
        ["show", "FILE", "--op", "scale", "by=1", "T=f31"],
        "error[dtype]: there is no dtype 'f31'\n"
        "  help: one of bool, u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64, f8e4m3, f8e5m2\n",
    ),
    "constant": (
        ["show", "FILE", "--op", "scale"],
        "error[arguments]: scale needs the constant by\n  help: give it by name: scale(..., by=...)\n",
    ),
    "script": (
        ["show", "FILE", "--script", "none.txt", "--op", "matmul"],
        "none.txt: No such file or directory\n",
    ),
    "ptx of a CPU": (
        ["show", "FILE", "--stage", "ptx", "--target", "x86-64", "--op", "matmul"],
        "error[target]: x86-64 has no PTX\n  help: compile for a GPU target; .asm is the assembly\n",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name, file, capsys):
    arguments, message = WRONG[name]
    code, out, err = run(capsys, *(a.replace("FILE", file) for a in arguments))
    assert (code, out, err) == (1, "", message.replace("FILE", file))


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of its commands, at every depth."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from parsers(command)


PAGES = {parser.prog: parser for parser in parsers(command_line())}


def test_the_tree_of_commands():
    commands = [
        "run",
        "show",
        "check",
        "trace",
        "view",
        "tune",
        "bench",
        "fuzz",
        "launch",
        "lsp",
        "cache",
        "doctor",
    ]
    parts = [
        "frontend",
        "proofs",
        "compile",
        "calls",
        "plans",
        "grad",
        "certificates",
        "coverage",
        "targets",
        "scaling",
        "onnx",
        "saving",
    ]

    def below(name: str) -> list[str]:
        """The commands of a command."""
        return [page.removeprefix(f"{name} ") for page in PAGES if page.rpartition(" ")[0] == name]

    assert (
        below("texpr") == commands
        and below("texpr bench") == parts
        and below("texpr cache") == ["show", "clear"]
    )


@pytest.mark.parametrize("page", PAGES)
def test_help_at_each_level(page: str, capsys):
    """Every argument and command has a help text of one style, and an example can be parsed."""
    with pytest.raises(SystemExit) as end:
        main([*page.split()[1:], "--help"])
    shown = capsys.readouterr().out
    assert end.value.code == 0 and shown.startswith(f"usage: {page} ")
    actions = [a for a in PAGES[page]._actions if not isinstance(a, argparse._SubParsersAction)]
    listed = [
        a
        for b in PAGES[page]._actions
        if isinstance(b, argparse._SubParsersAction)
        for a in b._choices_actions
    ]
    for action in [*actions, *listed]:
        if action.help == argparse.SUPPRESS:  # of a worker that the command starts itself
            continue
        assert action.help and action.help[0].islower() and not action.help.endswith("."), (page, action.dest)
    for example in (PAGES[page].epilog or "").split("\n")[1:]:
        arguments, rest = command_line().parse_known_args(example.split()[1:])
        assert arguments.parser.prog == page and not any(text.startswith("-") for text in rest), example


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["run away"],
        ["show"],
        ["show", "f.tx", "--stage", "soup"],
        ["doctor", "now"],
        ["check"],
        ["bench"],
        ["bench", "soup"],
        ["bench", "calls", "--part", "1/2"],
        ["bench", "grad", "--runs", "few"],
        ["bench", "grad", "--runs", "0"],
        ["cache", "burn"],
        ["fuzz", "--only", "soup"],
    ],
)
def test_no_sense(arguments, capsys):
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2
    assert capsys.readouterr().err.startswith("usage: texpr")


def test_not_text(tmp_path, capsys):
    path = tmp_path / "binary.tx"
    path.write_bytes(b"op \xff\xfe")
    code, out, err = run(capsys, "check", str(path))
    assert (code, out) == (1, "") and "is not UTF-8 text (byte 3)" in err
    assert run(capsys, "check", str(tmp_path))[0] == 1


def test_as_a_module(file):
    done = subprocess.run(
        [sys.executable, "-m", "texpr", "show", file, "--stage", "loop", *MATMUL],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and done.stdout.startswith("kernel matmul") and done.stderr == ""
    done = subprocess.run(
        [sys.executable, "-m", "texpr", "show", file, "--op", "no"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr


def test_a_closed_pipe_is_no_crash(file):
    command = f"{sys.executable} -m texpr show {file} --stage asm --op matmul M=64 N=64 K=64 | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr

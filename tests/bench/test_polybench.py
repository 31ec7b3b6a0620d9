"""PolyBench's kernels: the operators, interpreted and compiled, give what the C loops give."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from bench.machine import Limits
from bench.polybench import native, operator
from bench.polybench.compare import BOUNDS, agree, difference
from bench.polybench.measure import Outcome
from bench.polybench.report import Result, table
from bench.polybench.table import DATASETS, FOLDER, KERNELS, Kernel

ROOT = Path(__file__).parents[2]
needs_compiler = pytest.mark.skipif(not native.available(), reason="no C compiler here")


def tiny(kernel: Kernel) -> dict[str, int]:
    """Different sizes, longer than a vector and no multiple of it, and few steps in time."""
    names = kernel.sizes.split()
    return {name: 3 if name in ("TSTEPS", "TMAX") else 9 + 2 * k for k, name in enumerate(names)}


@pytest.mark.parametrize("name", KERNELS)
@needs_compiler
def test_interpreted_compiled_and_c_agree(name: str, tmp_path: Path):
    kernel = KERNELS[name]
    sizes = tiny(kernel)
    operands = kernel.operands(sizes)
    arguments = kernel.arguments(sizes, operands)
    native.compile_kernel(kernel, sizes, tmp_path)(arguments)
    expected = [arguments[each] for each in kernel.results.split()]
    with tx.options(certify=False):
        assert agree(operator.Compiled(kernel, sizes)(operands), expected)
    assert agree(operator.interpret(kernel, sizes, operands), expected)


@pytest.mark.parametrize("name", [name for name, kernel in KERNELS.items() if kernel.folded])
@needs_compiler
def test_folded_storage_gives_what_c_gives(name: str, tmp_path: Path):
    kernel = KERNELS[name]
    sizes = kernel.dataset("mini")
    operands = kernel.operands(sizes)
    arguments = kernel.arguments(sizes, operands)
    native.compile_kernel(kernel, sizes, tmp_path)(arguments)
    with tx.options(certify=False):
        assert agree(
            operator.Compiled(kernel, sizes)(operands), [arguments[each] for each in kernel.results.split()]
        )


@needs_compiler
def test_openmp_gives_what_serial_loops_give(tmp_path: Path):
    kernel = KERNELS["atax"]
    sizes = kernel.dataset("mini")
    serial, parallel = (kernel.arguments(sizes, kernel.operands(sizes)) for _ in range(2))
    native.compile_kernel(kernel, sizes, tmp_path)(serial)
    native.compile_kernel(kernel, sizes, tmp_path, parallel=True)(parallel)
    assert agree([parallel["y"]], [serial["y"]]) and np.any(serial["y"])


def test_there_are_thirty_kernels_and_files_for_each():
    assert len(KERNELS) == 30
    assert {path.name for path in FOLDER.iterdir()} == {
        f"{name}.{kind}" for name in KERNELS for kind in ("tx", "c")
    }


@pytest.mark.parametrize("name", KERNELS)
def test_the_table_fits_the_operator(name: str):
    kernel, found = KERNELS[name], operator.load(KERNELS[name])
    sizes = kernel.dataset("small")
    assert [p.name for p in found.signature.inputs] == list(kernel.operands(sizes))
    assert len(found.signature.outputs) == len(kernel.results.split())
    assert set(kernel.sizes.split()) == {
        v.name for v in found.program(constants=_constants(kernel)).sizes
    } | set(_constants(kernel))
    assert all(kernel.work(kernel.dataset(d)) >= 0 for d in DATASETS)


def _constants(kernel: Kernel) -> dict[str, int]:
    return {c.name: 3 for c in operator.load(kernel).signature.constants}


def test_results_that_differ_are_found():
    a = np.array([1.0, 2.0])
    assert agree([a], [a]) and difference(a, a) == 0
    assert difference(a * (1 + 2 * BOUNDS["f8"]), a) == pytest.approx(2 * BOUNDS["f8"], rel=1e-3)
    assert not agree([a * (1 + 2 * BOUNDS["f8"])], [a])
    assert not agree([np.array([1.0, np.nan])], [a])
    assert not agree([a.astype("f4")], [a]) and not agree([a[:1]], [a]) and not agree([], [a])
    assert not agree([np.array([1, 3], "i4")], [np.array([1, 2], "i4")])


def test_a_table_has_ratios_and_what_failed():
    def outcome(name: str, texpr: float, correct: bool = True) -> Outcome:
        return Outcome(
            name, {"texpr": texpr, "gcc": 4e-3, "openmp": 3e-3}, 1e-16, correct, 0.5, 1e6, 8, "f64", True
        )

    results = [
        Result("lu", outcome("lu", 2e-3), proven=True),
        Result("adi", outcome("adi", 6e-3, correct=False)),
        Result("mvt", failed="no"),
    ]
    text = table(results, Limits(2, {"f64": 1e9}, {1 << 20: 1e9}))
    assert (
        text.partition("\ngcc")[0]
        == """\
kernel   gcc  openmp  texpr  ratio  of limit  error   first           notes
lu      4 ms    3 ms   2 ms   1.50       50%  1e-16  500 ms
adi     4 ms    3 ms   6 ms   0.50       17%  1e-16  500 ms  wrong unproven

geometric mean of the ratios 0.87; 1 of 2 at least 1
failed: mvt: no
"""
    )


@needs_compiler
def test_a_kernel_is_measured_in_a_process():
    command = [
        sys.executable,
        "-m",
        "bench.polybench",
        "--only",
        "^jacobi-1d$",
        "--dataset",
        "mini",
        "--rounds",
        "1",
        "--budget",
        "0",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=100)
    assert done.returncode == 0 and "jacobi-1d" in done.stdout, done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("jacobi-1d"))
    assert "wrong" not in row and "unproven" not in row
    late = subprocess.run(
        [*command, "--limit", "0.01"], capture_output=True, text=True, cwd=ROOT, timeout=100
    )
    assert late.returncode == 1 and "failed: jacobi-1d: not done in 0.01 s" in late.stdout

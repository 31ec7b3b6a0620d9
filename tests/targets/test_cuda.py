"""Kernels on a real GPU give what the interpreter gives."""

from __future__ import annotations

import sys

import pytest

from tests.targets.cases import CASES, Case, assert_close, conv2d, kernel_of, matmul, problem, sizes_of
from tests.targets.test_ptx import TILES
from texpr.runtime import cuda
from texpr.support.errors import ResourceError
from texpr.targets import compile_kernel, find_target, run_on_gpu

needs_gpu = pytest.mark.skipif("cuda.missing()", reason="no GPU that can be used")
SM80 = find_target("sm_80")


def check(case: Case, script: str | None = None) -> None:
    given, kernel = problem(case), kernel_of(case, SM80, script)
    outputs = given.empty()
    run_on_gpu(compile_kernel(kernel, SM80), given.inputs, outputs, sizes_of(case, kernel))
    assert_close(outputs, given.expected)


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("case", (*CASES, matmul(0, 2, 3), matmul(4, 0, 3)), ids=str)
def test_on_a_gpu(case: Case):
    check(case)


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("case", (matmul(33, 17, 65), matmul(5, 7, 3, fixed=False)), ids=str)
def test_tiles_on_a_gpu(case: Case):
    check(case, TILES)


def test_the_package_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    cuda.device.cache_clear()
    with pytest.raises(ResourceError) as error:
        check(conv2d(2, 1))
    cuda.device.cache_clear()
    assert str(error.value) == (
        "error[gpu]: the package cuda-bindings is not installed: GPU code runs through it\n"
        '  help: install the extra "cuda12" or "cuda13" (pip install "texpr[cuda13]") and a driver')

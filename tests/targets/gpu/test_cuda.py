"""Kernels on a real GPU give what the interpreter gives."""

from __future__ import annotations

import pytest

from tests.targets.cases import CASES, Case, assert_close, conv2d, kernel_of, matmul, problem, sizes_of
from tests.targets.gpu.test_ptx import TILES
from texpr.runtime import gpu
from texpr.runtime.gpu import Code, EmulatedDriver, find_device
from texpr.runtime.gpu.device import Device
from texpr.support.errors import CompileError
from texpr.targets import compile_kernel, find_target, load_on, plan, target_of

needs_gpu = pytest.mark.skipif("gpu.missing()", reason="no GPU that can be used")
SM80 = find_target("sm_80")


def check(case: Case, script: str | None = None, device: str = gpu.DEFAULT) -> None:
    given, kernel = problem(case), kernel_of(case, SM80, script)
    artifact, sizes, found = compile_kernel(kernel, SM80), sizes_of(case, kernel), find_device(device)
    assert found is not None
    ready = plan(artifact, sizes)
    made = [gpu.empty(found, a.shape, a.dtype) for a in given.empty()]
    arrays = [*(gpu.to_device(found, a) for a in given.inputs), *made]
    code = Code(artifact.emitted, lambda: artifact.assembly)
    load_on(found, artifact.target, code).bind(ready.launches, arrays, ready.scratch, list(sizes.values()))(
        found.stream
    )
    assert_close([a.numpy() for a in made], given.expected)


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


@pytest.mark.parametrize("case", (matmul(33, 17, 65), conv2d(2, 1)), ids=str)
def test_on_the_emulated_device(case: Case):
    check(case, device="emulated")


def test_code_for_another_processor():
    with pytest.raises(CompileError) as error:
        load_on(find_device("emulated"), find_target("sm_90"), Code("", str))
    assert str(error.value) == (
        "error[target]: code for sm_90 does not run on emulated:0, whose processor is of 8.0\n"
        '  help: compile for it: target="sm_80"'
    )


@pytest.mark.parametrize(
    "capability, name", (((9, 0), "sm_90a"), ((8, 7), "sm_86"), ((10, 0), "sm_90"), ((7, 5), "sm_75"))
)
def test_the_target_of_a_device(capability: tuple[int, int], name: str):
    assert target_of(Device("test", EmulatedDriver(capability=capability))).name == name


def test_a_processor_that_is_too_old():
    with pytest.raises(CompileError) as error:
        target_of(Device("test:0", EmulatedDriver(capability=(6, 1))))
    assert str(error.value) == (
        "error[target]: test:0 (emulated) is a processor of 6.1; there is code for sm_70 and newer\n"
        "  help: run on the CPU: tx.options(device='cpu')"
    )

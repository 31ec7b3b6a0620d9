"""Shared memory beyond 48 KiB, whose size the launch says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.autoschedule.gpu.test_gemm import HALF
from tests.gpu.test_nvidia import driver
from tests.runtime.emulator.test_fibers import SM80
from tests.targets.cases import Case, kernel_of, problem, sizes_of
from tests.targets.gpu.test_ptx import assemble
from texpr import aot as ahead
from texpr.ir.loop import Kernel
from texpr.runtime.gpu import Code
from texpr.support.errors import CompileError
from texpr.targets import Artifact, compile_kernel, emit_llvm
from texpr.targets.emulate import emulate

GIVEN = Case("half", HALF, ((64, 320), (320, 64)))
BYTES = 7 * (64 * 32 + 32 * 64) * 2
"""Seven buffers of tiles of both operands."""


@cache
def made() -> Kernel:
    """By the default schedule with seven buffers."""
    chosen = tx.Schedule(problem(GIVEN).program, problem(GIVEN).sizes).auto("sm_80").script()
    return kernel_of(GIVEN, SM80, chosen.replace('pipeline("C.ko", 4,', 'pipeline("C.ko", 7,'))


def result(change: Callable[[str], str] = lambda text: text, shared: int = BYTES) -> np.ndarray:
    """What the emulator has for the emitted text, changed, and a launch that gives so many
    bytes.
    """
    kernel = made()
    text, launches = emit_llvm(kernel, SM80)
    assert [n.shared_bytes for n in launches] == [BYTES]
    changed = tuple(replace(n, shared_bytes=shared) for n in launches)
    out = problem(GIVEN).empty()
    emulate(
        Artifact(SM80, change(text), "", "", b"", changed),
        "",
        problem(GIVEN).inputs,
        out,
        sizes_of(GIVEN, kernel),
    )
    return out[0]


def test_seven_buffers(tmp_path: Path):
    """f32 sums of 320 products of size 2: 1e-4."""
    np.testing.assert_allclose(result(), problem(GIVEN).expected[0], rtol=1e-4, atol=1e-4)
    artifact = compile_kernel(made(), SM80)
    ahead.save(tmp_path / "code.ptx", artifact, None)  # type: ignore[arg-type]
    ptx = (tmp_path / "code.ptx").read_text()
    assert ptx.startswith(
        f"// launch texpr_half_0: grid (1, 1, 1), block (32, 2, 2), {BYTES} bytes of dynamic shared memory\n"
    )
    assert ".extern .shared .align 16 .b8 texpr_half_0_dynamic[];" in ptx
    assert "0 bytes spill stores" in assemble(ptx, "sm_80", tmp_path)


def test_a_launch_that_gives_too_little():
    given = BYTES - 1024
    with pytest.raises(
        AssertionError,
        match=f"texpr_half_0 writes \\d+ bytes past the {given} of shared memory that the launch gives",
    ):
        result(shared=given)


def test_buffers_that_overlap():
    second = 7 * 64 * 32 * 2
    found = result(lambda text: text.replace(f"_dynamic, i64 {second})", f"_dynamic, i64 {second - 512})"))
    assert not np.allclose(found, problem(GIVEN).expected[0], rtol=1e-3)


@pytest.mark.parametrize(("name", "buffers"), [("sm_80", 4), ("sm_86", 3), ("sm_90", 4)])
def test_two_blocks_have_room(name: str, buffers: int):
    s = tx.schedule(tx.op(HALF), M=4096, N=4096, K=4096).auto(name)
    assert s.script().splitlines()[-1] == f'pipeline("C.ko", {buffers}, asynchronous=True)'


def test_the_driver_is_asked_for_it():
    gpu, calls = driver()
    function = gpu.function(gpu.load(Code("", lambda: "good")), "k", 75776)
    assert ("cuFuncSetAttribute", 14, 8, 75776) in calls
    parameters = gpu.parameters([], [])
    gpu.launch(function, (1, 1, 1), (256, 1, 1), parameters, 0, 75776)
    assert calls[-2] == ("cuLaunchKernel", 14, 1, 1, 1, 256, 1, 1, 75776, None, parameters.address, None)


def test_a_gpu_that_has_less():
    gpu, _ = driver(cuFuncSetAttribute=701)
    with pytest.raises(CompileError) as error:
        gpu.function(gpu.load(Code("", lambda: "good")), "k", 1 << 20)
    assert str(error.value) == (
        "error[target]: a block of threads needs more registers or shared memory than the GPU has\n"
        "  help: bind fewer threads, or use smaller tiles"
    )

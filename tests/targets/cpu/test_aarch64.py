"""AArch64 under QEMU gives what the interpreter gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.targets.cases import CASES, MATMUL, Case, assert_close, emulated, kernel_of, matmul, problem
from texpr.runtime.process import qemu
from texpr.support.errors import CompileError, ResourceError
from texpr.targets import compile_kernel, find_target

needs_qemu = pytest.mark.skipif(bool(qemu.missing_tool()), reason=f"{qemu.missing_tool()} is not installed")
LONG_VECTORS = "max,sve-default-vector-length=64"


def run(
    case: Case, name: str = "aarch64", cpu: str = "cortex-a72", script: str | None = None
) -> list[np.ndarray]:
    return emulated(case, name, script, cpu=cpu)


@pytest.mark.qemu
@needs_qemu
@pytest.mark.parametrize("case", (*CASES, matmul(5, 7, 3, fixed=False)), ids=str)
def test_neon(case: Case):
    assert_close(run(case), problem(case).expected)


@pytest.mark.qemu
@needs_qemu
@pytest.mark.parametrize(
    "cpu",
    (
        "max,sve-default-vector-length=16",
        "max,sve-default-vector-length=32",
        LONG_VECTORS,
        "max,sve-default-vector-length=256",
    ),
)
def test_sve_of_any_length(cpu: str):
    case = matmul(33, 17, 65)
    script = 'split("j", 8)\nvectorize("ji")'
    assert_close(run(case, "aarch64+sve", cpu, script), problem(case).expected)


def test_vector_code():
    assembly = compile_kernel(
        kernel_of(matmul(33, 17, 65), find_target("aarch64")), find_target("aarch64"), alone=True
    ).assembly
    assert "fmla\tv" in assembly


def test_masks_use_sve():
    target = find_target("aarch64+sve")
    kernel = kernel_of(matmul(33, 17, 65), target, 'split("j", 8)\nvectorize("ji")')
    assert "p0/z" in compile_kernel(kernel, target, alone=True).assembly


@pytest.mark.qemu
@needs_qemu
@pytest.mark.parametrize("case", CASES, ids=str)
def test_vectors_of_512_bits(case: Case):
    assert_close(run(case, "a64fx", LONG_VECTORS), problem(case).expected)


@pytest.mark.qemu
@needs_qemu
@pytest.mark.parametrize("length", (16, 32, 128))
def test_vectors_of_another_length_are_refused(length: int):
    with pytest.raises(CompileError) as error:
        run(matmul(33, 17, 65), "a64fx", f"max,sve-default-vector-length={length}")
    assert str(error.value) == (
        "error[target]: texpr_matmul is for vectors of another length than the emulated processor has, or "
        "for "
        "tiles, of which it has none"
    )


def test_code_for_512_bits(tmp_path: Path):
    schedule = tx.schedule(tx.op(MATMUL), M=64, K=64, N=64).auto("a64fx")
    kernel = schedule.compile("a64fx")
    assert "fmla\tz" in kernel.asm and "bl\ttx_fits" in kernel.asm
    kernel.save(tmp_path / "f.o", header=tmp_path / "f.h")
    assert (
        "Returns 3, and does nothing, where the vectors of the processor do not have 64 bytes."
        in " ".join((tmp_path / "f.h").read_text().replace(" * ", "").split())
    )


def test_a_tool_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ResourceError) as error:
        qemu.run(b"", "f", [], [], [])
    assert str(error.value) == (
        "error[emulator]: qemu-aarch64 is not installed; code for aarch64 runs in it\n"
        "  help: on Debian: apt install qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
    )


@pytest.mark.qemu
@needs_qemu
def test_damaged_code():
    with pytest.raises(CompileError, match="does not link"):
        qemu.run(b"\x7fELF", "f", [], [], [])


@pytest.mark.qemu
@needs_qemu
def test_a_wrong_kernel_is_noticed():
    """The comparison can fail: the kernel runs on other sizes than it was compiled for."""
    case, target = matmul(5, 7, 3), find_target("aarch64")
    given = problem(case)
    code = compile_kernel(kernel_of(matmul(5, 7, 2), target), target, alone=True).object_code
    outputs = given.empty()
    qemu.run(code, "texpr_matmul", given.inputs, outputs, [])
    with pytest.raises(AssertionError):
        assert_close(outputs, given.expected)

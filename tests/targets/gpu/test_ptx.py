"""PTX: what is emitted, what is refused, and that the assembler takes it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import texpr as tx
from tests.targets.cases import CASES, Case, conv2d, kernel_of, matmul
from texpr.aot import find_tool
from texpr.ir.build import integer
from texpr.support.errors import CompileError
from texpr.targets import compile_kernel, emit_llvm, find_target
from texpr.targets.gpu.ptx import NAMES

SM80 = find_target("sm_80")
TILES = """
split("i", 4)
split("j", 8)
reorder("io", "jo", "ii", "ji", "k")
bind("io", "block.y")
bind("jo", "block.x")
bind("ii", "thread.y")
bind("ji", "thread.x")
contract()
"""


def assemble(text: str, name: str, folder: Path) -> str:
    """What the assembler says of registers and spills."""
    ptxas = find_tool("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed: pip install nvidia-cuda-nvcc")
    path = folder / "kernel.ptx"
    path.write_text(text)
    # The newest assemblers no longer know 7.0 itself, but take its code for later processors.
    done = subprocess.run(
        [
            ptxas,
            "-v",
            f"-arch={name.replace('sm_70', 'sm_75')}",
            str(path),
            "-o",
            str(folder / "kernel.cubin"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_processor_is_assembled(name: str, tmp_path: Path):
    target = find_target(name)
    artifact = compile_kernel(kernel_of(conv2d(2, 1), target), target)
    assert f".target {name}\n" in artifact.assembly and artifact.object_code == b""
    assert "0 bytes spill stores" in assemble(artifact.assembly, name, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernels_are_assembled(case: Case, tmp_path: Path):
    artifact = compile_kernel(kernel_of(case, SM80), SM80)
    report = assemble(artifact.assembly, "sm_80", tmp_path)
    assert ".local" not in artifact.assembly, "accumulators live in registers"
    assert report.count("Compiling entry function") == len(artifact.launches)


def test_contraction_and_read_only_loads():
    artifact = compile_kernel(kernel_of(matmul(33, 17, 65), SM80, TILES), SM80)
    assert "fma.rn.f32" in artifact.assembly and "ld.global.nc" in artifact.assembly
    without = compile_kernel(kernel_of(matmul(33, 17, 65), SM80, TILES.replace("contract()", "")), SM80)
    assert "fma.rn.f32" not in without.assembly


def test_launch(golden):
    text, launches = emit_llvm(kernel_of(matmul(33, 17, 65), SM80, TILES), SM80)
    golden(text)
    (launch,) = launches
    assert [integer(e) for e in (*launch.grid, *launch.block)] == [9, 9, 1, 8, 4, 1]


def refused(case: Case, script: str) -> str:
    with pytest.raises(CompileError) as error:
        compile_kernel(kernel_of(case, SM80, script), SM80)
    return str(error.value)


def test_too_many_threads():
    assert refused(matmul(1, 1, 2000), 'bind("j", "thread.x")') == (
        "error[target]: 2000 threads along x; a GPU has at most 1024\n  help: split the loop that is bound "
        "there"
    )
    assert refused(matmul(40, 1, 40), 'bind("i", "thread.y")\nbind("j", "thread.x")') == (
        "error[target]: 1600 threads in a block; a GPU has at most 1024\n  help: split the loops that are "
        "bound to threads"
    )


def test_one_axis_twice():
    assert refused(matmul(4, 4, 4), 'bind("i", "thread.x")\nbind("j", "thread.x")') == (
        "error[target]: `j` is bound to thread.x, and so is a loop around it\n  help: bind one of them to "
        "another axis"
    )


def test_blocks_inside_a_serial_loop():
    assert refused(matmul(4, 4, 4), 'bind("j", "block.x")') == (
        "error[target]: `j` is bound to block.x inside the loop `i`: blocks do not wait for each other\n"
        "  help: reorder the loops, or bind the outer one as well"
    )


def test_unknown_processor():
    with pytest.raises(CompileError) as error:
        find_target("sm_81")
    assert "there is no target 'sm_81'" in str(error.value) and "did you mean `sm_8" in str(error.value)


def test_a_launch_of_one_thread_is_one():
    """Where the loop of threads has one iteration, what stands in it is still in a kernel."""
    op = tx.op("op rows(X: f32[N, M]) -> y: f32[N] { y[i] = sum(j: X[i, j]) }")
    text = tx.schedule(op, N=1, M=70).parallel("i").compile("sm_80").asm
    assert ".entry" in text and "st.global" in text

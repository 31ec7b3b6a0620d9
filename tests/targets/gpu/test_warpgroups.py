"""Products of tiles by a warpgroup on sm_90a: 128 threads, operands in shared memory, sums in
registers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.autoschedule.gpu.test_gemm import HALF, LINEAR
from tests.runtime.emulator.test_fibers import SM80
from tests.targets.cases import Case, kernel_of, problem
from tests.targets.gpu.sass import count, instructions
from tests.targets.gpu.test_ptx import assemble
from texpr.ir.loop import Kernel
from texpr.support.errors import CompileError, ScheduleError
from texpr.targets import Artifact, Launch, compile_kernel, emit_llvm, emulate, find_target

SM90 = find_target("sm_90a")


def script(n: int = 64, dtype: str = "bf16", pipelined: str = "") -> str:
    """Tiles of 64 rows, n columns and 64 terms."""

    def tile(name: str) -> str:
        return f"""cache_read("{name}", "ko")
set_scope("{name}_cache", "shared")
split("{name}_cache.d1", 8)
fuse("{name}_cache.d0", "{name}_cache.d1o", name="units")
split("{name}_cache.units", 128)
bind("{name}_cache.unitsi", "thread.x")
vectorize("{name}_cache.d1i")
swizzle("{name}_cache", 8, 8, 64)
"""

    return f"""contract()
split("i", 64, tail="exact")
split("j", {n}, tail="exact")
split("k", 64, tail="exact")
split("ki", 16, tail="exact")
reorder("io", "jo", "ko", "kio", "ii", "ji", "kii")
set_scope("C_acc", "register")
{tile("A")}{tile("B")}bind("jo", "block.x")
bind("io", "block.y")
tensorize("ii", "zero_wgmma_n{n}")
tensorize("ii", "store_wgmma_n{n}")
tensorize("ii", "wgmma_{dtype}_n{n}", reassoc=True)
unroll("kio")
{pipelined}"""


NAMES = ("bf16", "f16", "wide", "pipelined")
CASES = [
    (Case("linear", LINEAR, ((128, 128), (128, 128)), fixed=True), script()),
    (Case("f16", LINEAR.replace("bf16", "f16"), ((64, 64), (128, 64)), fixed=True), script(128, "f16")),
    (Case("wide", LINEAR, ((64, 128), (256, 128)), fixed=True), script(256)),
    (
        Case("linear", LINEAR, ((64, 256), (64, 256)), fixed=True),
        script(pipelined='pipeline("ko", 3, asynchronous=True)\n'),
    ),
]


@lru_cache(maxsize=2)
def lowered(given: Case, lines: str) -> tuple[Kernel, str, tuple[Launch, ...]]:
    """The kernel of a case, its text and its launches: made once for a run and one with a fault."""
    kernel = kernel_of(given, SM90, lines)
    return kernel, *emit_llvm(kernel, SM90)


def emulated(given: Case, lines: str, change: Callable[[str], str] = lambda text: text) -> np.ndarray:
    kernel, text, launches = lowered(given, lines)
    outputs = problem(given).empty()
    emulate(
        Artifact(SM90, change(text), "", "", b"", launches, kernel.temporaries),
        "",
        problem(given).inputs,
        outputs,
        {},
    )
    return outputs[0]


@pytest.mark.parametrize(("given", "lines"), CASES, ids=NAMES)
def test_emulated(given: Case, lines: str):
    """Products of bf16 and f16 are exact in f32; f32 sums of 256 of normal numbers of size 2:
    1e-4.
    """
    np.testing.assert_allclose(emulated(given, lines), problem(given).expected[0], rtol=1e-4, atol=1e-4)


def test_certified():
    given, lines = CASES[3]
    assert tx.Schedule(problem(given).program, problem(given).sizes).replay(lines).certificate().flushed == (
        "C",
    )


WRONG: dict[str, Callable[[str], str]] = {
    "no barrier": lambda text: text.replace(
        "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", "", 1
    ),
    "another swizzle": lambda text: re.sub(r"(= lshr i64 %\w+), 3\b", r"\1, 4", text, count=1),
    "operands that begin elsewhere": lambda text: text.replace("align 1024", "align 16").replace(
        "@linear_0_shared0 =",
        "@early = internal addrspace(3) global [16 x i8] undef, align 16\n@linear_0_shared0 =",
        1,
    ),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_fault_is_seen(change: Callable[[str], str]):
    given, lines = CASES[0]
    assert change(text := lowered(given, lines)[1]) != text
    assert not np.allclose(emulated(given, lines, change), problem(given).expected[0], rtol=1e-3)


@cache
def assembly(which: int) -> str:
    given, lines = CASES[which]
    return compile_kernel(kernel_of(given, SM90, lines), SM90).assembly


@pytest.mark.parametrize(("which", "n"), [(2, 256), (3, 64)])
def test_assembled(which: int, n: int, tmp_path: Path):
    """No spills, no products that the assembler makes wait for each other (its messages C75..),
    a fence before each barrier.
    """
    text = assembly(which)
    said = assemble(text, "sm_90a", tmp_path)
    assert (
        " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said
        and "C75" not in said
        and ".local" not in text
    )
    assert text.count(f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16") >= 4
    fenced = re.findall(r"fence\.proxy\.async\.shared::cta;\s+(?:barrier|bar)\.sync", text)
    assert len(fenced) == len(re.findall(r"bar(?:rier)?\.sync", text)) > 0


def test_processor(tmp_path: Path):
    code = instructions(assembly(2), "sm_90a", tmp_path)
    assert count(code, "HGMMA.64x256x16.F32.BF16") >= 4 and count(code, "LDL") == count(code, "STL") == 0


def test_other_processors_lack_it():
    """LLVM and the assembler are not asked: sm_90 is no sm_90a."""
    given, lines = CASES[0]
    for target in (SM80, find_target("sm_90")):
        with pytest.raises(CompileError, match="this target has no instruction zero_wgmma_n64"):
            kernel_of(given, target, lines)


def complaint(old: str, new: str) -> str:
    given, lines = CASES[0]
    assert old in lines
    with pytest.raises(CompileError) as error:
        emit_llvm(kernel_of(given, SM90, lines.replace(old, new)), SM90)
    return str(error.value)


def test_operands_lie_as_descriptors_say():
    assert complaint('swizzle("B_cache", 8, 8, 64)\n', 'swizzle("B_cache", 8, 4, 64)\n') == (
        "error[target]: wgmma reads rows of 128 bytes of shared memory under swizzle(8, 8, 64), and B_cache "
        "does not lie so\n"
        '  help: set_scope("B_cache", "shared"), then swizzle("B_cache", 8, 8, 64)'
    )


def test_turned_operands_lie_in_panels():
    """A matrix of which neighbours are columns: 128 of them in rows of 128 are no rows of 64."""
    given = Case("half", HALF, ((64, 64), (64, 128)))
    lines = script(128).replace('"wgmma_bf16_n128"', '"wgmma_bf16_n128_tb"')
    with pytest.raises(ScheduleError) as error:
        tx.Schedule(problem(given).program, problem(given).sizes).replay(lines)
    assert str(error.value).splitlines()[0] == (
        "error[tensorize]: the nest of `ii` is not wgmma_bf16_n128_tb: B_cache does not move with `ji` as B "
        "does with `j`: "
        "j // 64 * 4096 + k * 64 + j % 64"
    )


def test_a_warpgroup_has_128_threads():
    given, lines = CASES[0]
    lines, changed = re.subn(r'split\("(\w)_cache.units", 128\)', r'split("\1_cache.units", 32)', lines)
    assert changed == 2
    with pytest.raises(CompileError) as error:
        emit_llvm(kernel_of(given, SM90, lines), SM90)
    assert str(error.value) == (
        "error[target]: zero_wgmma_n64 is run by a warpgroup: 128 threads along thread.x, or 32 there and 4 "
        "along thread.y, and no loop "
        "over them around it\n"
        "  help: bind loops of 128 iterations to thread.x, or of 32 there and of 4 to thread.y, and loops "
        "over warpgroups to the next axis"
    )

"""Products of a warpgroup whose left operand is in registers: where lanes hold it, how long it
has to stay, and what comes of faults.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.autoschedule.gpu.test_gemm import HALF, LINEAR
from tests.schedule.steps.hardware.test_async_mma import (
    computed,
    later,
    refused_and_made,
    right,
    swapped,
    without,
)
from tests.targets.cases import Case, kernel_of, problem
from tests.targets.gpu.sass import count, instructions
from tests.targets.gpu.test_ptx import assemble
from tests.targets.gpu.test_warpgroups import SM90, emulated
from texpr.compiler import pass_pipeline
from texpr.ir.expr import Node
from texpr.ir.loop import CommitProducts, WaitProducts
from texpr.ir.traverse import equal, rewrite, walk
from texpr.passes.loop.check_async import check_arrivals
from texpr.support.errors import CompileError, ScheduleError
from texpr.targets import compile_kernel, emit_llvm

ROWS = """split("B_cache.d1", 8)
fuse("B_cache.d0", "B_cache.d1o", name="units")
"""
PANELS = """split("B_cache.d1", 64)
layout("B_cache", "k j -> j/64 k j%64")
split("B_cache.d1i", 8)
fuse("B_cache.d0", "B_cache.d1o", name="rows")
fuse("B_cache.rows", "B_cache.d1io", name="units")
"""


ON_X = (
    """fuse("A_cache.d0o", "A_cache.d0ii", name="eighths")
fuse("A_cache.eighths", "A_cache.d1io", name="lane")
""",
    """bind("B_cache.unitsi", "thread.x")
""",
)
ON_Y = (
    """fuse("A_cache.d0ii", "A_cache.d1io", name="lane")
bind("A_cache.d0o", "thread.y")
""",
    """split("B_cache.unitsi", 32)
bind("B_cache.unitsio", "thread.y")
bind("B_cache.unitsii", "thread.x")
""",
)
"""The threads of a warpgroup, along one axis or two."""


def script(
    n: int = 64, dtype: str = "bf16", *, turned: bool = False, threads: tuple[str, str] = ON_X, then: str = ""
) -> str:
    """Tiles of 64 rows, n columns and 64 terms; of A each thread loads what it has of an
    operand, pair by pair.
    """
    panels, (lanes, units) = turned and n > 64, threads
    return f"""contract()
split("i", 64, tail="exact")
split("j", {n}, tail="exact")
split("k", 64, tail="exact")
split("ki", 16, tail="exact")
reorder("io", "jo", "ko", "kio", "ii", "ji", "kii")
set_scope("C_acc", "register")
cache_read("A", "ko")
set_scope("A_cache", "register")
split("A_cache.d0", 16, tail="exact")
split("A_cache.d0i", 8, tail="exact")
split("A_cache.d1", 8, tail="exact")
split("A_cache.d1i", 2, tail="exact")
reorder("A_cache.d0o", "A_cache.d0ii", "A_cache.d1io", "A_cache.d0io", "A_cache.d1o", "A_cache.d1ii")
{lanes}bind("A_cache.lane", "thread.x")
unroll("A_cache.d0io")
unroll("A_cache.d1o")
vectorize("A_cache.d1ii")
cache_read("B", "ko")
set_scope("B_cache", "shared")
{PANELS if panels else ROWS}split("B_cache.units", 128)
{units}vectorize("B_cache.{"d1ii" if panels else "d1i"}")
swizzle("B_cache", 8, 8, 64)
bind("jo", "block.x")
bind("io", "block.y")
tensorize("ii", "zero_wgmma_n{n}")
tensorize("ii", "store_wgmma_n{n}")
tensorize("ii", "wgmma_{dtype}_n{n}_ra{"_tb" if turned else ""}", reassoc=True)
unroll("kio")
{then}"""


TOGETHER = 'pipeline("B_cache", 2, asynchronous=True)\ncommit_mma_group("kio")\n'
AHEAD = 'pipeline("B_cache", 3, asynchronous=True, lead=1)\nasync_mma("ko", 1)\n'
"""Products of two iterations are under way: B has buffers enough, A is overwritten by the next."""
CLOSE = AHEAD.replace('"ko", 1', '"ko"')
GIVEN = Case("linear", LINEAR, ((128, 192), (128, 192)), fixed=True)
TURN = Case("half", HALF, ((64, 128), (128, 256)), fixed=True)
CASES = [
    (GIVEN, script()),
    (Case("f16", LINEAR.replace("bf16", "f16"), ((64, 64), (128, 64)), fixed=True), script(128, "f16")),
    (GIVEN, script(threads=ON_Y)),
    (TURN, script(64, turned=True)),
    (TURN, script(128, turned=True)),
    (Case("wide", LINEAR, ((64, 64), (256, 64))), script(256)),
]
NAMES = ("bf16", "f16", "warps", "turned", "panels", "wide")


@pytest.mark.parametrize(("given", "lines"), CASES, ids=NAMES)
def test_emulated(given: Case, lines: str):
    """Products at once; begun together, computed where they begin and where they are waited for."""
    np.testing.assert_allclose(emulated(given, lines), problem(given).expected[0], rtol=1e-4, atol=1e-4)
    kernel = kernel_of(given, SM90, lines + TOGETHER)
    assert all(right(computed(kernel, given, backwards), given) for backwards in (False, True))


@cache
def scheduled(then: str = TOGETHER) -> tx.Schedule:
    return tx.Schedule(problem(GIVEN).program, problem(GIVEN).sizes).replay(script(then=then))


def test_certified():
    assert scheduled().certificate().flushed == ("C",)


@pytest.mark.parametrize("which", (0, 2, 4), ids=("rows", "warps", "panels"))
def test_assembled(which: int, tmp_path: Path):
    """Four products of an iteration are one group, with one wait; their left operand is where it
    was loaded to.
    """
    given, lines = CASES[which]
    text = compile_kernel(kernel_of(given, SM90, lines + TOGETHER), SM90).assembly
    said = assemble(text, "sm_90a", tmp_path)
    assert (
        " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said
        and "C75" not in said
        and ".local" not in text
    )
    code = instructions(text, "sm_90a", tmp_path)
    products = [operands.split(", ") for op, operands in code if op.startswith("HGMMA")]
    assert products and len(products) % 4 == 0 and all(operands[1].startswith("R") for operands in products)
    assert count(code, "WARPGROUP.ARRIVE") == len(products) // 4 >= count(code, "WARPGROUP.DEPBAR") - 1


def is_first_wait(node: Node) -> bool:
    """Whether this is the wait of a loop in front of its barrier, as `async_mma` leaves it."""
    return isinstance(node, WaitProducts) and node is next(
        n for n in walk(*scheduled(CLOSE).kernel.body) if isinstance(n, WaitProducts)
    )


FAULTS: dict[str, tuple[Callable[[Node], Node | None], str]] = {
    "no wait": (without(WaitProducts), "unfinished"),
    "no commit": (without(CommitProducts), "unfinished"),
    "the wait is too little": (later(0), "unfinished"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch):
    wrong = refused_and_made(scheduled().kernel, FAULTS[fault], monkeypatch)
    assert not all(right(computed(wrong, GIVEN, backwards), GIVEN) for backwards in (False, True))


def test_an_operand_stays_until_products_are_done(monkeypatch: pytest.MonkeyPatch):
    """Registers of the next iteration's operand are those of this one's: the proof says so, and
    the emulator shows it.
    """
    with pytest.raises(
        ScheduleError, match="products for C_acc read what this overwrites, and are not proven to be done"
    ):
        scheduled(AHEAD)
    later_waits = rewrite(scheduled(CLOSE).kernel, lambda n: WaitProducts(1) if is_first_wait(n) else None)
    monkeypatch.setattr(pass_pipeline, "check_arrivals", lambda kernel: kernel)
    wrong = pass_pipeline.prepared(later_waits, SM90)
    assert not all(right(computed(wrong, GIVEN, backwards), GIVEN) for backwards in (False, True))


def test_the_threads_own_wait_will_do():
    """The operand in registers is overwritten behind it and no barrier; that in shared memory
    has a third buffer.
    """
    kernel = scheduled(CLOSE).kernel
    change = rewrite(kernel, swapped)
    assert not equal(change, kernel)
    ready = pass_pipeline.prepared(check_arrivals(change), SM90)
    assert all(right(computed(ready, GIVEN, backwards), GIVEN) for backwards in (False, True))


def test_lanes_hold_what_the_instruction_takes():
    lines = script().replace('split("A_cache.d1i", 2, tail="exact")', 'split("A_cache.d1i", 4, tail="exact")')
    with pytest.raises(CompileError, match="A_cache lives in registers, and"):
        emit_llvm(kernel_of(GIVEN, SM90, lines), SM90)


def test_pairs_lie_beside_each_other():
    lines = (
        script()
        .replace('bind("jo"', 'layout("A_cache", "i k -> k i")\nbind("jo"')
        .replace('vectorize("A_cache', 'unroll("A_cache')
    )
    with pytest.raises(CompileError) as error:
        emit_llvm(kernel_of(GIVEN, SM90, lines), SM90)
    assert (
        str(error.value)
        == """\
error[target]: wgmma reads pairs of terms from registers, and those of A_cache do not lie beside each other
  help: leave the buffer in the order of its terms"""
    )


def test_no_products():
    with pytest.raises(ScheduleError) as error:
        tx.Schedule(problem(GIVEN).program, problem(GIVEN).sizes).commit_mma_group("k")
    assert (
        "error[commit_mma_group]: no iteration of `C.k` runs products that can be begun and waited for"
        in str(error.value)
    )

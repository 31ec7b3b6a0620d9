"""Swizzled tiles in shared memory: columns without bank conflicts, and no padding. The default
schedules have them (`test_gemm`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import texpr as tx
from tests.autoschedule.gpu.test_gemm import HALF
from tests.runtime.emulator.test_fibers import SM80, emulated, lowered
from tests.targets.cases import Case, kernel_of, problem
from texpr.ir.printing.loop import show_kernel
from texpr.ir.swizzle import Swizzle
from texpr.lang import parse_kernel
from texpr.support.errors import CompileError, ParseError, ScheduleError
from texpr.targets import emit_llvm

HALVES = Case("half", HALF, ((32, 32), (32, 64)))


@cache
def default(case: Case) -> str:
    return tx.Schedule(problem(case).program, problem(case).sizes).auto("sm_80").script()


def script(case: Case, a: str = "", b: str = "") -> str:
    """The default schedule with one buffer, and other lines in place of those that say how the
    tiles of the operands lie.
    """
    lines = re.sub("pipeline.*", "", default(case))
    for name, line in (("A_cache", a), ("B_cache", b)):
        lines = re.sub(rf'(swizzle|pad)\("{name}".*\n', f"{line}\n" if line else "", lines)
    return lines


@pytest.mark.parametrize(("unit", "count", "row"), [(8, 8, 64), (8, 4, 64), (1, 2, 2), (4, 2, 32)])
def test_every_element_has_a_place(unit: int, count: int, row: int):
    lies = Swizzle(unit, count, row)
    for n in (1, unit * count, 3 * row + 1):
        places = [lies.place(k) for k in range(n)]
        assert len(set(places)) == n and max(places) < lies.room(n) and lies.room(n) - n < unit * count
        assert all(lies.place(k) % unit == k % unit for k in range(n))


def test_rows_as_they_are_have_conflicts():
    s = tx.Schedule(problem(HALVES).program, problem(HALVES).sizes).replay(script(HALVES))
    assert "reads B_cache with 8-way bank conflicts, reads A_cache with 4-way bank conflicts" in str(s)
    s = tx.Schedule(problem(HALVES).program, problem(HALVES).sizes).replay(
        script(HALVES, 'swizzle("A_cache", 8, 2, 64)')
    )
    assert "reads A_cache with 2-way bank conflicts" in str(s)


GOOD = 'swizzle("A_cache", 8, 4, 64)', 'swizzle("B_cache", 8, 8, 64)'
WRONG: dict[str, Callable[[str], str]] = {
    "one place forgets": lambda text: re.sub(r"= xor i64 (%\w+), %\w+", r"= or i64 \1, \1", text, count=1),
    "another row": lambda text: re.sub(r"(= lshr i64 %\w+), 3\b", r"\1, 4", text, count=1),
    "two elements in one place": lambda text: re.sub(r"= xor i64", "= or i64", text),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_wrong_swizzle_is_seen(change: Callable[[str], str]):
    lines = script(HALVES, *GOOD)
    assert change(text := lowered(HALVES, lines)[1]) != text
    assert not np.allclose(emulated(HALVES, lines, change)[0], problem(HALVES).expected[0], rtol=1e-3)


def test_a_different_swizzle_in_all_places_is_none():
    """Where elements lie is nobody's business as long as all agree."""
    lines = script(HALVES, 'swizzle("A_cache", 8, 2, 32)', 'swizzle("B_cache", 16, 2, 256)')
    np.testing.assert_allclose(emulated(HALVES, lines)[0], problem(HALVES).expected[0], rtol=1e-4, atol=1e-4)


def test_units_that_an_instruction_would_cross():
    with pytest.raises(CompileError) as error:
        emit_llvm(kernel_of(HALVES, SM80, script(HALVES, 'swizzle("A_cache", 4, 4, 64)')), SM80)
    assert str(error.value) == (
        "error[target]: 8 neighbours of A_cache are used at once, which swizzle(4, 4, 64) may have moved "
        "apart\n"
        "  help: they must begin at multiples of their number; use units of as many elements, or leave the "
        "buffer as it is"
    )


TURNED = """cache_read("X", "b")
set_scope("X_cache", "shared")
swizzle("X_cache", 4, 2, 32)
split("j", 4)
vectorize("ji")
bind("jo", "thread.x")
bind("X_cache.d1", "thread.x")"""


def test_lanes_along_a_column():
    case = Case(
        "turn", "op turn(X: f32[2, 64, 8]) -> Y: f32[2, 8, 64] { Y[b, i, j] = X[b, j, i] }", ((2, 64, 8),)
    )
    with pytest.raises(
        CompileError, match="lanes use elements of X_cache that lie apart, and it is swizzled"
    ):
        emit_llvm(kernel_of(case, SM80, TURNED), SM80)


def test_listings_are_read_back():
    s = tx.Schedule(problem(HALVES).program, problem(HALVES).sizes).replay(script(HALVES, *GOOD))
    text = show_kernel(s.kernel)
    assert "let A_cache: bf16[64, 32]  shared swizzle(8, 4, 64)\n" in text
    assert show_kernel(parse_kernel(text)) == text
    for wrong in ("(8, 3, 64)", "(8, 4, 16)", "(0, 4, 64)"):
        with pytest.raises(ParseError, match="gives two elements one place"):
            parse_kernel(text.replace("(8, 4, 64)", wrong))


@pytest.mark.parametrize(
    ("steps", "said", "help"),
    [
        (
            'swizzle("B", 8, 4, 64)',
            "error[swizzle]: swizzle of the input B: the caller decides how it lies in memory",
            'cache_read("B", loop) makes a buffer',
        ),
        (
            'swizzle("B_cache", 8, 4, 64)',
            "error[swizzle]: B_cache has no banks: it does not live in shared memory",
            'set_scope("B_cache", "shared")',
        ),
        (
            'set_scope("B_cache", "shared")\nswizzle("B_cache", 8, 3, 64)',
            "error[swizzle]: swizzle of 3 units of 8 elements in rows of 64",
            "powers of two up to 2^20, at least two units, and rows of at least as many elements: "
            'swizzle("B_cache", 8, 8, 64)',
        ),
    ],
)
def test_complaints(steps: str, said: str, help: str):
    s = tx.schedule(tx.op(HALF), M=64, N=64, K=64).replay('cache_read("B", "i")')
    with pytest.raises(ScheduleError) as error:
        s.replay(steps)
    lines = str(error.value).splitlines()
    assert lines[0] == said and lines[-1] == f"  help: {help}"


def test_another_home_has_no_banks():
    """`set_scope` forgets the swizzle."""
    s = tx.schedule(tx.op(HALF), M=64, N=64, K=64).replay(
        'cache_read("B", "i")\nset_scope("B_cache", "shared")\nswizzle("B_cache", 8, 8, 64)'
    )
    assert "swizzle" in str(s) and "swizzle" not in str(s.set_scope("B_cache", "heap"))

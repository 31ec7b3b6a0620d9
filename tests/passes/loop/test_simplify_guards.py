"""What the ranges of loops decide."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from texpr.ir.affine import Linear, linear
from texpr.ir.expr import Call, FloorDiv, Mod, Sub, Var, index
from texpr.ir.printing.expr import show
from texpr.ir.printing.loop import show_kernel
from texpr.ir.shapes import evaluate_size
from texpr.ir.traverse import equal
from texpr.lang import parse_kernel
from texpr.passes.loop.simplify_guards import decide, drop_implied

small = st.integers(-9, 9)


@given(st.integers(1, 8), small, small, small, st.integers(1, 5), st.integers(1, 9), st.booleans())
def test_divisions_by_enumeration(factor: int, a: int, b: int, constant: int, m: int, n: int, quotient: bool):
    x, y = Var("x"), Var("y")
    form = Linear(((x, a), (y, b)), constant).expr()
    e = (FloorDiv if quotient else Mod)(form, index(factor))
    decided = decide(e, {x: index(m), y: index(n)})
    for at in product(range(m), range(n)):
        values = dict(zip((x, y), at))
        assert evaluate_size(decided, values) == evaluate_size(e, values), show(decided)


@pytest.mark.parametrize("quotient, expected", [(True, "x + 2"), (False, "y + 1")])
def test_a_place_in_a_tile_needs_no_division(quotient: bool, expected: str):
    x, y = Var("x"), Var("y")
    e = (FloorDiv if quotient else Mod)(Linear(((x, 4), (y, 1)), 9).expr(), index(4))
    assert show(decide(e, {x: index(10), y: index(3)})) == expected
    assert equal(decide(e, {x: index(10), y: index(4)}), e)


@given(small, small, small, st.integers(1, 6), st.integers(1, 6))
def test_magnitudes_by_enumeration(a: int, b: int, constant: int, m: int, n: int):
    x, y = Var("x"), Var("y")
    form = Linear(((x, a), (y, b)), constant).expr()
    e = Call("abs", (Sub(index(4), Call("abs", (form,))),))
    decided = decide(e, {x: index(m), y: index(n)})
    for at in product(range(m), range(n)):
        values = dict(zip((x, y), at))
        assert evaluate_size(decided, values) == evaluate_size(e, values), show(decided)


def test_a_reflection_between_the_edges_stays_where_it_is():
    x = Var("x")
    e = Sub(index(8), Call("abs", (Sub(index(8), Call("abs", (x,))),)))
    assert show(linear(decide(e, {x: index(9)})).expr()) == "x"


def test_a_layout_may_come_before_its_loops_are_cut():
    """The loops that fill the buffer are cut into the tiles of its layout afterwards: the
    certificate sees no division.
    """
    s = tx.schedule(
        tx.op("op f(X: f32[N, M]) -> Y: f32[N, M] { Y[i, j] = X[i, j] + X[i, M - 1 - j] }"), M=8
    ).split("i", 4)
    s.cache_read("X", "io").layout("X_cache", "a b -> b/4 a b%4").split("X_cache.d1", 4)
    assert s.certificate()


CONDITIONS = [
    "i < n - 1",
    "i + 1 < n",
    "i >= 2",
    "2 <= i",
    "i > 2",
    "i == 3",
    "3 >= i",
    "n - 1 > i",
    "2 * i < n",
    "i < n - 2",
    "i * i < n",
]


@pytest.mark.parametrize("inner", CONDITIONS)
@pytest.mark.parametrize("outer", CONDITIONS)
def test_a_condition_inside_of_another_goes_only_where_it_follows(outer: str, inner: str):
    kernel = parse_kernel(
        "kernel f(X: f32[n]) -> (Y: f32[n])\n  for i in 0..n\n"
        f"    if {outer}\n      Y[i] = if {inner} then 1.0 else X[i]\n"
    )
    gone = "then" not in show_kernel(drop_implied(kernel))
    assert not gone or all(
        eval(inner, {"i": i, "n": n}) for n in range(8) for i in range(n) if eval(outer, {"i": i, "n": n})
    )
    assert gone or outer != inner


def test_conditions_that_others_imply_go():
    def shown(*conditions: str) -> str:
        *around, inside = conditions
        lines = [f"{'  ' * (k + 2)}if {c}" for k, c in enumerate(around)]
        last = f"{'  ' * (len(around) + 2)}Y[i] = if {inside} then 1.0 else 0.0"
        text = "\n".join(["kernel f(Z: i64[n]) -> (Y: f32[n])", "  for i in 0..n", *lines, last, ""])
        return show_kernel(drop_implied(parse_kernel(text)))

    assert "then" not in shown("i + 2 < n and i >= 1", "i < n - 1 and 0 < i")
    assert "then" not in shown("i == 3", "i <= 3 and i >= 3") and "then" not in shown(
        "i >= 3", "i <= 3", "i == 3 or i >= 2"
    )
    assert "then" in shown("i >= 3 or i < 1", "i >= 3"), "one of the two need not hold"
    assert "then" in shown("Z[i] > 0", "Z[i] > 0"), "data is not looked at"

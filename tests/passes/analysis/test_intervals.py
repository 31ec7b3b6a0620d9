"""Bounds of index arithmetic hold in every iteration, and those that remove guards are found."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from texpr.ir.build import add, floordiv, maximum, minimum, mul, sub
from texpr.ir.expr import Expr, Var, index
from texpr.ir.shapes import evaluate_size
from texpr.passes.analysis.intervals import interval

N, M, P, Q = map(Var, "NMij")


def arithmetic(*leaves: Expr) -> st.SearchStrategy[Expr]:
    """Linear arithmetic with extremes over some variables."""
    numbers = st.integers(-4, 4).map(index)
    return st.recursive(
        numbers | st.sampled_from(leaves),
        lambda e: st.one_of(
            st.tuples(st.sampled_from((add, sub, maximum, minimum)), e, e).map(lambda t: t[0](t[1], t[2])),
            st.tuples(e, st.integers(-2, 3)).map(lambda t: mul(t[0], index(t[1]))),
            st.tuples(e, st.sampled_from((2, 3))).map(lambda t: floordiv(t[0], index(t[1]))),
        ),
        max_leaves=6,
    )


@given(arithmetic(N, M), arithmetic(N, M, P), arithmetic(N, M, P, Q))
def test_bounds_hold_in_every_iteration(outer: Expr, inner: Expr, e: Expr):
    """Of any arithmetic, and of how far it is from the ends of the loops, where terms cancel
    out.
    """
    every = [e, sub(add(e, P), outer), sub(Q, inner), sub(mul(P, index(2)), add(Q, outer))]
    bounds = [interval(each, {P: outer, Q: inner}) for each in every]
    for n, m in product(range(4), repeat=2):
        for i in range(evaluate_size(outer, {N: n, M: m})):
            for j in range(evaluate_size(inner, {N: n, M: m, P: i})):
                for each, (low, high) in zip(every, bounds):
                    value = evaluate_size(each, {N: n, M: m, P: i, Q: j})
                    assert (low is None or low <= value) and (high is None or value <= high)


@pytest.mark.parametrize(
    ("e", "extent", "bounds"),
    [
        (sub(P, N), maximum(sub(N, index(2)), index(0)), (None, -3)),
        (sub(add(P, N), index(1)), minimum(index(1), maximum(sub(N, index(1)), index(0))), (1, None)),
        (
            sub(maximum(sub(N, index(1)), index(1)), N),
            minimum(index(1), maximum(sub(N, index(1)), index(0))),
            (-1, -1),
        ),
        (P, minimum(N, index(16)), (0, 15)),
        (P, N, (0, None)),
        (minimum(P, index(3)), N, (0, 3)),
    ],
    ids=["end", "start of the last", "where iterations are", "either end", "no end", "either value"],
)
def test_bounds_of_symbolic_loops(e: Expr, extent: Expr, bounds: tuple[int | None, int | None]):
    assert interval(e, {P: extent}) == bounds

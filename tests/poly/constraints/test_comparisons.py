"""Orders that are taken apart say what they said."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.poly.nests import at, e, less, plus, tensor
from tests.profiles import examples
from texpr.ir.dtypes import I64
from texpr.ir.expr import Add, And, Axis, Compare, Expr, FloorDiv, Max, Min, Sub, Var
from texpr.ir.shapes import value_at
from texpr.ir.traverse import walk
from texpr.poly import always, fails_somewhere
from texpr.poly.constraints.comparisons import split_comparison

N, M, i = (Var(x) for x in "NMi")
LARGEST = 6


def composed(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    constants = st.integers(-2, 4).map(e)
    return st.one_of(
        st.builds(Min, inner, inner),
        st.builds(Max, inner, inner),
        st.builds(Add, inner, constants),
        st.builds(Sub, inner, constants),
        st.builds(FloorDiv, inner, st.integers(-1, 4).map(e)),
    )


indices = st.recursive(st.sampled_from([N, M, i, e(0), e(3)]), composed, max_leaves=6)


@examples(250)
@given(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), indices, indices)
def test_the_meaning_stays(op: str, a: Expr, b: Expr):
    order = Compare(op, a, b)
    apart = split_comparison(order)
    if apart is not None:
        for point in product(range(LARGEST), repeat=3):
            values = dict(zip((N, M, i), point))
            assert bool(value_at(order, values, 0)) == bool(value_at(apart, values, 0)), point


def test_quotients_and_extremes_go():
    apart = split_comparison(less(i, FloorDiv(plus(N, 15), e(16))))
    assert apart is not None and not any(isinstance(n, FloorDiv) for n in walk(apart))
    assert isinstance(split_comparison(less(i, Min(N, M))), And)
    assert split_comparison(less(i, N)) is None


def test_what_may_wrap_is_no_index_arithmetic():
    wild = at(tensor("k", N, dtype=I64), i)
    assert split_comparison(less(wild, FloorDiv(N, e(4)))) is None


def test_many_extremes_are_left_alone():
    """Each of two copies would be taken apart again: there are too many parts."""
    extent: Expr = N
    for k in range(64):
        extent = Min(Max(extent, e(k)), Max(extent, M))
    assert split_comparison(less(i, extent)) is None


@pytest.mark.parametrize(
    ("condition", "facts", "fails"),
    [
        (less(i, N), [], False),
        (less(N, i), [], True),
        (less(N, 3), [less(N, 5)], False),  # sizes of which that is not known
        (less(at(tensor("k", N, dtype=I64), i), N), [], False),  # data
    ],
)
def test_a_point_where_a_condition_fails(condition: Expr, facts: list[Expr], fails: bool):
    axes = [Axis(i, e(0), N)]
    assert fails_somewhere(condition, axes, facts) is fails
    assert not (fails and always(condition, axes, facts))

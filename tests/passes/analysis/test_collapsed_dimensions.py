"""Dimensions that joined loops run through as one: where elements are then, and when that is so."""

from __future__ import annotations

from itertools import product

import pytest

import texpr as tx
from texpr.ir.build import integer
from texpr.ir.dtypes import F32
from texpr.ir.expr import Expr, FloorDiv, Mod, Tensor, Var, index, plain
from texpr.ir.loop import Alloc
from texpr.ir.printing.expr import show
from texpr.ir.traverse import walk
from texpr.passes.analysis.collapsed_dimensions import joined
from texpr.passes.loop.place_buffers import place

t, k = Var("t"), Var("k")
POINTS = (
    "op points(X: f32[2, 5, 6, 8], F: f32[8, 32]) -> Y: f32[2, 5, 6, 32] { Y[n, y, x, k] = sum(c: X[n, y, x, "
    "c] * F[c, k]) }"
)


def _tensor(*sizes: int) -> Tensor:
    return Tensor("T", F32, plain(*map(index, sizes)))


def _digits(e: Expr, *sizes: int) -> tuple[Expr, ...]:
    """The indices whose row-major position is `e`, as `fuse` writes them."""
    found: list[Expr] = []
    for n in reversed(sizes[1:]):
        found.insert(0, Mod(e, index(n)))
        e = FloorDiv(e, index(n))
    return e, *found


def test_every_element_has_a_place_and_is_found_again():
    how = joined(_tensor(3, 4, 5, 2), [(*_digits(t, 3, 4, 5), k)])
    assert how is not None and how.groups == ((0, 1, 2), (3,)) and [show(n) for n in how.shape] == ["60", "2"]
    places = set()
    for old in product(*map(range, (3, 4, 5, 2))):
        new = how.indices([*map(index, old)])
        places.add(tuple(map(integer, new)))
        assert tuple(map(integer, how.apart(new))) == old
    assert places == set(product(range(60), range(2)))


@pytest.mark.parametrize(
    "uses",
    (
        [(t, k)],
        [(FloorDiv(t, index(5)), k)],
        [(FloorDiv(t, index(4)), Mod(t, index(4)))],
        [(FloorDiv(t, index(5)), Mod(k, index(5)))],
        [_digits(t, 4, 5), (t, Mod(k, index(5)))],
    ),
    ids=("none", "one", "by another number", "of two numbers", "in one use alone"),
)
def test_else_dimensions_stay(uses):
    assert joined(_tensor(4, 5), uses) is None


def test_no_more_are_taken_together_than_need_be():
    how = joined(_tensor(4, 5, 6, 7), [(*_digits(t, 4, 5), *_digits(k, 6, 7))])
    assert how is not None and how.groups == ((0, 1), (2, 3))


def test_sums_of_joined_loops_are_those_of_a_tile():
    """12 positions, which begin in one row and end in another one."""
    s = (
        tx.schedule(tx.op(POINTS))
        .fuse("n", "y")
        .fuse("ny", "x")
        .split("nyx", 12, tail="peel")
        .reorder("nyxo", "c", "nyxi", "k")
    )
    sums = next(n.tensor for n in walk(place(s.kernel)) if isinstance(n, Alloc) and n.tensor.name == "Y_acc")
    assert [show(n) for n in sums.shape] == ["12", "32"] and sums.scope == "stack"
    assert s.certificate().bit_exact


def test_tensors_of_the_program_keep_their_dimensions():
    """The certificate tells by these which element it is."""
    op = tx.op("op chain(X: f32[8, 9]) -> Y: f32[8, 9] { h[i, j] = exp(X[i, j])  Y[i, j] = h[i, j] + 1 }")
    s = tx.schedule(op).fuse("h.i", "h.j").fuse("Y.i", "Y.j")
    assert [(t.name, [show(n) for n in t.shape]) for t in place(s.kernel).temporaries] == [("h", ["8", "9"])]
    assert s.certificate().bit_exact

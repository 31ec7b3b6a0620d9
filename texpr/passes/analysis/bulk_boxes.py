"""Nests that copy a box of a tensor, element by element, to a part of a buffer where its
elements lie one after the other.
"""

from __future__ import annotations

from math import prod

from texpr.ir.affine import linear
from texpr.ir.build import TRUE, compare, conjuncts, integer, sub
from texpr.ir.expr import Compare, Expr, Tensor, Var, index
from texpr.ir.loop import For, Stmt, Store, copy_of, is_bulk
from texpr.ir.loop_kind import SERIAL
from texpr.ir.traverse import equal, substitute, variables
from texpr.passes.analysis.row_major import flat_index
from texpr.support.frozen_dataclass import frozen


@frozen
class Box:
    """The box of a bulk copy.

    Attributes:
        source: the tensor that it is a box of.
        corner: the indices of the first element of the box, which may lie outside, as others may:
            those are 0.
        extents: of the box, along the dimensions of the source.
        target: the buffer.
        first: the indices there of the first element; the others follow it, the last dimension
            first.
    """

    source: Tensor
    corner: tuple[Expr, ...]
    extents: tuple[int, ...]
    target: Tensor
    first: tuple[Expr, ...]

    @property
    def bytes(self) -> int:
        """Number of bytes of the box."""
        return prod(self.extents) * self.target.dtype.bytes


class NoBox(Exception):
    """The reason why a nest copies no box."""


def box_of(nest: For) -> Box:
    """The box that a nest copies.

    Raises:
        NoBox: something else than a box, or not to places one after the other.
    """
    loops, store = _chain(nest)
    copy = copy_of(store)
    if copy is None:
        raise NoBox(f"{store.tensor.name} is computed, not copied")
    source, within = copy
    if source.tensor.dtype != store.tensor.dtype:
        raise NoBox(f"{store.tensor.name} has another type than {source.tensor.name}")
    extents = _extents(source.indices, loops, source.tensor)
    for condition in [] if within is TRUE else conjuncts(within):
        if not any(_is_end(condition, i, n) for i, n in zip(source.indices, source.tensor.shape)):
            raise NoBox(f"elements of {source.tensor.name} are left out by a condition that is not its end")
    zero = {v: index(0) for v in loops}
    place, apart = flat_index(store.tensor, store.indices), 1
    for v, n in reversed(loops.items()):
        if place.coefficient(v) != apart or any(v in variables(t) for t, _ in place.terms if t is not v):
            raise NoBox(f"elements of the box do not follow each other in {store.tensor.name}")
        apart *= n
    return Box(
        source.tensor,
        tuple(substitute(i, zero) for i in source.indices),
        extents,
        store.tensor,
        tuple(substitute(i, zero) for i in store.indices),
    )


def _chain(nest: For) -> tuple[dict[Var, int], Store]:
    loops: dict[Var, int] = {}
    s: Stmt = nest
    while isinstance(s, For):
        n = integer(s.extent)
        if n is None or not (s.kind == SERIAL or is_bulk(s)) or len(s.body) != 1:
            raise NoBox(
                f"`{s.var.name}` is no loop of its own, in order, of a number of iterations that is known"
            )
        loops[s.var] = n
        s = s.body[0]
    if not isinstance(s, Store):
        raise NoBox("something else than a store stands inside")
    return loops, s


def _extents(indices: tuple[Expr, ...], loops: dict[Var, int], source: Tensor) -> tuple[int, ...]:
    """Number of elements of the box along each dimension; loops stand in the order of the
    dimensions.
    """
    left, found = list(loops), []
    for i in indices:
        form = linear(i)
        mine = [v for v in loops if v in variables(i)]
        if not mine:
            found.append(1)
            continue
        rest = form.without(mine[0])
        if (
            len(mine) > 1
            or mine[0] is not (left.pop(0) if left else None)
            or form.coefficient(mine[0]) != 1
            or any(mine[0] in variables(t) for t, _ in rest.terms)
        ):
            raise NoBox(f"loops do not go along the dimensions of {source.name}, one each and in their order")
        found.append(loops[mine[0]])
    if left:
        raise NoBox(f"`{left[0].name}` does not go along {source.name}")
    return tuple(found)


def _is_end(condition: Expr, i: Expr, size: Expr) -> bool:
    """True if a condition says that an index has not come to the end of a dimension, or not before
    its start.
    """
    return any(_alike(condition, c) for c in (compare("<", i, size), compare("<=", index(0), i)))


def _alike(a: Expr, b: Expr) -> bool:
    if equal(a, b):
        return True
    match a, b:
        case Compare(p, l, r), Compare(q, m, s) if p == q:
            apart = linear(sub(sub(l, r), sub(m, s)))
            return not apart.terms and not apart.constant
    return False

"""Places of extremes: argmax and argmin in terms of max and min.

Of many elements the extremes of blocks are found first, and then the place in the first block that
has the extreme of all: the others are not read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from texpr.ir.build import add, compare, integer, mul, sub
from texpr.ir.dtypes import I64, U8, U16, U32, DType, int_range
from texpr.ir.expr import (
    Add,
    Axis,
    Cast,
    Compare,
    Const,
    Expr,
    FloorDiv,
    Mod,
    Or,
    Read,
    Reduce,
    Select,
    Var,
    index,
)
from texpr.ir.traverse import substitute, variables, walk
from texpr.passes.analysis.substitution import with_fresh_variables
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import replace

MANY = 1 << 13
"""Elements from which on they are looked at in blocks."""
BLOCK = 1 << 12
"""Elements of a block, about."""


def first_place(node: Reduce) -> Expr:
    """The place of the extreme among all instances of the reduction, the last axis counting
    fastest.
    """
    extents = _extents(node)
    count = integer(extents[0])
    if len(extents) == 1 and node.where is None and count is not None and count >= MANY and _is_last(node):
        return _in_blocks(node, count)
    best = with_fresh_variables(
        Reduce(node.op[3:], node.axes, node.body, node.where, dtype=node.body.dtype, span=node.span)
    )
    position: Expr = index(0)
    for axis, extent in zip(node.axes, extents):
        position = Add(mul(position, extent), sub(axis.var, axis.lo))
    return _least(
        node, node.axes, node.body, best, position, node.where, _place_dtype(extents, node.body.dtype)
    )


def _least(
    node: Reduce,
    axes: tuple[Axis, ...],
    value: Expr,
    best: Expr,
    position: Expr,
    where: Expr | None,
    t: DType,
) -> Reduce:
    """The least position among these axes at which a value is the extreme, or NaN."""
    same = Compare("==", value, best)
    hit: Expr = Or(same, Compare("!=", value, value)) if value.dtype.is_float else same
    here = Cast(position, dtype=t) if t != I64 else position
    return Reduce(
        "min", axes, Select(hit, here, Const(int_range(t)[1], dtype=t)), where, dtype=t, span=node.span
    )


def _is_last(node: Reduce) -> bool:
    """True if the elements read along the axis lie side by side, so that a block that data say is
    read as fast as any other.
    """
    along = [n for n in walk(node.body) if isinstance(n, Read) and node.axes[0].var in variables(*n.indices)]
    return bool(along) and all(
        node.axes[0].var is n.indices[-1] and node.axes[0].var not in variables(*n.indices[:-1])
        for n in along
    )


def _in_blocks(node: Reduce, count: int) -> Expr:
    """The place of the extreme along one axis, by blocks of it.

    p[b] = max(q: x[b*B + q]);  f = the first b of the largest p;  f*B + the first q of the largest x[f*B + q]
    """
    (axis,) = node.axes
    size = max((n for n in range(BLOCK // 2, BLOCK + 1) if count % n == 0), default=BLOCK)
    blocks = Axis(Var("block"), index(0), index(-(-count // size)))
    inside = Axis(replace(axis.var), index(0), index(size))

    def element(block: Expr) -> tuple[Expr, Expr | None]:
        """The element of a block, and the condition that the block has it; None if all blocks are
        full.
        """
        at = add(mul(block, index(size)), inside.var)
        return substitute(node.body, {axis.var: add(axis.lo, at)}), None if count % size == 0 else compare(
            "<", at, index(count)
        )

    def extreme(axes: tuple[Axis, ...], value: Expr, where: Expr | None = None) -> Reduce:
        return Reduce(node.op[3:], axes, value, where, dtype=value.dtype, span=node.span)

    largest = extreme((inside,), *element(blocks.var))
    best = with_fresh_variables(extreme((blocks,), largest))
    few = _place_dtype([blocks.hi], node.body.dtype)
    first = with_fresh_variables(_least(node, (blocks,), largest, best, blocks.var, None, few))
    block = Cast(first, dtype=I64) if few != I64 else first
    value, there = element(block)
    place = _least(
        node, (inside,), value, best, inside.var, there, _place_dtype([inside.hi], node.body.dtype)
    )
    return add(mul(block, index(size)), Cast(with_fresh_variables(place), dtype=I64))


def _place_dtype(extents: Sequence[Expr], value: DType) -> DType:
    """Of a place among all instances of a reduction: a byte where that is known to be enough, else
    the narrowest number that is and that is as wide as the values it is chosen by, so that both
    have as many lanes.
    """
    sizes = [integer(e) for e in extents]
    known = [n for n in sizes if n is not None]
    if len(known) < len(sizes):
        return I64
    wide = [t for t in (U16, U32) if t.bits >= value.bits]
    return next((t for t in (U8, *wide) if prod(known) <= int_range(t)[1]), I64)


def _extents(node: Reduce) -> list[Expr]:
    extents = [sub(a.hi, a.lo) for a in node.axes]
    if {a.var for a in node.axes} & variables(*extents):
        raise CheckError(
            f"{node.op} over ranges that depend on each other is not compiled",
            node.span,
            code="target",
            help="run over all of both, and write the condition after `where`",
        )
    return extents


def index_of(node: Reduce, place: Expr) -> Expr:
    """The index that an argmax asks for, from the place of the extreme."""
    extents = _extents(node)
    place = place if place.dtype == I64 else Cast(place, dtype=I64)
    for extent in extents[node.which + 1 :][::-1]:
        place = FloorDiv(place, extent)
    if node.which > 0:
        place = Mod(place, extents[node.which])
    return Add(place, node.axes[node.which].lo)

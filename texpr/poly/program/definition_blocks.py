"""Tensors whose definitions are blocks beside each other, as written-out loops, phases of a stride
and parts of a concatenation are. That each element has one definition is counted then, and isl is
not asked: blocks that share no element and have as many elements as the tensor cover it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import gcd, prod

from texpr.ir.affine import linear, same_value
from texpr.ir.build import integer
from texpr.ir.expr import Axis, Expr, Var
from texpr.ir.tensor import Equation

Side = range | None
"""Indices of a block in one dimension; None stands for a whole dimension of symbolic size."""


def defines_each_once(definitions: Sequence[Equation]) -> bool:
    """True if equations surely define each element of their tensor once, for all sizes."""
    shape = definitions[0].target.shape
    blocks = [_block(e, shape) for e in definitions]
    found = [b for b in blocks if b is not None and all(side is None or side for side in b)]
    if None in blocks or not found:
        return False
    cut = [d for d in range(len(shape)) if any(b[d] is not None for b in found)]
    if any(b[d] is None for b in found for d in cut):
        return False
    elements = sum(prod(len(b[d]) for d in cut) for b in found)  # type: ignore[arg-type]
    whole = prod(integer(shape[d]) or 0 for d in cut)
    return elements == whole and all(_are_disjoint(a, b) for a, b in combinations(found, 2))


def _block(e: Equation, shape: Sequence[Expr]) -> tuple[Side, ...] | None:
    """The elements that an equation defines, each once and inside of its tensor; None where they are
    not seen to be a block. Each dimension has axes of its own, and no axis is left over.
    """
    if e.where is not None or e.guard is not None or e.update is not None:
        return None
    axes = {a.var: a for a in e.axes}
    sides: list[Side] = []
    for i, n in zip(e.indices, shape):
        if isinstance(i, Var) and i in axes and _is_whole(axes[i], n):
            del axes[i]
            size = integer(n)
            sides.append(None if size is None else range(size))
            continue
        side = _side(i, axes)
        size = integer(n)
        if side is None or size is None or side and not (0 <= side[0] and side[-1] < size):
            return None
        sides.append(side)
    return None if axes else tuple(sides)


def _is_whole(axis: Axis, n: Expr) -> bool:
    return integer(axis.lo) == 0 and same_value(axis.hi, n)


def _side(i: Expr, axes: dict[Var, Axis]) -> Side:
    """The values of an index, each taken once, where they have one distance: those of a number, or of
    axes whose ranges are digits of a number. Its axes are taken out of `axes`.
    """
    found = linear(i)
    first, step, count = found.constant, 1, 1
    for var, factor in sorted(found.terms, key=lambda term: term[1]):
        axis = axes.pop(var, None) if isinstance(var, Var) else None
        lo, hi = (integer(axis.lo), integer(axis.hi)) if axis is not None else (None, None)
        if lo is None or hi is None or factor < 0:
            return None
        first += factor * lo
        if hi - lo != 1:
            if count == 1:
                step = factor
            elif factor != step * count:
                return None
            count *= max(0, hi - lo)
    return range(first, first + step * count, step)


def _are_disjoint(a: tuple[Side, ...], b: tuple[Side, ...]) -> bool:
    """True if two blocks share no element. Dimensions that all blocks have whole say nothing."""
    return any(x is not None and y is not None and _are_apart(x, y) for x, y in zip(a, b))


def _are_apart(x: range, y: range) -> bool:
    """True if two ranges that are not empty share no number: one ends before the other, or their
    numbers have other remainders (one number alone has any distance).
    """
    step = gcd(*[side.step for side in (x, y) if len(side) > 1])
    return x[-1] < y[0] or y[-1] < x[0] or step > 0 and (x[0] - y[0]) % step != 0

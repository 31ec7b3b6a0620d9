"""Reads and reductions in expressions, each with the condition under which it is reached."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.build import add, compare, conjunction, maximum, minimum, neg, select, sub
from texpr.ir.expr import Add, And, Axis, Const, Expr, Guard, Mul, Or, Read, Reduce, Select, Sub, Var, index
from texpr.ir.traverse import children, walk
from texpr.poly.constraints.conversion import Converter
from texpr.poly.constraints.linear_forms import Conjunction, Truth, conjoined
from texpr.support.frozen_dataclass import frozen_by_identity


@frozen_by_identity
class Site:
    """A read or a reduction.

    Attributes:
        condition: when it is evaluated.
        axes: the binders around it, outermost first.
    """

    node: Read | Reduce
    condition: Truth
    axes: tuple[Axis, ...]


_Below = list[tuple[Expr, Truth, tuple[Axis, ...]]]
_COMMON = (Add, Sub, Mul)
"""Most nodes: they are tested first."""


def sites(
    roots: Sequence[Expr], converter: Converter, condition: Truth, axes: tuple[Axis, ...] = ()
) -> list[Site]:
    """The reads and reductions below expressions; `if`s, `and`, `or`, binders and guards
    restrict what is below them.
    """
    found: list[Site] = []
    seen: set[tuple[int, int]] = set()
    number = _ConditionNumbers()
    stack = [(root, condition, axes) for root in reversed(roots)]
    while stack:
        node, condition, axes = stack.pop()
        if isinstance(node, Var | Const) or (key := (id(node), number.of(condition))) in seen:
            continue
        seen.add(key)
        below: _Below
        if isinstance(node, _COMMON):
            stack += [(node.rhs, condition, axes), (node.lhs, condition, axes)]
            continue
        match node:
            case Select(cond, then, orelse):
                holds = converter.assuming(*condition.true).truth(cond)
                below = [
                    (cond, condition, axes),
                    (then, conjoined(condition, holds), axes),
                    (orelse, conjoined(condition, holds.negated), axes),
                ]
            case And(a, b) | Or(a, b):
                decides = converter.assuming(*condition.true).truth(a)
                needed = decides if isinstance(node, And) else decides.negated
                below = [
                    (a, condition, axes),
                    (b, conjoined(condition, needed) if _has_accesses(b) else condition, axes),
                ]
            case Reduce():
                found.append(Site(node, condition, axes))
                below = _below_reduction(node, converter, condition, axes)
            case Read(tensor, indices, guard):
                found.append(Site(node, condition, axes))
                below = [(i, condition, axes) for i in indices]
                if isinstance(guard, Guard) and guard.value is not None:
                    outside = converter.assuming(*condition.true).truth(inside(indices, tensor.shape)).negated
                    below.append((guard.value, conjoined(condition, outside), axes))
            case _:
                below = [(c, condition, axes) for c in children(node) if isinstance(c, Expr)]
        stack += reversed(below)
    return found


class _ConditionNumbers:
    """A number for each condition, the same for equal ones. Hashing a long condition once per
    node below it would take most of the time.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Truth, int]] = {}
        self._equal: dict[tuple[Conjunction, ...], int] = {}

    def of(self, condition: Truth) -> int:
        found = self._known.get(id(condition))
        if found is None:
            found = self._known[id(condition)] = (
                condition,
                self._equal.setdefault(condition.true, len(self._equal)),
            )
        return found[1]


def _has_accesses(e: Expr) -> bool:
    """True if an expression has reads or reductions: conditions are only worth their cost there."""
    return any(isinstance(n, Read | Reduce) for n in walk(e))


def _below_reduction(node: Reduce, converter: Converter, condition: Truth, axes: tuple[Axis, ...]) -> _Below:
    below: _Below = []
    for axis in node.axes:
        below += [(axis.lo, condition, axes), (axis.hi, condition, axes)]
        condition, axes = (
            conjoined(condition, converter.assuming(*condition.true).within(axis.var, axis.lo, axis.hi)),
            (*axes, axis),
        )
    if node.where is None:
        return [*below, (node.body, condition, axes)]
    selected = conjoined(condition, converter.assuming(*condition.true).truth(node.where))
    return [*below, (node.where, condition, axes), (node.body, selected, axes)]


def inside(indices: Sequence[Expr], shape: Sequence[Expr]) -> Expr:
    """The condition that the indices lie in the shape."""
    return conjunction(
        *(c for i, n in zip(indices, shape) for c in (compare("<=", index(0), i), compare("<", i, n)))
    )


def guarded_indices(indices: Sequence[Expr], shape: Sequence[Expr], guard: Guard | None) -> tuple[Expr, ...]:
    """The indices at which `clamp`, `wrap` and `reflect` read for indices outside the shape."""
    mode = guard.mode if guard is not None else ""
    return tuple(_guarded_index(i, n, mode) for i, n in zip(indices, shape))


def _guarded_index(i: Expr, n: Expr, mode: str) -> Expr:
    last = sub(n, index(1))
    match mode:
        case "clamp":
            return maximum(index(0), minimum(i, last))
        case "wrap":
            return select(compare("<", i, index(0)), add(i, n), select(compare("<", i, n), i, sub(i, n)))
        case "reflect":
            return select(
                compare("<", i, index(0)), neg(i), select(compare("<", i, n), i, sub(add(last, last), i))
            )
    return i

"""Sums, and functions of fewer indices than there are where they stand, that equations compute in
several places: an equation computes them once."""

from __future__ import annotations

from collections.abc import Iterator

from texpr.autodiff.cleanup.simplify import Equations
from texpr.autodiff.core.contribution import Scope
from texpr.autodiff.core.interval_bounds import always_defined
from texpr.autodiff.core.names import Names, freshen
from texpr.autodiff.core.primal import storable, store
from texpr.ir.expr import Axis, Call, Expr, Node, Read, Reduce, Select, Tensor, Var
from texpr.ir.tensor import Equation
from texpr.ir.traverse import children, equal, free_variables, rewrite, substitute, tensors
from texpr.support.frozen_dataclass import replace

_Place = tuple[Equation, Call | Reduce, tuple[Axis, ...]]


def without_repeats(equations: Equations, own: set[Tensor], names: Names) -> Equations:
    """The same tensors, with a temporary for every such sum or function that stands in two places.

    Args:
        own: the tensors whose equations may be rewritten; the temporaries join them.
    """
    groups: list[list[_Place]] = []
    for place in (p for e in equations if isinstance(e, Equation) and e.target in own for p in _places(e)):
        group = next((g for g in groups if _same(g[0], place) is not None), None)
        if group is None:
            groups.append([place])
        else:
            group.append(place)
    replaced: dict[tuple[int, int], Expr] = {}
    added: Equations = []
    for group in (g for g in groups if len(g) > 1 and any(_is_invariant(node, axes) for _, node, axes in g)):
        _, node, axes = group[0]
        what = node.function if isinstance(node, Call) else "sum"
        read, equation = store(node, Scope(axes), names, f"{next(iter(tensors(node))).name}_{what}")
        added.append(freshen(equation, names.reserved))
        own.add(read.tensor)
        for place in group:
            values = _same(group[0], place)
            assert values is not None
            replaced[id(place[0]), id(place[1])] = replace(
                read, indices=tuple(substitute(i, values) for i in read.indices)
            )
    return [*added, *(_with(e, replaced) for e in equations)]


def _with(equation: object, replaced: dict[tuple[int, int], Expr]) -> Equation:
    def rule(node: Node) -> Node | None:
        return replaced.get((id(equation), id(node)))

    return rewrite(equation, rule) if any(key == id(equation) for key, _ in replaced) else equation  # type: ignore[return-value]


def _places(equation: Equation) -> Iterator[_Place]:
    """The sums and functions of what is read, once for every use; no function within one that
    stands apart.
    """
    stack: list[tuple[Expr, tuple[Axis, ...]]] = [(equation.value, equation.axes)]
    seen: set[int] = set()
    while stack:
        node, axes = stack.pop()
        if isinstance(node, Call | Reduce) and _is_worth_storing(node, axes):
            yield equation, node, axes
            if isinstance(node, Call) and _is_invariant(node, axes):
                continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        inner = (*axes, *node.axes) if isinstance(node, Reduce) else axes
        below = [] if isinstance(node, Read | Select) else [c for c in children(node) if isinstance(c, Expr)]
        stack += [(c, inner) for c in reversed(below)]


def _is_worth_storing(node: Call | Reduce, axes: tuple[Axis, ...]) -> bool:
    reads = any(t.dtype.is_float for t in tensors(node)) and (isinstance(node, Call) or node.op == "sum")
    return reads and node.dtype.is_float and storable(node, Scope(axes)) and always_defined(node, axes)


def _is_invariant(node: Call | Reduce, axes: tuple[Axis, ...]) -> bool:
    return isinstance(node, Reduce) or not free_variables(node) >= {axis.var for axis in axes}


def _same(place: _Place, other: _Place) -> dict[Var, Expr] | None:
    """The indices of one place in terms of the other's, if both compute the same."""
    used, others = ([a for a in axes if a.var in free_variables(node)] for _, node, axes in (place, other))
    if len(used) != len(others) or type(place[1]) is not type(other[1]):
        return None
    values: dict[Var, Expr] = {a.var: b.var for a, b in zip(used, others)}
    ranges = all(
        a.var.pack == b.var.pack and equal(a.lo, b.lo) and equal(a.hi, b.hi) for a, b in zip(used, others)
    )
    return values if ranges and equal(substitute(place[1], values), other[1]) else None

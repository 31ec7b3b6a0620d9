"""Convolutions of one group of channels, without the dimension that numbers groups.

    Y[n, g, k, x] = sum(c, q: V[n, g, c, x + q | 0] * W[g, k, c, q])   with one g
    Y[n, k, x] = sum(c, q: X[n, c, x + q | 0] * weight[k, c, q])

where `V` and `W` are views of `X` and `weight` with one dimension more.
"""

from __future__ import annotations

from collections.abc import Mapping

from texpr.graph.passes.flatten_calls import shape_of, viewed
from texpr.ir.build import integer
from texpr.ir.expr import Expr, Node, Read, Tensor, index
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import rewrite
from texpr.passes.analysis.substitution import folded
from texpr.support.frozen_dataclass import replace


def views_of(program: Program) -> dict[Tensor, Tensor]:
    """The tensors of a program that are views, and what they are views of."""
    found = {e.target: viewed(e) for e in program.equations if isinstance(e, Equation)}
    return {target: source for target, source in found.items() if source is not None}


def without_group(equation: Equation, views: Mapping[Tensor, Tensor]) -> Equation | None:
    """The equation of a tensor without its second dimension, if that has one element."""
    if len(equation.axes) < 3 or len(equation.indices) != len(equation.axes):
        return None
    n, group, *rest = equation.axes
    if equation.indices[1] is not group.var or integer(group.lo) != 0 or integer(group.hi) != 1:
        return None

    def rule(node: Node) -> Node | None:
        return _without_ones(node, views) if isinstance(node, Read) else None

    value = rewrite(folded(equation.value, {group.var: index(0)}), rule)
    dims = equation.target.dims
    return replace(
        equation,
        target=replace(equation.target, name=f"{equation.target.name}_alone", dims=(dims[0], *dims[2:])),
        indices=(equation.indices[0], *equation.indices[2:]),
        axes=(n, *rest),
        value=value,
    )


def _without_ones(read: Read, views: Mapping[Tensor, Tensor]) -> Read | None:
    """A read of what a tensor is a view of, where the view has dimensions of one element more."""
    source = views.get(read.tensor)
    if source is None:
        return None
    kept: list[Expr] = []
    for place, extent in zip(read.indices, shape_of(read.tensor), strict=True):
        if extent != 1 or integer(place) != 0:
            kept.append(place)
    extents = [e for e in shape_of(read.tensor) if e != 1]
    same = len(kept) == len(source.shape) and extents == [e for e in shape_of(source) if e != 1]
    return replace(read, tensor=source, indices=tuple(kept)) if same else None

"""Where in an equation a value is computed, and what it contributes to a cotangent."""

from __future__ import annotations

from dataclasses import dataclass, replace

from texpr.ir import build
from texpr.ir.expr import Axis, Expr, Guard, Read, Tensor
from texpr.ir.tensor import Equation
from texpr.support.source import Span


@dataclass(frozen=True, slots=True)
class Scope:
    """The instances at which a value is computed.

    Attributes:
        axes: the equation's axes, then the binders of the enclosing reductions, outermost first.
        conditions: what holds there, outermost first; each is defined where those before it hold.
    """

    axes: tuple[Axis, ...]
    conditions: tuple[Expr, ...] = ()

    def when(self, *conditions: Expr) -> Scope:
        return replace(self, conditions=self.conditions + conditions)

    def inside(self, axes: tuple[Axis, ...], where: Expr | None) -> Scope:
        return Scope(self.axes + axes, self.conditions + (() if where is None else (where,)))


def equation_scope(equation: Equation) -> Scope:
    return Scope(equation.axes, () if equation.where is None else (equation.where,))


@dataclass(frozen=True, slots=True)
class Contribution:
    """For all instances of `scope`: the cotangent of `tensor[indices]` grows by `value`.

    Attributes:
        guard: that of the read; instances outside the tensor contribute nothing (`value`) or to the folded index.
        outer: how many of the scope's axes are the equation's own.
    """

    tensor: Tensor
    indices: tuple[Expr, ...]
    guard: Guard | None
    scope: Scope
    value: Expr
    outer: int
    span: Span | None = None


def inside(read: Read) -> Expr:
    """The condition that the read's indices are within its tensor."""
    bounds = ((build.compare("<=", build.literal(0, i.dtype), i), build.compare("<", i, size)) for i, size in zip(read.indices, read.tensor.shape))
    return build.conjunction(*(c for pair in bounds for c in pair))

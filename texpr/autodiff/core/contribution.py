"""Scope of a value in an equation, and its contribution to a cotangent."""

from __future__ import annotations

from collections.abc import Sequence, Set

from texpr.ir import build
from texpr.ir.expr import Axis, Expr, Guard, Read, Tensor, Var, index
from texpr.ir.tensor import Equation
from texpr.support.frozen_dataclass import frozen, replace
from texpr.support.source import Span


@frozen
class Scope:
    """The instances at which a value is computed.

    Attributes:
        axes: the equation's axes, then the binders of the enclosing reductions, outermost first.
        conditions: what holds there, outermost first; each is defined where those before it hold.
    """

    axes: tuple[Axis, ...]
    conditions: tuple[Expr, ...] = ()

    def when(self, *conditions: Expr) -> Scope:
        """The instances at which these hold too."""
        return replace(self, conditions=self.conditions + conditions)

    def inside(self, axes: tuple[Axis, ...], where: Expr | None) -> Scope:
        """The scope of a reduction's body."""
        return Scope(self.axes + axes, self.conditions + (() if where is None else (where,)))


def equation_scope(equation: Equation) -> Scope:
    """The scope of an equation's value."""
    return Scope(equation.axes, () if equation.where is None else (equation.where,))


@frozen
class Contribution:
    """For all instances of `scope`: the cotangent of `tensor[indices]` grows by `value`.

    Attributes:
        guard: that of the read; instances outside the tensor contribute nothing (`value`) or to the
            folded index.
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
    pairs = zip(read.indices, read.tensor.shape)
    return build.conjunction(
        *(c for i, size in pairs for c in (build.compare("<=", index(0), i), build.compare("<", i, size)))
    )


def read_guard(guard: Guard | None, tensor: Tensor) -> Guard | None:
    """The guard of a read of elements written through `guard`: dropped elements are 0."""
    if guard is None or guard.mode != "drop":
        return guard
    return Guard("value", build.literal(0, tensor.dtype))


def stored_value(equation: Equation, folded: Set[Tensor]) -> Read | None:
    """A read of what the equation's whole value is stored in, if it is stored as it is, and stays
    so.

    Args:
        folded: tensors whose elements other values are folded into.
    """
    if equation.target in folded or equation.target.dtype != equation.value.dtype:
        return None
    return Read(equation.target, equation.indices)


def whole(tensor: Tensor, value: Expr) -> Equation:
    """The equation that makes every element of the tensor the same."""
    axes = target_axes(tensor, ())
    return Equation(tensor, tuple(axis.var for axis in axes), axes, value)


def target_axes(tensor: Tensor, reads: Sequence[Contribution]) -> tuple[Axis, ...]:
    """The axes of an equation that defines all of the tensor, named as its reads or its sizes
    are.
    """
    packs = [dim.pack for dim in tensor.dims for _ in dim.sizes]
    axes: list[Axis] = []
    for n, (size, pack) in enumerate(zip(tensor.shape, packs)):
        bare = [
            i.name
            for c in reads
            if isinstance(i := c.indices[n], Var) and any(i is a.var for a in c.scope.axes)
        ]
        name = bare[0] if bare else size.name.lower() if isinstance(size, Var) else "ijklmn"[n % 6]
        axes.append(Axis(Var(name, pack), index(0), size))
    return tuple(axes)

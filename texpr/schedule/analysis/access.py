"""Accesses of a statement: the element that each names, and how it moves with a loop."""

from __future__ import annotations

from dataclasses import dataclass

from texpr.ir.affine import Linear
from texpr.ir.expr import Compare, Expr, Max, Min, Select, Tensor, Var
from texpr.ir.traverse import equal, variables
from texpr.passes.analysis.collapsed_dimensions import joined
from texpr.passes.analysis.row_major import flat_index
from texpr.support.once import once


def unclamped(e: Expr) -> Expr:
    """An index as it is away from the edges."""
    match e:
        case Max(_, Min(inside, _)):
            return inside
        case Select(Compare("<" | ">=", i, _), _, inside) if equal(
            i, inner := unclamped(inside)
        ):  # `wrap` and `reflect`
            return inner
    return e


@dataclass(frozen=True)
class Access:
    """A read or write of `tensor` in the main statement."""

    tensor: Tensor
    indices: tuple[Expr, ...]

    @once
    def place(self) -> Linear:
        """The element in memory, away from the edges."""
        return flat_index(self.tensor, tuple(unclamped(i) for i in self.indices))

    def stride(self, var: Var) -> int | None:
        """Elements between neighbouring iterations of `var`; None where it is not constant."""
        if any(var in variables(t) for t, _ in self.place.terms if t is not var):
            return None
        return self.place.coefficient(var)

    def moving(self, var: Var) -> list[int]:
        """The dimensions of a copy of what is read that move with `var`: those that joined loops
        run through as one are one.
        """
        how = joined(self.tensor, [self.indices])
        return [
            d
            for d, i in enumerate(self.indices if how is None else how.indices(self.indices))
            if var in variables(i)
        ]

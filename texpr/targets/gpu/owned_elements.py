"""Elements of a buffer that one thread alone has."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from texpr.ir.affine import Linear, linear
from texpr.ir.expr import Expr, Tensor, Var
from texpr.ir.traverse import variables


@dataclass(frozen=True, slots=True)
class Own:
    """A thread's part of a buffer.

    Attributes:
        tensor: the part.
        first, step: along each dimension, which of a thread's elements is at 0, and how far apart neighbours are.
        places: of the elements that a thread uses, in the part; others are there for the sake of simple indices, and take no registers.
    """

    tensor: Tensor
    first: tuple[int, ...]
    step: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]

    def local(self, indices: Sequence[Expr], threads: Set[Var]) -> tuple[Expr, ...]:
        """Where an element is in the part; terms that hold an index of a thread say whose it is."""
        forms = (linear(i) for i in indices)
        return tuple(Linear(tuple((t, c // by) for t, c in form.terms if not variables(t) & threads), (form.constant - at) // by).expr()
                     for form, at, by in zip(forms, self.first, self.step))

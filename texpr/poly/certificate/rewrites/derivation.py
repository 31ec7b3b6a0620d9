"""Two programs on the way to being one: what a kernel has to compute, and the equations that its
loops implement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import islpy as isl

from texpr.ir.expr import Cast, Expr, Mul
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.poly.certificate.engine.isl_frame import Parameters
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class Derivation:
    """A specification and an implementation, each with some rewrites applied or undone.

    Attributes:
        specification: the program of the user, or what laws have made of it.
        implementation: the equations of the final loops, or what laws have made of them.
        parameters: sizes and products of sizes, for questions to isl.
        facts: what holds of the sizes in every call.
    """

    specification: Program
    implementation: Program
    parameters: Parameters
    facts: isl.Set

    def specified(self, equations: Iterable[Equation | Invoke]) -> Derivation:
        """Replace the equations of the specification by those that a law makes of them."""
        return replace(self, specification=replace(self.specification, equations=tuple(equations)))

    def implemented(self, equations: Iterable[Equation | Invoke]) -> Derivation:
        """Replace the equations of the implementation by those that a law makes of them."""
        return replace(self, implementation=replace(self.implementation, equations=tuple(equations)))

    def specified_names(self) -> set[str]:
        """The names of the tensors of the specification: any other tensor was made by a rewrite."""
        program = self.specification
        return {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)}


Checker = Callable[[Derivation], tuple[Derivation, Sequence[str]]]
"""Applies or undoes one rewrite, and names the targets of the equations that needed it; raises
`Refuted` if the rewrite is wrong.
"""


def with_counterparts(
    program: Program, other: Program
) -> Iterator[tuple[Equation | Invoke, Equation | None]]:
    """The equations of a program, each with the one that defines the same target in another program: the
    first one with the first one, and so on. None for calls, and where the other program has fewer.
    """
    waiting: dict[str, list[Equation]] = {}
    for e in other.equations:
        if isinstance(e, Equation):
            waiting.setdefault(e.target.name, []).append(e)
    for e in program.equations:
        candidates = waiting.get(e.target.name) if isinstance(e, Equation) else None
        yield e, candidates.pop(0) if candidates else None


def factors_of_floats(term: Expr) -> Iterator[Expr]:
    """The factors of a term, without conversions of floats around them: it is 0 if one of them is, and the
    others are finite. Depth is that of the product.
    """
    match term:
        case Mul(a, b):
            yield from factors_of_floats(a)
            yield from factors_of_floats(b)
        case Cast(a) if term.dtype.is_float and a.dtype.is_float:
            yield from factors_of_floats(a)
        case _:
            yield term

"""Two programs on the way to being one: what a kernel has to compute, and the equations that its
loops implement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import islpy as isl

from texpr.ir.tensor import Equation, Program
from texpr.poly.certificate.engine.isl_frame import Parameters


@dataclass(frozen=True, slots=True)
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

    def specified(self, specification: Program) -> Derivation:
        """Replace the specification by a program that a law makes of it."""
        return replace(self, specification=specification)

    def implemented(self, implementation: Program) -> Derivation:
        """Replace the implementation by a program that a law makes of it."""
        return replace(self, implementation=implementation)

    def specified_names(self) -> set[str]:
        """The names of the tensors of the specification: any other tensor was made by a rewrite."""
        program = self.specification
        return {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)}


Checker = Callable[[Derivation], tuple[Derivation, tuple[str, ...]]]
"""Applies or undoes one rewrite, and names the targets of the equations that needed it; raises
`Refuted` if the rewrite is wrong.
"""


def equations_by_target(program: Program) -> dict[str, list[Equation]]:
    """The equations of each target, in the order of the program."""
    found: dict[str, list[Equation]] = {}
    for e in program.equations:
        if isinstance(e, Equation):
            found.setdefault(e.target.name, []).append(e)
    return found

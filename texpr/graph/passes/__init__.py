"""Passes over captured programs: a visible list, each a function from a program to one with the
same outputs.

`flatten`, `desugar` and `hoist` make equations of calls and are always there from level 1 on; the
others can be left out by name. `TEXPR_PRINT=after:cse` prints the program after one of them,
`after:*` after each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from texpr.autodiff.cleanup.simplify import in_order, without_copies, without_dead, without_duplicates
from texpr.graph.passes.absorb_views import absorb_views, join_sums, reuse
from texpr.graph.passes.drop_guards import drop_guards
from texpr.graph.passes.flatten_calls import flatten
from texpr.graph.passes.fold_constants import fold_constants, known_scalars
from texpr.graph.passes.isolate_reductions import isolate_reductions
from texpr.graph.passes.law_matcher import Law, simplified
from texpr.graph.passes.merge_recurrences import merge_recurrences
from texpr.graph.passes.narrow_sums import narrow_sums
from texpr.ir.expr import Tensor
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Program
from texpr.ir.verifier.program import verify_program
from texpr.passes import desugar, hoist
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen, replace
from texpr.support.instrumentation import run_passes
from texpr.support.late import late, offer_late
from texpr.support.suggest import did_you_mean

if TYPE_CHECKING:
    from texpr.graph.passes import algebraic_laws, gather_updates
    from texpr.graph.passes.algebraic_laws import EXACT, LAWS
else:
    algebraic_laws = late("texpr.graph.passes.algebraic_laws")
    gather_updates = late("texpr.graph.passes.gather_updates")

Pass = Callable[[Program], Program]

__all__ = [
    "EXACT",
    "FUSE",
    "IN_PLACE",
    "LAWS",
    "BATCH",
    "PASSES",
    "SWEEP",
    "PREPACK",
    "WINOGRAD",
    "Law",
    "Stage",
    "apply_laws",
    "check_names",
    "enabled_passes",
    "optimize",
]


@frozen
class Stage:
    """A pass by name.

    Attributes:
        level: of the option `opt`, from which on it runs.
        about: what it does.
        optional: whether it can be left out.
    """

    name: str
    level: int
    about: str
    optional: bool = True


PASSES: tuple[Stage, ...] = (
    Stage("flatten", 1, "calls become equations", False),
    Stage("desugar", 1, "argmax, argmin, any and all become max and min", False),
    Stage("dead", 1, "what no result needs"),
    Stage("constants", 1, "arithmetic on what is known at capture"),
    Stage("sums", 1, "sums in several equations become one"),
    Stage("algebra", 2, "the laws of `LAWS`"),
    Stage("hoist", 1, "reductions get equations of their own", False),
    Stage("padding", 2, "terms that padding makes 0 for every element"),
    Stage("guards", 1, "what reads give outside, where they are inside"),
    Stage("apart", 2, "every reduction gets a tensor of its own", False),
    Stage("updates", 2, "updates at places that a formula says become sums"),
    Stage("copies", 1, "copies of whole tensors"),
    Stage("cse", 2, "equal definitions and recurrences once"),
    Stage("reads", 2, "transposes, slices and broadcasts become indices"),
    Stage("reuse", 2, "conditions are asked of what is stored"),
    Stage("dead_again", 1, "what the others made needless"),
)
"""All passes, in order."""
FUSE = "fuse"
"""The name of operator fusion, which groups the equations that are left; from level 3 on."""
SWEEP = "sweep"
"""The name of what lets results that are computed alike, such as all updates of an optimizer,
share a loop; with fusion.
"""

IN_PLACE = "in_place"
"""The name of what computes tensors in the memory of others that are not needed any more."""
WINOGRAD = "winograd"
"""The name of what computes convolutions with constant weights in tiles, with fewer products; with
fusion."""
BATCH = "batch"
"""The name of what computes a batch in parts, whose tensors stay in a cache; with fusion, where
weights are constant.
"""
PREPACK = "prepack"
"""The name of what lets kernels keep what they compute of constant weights alone; without it a plan has
the kernels that are saved for C.
"""


def check_names(names: Collection[str]) -> None:
    """Refuse names of passes that there are not, or that cannot be left out.

    Raises:
        CallError: such a name.
    """
    known = [s.name for s in PASSES if s.optional] + [FUSE, SWEEP, IN_PLACE, WINOGRAD, BATCH, PREPACK]
    for name in names:
        if name not in known:
            raise CallError(
                f"no pass `{name}` can be left out",
                code="option",
                help=did_you_mean(name, known) or f"there are {', '.join(known)}",
            )


def enabled_passes(level: int, disable: Collection[str]) -> tuple[str, ...]:
    """The names of the passes that run, in order."""
    return tuple(s.name for s in PASSES if s.level <= level and not (s.optional and s.name in disable))


def optimize(
    program: Program,
    constants: Mapping[Tensor, np.ndarray],
    level: int,
    disable: Collection[str] = (),
    reassociate: bool = False,
) -> Program:
    """The program after the passes of a level.

    Args:
        constants: inputs that are the same in every run.
        reassociate: laws that are not exact may be applied.
    Raises:
        CallError: `disable` names no pass.
    """
    check_names(disable)
    scalars = known_scalars(constants)
    table: dict[str, Pass] = {
        "flatten": flatten,
        "desugar": desugar,
        "dead": _dead,
        "constants": partial(fold_constants, scalars=scalars),
        "sums": join_sums,
        "algebra": partial(apply_laws, reassociate=reassociate),
        "hoist": hoist,
        "padding": narrow_sums,
        "guards": drop_guards,
        "apart": isolate_reductions,
        "updates": lambda p: gather_updates.gather_updates(p),
        "copies": _copies,
        "cse": _cse,
        "reads": absorb_views,
        "reuse": reuse,
        "dead_again": _dead,
    }
    steps = [_named(name, table[name]) for name in enabled_passes(level, disable)]
    return run_passes("graph", steps, program, show_program, verify_program)


def _named(name: str, step: Pass) -> Pass:
    def run(program: Program) -> Program:
        return step(program)

    run.__name__ = name
    return run


def _dead(program: Program) -> Program:
    equations = tuple(without_dead(program.equations, program.outputs))
    return program if len(equations) == len(program.equations) else replace(program, equations=equations)


def _copies(program: Program) -> Program:
    equations = without_copies(list(program.equations), set(program.outputs))
    return (
        program
        if len(equations) == len(program.equations)
        else replace(program, equations=tuple(in_order(equations)))
    )


def _cse(program: Program) -> Program:
    equations = without_duplicates(
        merge_recurrences(without_duplicates(list(program.equations), program.outputs), program.outputs),
        program.outputs,
    )
    return (
        program
        if len(equations) == len(program.equations)
        else replace(program, equations=tuple(in_order(equations)))
    )


def apply_laws(program: Program, reassociate: bool) -> Program:
    """The program with all laws applied that may be."""
    return simplified(program, algebraic_laws.LAWS if reassociate else algebraic_laws.EXACT)  # type: ignore[return-value]


offer_late(__name__)

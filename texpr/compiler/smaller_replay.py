"""`replay()` of a refusal at sizes that are too large to interpret, or where random data show
nothing: smaller ones are looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

from texpr.compiler.pass_pipeline import lowered
from texpr.ir.expr import Var
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Program
from texpr.passes import specialize
from texpr.schedule.legality.replay import Replay
from texpr.schedule.script.script import Step
from texpr.support.errors import Error, ScheduleError
from texpr.support.frozen_dataclass import replace

_CAPS = (2, 3, 5, 9, 17, 33, 65, 129, 257)
"""Largest values of the sizes that are tried: one more than usual factors, so that a second tile
begins.
"""


def replay_at_smaller_sizes(
    program: Program,
    sizes: Mapping[Var, int],
    steps: Sequence[Step],
    refused: Step,
    given: Callable[[], object],
) -> Replay:
    """Both results of a step that was refused, at its own sizes or else at the smallest that show a
    difference.

    Args:
        sizes: those that the schedule was made for.
        steps: what was applied before.
        given: runs the step at its own sizes.
    """
    first = given()
    assert isinstance(first, Replay)
    if first.tensor:
        return first
    tried = first.runs
    for smaller in _smaller(program, sizes):
        found = _at(program, smaller, steps, refused)
        if found is not None and found.tensor:
            return replace(found, sizes={v.name: n for v, n in smaller.items()} | found.sizes)
        tried += 0 if found is None else found.runs
    return replace(first, sizes={v.name: n for v, n in sizes.items()} | first.sizes, runs=tried, smaller=True)


def _smaller(program: Program, sizes: Mapping[Var, int]) -> Iterator[dict[Var, int]]:
    """Sizes with a lower cap on one of them, the others at 2, or on all; those that the program
    allows.
    """
    seen = [dict(sizes)]
    for cap, above in product(_CAPS, (*({v} for v in sizes), set(sizes))):
        capped = {v: min(n, cap if v in above else 2) for v, n in sizes.items()}
        if capped not in seen and all(evaluate_size(r, capped) for r in specialize(program, capped).requires):
            seen.append(capped)
            yield capped


def _at(program: Program, sizes: Mapping[Var, int], steps: Sequence[Step], refused: Step) -> Replay | None:
    """The refusal of the step at other sizes; None where it, or one before it, does not apply or is
    legal.
    """
    try:
        kernel = lowered(specialize(program, sizes))
        for step in steps:
            kernel = step.apply(kernel)
    except Error:
        return None
    try:
        refused.apply(kernel)
    except ScheduleError as error:
        try:
            found = error.replay()
        except ScheduleError:
            return None
        return found if isinstance(found, Replay) else None
    except Error:
        return None
    return None

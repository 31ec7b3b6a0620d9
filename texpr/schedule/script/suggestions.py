"""Explanations of refusals in the operator's text, with legal alternatives: each alternative is
tried before it is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, permutations, product
from typing import TypeVar

from texpr.ir.loop import For, Kernel, Store
from texpr.ir.tensor import Equation, Program
from texpr.poly import effort
from texpr.schedule.legality.refusal import About, Refused
from texpr.schedule.script.script import Step
from texpr.schedule.structure.loops import all_loops, find_loops, loops_around, shortest, span_of, stores
from texpr.support.errors import Error, ResourceError, ScheduleError
from texpr.support.source import Span

MOST_TRIED = 24
MOST_EFFORT = 20_000
"""Constraints that may be looked at before the last alternative is tried."""
MOST_SHOWN = 3
SKEWS = (1, 2, -1)

E = TypeVar("E", bound=Error)


def explained(error: E, kernel: Kernel, step: Step, program: Program, place: str) -> E:
    """The error with the number of the step and where it was asked for; with a caret in the
    operator's text and proven alternatives if the step would break a dependence.

    Args:
        kernel: what the step was applied to.
        place: which step of the schedule, called from where.
    """
    if not isinstance(error, ScheduleError) or not isinstance(error.details, Refused | About):
        error.notes = (*error.notes, place)
        return error
    why = error.details
    written = _equation(why.kernel, why.store if isinstance(why, About) else why.conflict.sink[0], program)
    if written is not None and error.span is not None and error.span.source is not written.source:
        error.span = written
        error.notes = (*error.notes, *_second(why, written))
    error.notes = (*error.notes, place)
    if isinstance(why, Refused):
        legal = _proven(kernel, _ALTERNATIVES.get(step.name, _none)(kernel, step))
        help = "legal here: " + ", or ".join(legal) if legal else error.help
        error.help = f"{help}; replay() of this error shows both results"
    return error


def _second(why: Refused | About, written: Span) -> Iterator[str]:
    """The later of two statements as printed now, where the equation that it comes from does not name
    the tensor that both use: a sum becomes several statements, which use an accumulator.
    """
    if isinstance(why, Refused) and why.conflict.source[0] is not why.conflict.sink[0]:
        if not re.search(rf"\b{re.escape(why.conflict.tensor.name)}\b", written.text):
            yield f"second: {span_of(why.kernel, why.conflict.sink[0]).text.strip()}"


def _equation(kernel: Kernel, store: Store, program: Program) -> Span | None:
    """The equation of a statement in the operator's text."""
    same = (s.value.span for s in (store, *stores(kernel)) if s.equation == store.equation)
    value = next((span for span in same if span is not None), None)
    if value is None:
        return None
    spans = (e.span for e in program.equations if isinstance(e, Equation) and e.span is not None)
    return next(
        (s for s in spans if s.source is value.source and s.start <= value.start and value.stop <= s.stop),
        None,
    )


def _proven(kernel: Kernel, candidates: Iterator[tuple[Step, ...]]) -> list[str]:
    """The candidates that are legal, as text; of those that differ in the last number of a skew
    only, the first.
    """
    legal: dict[tuple, str] = {}
    begun = effort()
    for steps in islice(candidates, MOST_TRIED):
        if len(legal) >= MOST_SHOWN or effort() - begun > MOST_EFFORT:
            break
        shape = tuple((s.name, s.args[:2] if s.name == "skew" else s.args) for s in steps)
        if shape not in legal and _applies(kernel, steps):
            legal[shape] = ".".join(map(str, steps))
    return list(legal.values())


def _applies(kernel: Kernel, steps: tuple[Step, ...]) -> bool:
    try:
        for step in steps:
            kernel = step.apply(kernel)
    except (ScheduleError, ResourceError):
        return False
    return True


def _none(kernel: Kernel, step: Step) -> Iterator[tuple[Step, ...]]:
    return iter(())


def _orders(kernel: Kernel, step: Step) -> Iterator[tuple[Step, ...]]:
    """Other orders of the same loops; the same order after a skew."""
    if len(step.args) <= 4:
        for order in permutations(step.args):
            if order != step.args:
                yield (Step("reorder", order),)
    yield from _after_skew(kernel, step, step.args)


def _after_skew(kernel: Kernel, step: Step, names: Sequence[object]) -> Iterator[tuple[Step, ...]]:
    """The same step once one of the loops is skewed by one around it."""
    loops = [find_loops(kernel, name)[0] for name in names]  # type: ignore[arg-type]
    for inner in loops:
        for outer in loops_around(kernel, inner):
            if any(outer is n for n in loops):
                for factor in SKEWS:
                    yield Step("skew", (shortest(kernel, inner), shortest(kernel, outer), factor)), step


def _jammed(kernel: Kernel, step: Step) -> Iterator[tuple[Step, ...]]:
    """The loops inside skewed first; the loop unrolled where it is."""
    outer = find_loops(kernel, step.args[0])[0]  # type: ignore[arg-type]
    for inner in _inside(kernel, outer):
        for factor in SKEWS:
            yield Step("skew", (shortest(kernel, inner), shortest(kernel, outer), factor)), step


def _inside(kernel: Kernel, loop: For) -> list[For]:
    return [n for n in all_loops(kernel) if any(m is loop for m in loops_around(kernel, n))]


def _independent(kernel: Kernel, step: Step) -> Iterator[tuple[Step, ...]]:
    """The reduction given partial results first; on a GPU, its updates atomic; other loops that
    are independent; wavefronts.
    """
    name, *rest = step.args
    for options in ((), (("reassoc", True),)):
        yield Step("rfactor", (name,), options), Step(step.name, (name, *rest), step.options)
    at = find_loops(kernel, name)[0]  # type: ignore[arg-type]
    updated = dict.fromkeys(s.tensor.name for s in stores(at) if s.update is not None)
    for tensor, options in product(updated if step.name == "bind" else (), ((), (("reassoc", True),))):
        yield Step("atomic", (tensor,), options), Step(step.name, (name, *rest), step.options)
    for loop in (*loops_around(kernel, at), *_inside(kernel, at)):
        yield (Step(step.name, (shortest(kernel, loop), *rest), step.options),)
    pairs = [(n, at) for n in loops_around(kernel, at)] + [(at, n) for n in _inside(kernel, at)]
    for outer, inner in pairs:
        o, i = shortest(kernel, outer), shortest(kernel, inner)
        for factor in SKEWS:
            yield (
                Step("skew", (i, o, factor)),
                Step("reorder", (i, o)),
                Step(step.name, (o, *rest), step.options),
            )


def _cuts(kernel: Kernel, step: Step) -> Iterator[tuple[Step, ...]]:
    """Other places to cut the loop at."""
    at = find_loops(kernel, step.args[0])[0]  # type: ignore[arg-type]
    for tensor in dict.fromkeys(s.tensor.name for s in stores(at)):
        yield (Step("fission", (step.args[0], tensor)),)


def _outer(kernel: Kernel, step: Step) -> Iterator[tuple[Step, ...]]:
    """Loops further out."""
    tensor, name = step.args
    at = find_loops(kernel, name)[0]  # type: ignore[arg-type]
    for loop in reversed(loops_around(kernel, at)):
        yield (Step(step.name, (tensor, shortest(kernel, loop)), step.options),)


def _shallower(kernel: Kernel, step: Step) -> Iterator[tuple[Step, ...]]:
    """Fewer buffers."""
    what, *depth = step.args
    most = dict(step.options).get("depth", depth[0] if depth else 2)
    assert isinstance(most, int)
    options = tuple((name, value) for name, value in step.options if name != "depth")
    for fewer in range(most - 1, 1, -1):
        yield (Step("pipeline", (what, fewer), options),)


_ALTERNATIVES: dict[str, Callable[[Kernel, Step], Iterator[tuple[Step, ...]]]] = {
    "reorder": _orders,
    "parallel": _independent,
    "vectorize": _independent,
    "vectorize_scalable": _independent,
    "bind": _independent,
    "compute_at": _outer,
    "tile": lambda kernel, step: _after_skew(kernel, step, step.args),
    "unroll_and_jam": _jammed,
    "fission": _cuts,
    "pipeline": _shallower,
}

"""Search spaces: knobs, and how a choice becomes a schedule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, signature
from math import prod

from texpr.compiler import Schedule
from texpr.schedule.script.script import Step
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen, replace

Point = tuple[int, ...]
"""A choice: per knob the position of its value."""

_FACTORS = (0.25, 0.5, 1.0, 1.5, 2.0, 4.0)
_OPTIONAL = frozenset({"parallel", "compute_at", "inline", "unroll"})
MOST = 1 << 20
"""Iterations of a tile are not more."""


@frozen
class Knob:
    """One choice.

    Attributes:
        values: numbers in order where there is one: neighbours are tried together.
        default: the position of the value that the default schedule has; 0 where there is no
            default.
    """

    name: str
    values: tuple[object, ...]
    default: int = 0


@frozen
class Space:
    """All choices.

    Attributes:
        apply: applies the steps of a choice to a fresh schedule; ScheduleError where it is not
            legal.
    """

    knobs: tuple[Knob, ...]
    apply: Callable[[Schedule, Mapping[str, object]], object]

    @property
    def size(self) -> int:
        """Number of points."""
        return prod(len(k.values) for k in self.knobs)

    @property
    def default(self) -> Point:
        """The point of the default schedule, or the first one."""
        return tuple(k.default for k in self.knobs)

    def values(self, point: Point) -> dict[str, object]:
        """A choice by name."""
        return {k.name: k.values[at] for k, at in zip(self.knobs, point, strict=True)}

    def point(self, number: int) -> Point:
        """The points in some order, counted from 0."""
        found = []
        for knob in reversed(self.knobs):
            number, at = divmod(number, len(knob.values))
            found.append(at)
        return tuple(reversed(found))


def space_of_function(function: object, choices: object) -> Space:
    """The space of a schedule that a Python function makes: `function(schedule, **choice)`.

    Args:
        choices: per parameter the values it may have.
    Raises:
        CallError: no function, or choices that are not those of its parameters.
    """
    if not callable(function):
        raise CallError(
            f"a schedule to tune is a function of a schedule and its parameters, not {function!r:.40}",
            code="space",
        )
    if not isinstance(choices, Mapping) or not choices:
        raise CallError(
            "a function needs `space`: per parameter the values that it may have",
            code="space",
            help='space={"tile": [16, 32, 64]}',
        )
    knobs = tuple(Knob(str(name), _values(str(name), values)) for name, values in choices.items())
    try:
        signature(function).bind(None, **{k.name: None for k in knobs})
    except TypeError as error:
        names = [
            p.name for p in signature(function).parameters.values() if p.kind is not Parameter.VAR_KEYWORD
        ][1:]
        raise CallError(
            f"the space does not fit the function: {error}", code="space", help=f"it has {', '.join(names)}"
        ) from None
    return Space(knobs, lambda schedule, values: function(schedule, **values))


def _values(name: str, values: object) -> tuple[object, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str | bytes) or not values:
        raise CallError(
            f"the values of `{name}` are {values!r:.60}, expected a list with at least one", code="space"
        )
    if not all(isinstance(v, int | float | str | bool) for v in values):
        raise CallError(f"the values of `{name}` are numbers or text", code="space")
    if len(set(map(repr, values))) < len(values):
        raise CallError(f"the values of `{name}` occur twice", code="space")
    return tuple(values)


def space_of_script(steps: Sequence[Step]) -> Space:
    """The space around a schedule: its tile sizes smaller and larger, and some of its steps left
    out.

    A buffer that is laid out in panels is cut by the number of the tile that reads it; both are one
    knob.
    """
    knobs = tuple(_knobs(steps))

    def apply(schedule: Schedule, values: Mapping[str, object]) -> None:
        for step in chosen_steps(steps, values):
            schedule.apply(step)

    return Space(knobs, apply)


def _knobs(steps: Sequence[Step]) -> Iterator[Knob]:
    tied = dict(_ties(steps))
    for number, step in enumerate(steps):
        if step.name == "split" and number not in tied:
            assert isinstance(step.args[1], int)
            values = sorted(
                {max(1, int(step.args[1] * f)) for f in _FACTORS if step.args[1] * f <= MOST} | {step.args[1]}
            )
            yield Knob(_name(number, step), tuple(values), values.index(step.args[1]))
        elif step.name in _OPTIONAL:
            yield Knob(_name(number, step), (False, True), 1)


def _name(number: int, step: Step) -> str:
    return f"{number}.{step.name}({step.args[0] if step.args else ''})"


def _ties(steps: Sequence[Step]) -> Iterator[tuple[int, int]]:
    """Cuts of buffers that have a layout, and the earlier cut whose number they share."""
    laid_out = {str(s.args[0]) for s in steps if s.name == "layout"}
    for number, step in enumerate(steps):
        if step.name == "split" and str(step.args[0]).rpartition(".")[0] in laid_out:
            first = next(
                (k for k, s in enumerate(steps[:number]) if s.name == "split" and s.args[1] == step.args[1]),
                None,
            )
            if first is not None:
                yield number, first


def chosen_steps(steps: Sequence[Step], values: Mapping[str, object]) -> Iterator[Step]:
    """The steps after a choice."""
    tied = dict(_ties(steps))
    cuts: dict[str, tuple[object, object]] = {}
    for number, step in enumerate(steps):
        value = values.get(_name(tied.get(number, number), steps[tied.get(number, number)]))
        match step.name:
            case "split":
                cuts[str(step.args[0])] = step.args[1], value
                yield replace(step, args=(step.args[0], value, *step.args[2:]))
            case "layout":
                yield replace(step, args=(step.args[0], _form(str(step.args[0]), str(step.args[1]), cuts)))
            case name if name not in _OPTIONAL or value:
                yield step


def _form(buffer: str, form: str, cuts: Mapping[str, tuple[object, object]]) -> str:
    """A layout whose panels are as wide as the loops that fill them are cut now."""
    for d, name in enumerate(form.partition("->")[0].split()):
        before, now = cuts.get(f"{buffer}.d{d}", (None, None))
        form = re.sub(rf"(?<=\b{name}[/%]){before}\b", str(now), form)
    return form

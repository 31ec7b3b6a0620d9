"""Cutting texts and schedules down while the same thing still goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TypeVar

from texpr.schedule.script.script import Step
from texpr.support.frozen_dataclass import replace
from texpr.tools.fuzz.cases import Case
from texpr.tools.fuzz.texts import TOKEN

T = TypeVar("T")
_SMALL = 10
"""Numbers below it are tried in place of larger ones."""


def shrunk(text: str, fails: Callable[[str], bool], seconds: float) -> str:
    """The shortest text found within `seconds` for which `fails` still holds: tokens are left
    out, in ever smaller pieces.
    """
    deadline = monotonic() + seconds
    tokens = fewer(TOKEN.findall(text), lambda kept: fails("".join(kept)), deadline)
    return _simpler(tokens, fails, deadline)


def shrunk_case(case: Case, fails: Callable[[Case], bool], seconds: float) -> Case:
    """The smallest schedule found within `seconds` for which `fails` still holds: fewer steps,
    fewer and smaller sizes, less text.
    """
    deadline = monotonic() + seconds
    case = replace(
        case, steps=tuple(fewer(case.steps, lambda kept: fails(replace(case, steps=tuple(kept))), deadline))
    )
    case = replace(
        case, sizes=tuple(fewer(case.sizes, lambda kept: fails(replace(case, sizes=tuple(kept))), deadline))
    )
    for at, (name, value) in enumerate(case.sizes):
        for smaller in range(min(value, _SMALL)):
            candidate = replace(case, sizes=(*case.sizes[:at], (name, smaller), *case.sizes[at + 1 :]))
            if monotonic() < deadline and fails(candidate):
                case = candidate
                break
    lines = fewer(
        case.text.splitlines(keepends=True), lambda kept: fails(replace(case, text="".join(kept))), deadline
    )
    case = replace(case, text="".join(lines))
    case = replace(
        case,
        text=shrunk(
            case.text, lambda text: fails(replace(case, text=text)), max(0.0, deadline - monotonic())
        ),
    )
    return _plainer(case, fails, deadline)


def _plainer(case: Case, fails: Callable[[Case], bool], deadline: float) -> Case:
    """Steps without options, and with smaller numbers."""
    for at, step in enumerate(case.steps):
        candidates = [
            replace(step, options=step.options[:k] + step.options[k + 1 :]) for k in range(len(step.options))
        ]
        candidates += [
            replace(step, args=(*step.args[:k], n, *step.args[k + 1 :]))
            for k, old in enumerate(step.args)
            if isinstance(old, int) and not isinstance(old, bool)
            for n in range(1, min(old, _SMALL))
        ]
        for simple in candidates:
            candidate = _with_step(case, at, simple)
            if monotonic() < deadline and fails(candidate):
                case = candidate
                break
    return case


def _with_step(case: Case, at: int, step: Step) -> Case:
    return replace(case, steps=(*case.steps[:at], step, *case.steps[at + 1 :]))


def fewer(items: Sequence[T], fails: Callable[[list[T]], bool], deadline: float) -> list[T]:
    """As few of the items as were found before the deadline for which `fails` still holds.

    Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, IEEE TSE
    28(2), 2002.
    """
    kept = list(items)
    piece = max(1, len(kept) // 2)
    while piece and monotonic() < deadline:
        at, before = 0, len(kept)
        while at < len(kept) and monotonic() < deadline:
            candidate = kept[:at] + kept[at + piece :]
            if fails(candidate):
                kept = candidate
            else:
                at += piece
        if piece > 1 or len(kept) == before:
            piece //= 2
    return kept


def _simpler(tokens: list[str], fails: Callable[[str], bool], deadline: float) -> str:
    """Short numbers and names in place of long ones."""
    for at, token in enumerate(tokens):
        for simple in (
            ("0", "1", "9" * 20)
            if token[:1].isdigit()
            else ("x",)
            if len(token) > 20
            else (" ",)
            if token.isspace()
            else ()
        ):
            if (
                len(simple) < len(token)
                and monotonic() < deadline
                and fails("".join([*tokens[:at], simple, *tokens[at + 1 :]]))
            ):
                tokens[at] = simple
                break
    return "".join(tokens)

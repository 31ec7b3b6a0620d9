"""The steps of a schedule as methods, one for each step in `schedule.steps.registry`; their
signatures stand in the stub beside this file, which `python scripts/steps.py` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, Self

from texpr.schedule.steps.registry import Rule, rules
from texpr.support.tracebacks import boundary


class StepMethods:
    """A method for each step."""

    def _call(self, rule: Rule, args: Sequence[object], options: Mapping[str, object]) -> Self:
        raise NotImplementedError


def add_method(rule: Rule) -> None:
    """Let schedules have a step as a method, by its name and its older ones."""
    for name in (rule.name, *rule.aliases):
        setattr(StepMethods, name, _method(rule, name))


def _method(rule: Rule, name: str) -> Callable[..., Any]:
    @boundary
    def method(self: StepMethods, *args: object, **options: object) -> StepMethods:
        return self._call(rule, args, options)

    method.__name__, method.__qualname__ = name, f"Schedule.{name}"
    method.__doc__ = rule.function.__doc__ if name == rule.name else f"The same as `{rule.name}`."
    this = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = Signature([this, *rule.signature.parameters.values()])  # type: ignore[attr-defined]
    return method


for _rule in rules().values():
    add_method(_rule)

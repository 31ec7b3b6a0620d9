"""The operators that a command works on, with their sizes and schedules."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path

from texpr.compiler import Op, Schedule, load
from texpr.support.errors import CallError


def chosen_ops(arguments: Namespace) -> list[Op]:
    """The operators that were asked for.

    Raises:
        CallError: the file has no such operator.
    """
    ops, name = vars(load(arguments.file)), arguments.op
    if name is None:
        return list(ops.values())
    if name not in ops:
        raise CallError(
            f"the file has no operator `{name}`", code="arguments", help=f"it has {', '.join(ops)}"
        )
    return [ops[name]]


def options_of(arguments: Namespace, operator: Op, ops: list[Op]) -> dict[str, object]:
    """Sizes, constants and dtype variables by name: of several operators, each takes those that
    stand in its head.

    Raises:
        CallError: an argument is not NAME=VALUE.
    """
    options = dict(_option(text) for text in arguments.sizes)
    elsewhere = {name for other in ops for name in _names(other)} - _names(operator)
    return {name: value for name, value in options.items() if name not in elsewhere}


def _names(operator: Op) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", str(operator.signature)))


def _option(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise CallError(f"`{text}` is not NAME=VALUE", code="arguments")
    for convert in (int, float):
        try:
            return name, convert(value)
        except ValueError:
            continue
    return name, value


def applied(scheduled: Schedule, script: str | None, target: str) -> Schedule:
    """The schedule after the steps of a script file, or after the default steps for the target."""
    if script is None:
        return scheduled.auto(target)
    with open(script, encoding="utf-8") as file:
        return scheduled.replay(file.read(), name=Path(script).name)

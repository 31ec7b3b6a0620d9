"""Lexicographic order of two instances: a system for each loop in which they may differ, and one
for the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from texpr.poly.constraints.linear_forms import Form, variable
from texpr.poly.constraints.solver import Question, System
from texpr.poly.dependence.kernel_model import Statement


def at_level(
    system: System, question: Question, statement: Statement, depth: int, first: int, second: int
) -> System:
    """Equal in the loops above `depth`, and `first` in an earlier iteration of that one."""
    loops = [variable(n.var) for n in statement.loops[: depth + 1]]
    rows = [question.compare(v, second, v, first) for v in loops[:-1]]
    return system.also([*rows, question.compare(loops[-1], second, loops[-1], first, gap=1)])


def in_order(
    system: System, question: Question, first: Statement, second: Statement, copy: int, other: int
) -> Iterator[System]:
    """The ways in which an instance of `first` runs before one of `second`, but those that are
    seen to be impossible.
    """
    times = [(variable(n.var), variable(n.var)) for n in first.loops[: first.common(second)]]
    return in_order_at_times(system, question, times, first.order < second.order, copy, other)


def in_order_at_times(
    system: System,
    question: Question,
    times: Sequence[tuple[Form, Form]],
    in_text: bool,
    copy: int,
    other: int,
) -> Iterator[System]:
    """As `in_order`, of instances whose iterations of the shared loops are `times`; if all are
    equal, the text may decide.
    """
    equal = system
    for one, two in times:
        sooner = equal.also([question.compare(two, other, one, copy, gap=1)])
        if not sooner.is_contradiction:
            yield sooner
        equal = equal.also([question.compare(one, copy, two, other)])
        if equal.is_contradiction:
            return
    if in_text:
        yield equal

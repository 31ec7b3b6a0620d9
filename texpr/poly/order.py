"""Which of two instances runs first, as rows of a question."""

from __future__ import annotations

from collections.abc import Iterator

from texpr.poly.forms import variable
from texpr.poly.nest import Statement
from texpr.poly.solver import Question, Row


def level(question: Question, statement: Statement, depth: int, first: int, second: int) -> list[Row]:
    """Equal in the loops above `depth`, and `first` in an earlier iteration of that one."""
    loops = [variable(n.var) for n in statement.loops[: depth + 1]]
    rows = [question.compare(v, second, v, first) for v in loops[:-1]]
    return [*rows, question.compare(loops[-1], second, loops[-1], first, gap=1)]


def earlier(question: Question, first: Statement, second: Statement, copy: int, other: int) -> Iterator[list[Row]]:
    """The ways in which an instance of `first` runs before one of `second`."""
    common = first.common(second)
    for depth in range(common):
        yield level(question, first, depth, copy, other)
    if first.order < second.order:
        yield [question.compare(variable(n.var), copy, variable(n.var), other) for n in first.loops[:common]]

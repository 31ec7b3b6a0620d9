"""Arithmetic of the language itself: numbers, truth values, texts and arrays, without tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from texpr.nnef.syntax.graph_tree import Binary, Unary
from texpr.support.errors import CheckpointError
from texpr.support.source import Source, Span

MOST_BITS = 4096
"""Of an integer."""
_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def unary(node: Unary, x: Any, source: Source) -> Any:
    """`+x`, `-x`, `!x`.

    Raises:
        CheckpointError: it is not for this value.
    """
    if node.operator == "!" and isinstance(x, bool):
        return not x
    if node.operator != "!" and isinstance(x, int | float) and not isinstance(x, bool):
        return -x if node.operator == "-" else x
    raise _refused(node, source, f"`{node.operator}` of {_kind(x)}")


def binary(node: Binary, x: Any, y: Any, most: int, source: Source) -> Any:
    """An operator between numbers, truth values, texts or arrays. Division of integers rounds
    towards 0.

    Args:
        most: items of an array.
    Raises:
        CheckpointError: it is not for these values, or its result is too large.
    """
    word = node.operator
    if word == "in" and isinstance(y, list | tuple):
        return x in y
    if word in ("&&", "||") and isinstance(x, bool) and isinstance(y, bool):
        return (x and y) if word == "&&" else (x or y)
    if word == "+" and type(x) is type(y) and isinstance(x, list | str):
        if len(x) + len(y) > most:
            raise _refused(node, source, f"an array of more than {most:,} items")
        return x + y
    if word in ("==", "!=") and type(x) is type(y):
        return (x == y) == (word == "==")
    if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in (x, y)):
        raise _refused(node, source, f"`{word}` between {_kind(x)} and {_kind(y)}")
    try:
        found = _arithmetic(word, x, y)
    except (ArithmeticError, ValueError) as error:
        raise _refused(node, source, f"`{word}` fails: {error}") from None
    if found is None or (isinstance(found, int) and found.bit_length() > MOST_BITS):
        raise _refused(node, source, f"an integer of more than {MOST_BITS:,} bits")
    return found


def _arithmetic(word: str, x: Any, y: Any) -> Any:
    if word == "/" and isinstance(x, int) and isinstance(y, int):
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    if word == "/":
        return x / y
    if word == "^":
        whole = isinstance(x, int) and isinstance(y, int)
        if whole and y >= 0 and x.bit_length() * y > MOST_BITS:
            return None
        found = x**y if whole and y >= 0 else float(x) ** y
        if isinstance(found, complex):
            raise ValueError("a root of a negative number")
        return found
    return _NUMBERS[word](x, y)


def repeated(node: Binary, items: list[Any], times: Any, most: int, source: Source) -> list[Any]:
    """`[item] * times`."""
    if isinstance(times, bool) or not isinstance(times, int):
        raise _refused(node, source, f"`*` between an array and {_kind(times)}")
    if len(items) * max(times, 0) > most:
        raise _refused(node, source, f"an array of more than {most:,} items")
    return items * times


def _kind(x: Any) -> str:
    kinds = ((bool, "a logical value"), (int, "an integer"), (float, "a number"), (str, "a text"))
    more = ((list, "an array"), (tuple, "a tuple"))
    return next((word for kind, word in (*kinds, *more) if isinstance(x, kind)), "a tensor")


def _refused(node: Any, source: Source, message: str) -> CheckpointError:
    return CheckpointError(message, Span(source, node.start, node.stop), code="nnef")

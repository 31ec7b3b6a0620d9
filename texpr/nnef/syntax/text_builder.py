"""Nodes and callbacks that both languages have, and the refusal of a text that parses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from lark import Token, Transformer, v_args

MOST_DIGITS = 400
"""Of a number."""


class Refused(Exception):
    """A text that parses and means nothing."""

    def __init__(self, message: str, at: Any, help: str = "") -> None:  # noqa: A002
        super().__init__(message)
        self.message, self.help = message, help
        self.start, self.stop = start_of(at), stop_of(at)


@dataclass(slots=True, eq=False)
class TextNode:
    """A part of a text.

    Attributes:
        start, stop: characters of the source.
        depth: how deep the parts inside of it are nested.
        deepest: the largest depth.
    Raises:
        Refused: it is nested too deep for those who walk through it.
    """

    deepest: ClassVar[int]

    start: int
    stop: int
    depth: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.depth = max(_depth(getattr(self, n)) for n in type(self).__match_args__)
        if self.depth > self.deepest:
            raise Refused(
                f"nesting deeper than {self.deepest}", self, "give parts of the expression names of their own"
            )


def _depth(held: Any) -> int:
    """The depth of a node that has this in a field."""
    if isinstance(held, TextNode):
        return held.depth + 1
    if isinstance(held, dict):
        held = held.values()
    elif not isinstance(held, (list, tuple)):
        return 0
    return max(map(_depth, held), default=0)


class Pair(tuple):
    """A tuple that is no token."""


def start_of(at: Any) -> int:
    """The first character of a token, a node or several."""
    if isinstance(at, Token):
        return at.start_pos or 0
    return start_of(at[0]) if isinstance(at, (list, tuple)) else at.start


def stop_of(at: Any) -> int:
    """The character behind a token, a node or several."""
    if isinstance(at, Token):
        return at.end_pos or 0
    return stop_of(at[-1]) if isinstance(at, (list, tuple)) else at.stop


def nodes_of(parts: Any) -> list[Any]:
    """Parts without tokens."""
    return [p for p in parts if not isinstance(p, Token)]


class TextBuilder(Transformer):
    """Methods for alternatives of a grammar. All tokens are among the arguments."""

    def none(self, *_: Any) -> list[Any]:
        """Nothing, or a token in brackets."""
        return []

    def absent(self, *_: Any) -> None:
        """Nothing, where a part is absent."""

    def first(self, *parts: Any) -> Any:
        """The part that is no token, else the first one."""
        return next(iter(nodes_of(parts)), parts[0])

    def one(self, item: Any) -> list[Any]:
        """A list of one."""
        return [item]

    def append(self, items: list[Any], *more: Any) -> list[Any]:
        """A longer list: behind it a token, or tokens around a part."""
        items.append(next(iter(nodes_of(more)), more[-1]))
        return items


v_args(inline=True)(TextBuilder)  # a decorator hides from pyright that it is a class


def number_of(token: Token, of: type[int] | type[float]) -> int | float:
    """The value of a number.

    Raises:
        Refused: it has too many digits.
    """
    if len(token) > MOST_DIGITS:
        raise Refused(f"a number of {len(token)} characters; {MOST_DIGITS} are read", token)
    return of(token)

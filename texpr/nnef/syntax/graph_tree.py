"""Trees of NNEF's texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from texpr.nnef.syntax.text_builder import TextNode
from texpr.support.source import Source, Span

DEEPEST = 300
"""Nesting depth of expressions."""


class Node(TextNode):
    """A part of an expression."""

    __slots__ = ()

    deepest = DEEPEST


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A number, a truth value or a text."""

    value: bool | int | float | str


@dataclass(slots=True, eq=False)
class Name(Node):
    """A name, of what a body defined before."""

    name: str


@dataclass(slots=True, eq=False)
class Items(Node):
    """An array, or a tuple."""

    items: list[Any]
    is_tuple: bool = False


@dataclass(slots=True, eq=False)
class Subscript(Node):
    """An item of an array."""

    of: Any
    index: Any


@dataclass(slots=True, eq=False)
class Part(Node):
    """Items from one bound to another; None is the first one, or the end."""

    of: Any
    first: Any
    last: Any


@dataclass(slots=True, eq=False)
class Unary(Node):
    """`+`, `-` or `!`."""

    operator: str
    x: Any


@dataclass(slots=True, eq=False)
class Binary(Node):
    """An operator between two operands."""

    operator: str
    x: Any
    y: Any


@dataclass(slots=True, eq=False)
class Choice(Node):
    """`yes if condition else no`."""

    yes: Any
    condition: Any
    no: Any


@dataclass(slots=True, eq=False)
class Comprehension(Node):
    """`[for name in source, ... if condition yield result]`."""

    names: list[str]
    sources: list[Any]
    condition: Any
    result: Any


@dataclass(slots=True, eq=False)
class Call(Node):
    """A call of an operation.

    Attributes:
        generic: the type between `<` and `>`, or nothing.
        named: arguments by name; those by position are in `given`.
    """

    name: str
    generic: str
    given: list[Any]
    named: dict[str, Any]


@dataclass(slots=True, eq=False)
class Assignment:
    """`target = value;`, where a target is a `Name` or `Items` of them."""

    target: Any
    value: Any


@dataclass(slots=True, eq=False)
class Declared:
    """A parameter or a result of a fragment.

    Attributes:
        type: as it is written, without spaces: `tensor<scalar>`, `integer[]`.
        default: an expression, or None.
    """

    name: str
    type: str
    default: Any = None

    @property
    def takes_tensor(self) -> bool:
        """True if tensors are given to it."""
        return "tensor<" in self.type


@dataclass(slots=True, eq=False)
class Fragment:
    """An operation by its declaration, and by other operations where it has a body."""

    name: str
    generic: bool
    parameters: list[Declared]
    results: list[Declared]
    body: list[Assignment] | None
    source: Source

    def bound(self, given: Iterable[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by the names of parameters."""
        return {**dict(zip((p.name for p in self.parameters), given)), **named}


@dataclass(slots=True, eq=False)
class Graph:
    """The graph of a document."""

    name: str
    inputs: list[str]
    outputs: list[str]
    body: list[Assignment]
    span: Span


@dataclass(slots=True, eq=False)
class Document:
    """A whole file.

    Attributes:
        extensions: words of each line `extension ...;`.
    """

    version: str
    extensions: list[list[str]]
    fragments: list[Fragment]
    graph: Graph
    source: Source

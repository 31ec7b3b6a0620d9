"""Trees of SkriptND, the language of NNEF 2.0. Every node knows its characters in the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from texpr.nnef.syntax.text_builder import TextNode
from texpr.support.source import Source, Span

DEEPEST = 100
"""Nesting depth of expressions."""


class Part(TextNode):
    """A part of a text."""

    __slots__ = ()

    deepest = DEEPEST


@dataclass(slots=True, eq=False)
class Value(Part):
    """A number, a truth value or a text."""

    value: bool | int | float | str


@dataclass(slots=True, eq=False)
class Named(Part):
    """A name, with a member such as `.shape` behind it."""

    name: str


@dataclass(slots=True, eq=False)
class ItemList(Part):
    """`[a, b..]`"""

    items: list[Any]


@dataclass(slots=True, eq=False)
class Range(Part):
    """`first:last:step`, where each may be absent."""

    first: Any
    last: Any
    step: Any


@dataclass(slots=True, eq=False)
class Expand(Part):
    """`x..` or `x..(count)`"""

    x: Any
    count: Any


@dataclass(slots=True, eq=False)
class Zip(Part):
    """`(a, b)`, whose items are taken in turn."""

    items: list[Any]


@dataclass(slots=True, eq=False)
class Index(Part):
    """`x[index]`: items of a pack, or a tensor of a pack of tensors."""

    x: Any
    index: Any


@dataclass(slots=True, eq=False)
class Access(Part):
    """`x[i, j..]`: an element of a tensor."""

    x: Any
    indices: list[Any]


@dataclass(slots=True, eq=False)
class Substitute(Part):
    """`x[index] <- value`"""

    x: Any
    index: Any
    value: Any


@dataclass(slots=True, eq=False)
class Prefix(Part):
    """`+`, `-`, `!` or `?` before an operand."""

    operator: str
    x: Any


@dataclass(slots=True, eq=False)
class Infix(Part):
    """An operator between two operands."""

    operator: str
    x: Any
    y: Any


@dataclass(slots=True, eq=False)
class Select(Part):
    """`condition ? yes : no`; `no` may be absent."""

    condition: Any
    yes: Any
    no: Any


@dataclass(slots=True, eq=False)
class Coalesce(Part):
    """`x ?? otherwise`"""

    x: Any
    otherwise: Any


@dataclass(slots=True, eq=False)
class Fold(Part):
    """`x + ..`, or all its steps, `x + ...`."""

    operator: str
    x: Any
    steps: bool


@dataclass(slots=True, eq=False)
class Bounded(Part):
    """`|index|` or `|index <> low : high|`"""

    index: Any
    low: Any
    high: Any


@dataclass(slots=True, eq=False)
class Invocation(Part):
    """`name<types>{attributes}(arguments)`: an operator, a function or a conversion."""

    name: str
    types: list[str]
    attributes: dict[str, Any]
    arguments: list[Any]


@dataclass(slots=True, eq=False)
class Omitted(Part):
    """`~`"""


@dataclass(slots=True, eq=False)
class Extent(Part):
    """A part of a shape.

    Attributes:
        count: of a packed one, how many dimensions; None where it is not said.
        bound: the largest, of one that depends on data.
        spread: each tensor of a pack has its own.
    """

    value: Any
    packed: bool
    count: Any
    bound: Any
    spread: bool = False


@dataclass(slots=True, eq=False)
class Typed(Part):
    """A type with its flags, its shape and its pack.

    Attributes:
        flags: `optional`, `dynamic`.
        shape: None where there are no brackets.
        length: of a pack, where it is said.
    """

    flags: list[str]
    name: str
    rank: Any
    shape: list[Extent] | None
    packed: bool
    length: Any

    @property
    def optional(self) -> bool:
        """It may be absent."""
        return "optional" in self.flags


@dataclass(slots=True, eq=False)
class Parameter(Part):
    """An attribute, an input, an output, a constant or a variable.

    Attributes:
        bounds: of a constant, the indices in its default.
    """

    name: str
    type: Typed
    default: Any
    bounds: list[tuple[str, Any]]


@dataclass(slots=True, eq=False)
class Kind(Part):
    """A type of `@dtype`: what it may be, and its default."""

    name: str
    base: str
    default: str


@dataclass(slots=True, eq=False)
class Using(Part):
    """`target = value;`"""

    target: Any
    value: Any


@dataclass(slots=True, eq=False)
class Assertion(Part):
    """A condition; `shown` holds what is printed where it does not hold."""

    condition: Any
    message: str
    shown: list[Any]


@dataclass(slots=True, eq=False)
class Formula(Part):
    """`target operator value, i < bound, ... | condition;`

    Attributes:
        unrolled: an index and its count.
        named: values that are local to it.
    """

    unrolled: tuple[str, Any] | None
    named: list[tuple[str, Any]]
    target: Any
    operator: str
    value: Any
    bounds: list[tuple[str, Any]]
    condition: Any


@dataclass(slots=True, eq=False)
class Target(Part):
    """A name that a component gives: a tensor, or a pack of them. `type` is None where it is not said."""

    name: str
    packed: bool = False
    items: list[Any] | None = None
    type: Typed | None = None


@dataclass(slots=True, eq=False)
class Step(Part):
    """An invocation, or a value."""

    value: Any


@dataclass(slots=True, eq=False)
class Scope(Part):
    """`{ components yield values; }`"""

    components: list[Component]
    values: list[Any]


@dataclass(slots=True, eq=False)
class Branch(Part):
    """`if condition then yes else no`"""

    condition: Any
    yes: Any
    no: Any


@dataclass(slots=True, eq=False)
class Loop(Part):
    """`with carried for scanned do..(index -> count) body`

    Attributes:
        carried: a name, its type if it is said, and its first value.
        tested: True where a condition ends it.
    """

    carried: list[tuple[str, Typed | None, Any]]
    scanned: list[tuple[str, Any]]
    index: str
    count: Any
    body: Any
    tested: bool


@dataclass(slots=True, eq=False)
class Component(Part):
    """`targets = right;`"""

    targets: list[Any]
    right: Any


@dataclass(slots=True, eq=False)
class Operator(Part):
    """An operator, or a graph.

    Attributes:
        blocks: by their names, without `@`.
        module: the name of its file.
    """

    deepest = DEEPEST + 1  # what stands in it was measured

    name: str
    blocks: dict[str, list[Any]]
    module: str = ""
    source: Source = field(default_factory=lambda: Source("", ""))

    def block(self, name: str) -> list[Any]:
        """A block; empty where there is none."""
        return self.blocks.get(name, [])

    def span(self, part: Part | None = None) -> Span:
        """The place of a part of it."""
        part = part or self
        return Span(self.source, part.start, part.stop)


@dataclass(slots=True, eq=False)
class Module:
    """A file: its operators by name, and the modules that it imports."""

    operators: dict[str, Operator]
    imports: list[str]

"""Values while an operator is made of its definition: terms of the language, tensors, packs, what
must hold of sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from texpr.nnef.skriptnd.size_polynomials import Size, Whole, text_of

ATOM, PRODUCT, SUM, COMPARED, AND, LOOSE = 9, 7, 6, 4, 3, 0
"""Levels of how tight a text holds together."""


@dataclass
class Term:
    """A value that is known when the operator runs: its text in the language.

    Attributes:
        kind: `real`, `int` or `bool`.
        tightness: of the text's outermost operator.
        outside: what it is where a read in it is outside; empty where that is not known.
        source: the tensor, if it is nothing but an element of one.
    """

    text: str
    kind: str
    tightness: int = ATOM
    outside: str = ""
    source: str = ""

    def held(self, tightness: int) -> str:
        """The text, in brackets where it is looser."""
        return self.text if self.tightness >= tightness else f"({self.text})"


@dataclass(eq=False)
class Tensor:
    """A tensor of the text, or a part of one that its first indices choose.

    Attributes:
        kind: `real`, `int` or `bool`.
        prefix: the indices that choose the part.
        value: that all its elements have, of a constant.
        given: True for an input of the operator.
    """

    name: str
    kind: str
    shape: list[Whole]
    prefix: list[Whole] = field(default_factory=list)
    value: Any = None
    given: bool = False


@dataclass(eq=False)
class Stacked:
    """A pack of tensors that are the parts of one along its first dimension, behind its prefix.

    Attributes:
        first, step: item k is the part at `first + step * k`.
    """

    whole: Tensor
    count: Whole
    first: Whole = 0
    step: int = 1

    def item(self, index: Whole) -> Tensor:
        """One tensor."""
        at = self.first + index * self.step
        whole = self.whole
        return Tensor(whole.name, whole.kind, whole.shape[1:], [*whole.prefix, at])

    def reversed(self) -> Stacked:
        """The same tensors, the last one first."""
        return Stacked(self.whole, self.count, self.first + (self.count - 1) * self.step, -self.step)


@dataclass(frozen=True)
class Repeated:
    """A pack of one value, as many times as a size says that is no number."""

    value: Any
    count: Whole


@dataclass(frozen=True)
class Unsure:
    """A comparison of sizes that not all sizes decide alike: `x operator y`."""

    operator: str
    x: Whole
    y: Whole

    def __str__(self) -> str:
        return f"{text_of(self.x)} {self.operator} {text_of(self.y)}"


@dataclass(frozen=True)
class AllOf:
    """Conditions that all must hold."""

    parts: tuple[Any, ...]


@dataclass(frozen=True)
class AnyOf:
    """Conditions of which one must hold."""

    parts: tuple[Any, ...]


@dataclass
class Edge:
    """An index that may be outside: left out there, or another one below and above.

    Attributes:
        low, high: what stands for it; None where the element is left out.
    """

    index: Any
    low: Any = None
    high: Any = None


WHOLE_DIMENSION = object()
"""`:` as an index."""


def is_whole(x: object) -> bool:
    """True for a size or an index."""
    return isinstance(x, Size) or (isinstance(x, int) and not isinstance(x, bool))

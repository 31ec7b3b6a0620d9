"""Sizes and indices as polynomials with whole coefficients, in names and in quotients that no name
divides.

A `Size` is never a constant: arithmetic gives an int where nothing is left of the names. Names are
sizes, which are at least 1, or indices, which are at least 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union


class IndexName(str):
    """The name of an index. Names that are none are sizes."""


Atom = Union[str, "Quotient", "Extreme"]
Whole = Union[int, "Size"]


@dataclass(frozen=True)
class Quotient:
    """`x // y`, rounded down."""

    x: Whole
    y: Whole


@dataclass(frozen=True)
class Extreme:
    """`min(x, y)` or `max(x, y)`."""

    name: str
    x: Whole
    y: Whole


class Size:
    """A polynomial: coefficients by products of atoms, which are sorted by their texts."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[tuple[Atom, ...], int]) -> None:
        self.terms = dict(terms)

    @staticmethod
    def of(name: str) -> Size:
        """A name."""
        return Size({(name,): 1})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __repr__(self) -> str:
        return text_of(self)

    def __add__(self, other: Whole) -> Whole:
        terms = dict(self.terms)
        for product, factor in _terms(other).items():
            terms[product] = terms.get(product, 0) + factor
        return _made(terms)

    __radd__ = __add__

    def __neg__(self) -> Whole:
        return _made({p: -f for p, f in self.terms.items()})

    def __sub__(self, other: Whole) -> Whole:
        return self + -other

    def __rsub__(self, other: Whole) -> Whole:
        return -self + other

    def __mul__(self, other: Whole) -> Whole:
        terms: dict[tuple[Atom, ...], int] = {}
        for p, f in self.terms.items():
            for q, g in _terms(other).items():
                product = tuple(sorted(p + q, key=str))
                terms[product] = terms.get(product, 0) + f * g
        return _made(terms)

    __rmul__ = __mul__

    def names(self) -> set[str]:
        """All names in it."""
        return {n for product in self.terms for atom in product for n in _names(atom)}

    def single(self) -> str | None:
        """The name, if it is nothing else."""
        if len(self.terms) == 1:
            ((product, factor),) = self.terms.items()
            if factor == 1 and len(product) == 1 and isinstance(product[0], str):
                return product[0]
        return None

    def linear(self, name: str) -> tuple[int, int] | None:
        """Factor and rest, if it is `factor * name + rest` with numbers."""
        terms = dict(self.terms)
        rest, factor = terms.pop((), 0), terms.pop((name,), 0)
        return (factor, rest) if factor and not terms else None

    def replaced(self, values: Mapping[str, Whole]) -> Whole:
        """With other sizes in the place of names."""
        return _sum(
            (factor, [_replaced(atom, values) for atom in product]) for product, factor in self.terms.items()
        )


def _sum(terms: object) -> Whole:
    total: Whole = 0
    for factor, atoms in terms:  # type: ignore[attr-defined]
        product: Whole = factor
        for atom in atoms:
            product = product * atom
        total = total + product
    return total


def _replaced(atom: Atom, values: Mapping[str, Whole]) -> Whole:
    if isinstance(atom, str):
        return values.get(atom, Size.of(atom))
    x, y = (replaced(part, values) for part in (atom.x, atom.y))
    return floor_quotient(x, y) if isinstance(atom, Quotient) else extreme(atom.name, x, y)


def replaced(x: Whole, values: Mapping[str, Whole]) -> Whole:
    """A size with other sizes in the place of names."""
    return x.replaced(values) if isinstance(x, Size) else x


def _names(atom: Atom) -> set[str]:
    if isinstance(atom, str):
        return {atom}
    return names_of(atom.x) | names_of(atom.y)


def names_of(x: Whole) -> set[str]:
    """All names in a size."""
    return x.names() if isinstance(x, Size) else set()


def _terms(x: Whole) -> Mapping[tuple[Atom, ...], int]:
    return x.terms if isinstance(x, Size) else {(): x}


def _made(terms: Mapping[tuple[Atom, ...], int]) -> Whole:
    kept = {p: f for p, f in terms.items() if f}
    if all(p == () for p in kept):
        return kept.get((), 0)
    return Size(kept)


def floor_quotient(x: Whole, y: Whole) -> Whole:
    """`x / y`, rounded down. What `y` divides is divided.

    Raises:
        ZeroDivisionError: `y` is 0.
    """
    if isinstance(x, int) and isinstance(y, int):
        return x // y
    if x == y:
        return 1
    whole, rest = _divided(x, y)
    if rest == 0:
        return whole
    if isinstance(rest, int) and isinstance(y, int):
        return whole + rest // y
    return whole + Size({(Quotient(rest, y),): 1})


def _divided(x: Whole, y: Whole) -> tuple[Whole, Whole]:
    """The terms of x that y divides, divided, and the other ones."""
    if len(_terms(y)) != 1:
        return 0, x
    ((product, factor),) = _terms(y).items()
    whole: Whole = 0
    rest: Whole = 0
    for p, f in _terms(x).items():
        left = list(p)
        for atom in product:
            if atom in left:
                left.remove(atom)
            else:
                break
        else:
            if f % factor == 0:
                whole = whole + _made({tuple(left): f // factor})
                continue
        rest = rest + _made({p: f})
    return whole, rest


def ceil_quotient(x: Whole, y: Whole) -> Whole:
    """`x / y`, rounded up."""
    return -floor_quotient(-x, y)


def remainder(x: Whole, y: Whole) -> Whole:
    """`x - y * (x // y)`."""
    return x - y * floor_quotient(x, y)


def extreme(name: str, x: Whole, y: Whole) -> Whole:
    """The `min` or the `max` of two sizes."""
    if isinstance(x, int) and isinstance(y, int):
        return min(x, y) if name == "min" else max(x, y)
    low, high = bounds_of_size(x - y)
    if low is not None and low >= 0:
        return y if name == "min" else x
    if high is not None and high <= 0:
        return x if name == "min" else y
    return Size({(Extreme(name, x, y),): 1})


def bounds_of_size(x: Whole) -> tuple[int | None, int | None]:
    """The least and the largest value for sizes of at least 1; None where there is none or where it
    is not known.
    """
    if isinstance(x, int):
        return x, x
    low: int | None = 0
    high: int | None = 0
    for product, factor in x.terms.items():
        if product == ():
            low, high = _plus(low, factor), _plus(high, factor)
            continue
        least = [_least(atom) for atom in product]
        if None in least:
            return None, None
        change = 0 if 0 in least else factor
        low, high = (_plus(low, change), None) if factor > 0 else (None, _plus(high, change))
    return low, high


def _least(atom: Atom) -> int | None:
    """0 or 1, a number that an atom is at least; None where it may be below."""
    if isinstance(atom, str):
        return 0 if isinstance(atom, IndexName) else 1
    if isinstance(atom, Quotient):
        low, divisor = bounds_of_size(atom.x)[0], bounds_of_size(atom.y)[0]
        return 0 if low is not None and low >= 0 and divisor is not None and divisor > 0 else None
    lows = [bounds_of_size(x)[0] for x in (atom.x, atom.y)]
    return 0 if all(low is not None and low >= 0 for low in lows) else None


def unsteady(x: Whole) -> set[IndexName]:
    """Indices that are multiplied by something else than a number."""
    terms = x.terms if isinstance(x, Size) else {}
    return {a for p in terms if len(p) > 1 for a in p if isinstance(a, IndexName)}


def has_index(x: Whole) -> bool:
    """True if an index is in it."""
    return any(isinstance(n, IndexName) for n in names_of(x))


def _plus(x: int | None, y: int) -> int | None:
    return None if x is None else x + y


def text_of(x: Whole, tight: bool = False) -> str:
    """A size in the language.

    Args:
        tight: it stands beside `*` or behind `-`.
    """
    if isinstance(x, int):
        return f"({x})" if tight and x < 0 else str(x)
    parts = []
    for product, factor in sorted(x.terms.items(), key=lambda term: (term[0] == (), term[1] < 0)):
        atoms = " * ".join(_atom_text(atom) for atom in product)
        size = abs(factor)
        said = atoms if size == 1 and atoms else f"{size} * {atoms}" if atoms else str(size)
        parts.append(("-" if factor < 0 else "+", said))
    (sign, first), *more = parts
    text = (f"-{first}" if sign == "-" else first) + "".join(f" {s} {t}" for s, t in more)
    return f"({text})" if tight and (len(parts) > 1 or sign == "-") else text


def _atom_text(atom: Atom) -> str:
    if isinstance(atom, str):
        return atom
    if isinstance(atom, Quotient):
        divisor = text_of(atom.y, tight=True)
        return f"({text_of(atom.x, tight=True)} // {divisor if ' ' not in divisor else f'({divisor})'})"
    return f"{atom.name}({text_of(atom.x)}, {text_of(atom.y)})"

"""Products as factors: what a derivative is made of, so that it shows what cancels and what
several terms share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from texpr.autodiff.core.algebra import constant, minus, negative, over, plus, times
from texpr.ir.dtypes import DType
from texpr.ir.expr import Add, Const, Div, Expr, Mul, Neg, Sub
from texpr.ir.traverse import equal
from texpr.support.frozen_dataclass import frozen, replace

MOST = 24
"""Terms and factors that are looked at together: long chains stay as they are."""


@frozen
class Product:
    """`coefficient * above... / below...`; a power is a factor several times."""

    coefficient: float
    above: tuple[Expr, ...]
    below: tuple[Expr, ...]
    dtype: DType

    @property
    def size(self) -> int:
        """Number of operations."""
        return len(self.above) + len(self.below) + (abs(self.coefficient) != 1)

    def expr(self) -> Expr:
        """As an expression: the number first, then the factors, then the divisors."""
        number = (
            [] if abs(self.coefficient) == 1 and self.above else [constant(abs(self.coefficient), self.dtype)]
        )
        result: Expr | None = None
        for factor in (*number, *self.above):
            result = factor if result is None else times(result, factor)
        assert result is not None
        for divisor in self.below:
            result = over(result, divisor)
        return negative(result) if self.coefficient < 0 else result

    def split(self, chosen: Callable[[Expr], bool]) -> tuple[Product, Product]:
        """The chosen factors with the number, and the others."""

        def part(want: bool, number: float) -> Product:
            above, below = (
                tuple(f for f in factors if chosen(f) == want) for factors in (self.above, self.below)
            )
            return Product(number, above, below, self.dtype)

        return part(True, self.coefficient), part(False, 1.0)

    def times(self, other: Product) -> Product:
        """The product of both, without what cancels."""
        return _cancelled(
            self.coefficient * other.coefficient,
            (*self.above, *other.above),
            (*self.below, *other.below),
            self.dtype,
        )

    def over(self, other: Product) -> Product:
        """The quotient by some of its own factors."""
        return self.times(Product(1.0 / other.coefficient, other.below, other.above, self.dtype))


def product(e: Expr) -> Product:
    """The factors of a float expression, so far as they are few; one that is no product is its
    own only factor.
    """
    coefficient, above, below = 1.0, [], []
    stack: list[tuple[Expr, bool]] = [(e, True)]
    while stack:
        node, up = stack.pop()
        match node:
            case Mul() | Div() if len(stack) + len(above) + len(below) > MOST:
                (above if up else below).append(node)
            case Neg(operand):
                coefficient = -coefficient
                stack.append((operand, up))
            case Mul(lhs, rhs):
                stack += [(rhs, up), (lhs, up)]
            case Div(lhs, rhs):
                stack += [(rhs, not up), (lhs, up)]
            case Const(value) if value and abs(value) < float("inf"):
                coefficient = coefficient * float(value) if up else coefficient / float(value)
            case _:
                (above if up else below).append(node)
    return _cancelled(coefficient, tuple(above), tuple(below), e.dtype)


def _cancelled(coefficient: float, above: Sequence[Expr], below: Sequence[Expr], dtype: DType) -> Product:
    left, rest = list(above), []
    for divisor in below:
        place = next((n for n, f in enumerate(left) if equal(f, divisor)), None)
        if place is None:
            rest.append(divisor)
        else:
            del left[place]
    return Product(coefficient, tuple(left), tuple(rest), dtype)


def common(products: Sequence[Product]) -> Product:
    """The factors that all have, and a minus if all are negative."""
    sign = -1.0 if all(p.coefficient < 0 for p in products) else 1.0
    first, others = products[0], products[1:]
    above, below = (
        _shared(getattr(first, side), [getattr(p, side) for p in others]) for side in ("above", "below")
    )
    return Product(sign, above, below, first.dtype)


def _shared(factors: Iterable[Expr], others: Sequence[Sequence[Expr]]) -> tuple[Expr, ...]:
    rests = [list(other) for other in others]
    found = []
    for factor in factors:
        places = [next((n for n, f in enumerate(rest) if equal(f, factor)), None) for rest in rests]
        if all(place is not None for place in places):
            found.append(factor)
            for rest, place in zip(rests, places):
                del rest[place]  # type: ignore[arg-type]
    return tuple(found)


def terms(e: Expr) -> list[tuple[int, Expr]]:
    """The terms of a sum or difference in order, with their signs; so far as they are few."""
    found: list[tuple[int, Expr]] = []
    stack = [(1, e)]
    while stack:
        sign, node = stack.pop()
        match node:
            case Add() | Sub() if len(stack) + len(found) > MOST:
                found.append((sign, node))
            case Add(lhs, rhs):
                stack += [(sign, rhs), (sign, lhs)]
            case Sub(lhs, rhs):
                stack += [(-sign, rhs), (sign, lhs)]
            case Neg(Add() | Sub() | Neg() as inner):
                stack.append((-sign, inner))
            case _:
                found.append((sign, node))
    return found


def factored(e: Expr) -> Product | None:
    """A sum as what its terms share times a shorter sum, terms of the same factors together;
    None if there is nothing of both.
    """
    every = [
        replace(p, coefficient=sign * p.coefficient) for sign, term in terms(e) for p in (product(term),)
    ]
    parts = _collected(every)
    shared = common(parts)
    if len(parts) == len(every) and not (shared.above or shared.below):
        return None
    inner: Expr | None = None
    for part in sorted((p.over(shared) for p in parts), key=lambda p: p.coefficient < 0):
        inner = part.expr() if inner is None else _joined(inner, part)
    assert inner is not None
    return shared.times(product(inner)) if len(parts) == 1 else replace(shared, above=(*shared.above, inner))


def _collected(products: Sequence[Product]) -> list[Product]:
    """Products of the same factors as one."""
    found: list[Product] = []
    for p in products:
        place = next((n for n, other in enumerate(found) if _alike(p, other)), None)
        if place is None:
            found.append(p)
        else:
            found[place] = replace(found[place], coefficient=found[place].coefficient + p.coefficient)
    return [p for p in found if p.coefficient] or found[:1]


def _alike(p: Product, other: Product) -> bool:
    return all(
        len(a) == len(b) and len(_shared(a, [b])) == len(a)
        for a, b in ((p.above, other.above), (p.below, other.below))
    )


def _joined(left: Expr, part: Product) -> Expr:
    return (
        minus(left, replace(part, coefficient=-part.coefficient).expr())
        if part.coefficient < 0
        else plus(left, part.expr())
    )

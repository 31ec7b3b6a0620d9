"""Linear normal form of index arithmetic: `sum of coefficient * term + constant`, where a term is a variable or an opaque node."""

from __future__ import annotations

from collections.abc import Iterable

from texpr.ir.build import add, integer, mul, sub
from texpr.ir.expr import Add, Const, Expr, Max, Min, Mul, Neg, Sub, Var, index
from texpr.ir.traverse import identical
from texpr.support.frozen import record


@record
class Linear:
    """`terms` maps variables (and, if any, opaque expressions) to nonzero integer coefficients."""

    terms: tuple[tuple[Expr, int], ...]
    constant: int

    @property
    def variables(self) -> tuple[Var, ...]:
        return tuple(t for t, _ in self.terms if isinstance(t, Var))

    @property
    def is_affine(self) -> bool:
        """Every term is a variable."""
        return all(isinstance(t, Var) for t, _ in self.terms)

    def coefficient(self, var: Var) -> int:
        return next((c for t, c in self.terms if t is var), 0)

    def without(self, *gone: Var) -> Linear:
        return Linear(tuple((t, c) for t, c in self.terms if not any(t is g for g in gone)), self.constant)

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """self + factor * other."""
        terms = list(self.terms)
        for t, c in other.terms:
            _accumulate(terms, t, factor * c)
        return Linear(tuple((t, c) for t, c in terms if c), self.constant + factor * other.constant)

    @property
    def negated(self) -> Linear:
        """-self."""
        return Linear(tuple((t, -c) for t, c in self.terms), -self.constant)

    def expr(self) -> Expr:
        """As an expression again: positive terms first, the constant if there are none, else last."""
        if all(c < 0 for _, c in self.terms):
            return self._from(index(self.constant), self.terms)
        (first, c), *others = sorted(self.terms, key=lambda tc: tc[1] < 0)
        return add(self._from(mul(first, index(c)), others), index(self.constant))

    @staticmethod
    def _from(result: Expr, terms: Iterable[tuple[Expr, int]]) -> Expr:
        for t, c in terms:
            result = add(result, mul(t, index(c))) if c > 0 else sub(result, mul(t, index(-c)))
        return result


def linear(e: Expr) -> Linear:
    """The normal form of an integer expression. Products of two terms, //, %, min, max, reads and so on are opaque terms."""
    return linear_sum([(e, 1)])


def linear_sum(parts: Iterable[tuple[Expr, int]]) -> Linear:
    """The normal form of a sum of integer expressions, each times a number."""
    terms: list[tuple[Expr, int]] = []
    constant = 0
    stack = list(parts)[::-1]
    while stack:
        node, factor = stack.pop()
        if isinstance(node, Const):
            constant += factor * int(node.value)
        elif isinstance(node, Add):
            stack += [(node.rhs, factor), (node.lhs, factor)]
        elif isinstance(node, Sub):
            stack += [(node.rhs, -factor), (node.lhs, factor)]
        elif isinstance(node, Neg):
            stack.append((node.operand, -factor))
        elif isinstance(node, Mul) and (c := integer(node.rhs)) is not None:
            stack.append((node.lhs, factor * c))
        elif isinstance(node, Mul) and (c := integer(node.lhs)) is not None:
            stack.append((node.rhs, factor * c))
        else:
            _accumulate(terms, node, factor)
    return Linear(tuple((t, c) for t, c in terms if c != 0), constant)


def _accumulate(terms: list[tuple[Expr, int]], term: Expr, factor: int) -> None:
    for k, (t, c) in enumerate(terms):
        if t is term or (not isinstance(t, Var) and identical(t, term)):
            terms[k] = (t, c + factor)
            return
    terms.append((term, factor))


def same_value(a: Expr, b: Expr) -> bool:
    """Whether two integer expressions are equal for all values of their variables, as far as linear arithmetic shows."""
    difference = linear(Sub(a, b))
    return not difference.terms and difference.constant == 0


def ceiling(extent: Expr) -> int | None:
    """A constant that an extent never exceeds: its own, or that of the tile it is clipped from; None if it names none."""
    match extent:
        case Min(a, b):
            return min((n for n in (ceiling(a), ceiling(b)) if n is not None), default=None)
        case Max(Const(least), b):
            longest = ceiling(b)
            return None if longest is None else max(int(least), longest)
    return integer(extent)

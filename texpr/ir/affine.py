"""Linear normal form of index arithmetic: `sum of coefficient * term + constant`, where a term
is a variable or an opaque node.
"""

from __future__ import annotations

from collections.abc import Iterable

from texpr.ir.build import add, integer, mul, sub
from texpr.ir.expr import Add, Const, Expr, Max, Min, Mul, Neg, Sub, Var, index
from texpr.ir.traverse import identical
from texpr.support.frozen_dataclass import record


@record
class Linear:
    """`terms` maps variables (and, if any, opaque expressions) to nonzero integer coefficients."""

    terms: tuple[tuple[Expr, int], ...]
    constant: int

    @property
    def variables(self) -> tuple[Var, ...]:
        return tuple([t for t, _ in self.terms if isinstance(t, Var)])

    @property
    def is_affine(self) -> bool:
        """Every term is a variable."""
        for t, _ in self.terms:
            if not isinstance(t, Var):
                return False
        return True

    def coefficient(self, var: Var) -> int:
        for t, c in self.terms:  # asked of every sum
            if t is var:
                return c
        return 0

    def without(self, *gone: Var) -> Linear:
        return Linear(tuple([term for term in self.terms if term[0] not in gone]), self.constant)

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """self + factor * other."""
        terms = dict(self.terms)
        for t, c in other.terms:
            _accumulate(terms, t, factor * c)
        return _collected(terms, self.constant + factor * other.constant)

    @property
    def negated(self) -> Linear:
        """-self."""
        return Linear(tuple([(t, -c) for t, c in self.terms]), -self.constant)

    def expr(self) -> Expr:
        """As an expression again: positive terms first, the constant if there are none, else
        last.
        """
        terms = self.terms
        if all([c < 0 for _, c in terms]):
            return self._from(index(self.constant), terms)
        (first, c), *others = terms if len(terms) == 1 else sorted(terms, key=lambda tc: tc[1] < 0)
        result = self._from(_times(first, c), others)
        return add(result, index(self.constant)) if self.constant else result

    @staticmethod
    def _from(result: Expr, terms: Iterable[tuple[Expr, int]]) -> Expr:
        for t, c in terms:
            result = add(result, _times(t, c)) if c > 0 else sub(result, _times(t, -c))
        return result


def _times(term: Expr, c: int) -> Expr:
    return term if c == 1 else mul(term, index(c))


def is_in_order(e: Expr) -> bool:
    """True if `linear(e).expr()` is seen to give `e` again: a sum of positive multiples of
    different variables, a positive number last.
    """
    if type(e) is Add and type(e.rhs) is Const and e.rhs.value > 0:
        e = e.lhs
    seen: set[Expr] = set()
    while True:
        term = e.rhs if type(e) is Add else e
        if type(term) is Mul and type(term.rhs) is Const and term.rhs.value > 1:
            term = term.lhs
        if type(term) is not Var or term in seen:
            return False
        if type(e) is not Add:
            return True
        seen.add(term)
        e = e.lhs


def linear(e: Expr) -> Linear:
    """The normal form of an integer expression. Products of two terms, //, %, min, max, reads
    and so on are opaque terms.
    """
    return linear_sum([(e, 1)])


def linear_sum(parts: Iterable[tuple[Expr, int]]) -> Linear:
    """The normal form of a sum of integer expressions, each times a number."""
    terms: dict[Expr, int] = {}
    constant = 0
    stack = list(parts)[::-1]
    while stack:
        node, factor = stack.pop()
        kind = type(node)
        if kind is Var:
            terms[node] = terms.get(node, 0) + factor
        elif kind is Const:
            constant += factor * int(node.value)  # type: ignore[attr-defined]
        elif kind is Add:
            stack += [(node.rhs, factor), (node.lhs, factor)]  # type: ignore[attr-defined]
        elif kind is Sub:
            stack += [(node.rhs, -factor), (node.lhs, factor)]  # type: ignore[attr-defined]
        elif kind is Neg:
            stack.append((node.operand, -factor))  # type: ignore[attr-defined]
        elif isinstance(node, Mul) and (c := integer(node.rhs)) is not None:
            stack.append((node.lhs, factor * c))
        elif isinstance(node, Mul) and (c := integer(node.lhs)) is not None:
            stack.append((node.rhs, factor * c))
        else:
            _accumulate(terms, node, factor)
    return _collected(terms, constant)


def _collected(terms: dict[Expr, int], constant: int) -> Linear:
    return Linear(tuple([term for term in terms.items() if term[1]]), constant)


def _accumulate(terms: dict[Expr, int], term: Expr, factor: int) -> None:
    """Add a term to a sum; one that is the same expression counts as it."""
    kind = type(term)
    if term not in terms and kind is not Var:
        term = next((t for t in terms if type(t) is kind and identical(t, term)), term)
    terms[term] = terms.get(term, 0) + factor


def same_value(a: Expr, b: Expr) -> bool:
    """True if two integer expressions are equal for all values of their variables, as far as linear
    arithmetic shows.
    """
    difference = linear(Sub(a, b))
    return not difference.terms and difference.constant == 0


def ceiling(extent: Expr) -> int | None:
    """A constant that an extent never exceeds: its own, or that of the tile it is clipped from;
    None if it names none.
    """
    match extent:
        case Min(a, b):
            return min((n for n in (ceiling(a), ceiling(b)) if n is not None), default=None)
        case Max(Const(least), b):
            longest = ceiling(b)
            return None if longest is None else max(int(least), longest)
        case Sub(a, Max(Const(least), _)):
            longest = ceiling(a)
            return None if longest is None else longest - int(least)
    return integer(extent)

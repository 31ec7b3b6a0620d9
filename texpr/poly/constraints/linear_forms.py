"""Linear forms over variables and unknowns, constraints on them, and disjunctions of conjunctions
of constraints.

Everything made of these over-approximates: a condition that is not affine holds or fails freely, a
value that is not affine is an unknown within what is known of it. So "these constraints have no
solution" is always a proof. `exact` says that nothing was lost. A proof makes thousands of these,
so they are tuples, which take half the time of frozen data classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from texpr.ir.expr import Expr, Var, index
from texpr.support.frozen_dataclass import frozen_by_identity

CASES_LIMIT = 32
"""More cases than this are given up: the value or the condition counts as unknown."""
MOST_COMBINED = 1024
"""Number of combined cases that are tried: where one comparison stands in both conditions, most of
them exclude each other.
"""


@frozen_by_identity
class Unknown:
    """An integer that is not a variable of the program.

    Attributes:
        opaque: nothing but bounds is known of it (a value of data); else its constraints define it
            (a quotient).
        shared: the same for all instances, because it depends on sizes and rank-0 inputs alone.
        node: the expression it stands for.
        of: the form and the number whose quotient it is, if it is one.
    """

    opaque: bool
    shared: bool
    node: Expr
    of: tuple[Form, int] | None = None


Key = Var | Unknown


def is_parameter(key: Key) -> bool:
    """True if a key that all instances share can have any value, rather than one its constraints
    give.
    """
    return isinstance(key, Var) or key.opaque


class Form(NamedTuple):
    """`sum of coefficient * key + constant`, keys in order of appearance."""

    terms: tuple[tuple[Key, int], ...] = ()
    constant: int = 0

    def plus(self, other: Form, factor: int = 1) -> Form:
        """self + factor * other."""
        terms = dict(self.terms)
        for key, c in other.terms:
            terms[key] = terms.get(key, 0) + factor * c
        return Form(tuple([(k, c) for k, c in terms.items() if c]), self.constant + factor * other.constant)

    def times(self, factor: int) -> Form:
        """factor * self."""
        return Form(tuple([(k, c * factor) for k, c in self.terms]) if factor else (), self.constant * factor)

    def below(self, end: int) -> Form:
        """end - self."""
        return Form(tuple([(k, -c) for k, c in self.terms]), end - self.constant)

    def shifted(self, by: int) -> Form:
        """self + by."""
        return Form(self.terms, self.constant + by)

    def over(self, values: Mapping[Key, Form]) -> Form:
        """The form with forms substituted for some keys, in their places: other names do not change
        the order.
        """
        if not any([k in values for k, _ in self.terms]):
            return self
        terms: dict[Key, int] = {}
        constant = self.constant
        for key, c in self.terms:
            value = values.get(key)
            for k, n in ((key, 1),) if value is None else value.terms:
                terms[k] = terms.get(k, 0) + c * n
            constant += 0 if value is None else c * value.constant
        return Form(tuple([(k, c) for k, c in terms.items() if c]), constant)

    @property
    def opaque(self) -> bool:
        """True if a value of data is part of the form, so that it can be anything within its
        bounds.
        """
        for k, _ in self.terms:  # asked of every form
            if type(k) is Unknown and k.opaque and not k.shared:
                return True
        return False


def fresh(count: int) -> list[Unknown]:
    """Fresh keys for numbers that are no variables, such as the indices of an element."""
    return [Unknown(False, True, index(k)) for k in range(count)]


class Constraint(NamedTuple):
    """`form == 0` or `form >= 0`."""

    form: Form
    equality: bool = False

    def opposites(self) -> Iterator[Constraint]:
        """The constraints of which one holds if this one does not."""
        yield Constraint(self.form.below(-1))
        if self.equality:
            yield Constraint(self.form.shifted(-1))


Conjunction = tuple[Constraint, ...]
"""A conjunction."""


class Values(NamedTuple):
    """The cases of an integer expression: constraints, and the form that it has under them."""

    cases: tuple[tuple[Conjunction, Form], ...]
    exact: bool = True


class Truth(NamedTuple):
    """The truth of a condition: when it can be true and when it can be false, as disjunctions."""

    true: tuple[Conjunction, ...]
    false: tuple[Conjunction, ...]
    exact: bool = True

    @property
    def negated(self) -> Truth:
        """The opposite condition."""
        return Truth(self.false, self.true, self.exact)


ANYTHING = Truth(((),), ((),), exact=False)
ALWAYS = Truth(((),), ())


def at_least(lhs: Form, rhs: Form) -> Constraint:
    """lhs >= rhs."""
    return Constraint(lhs.plus(rhs, -1))


def below(lhs: Form, rhs: Form) -> Constraint:
    """lhs < rhs."""
    return Constraint(rhs.plus(lhs, -1).shifted(-1))


def same(lhs: Form, rhs: Form) -> Constraint:
    """lhs == rhs."""
    return Constraint(lhs.plus(rhs, -1), equality=True)


def variable(key: Key) -> Form:
    """The key itself."""
    return Form(((key, 1),))


def both(left: tuple[Conjunction, ...], right: tuple[Conjunction, ...]) -> tuple[Conjunction, ...]:
    """The conjunction of two disjunctions."""
    return tuple([p + q for p in left for q in right])


def conjoined(a: Truth, b: Truth) -> Truth:
    """The conjunction of two conditions; one of them alone if both have too many cases."""
    count = len(a.true) * len(b.true)
    if count <= CASES_LIMIT:
        return Truth(both(a.true, b.true), a.false + b.false, a.exact and b.exact)
    possible = _possible(a.true, b.true) if count <= MOST_COMBINED else None
    if possible is not None and len(possible) <= CASES_LIMIT:
        return Truth(possible, a.false + b.false, a.exact and b.exact)
    smaller = min(a, b, key=lambda t: len(t.true))
    return Truth(smaller.true, ((),), exact=False)


def _possible(left: tuple[Conjunction, ...], right: tuple[Conjunction, ...]) -> tuple[Conjunction, ...]:
    """The conjunction of two disjunctions, without cases that cannot be: sizes that are compared
    in both have to be compared alike.
    """
    distinct = dict.fromkeys(tuple(dict.fromkeys(p)) for p in both(left, right))
    return tuple([p for p in distinct if not is_contradiction(p)])


def defining(quotient: Unknown) -> Conjunction:
    """The constraints that define a quotient: x // c is the q with 0 <= x - c*q < |c| or, for c
    below 0, c < x - c*q <= 0.
    """
    assert quotient.of is not None
    x, c = quotient.of
    rest = x.plus(variable(quotient), -c)
    inside = rest if c > 0 else rest.times(-1)
    return Constraint(inside), below(inside, Form((), abs(c)))


def is_contradiction(piece: Conjunction) -> bool:
    """True if two bounds of one sum exclude each other, seen without solving."""
    least: dict[frozenset[tuple[Key, int]], int] = {}
    for form, equality in piece:
        if equality:
            continue
        other = least.get(frozenset([(k, -c) for k, c in form.terms]), 0 if not form.terms else None)
        if other is not None and other + form.constant < 0:
            return True
        terms = frozenset(form.terms)
        least[terms] = min(form.constant, least.get(terms, form.constant))
    return False


def is_exact(piece: Conjunction) -> bool:
    """True if no constraint is about a value with bounds only."""
    return not any([c.form.opaque for c in piece])

"""Dependences of two statements: pairs of instances that use one element, and their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce

import islpy as isl

from texpr.ir.affine import Linear, linear
from texpr.ir.build import compare, conjunction, disjunction
from texpr.ir.expr import Expr, Read, Tensor, Var, index
from texpr.ir.traverse import substitute, tensors, variables, walk
from texpr.poly.certificate.engine.isl_frame import Frame, find_equal
from texpr.poly.certificate.engine.statement_extraction import Statement
from texpr.support.frozen_dataclass import node, record

_SET = isl.dim_type.set


@node
class Access:
    """A use of an element by the instances of a statement.

    Attributes:
        place: the loops around the allocation, then the indices: two uses of one element are equal
            in all of these.
        when: a further condition, or None.
    """

    statement: Statement
    place: tuple[Expr, ...]
    writes: bool
    when: isl.Set | None = None

    def domain(self, facts: isl.Set) -> isl.Set:
        frame, inside = self.statement.frame, self.statement.domain(facts)
        if (
            frame.parameters.no_wrap
        ):  # Then more is known of sums on data, which may say which element or which term it is.
            terms = (
                e
                for e in self.statement.at
                if all(v in frame.position or v in frame.parameters.position for v in variables(e))
            )
            known = frame.bounds(variables(*map(frame.abstract, (*self.place, *terms))))
            inside = frame.lift(inside) & frame.holds(known)
        for fact in distinct_facts(frame, frame.atoms):
            inside = frame.lift(inside) & frame.holds(fact)
        return inside if self.when is None else inside & self.statement.frame.lift(self.when)


@record
class Order:
    """An order of two instances: equal in the first `equal` loops, then compared by `sign` in
    the next one, or by the text if None.
    """

    equal: int
    sign: str | None


class InstancePair:
    """Pairs of instances of two accesses that are equal in the first `shared` loops."""

    def __init__(
        self,
        a: Access,
        b: Access,
        shared: int,
        facts: isl.Set,
        frame: Frame | None = None,
        domain: isl.Set | None = None,
    ) -> None:
        first, second = frame or a.statement.frame, b.statement.frame
        inside, other = domain if domain is not None else a.domain(facts), b.domain(facts)
        self.renamed: dict[Var, Expr] = {v: Var(v.name) for v in second.variables[shared:]}
        ranges = {
            **first.ranges,
            **{self.renamed[v]: r for v, r in second.ranges.items() if v in self.renamed},
        }
        self.frame = Frame(first.parameters, [*first.variables, *self.renamed.values()], ranges)  # type: ignore[list-item]
        self.count = len(first.variables)
        # The data of both are known by their columns: a new one would be free of what decides
        # whether they meet.
        self.frame.atoms += [*first.atoms, *((self.second(t), self.second(v)) for t, v in second.atoms)]  # type: ignore[list-item]
        here = inside.add_dims(_SET, len(self.renamed))
        self.domain = here & other.insert_dims(_SET, shared, self.count - shared)
        for fact in (*self._same_data(first, second), *_distinct_pair_facts(self.frame, len(first.atoms))):
            self.domain = self.domain & self.frame.holds(fact)

    def _same_data(self, first: Frame, second: Frame) -> Iterator[Expr]:
        """Elements of inputs at one place have one value in both accesses, where it is seen that it
        is one: the shared loops decide it, or the instances do.
        """
        known = dict(self.renamed)
        for term, var in second.atoms if first.atoms else ():
            there = substitute(term, known)
            if not all(t in self.frame.parameters.inputs for t in tensors(there)):
                continue
            mine = find_equal(first.atoms, there) or next(
                (v for t, v in first.atoms if self._is_same_element(t, there)), None
            )
            if mine is not None:
                yield compare("==", mine, known[var])
                known[var] = mine

    def _is_same_element(self, here: Expr, there: Expr) -> bool:
        """True if two elements are one in all pairs."""
        match here, there:
            case Read(tensor, indices), Read(same, others) if tensor is same:
                unequal = (compare(sign, i, j) for i, j in zip(indices, others) for sign in ("<", ">"))
                return all((self.domain & self.frame.holds(c)).is_empty() for c in unequal)
        return False

    def second(self, e: Expr) -> Expr:
        """Rename the variables of an expression of the second access to its columns."""
        return substitute(e, self.renamed)

    def also(self, *conditions: Expr) -> isl.Set:
        """The pairs for which the conditions hold as well."""
        found = self.domain
        for c in conditions:
            found = found & self.frame.holds(c)
        return found

    def project_to_first(self, pairs: isl.Set) -> isl.Set:
        """Project pairs to the instances of the first access."""
        return pairs.project_out(_SET, self.count, len(self.frame.variables) - self.count)


def distinct_facts(frame: Frame, atoms: Sequence[tuple[Expr, Expr]]) -> Iterator[Expr]:
    """Facts about elements of inputs with distinct rows, of one access: values are equal where
    places are, and elsewhere in a row they are not. Pairs of accesses are without those that are
    not so, and what is left of an access has to be, too.

    Args:
        atoms: elements, each with its value.
    """
    for k, (mine, value) in enumerate(atoms):
        for theirs, other in atoms[:k]:
            match mine, theirs:
                case Read(tensor, indices), Read(same, others) if tensor is same and _has_distinct(
                    frame, tensor
                ):
                    if not any(isinstance(n, Read) for i in (*indices, *others) for n in walk(i)):
                        unequal = (compare("!=", i, j) for i, j in zip(indices, others))
                        yield reduce(disjunction, unequal, compare("==", value, other))
                        yield _distinct(frame, tensor, (value, *indices), (other, *others))


def _has_distinct(frame: Frame, tensor: Tensor) -> bool:
    return tensor.distinct and tensor in frame.parameters.inputs


def _distinct(frame: Frame, tensor: Tensor, mine: Sequence[Expr], theirs: Sequence[Expr]) -> Expr:
    """The fact that in one row a value is of one element, if both elements exist. Each is given
    as a value and its indices.
    """
    (*pairs, last) = zip(mine, theirs)
    fact = reduce(disjunction, (compare("!=", *pair) for pair in pairs), compare("==", *last))
    for i, n in zip((*mine[1:], *theirs[1:]), 2 * tensor.shape):  # nothing is known of what does not exist
        fact = disjunction(fact, disjunction(compare("<", i, index(0)), compare(">=", i, frame.abstract(n))))
    return fact


def _distinct_pair_facts(frame: Frame, count: int) -> Iterator[Expr]:
    """Facts about two elements of inputs with distinct rows; the first `count` atoms are of the
    first access.
    """
    for mine, value in frame.atoms[:count]:
        for theirs, other in frame.atoms[count:]:
            match mine, theirs:
                case Read(tensor, indices), Read(same, others) if tensor is same and _has_distinct(
                    frame, tensor
                ):
                    yield _distinct(frame, tensor, (value, *indices), (other, *others))


def same_element(pair: InstancePair, a: Access, b: Access) -> Expr:
    """The condition that both accesses are of one element."""
    return conjunction(*(compare("==", x, pair.second(y)) for x, y in zip(a.place, b.place)))


def without_equal_writes(pair: InstancePair, a: Access, b: Access, pairs: isl.Set) -> isl.Set:
    """The pairs without those that write one instance of one equation: either order leaves the
    same value.
    """
    s, t = a.statement, b.statement
    if (
        not (a.writes and b.writes)
        or s.store.update
        or t.store.update
        or s.store.equation != t.store.equation
        or not s.at
    ):
        return pairs
    mine, theirs = map(s.frame.abstract, s.at), map(t.frame.abstract, t.at)
    return pairs.subtract(
        pair.frame.holds(conjunction(*(compare("==", x, pair.second(y)) for x, y in zip(mine, theirs))))
    )


def possible_orders(a: Statement, b: Statement) -> Iterator[Order]:
    """The orders in which an instance of `b` comes after one of `a`."""
    common = a.common_depth(b)
    if a.order < b.order:
        yield Order(common, None)
    for k in reversed(range(common)):
        yield Order(k, "<")


def dependence_in_order(
    a: Access, b: Access, order: Order, facts: isl.Set
) -> tuple[InstancePair, isl.Set] | None:
    """The dependences of `b` on `a` in one order: pairs of instances that use one element; None
    if there are none.
    """
    if disjoint_by_intervals(a, b, order):
        return None
    pair = InstancePair(a, b, order.equal, facts)
    pairs = pair.also(same_element(pair, a, b), *_ordered(pair, a, order))
    return None if pairs.is_empty() else (pair, pairs)


def dependence(a: Access, b: Access, facts: isl.Set) -> tuple[InstancePair, isl.Set] | None:
    """The first dependences of `b` on `a`: pairs of an instance of `a` and a later one of `b` that
    use one element; None if there are none.
    """
    found = (dependence_in_order(a, b, order, facts) for order in possible_orders(a.statement, b.statement))
    return next((pairs for pairs in found if pairs is not None), None)


def _ordered(pair: InstancePair, a: Access, order: Order) -> list[Expr]:
    if order.sign is None:
        return []
    var = a.statement.loops[order.equal].var
    return [compare(order.sign, var, pair.second(var))]


def disjoint_by_intervals(a: Access, b: Access, order: Order) -> bool:
    """True if some index is never equal, by interval arithmetic: this settles most pairs without
    isl.
    """
    for x, y in zip(a.place, b.place):
        low, high = index_difference(x, y, a.statement, b.statement, order)
        if low is not None and low > 0 or high is not None and high < 0:
            return True
    return False


@lru_cache(maxsize=2048)  # every place is compared with most others
def _form(e: Expr) -> Linear:
    return linear(e)


def index_difference(
    x: Expr, y: Expr, a: Statement, b: Statement, order: Order
) -> tuple[int | None, int | None]:
    """Bounds of x, of an instance of `a`, minus y, of one of `b`, in this order; None where
    there are none.
    """
    mine, other = _form(x), _form(y)
    if not (mine.is_affine and other.is_affine):
        return None, None
    equal = [n.var for n in a.loops[: order.equal]]
    at = a.loops[order.equal].var if order.sign is not None else None
    low: int | None = mine.constant - other.constant
    high: int | None = low
    for t in dict.fromkeys((*mine.variables, *other.variables)):
        c, d = mine.coefficient(t), other.coefficient(t)
        if t in equal or t in a.frame.parameters.position:
            if c != d:
                return None, None
            continue
        for factor, least, top in _scaled_ranges(t, c, d, a, b, at):
            bounds = factor * least, None if top is None else factor * top
            smaller, larger = bounds if factor > 0 else bounds[::-1]
            low = None if low is None or smaller is None else low + smaller
            high = None if high is None or larger is None else high + larger
    return low, high


def _scaled_ranges(
    t: Var, c: int, d: int, a: Statement, b: Statement, at: Var | None
) -> list[tuple[int, int, int | None]]:
    """c*t of one instance minus d*t of the other, as factors of numbers with their least and
    largest value.
    """
    if t is at and c == d:
        return [(-c, 1, a.ranges[t][1])]
    return [
        (f, 0, s.ranges[t][1]) if t in s.ranges else (f, -_UNBOUNDED, _UNBOUNDED)
        for f, s in ((c, a), (-d, b))
        if f
    ]


_UNBOUNDED = 1 << 80

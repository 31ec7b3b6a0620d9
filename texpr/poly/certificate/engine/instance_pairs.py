"""Two statements beside each other: can two of their instances use one element, and which comes first?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce

import islpy as isl

from texpr.ir.affine import Linear, linear
from texpr.ir.build import compare, conjunction, disjunction
from texpr.ir.expr import Expr, Read, Tensor, Var, index
from texpr.ir.traverse import substitute, tensors, variables, walk
from texpr.poly.certificate.engine.isl_frame import Frame, found_like
from texpr.poly.certificate.engine.statements import Statement
from texpr.support.frozen_dataclass import node, record

_SET = isl.dim_type.set


@node
class Access:
    """An element that the instances of a statement use.

    Attributes:
        place: the loops around the buffer, then its indices: what two uses must share to be of one element.
        when: a further condition, or None.
    """

    statement: Statement
    place: tuple[Expr, ...]
    writes: bool
    when: isl.Set | None = None

    def domain(self, facts: isl.Set) -> isl.Set:
        frame, inside = self.statement.frame, self.statement.domain(facts)
        if frame.parameters.unwrapped:  # Then more is known of sums on data, which may say which element or which term it is.
            terms = (e for e in self.statement.at if all(v in frame.position or v in frame.parameters.position for v in variables(e)))
            known = frame.bounds(variables(*map(frame.plain, (*self.place, *terms))))
            inside = frame.up(inside) & frame.holds(known)
        for fact in of_itself(frame, frame.atoms):
            inside = frame.up(inside) & frame.holds(fact)
        return inside if self.when is None else inside & self.statement.frame.up(self.when)


@record
class Order:
    """How two instances lie in time: equal in `equal` loops; then `sign` compares the next one, or the text decides where it is None."""

    equal: int
    sign: str | None


class Joint:
    """The instances of two accesses whose first `shared` loops are equal."""

    def __init__(self, a: Access, b: Access, shared: int, facts: isl.Set, frame: Frame | None = None,
                 domain: isl.Set | None = None) -> None:
        first, second = frame or a.statement.frame, b.statement.frame
        inside, other = domain if domain is not None else a.domain(facts), b.domain(facts)
        self.renamed: dict[Var, Expr] = {v: Var(v.name) for v in second.variables[shared:]}
        ranges = {**first.ranges, **{self.renamed[v]: r for v, r in second.ranges.items() if v in self.renamed}}
        self.frame = Frame(first.parameters, [*first.variables, *self.renamed.values()], ranges)  # type: ignore[list-item]
        self.count = len(first.variables)
        # The data of both are known by their columns: a new one would be free of what decides whether they meet.
        self.frame.atoms += [*first.atoms, *((self.there(t), self.there(v)) for t, v in second.atoms)]  # type: ignore[list-item]
        here = inside.add_dims(_SET, len(self.renamed))
        self.domain = here & other.insert_dims(_SET, shared, self.count - shared)
        for fact in (*self._same_data(first, second), *_of_distinct(self.frame, len(first.atoms))):
            self.domain = self.domain & self.frame.holds(fact)

    def _same_data(self, first: Frame, second: Frame) -> Iterator[Expr]:
        """Elements of inputs at one place have one value in both accesses, where it is seen that it is one: the shared loops decide it, or
        the instances do.
        """
        known = dict(self.renamed)
        for term, var in second.atoms if first.atoms else ():
            there = substitute(term, known)
            if not all(t in self.frame.parameters.inputs for t in tensors(there)):
                continue
            mine = found_like(first.atoms, there) or next((v for t, v in first.atoms if self._is_one(t, there)), None)
            if mine is not None:
                yield compare("==", mine, known[var])
                known[var] = mine

    def _is_one(self, here: Expr, there: Expr) -> bool:
        """Whether two elements are one in all pairs."""
        match here, there:
            case Read(tensor, indices), Read(again, others) if tensor is again:
                apart = (compare(sign, i, j) for i, j in zip(indices, others) for sign in ("<", ">"))
                return all((self.domain & self.frame.holds(c)).is_empty() for c in apart)
        return False

    def there(self, e: Expr) -> Expr:
        """An expression of the second access in the columns of both."""
        return substitute(e, self.renamed)

    def also(self, *conditions: Expr) -> isl.Set:
        """The pairs for which the conditions hold."""
        found = self.domain
        for c in conditions:
            found = found & self.frame.holds(c)
        return found

    def of_first(self, pairs: isl.Set) -> isl.Set:
        """Which instances of the first access are in a pair."""
        return pairs.project_out(_SET, self.count, len(self.frame.variables) - self.count)


def of_itself(frame: Frame, atoms: Sequence[tuple[Expr, Expr]]) -> Iterator[Expr]:
    """What is known of elements of inputs whose rows hold each value once, of one access: values are alike where places are, and elsewhere
    in a row they are not. Pairs of accesses are without those that are not so, and what is left of an access has to be, too.

    Args:
        atoms: elements, each with its value.
    """
    for k, (mine, value) in enumerate(atoms):
        for theirs, other in atoms[:k]:
            match mine, theirs:
                case Read(tensor, indices), Read(again, others) if tensor is again and _has_distinct(frame, tensor):
                    if not any(isinstance(n, Read) for i in (*indices, *others) for n in walk(i)):
                        apart = (compare("!=", i, j) for i, j in zip(indices, others))
                        yield reduce(disjunction, apart, compare("==", value, other))
                        yield _distinct(frame, tensor, (value, *indices), (other, *others))


def _has_distinct(frame: Frame, tensor: Tensor) -> bool:
    return tensor.distinct and tensor in frame.parameters.inputs


def _distinct(frame: Frame, tensor: Tensor, mine: Sequence[Expr], theirs: Sequence[Expr]) -> Expr:
    """Two elements, each a value and its indices: in one row a value is of one element, if both exist."""
    (*pairs, last) = zip(mine, theirs)
    fact = reduce(disjunction, (compare("!=", *pair) for pair in pairs), compare("==", *last))
    for i, n in zip((*mine[1:], *theirs[1:]), 2 * tensor.shape):  # nothing is known of what does not exist
        fact = disjunction(fact, disjunction(compare("<", i, index(0)), compare(">=", i, frame.plain(n))))
    return fact


def _of_distinct(frame: Frame, count: int) -> Iterator[Expr]:
    """What is known of two elements of inputs whose rows hold each value once, the first `count` atoms being of the first access."""
    for mine, value in frame.atoms[:count]:
        for theirs, other in frame.atoms[count:]:
            match mine, theirs:
                case Read(tensor, indices), Read(again, others) if tensor is again and _has_distinct(frame, tensor):
                    yield _distinct(frame, tensor, (value, *indices), (other, *others))


def met(joint: Joint, a: Access, b: Access) -> Expr:
    """Both accesses are of one element."""
    return conjunction(*(compare("==", x, joint.there(y)) for x, y in zip(a.place, b.place)))


def different(joint: Joint, a: Access, b: Access, pairs: isl.Set) -> isl.Set:
    """The pairs but for those that write one instance of one equation: whichever is last, the element holds the same."""
    s, t = a.statement, b.statement
    if not (a.writes and b.writes) or s.store.update or t.store.update or s.store.equation != t.store.equation or not s.at:
        return pairs
    mine, theirs = map(s.frame.plain, s.at), map(t.frame.plain, t.at)
    return pairs.subtract(joint.frame.holds(conjunction(*(compare("==", x, joint.there(y)) for x, y in zip(mine, theirs)))))


def later(a: Statement, b: Statement) -> Iterator[Order]:
    """The ways in which an instance of `b` comes after one of `a`."""
    common = a.common(b)
    if a.order < b.order:
        yield Order(common, None)
    for k in reversed(range(common)):
        yield Order(k, "<")


def collide(a: Access, b: Access, order: Order, facts: isl.Set) -> tuple[Joint, isl.Set] | None:
    """Pairs of instances in this order that use one element; None if there are none."""
    if apart(a, b, order):
        return None
    joint = Joint(a, b, order.equal, facts)
    pairs = joint.also(met(joint, a, b), *_ordered(joint, a, order))
    return None if pairs.is_empty() else (joint, pairs)


def meeting(a: Access, b: Access, facts: isl.Set) -> tuple[Joint, isl.Set] | None:
    """Pairs of an instance of `a` and a later one of `b` that use one element; None if there are none."""
    found = (collide(a, b, order, facts) for order in later(a.statement, b.statement))
    return next((pairs for pairs in found if pairs is not None), None)


def _ordered(joint: Joint, a: Access, order: Order) -> list[Expr]:
    if order.sign is None:
        return []
    var = a.statement.loops[order.equal].var
    return [compare(order.sign, var, joint.there(var))]


def apart(a: Access, b: Access, order: Order) -> bool:
    """Whether some index is never equal, by the intervals of what it is made of: most pairs are told apart so."""
    for x, y in zip(a.place, b.place):
        low, high = difference(x, y, a.statement, b.statement, order)
        if low is not None and low > 0 or high is not None and high < 0:
            return True
    return False


@lru_cache(maxsize=2048)  # every place is compared with most others
def _form(e: Expr) -> Linear:
    return linear(e)


def difference(x: Expr, y: Expr, a: Statement, b: Statement, order: Order) -> tuple[int | None, int | None]:
    """Bounds of x, of an instance of `a`, minus y, of one of `b`, in this order; None where there are none."""
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
        for factor, least, top in _ends(t, c, d, a, b, at):
            ends = factor * least, None if top is None else factor * top
            smaller, larger = ends if factor > 0 else ends[::-1]
            low = None if low is None or smaller is None else low + smaller
            high = None if high is None or larger is None else high + larger
    return low, high


def _ends(t: Var, c: int, d: int, a: Statement, b: Statement, at: Var | None) -> list[tuple[int, int, int | None]]:
    """c*t of one minus d*t of the other as factors of numbers from a least to a largest one."""
    if t is at and c == d:
        return [(-c, 1, a.ranges[t][1])]
    return [(f, 0, s.ranges[t][1]) if t in s.ranges else (f, -_FAR, _FAR) for f, s in ((c, a), (-d, b)) if f]


_FAR = 1 << 80

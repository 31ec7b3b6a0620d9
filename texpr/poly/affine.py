"""Expressions as integer constraints: linear forms over variables and unknowns, in disjunctive normal form.

Everything here is an over-approximation: a condition that is not affine holds or fails freely, a value that is not affine is an
unknown within what is known of it. So "these constraints have no solution" is always a proof. `exact` says that nothing was lost.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import product

from texpr.ir.dtypes import BOOL, I64, U64, DType, int_range
from texpr.ir.expr import (
    Add,
    And,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Node,
    Not,
    Or,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
)
from texpr.ir.traverse import children, tensors, variables

CASES_LIMIT = 32
"""More cases than this are given up: the value or the condition counts as unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """An integer that is not a variable of the program.

    Attributes:
        opaque: nothing but bounds is known of it (a value of data); else its constraints define it (a quotient).
        shared: the same for all instances, because it depends on sizes and rank-0 inputs alone.
        node: the expression it stands for.
    """

    opaque: bool
    shared: bool
    node: Expr


Key = Var | Unknown


def is_parameter(key: Key) -> bool:
    """Whether a key that all instances share can have any value, rather than one its constraints give."""
    return isinstance(key, Var) or key.opaque


@dataclass(frozen=True, slots=True)
class Form:
    """`sum of coefficient * key + constant`, keys in order of appearance."""

    terms: tuple[tuple[Key, int], ...] = ()
    constant: int = 0

    def plus(self, other: Form, factor: int = 1) -> Form:
        terms = dict(self.terms)
        for key, c in other.terms:
            terms[key] = terms.get(key, 0) + factor * c
        return Form(tuple((k, c) for k, c in terms.items() if c), self.constant + factor * other.constant)

    def times(self, factor: int) -> Form:
        return Form(tuple((k, c * factor) for k, c in self.terms) if factor else (), self.constant * factor)

    def shifted(self, by: int) -> Form:
        return Form(self.terms, self.constant + by)

    @property
    def opaque(self) -> bool:
        return any(isinstance(k, Unknown) and k.opaque and not k.shared for k, _ in self.terms)


@dataclass(frozen=True, slots=True)
class Constraint:
    """`form == 0` or `form >= 0`."""

    form: Form
    equality: bool = False


Piece = tuple[Constraint, ...]
"""A conjunction."""


@dataclass(frozen=True, slots=True)
class Values:
    """An integer expression: in each case the constraints under which, and that define how, it is the form."""

    cases: tuple[tuple[Piece, Form], ...]
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Truth:
    """A condition: when it can be true and when it can be false, as disjunctions."""

    true: tuple[Piece, ...]
    false: tuple[Piece, ...]
    exact: bool = True

    @property
    def negated(self) -> Truth:
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
    """A variable as a form."""
    return Form(((key, 1),))


def both(left: tuple[Piece, ...], right: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The conjunction of two disjunctions."""
    return tuple(p + q for p in left for q in right)


def conjoined(a: Truth, b: Truth) -> Truth:
    """Both; cut down to one of them where the cases would be too many."""
    if len(a.true) * len(b.true) > CASES_LIMIT:
        smaller = min(a, b, key=lambda t: len(t.true))
        return Truth(smaller.true, ((),), exact=False)
    return Truth(both(a.true, b.true), a.false + b.false, a.exact and b.exact)


def is_exact(piece: Piece) -> bool:
    """Whether no constraint has an opaque part."""
    return not any(c.form.opaque for c in piece)


class _Bounded(OrderedDict):
    """A dictionary that forgets its oldest entries."""

    def __setitem__(self, key: object, value: Values) -> None:
        super().__setitem__(key, value)
        if len(self) > 4096:
            self.popitem(last=False)


_SHARED = _Bounded()
"""Unknowns that depend on sizes alone: the same objects in all programs over these sizes, so that versions of one compare."""


def fingerprint(e: Expr) -> tuple:
    """A hashable value that is equal for structurally equal expressions over the same variables and tensors."""
    numbers: dict[int, int] = {}
    entries: dict[tuple, int] = {}
    stack: list[tuple[Node, bool]] = [(e, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in numbers:
            continue
        if not ready:
            stack.append((node, True))
            stack += [(c, False) for c in reversed(children(node))]
            continue
        rest = tuple(getattr(node, f.name) for f in fields(node) if f.name != "span" and f.name not in node.parts)  # type: ignore[arg-type]
        own = node if isinstance(node, Var) else rest
        numbers[id(node)] = entries.setdefault((type(node), own, tuple(numbers[id(c)] for c in children(node))), len(entries))
    return tuple(entries)


class Converter:
    """Turns the expressions of one program into constraints; remembers what it has turned.

    Args:
        bound: variables that differ between instances; all others are sizes.
        stable: tensors that nothing writes, so that equal reads are equal.
    """

    def __init__(self, bound: Collection[Var], stable: Collection[Tensor]) -> None:
        self.bound, self.stable = set(bound), set(stable)
        self._done: dict[int, tuple[Expr, Values | Truth]] = {}
        self._unknowns: dict[tuple, Values] = {}

    def is_shared(self, key: Key) -> bool:
        return key.shared if isinstance(key, Unknown) else key not in self.bound

    def values(self, e: Expr) -> Values:
        """An integer expression."""
        found = self._convert(e)
        return found if isinstance(found, Values) else self._unknown(e)

    def truth(self, e: Expr | None) -> Truth:
        """A condition; None is no condition."""
        found = ALWAYS if e is None else self._convert(e)
        return found if isinstance(found, Truth) else ANYTHING

    def tuples(self, indices: Iterable[Expr]) -> tuple[tuple[tuple[Piece, tuple[Form, ...]], ...], bool]:
        """Several integer expressions at once: the cases of all, and whether they are exact."""
        cases: tuple[tuple[Piece, tuple[Form, ...]], ...] = (((), ()),)
        exact = True
        for e in indices:
            found = self.values(e)
            if len(cases) * len(found.cases) > CASES_LIMIT:
                found = self._unknown(e)
            exact = exact and found.exact and not any(f.opaque for _, f in found.cases)
            cases = tuple((p + q, forms + (form,)) for (p, forms), (q, form) in product(cases, found.cases))
        return cases, exact

    def _convert(self, root: Expr) -> Values | Truth:
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in self._done:
                continue
            below_it = _operands(node)
            if ready or not below_it:
                self._done[id(node)] = node, self._combine(node, [self._done[id(o)][1] for o in below_it])
            else:
                stack.append((node, True))
                stack.extend((o, False) for o in below_it)
        return self._done[id(root)][1]

    def _combine(self, e: Expr, of: list) -> Values | Truth:
        found = _condition(e, of) if e.dtype == BOOL else self._integer(e, of)
        if found is None:
            return ANYTHING if e.dtype == BOOL else self._unknown(e)
        size = len(found.cases) if isinstance(found, Values) else max(len(found.true), len(found.false))
        if size > CASES_LIMIT:
            return ANYTHING if e.dtype == BOOL else self._unknown(e)
        return found if all(o.exact for o in of) else replace(found, exact=False)

    def _integer(self, e: Expr, of: list) -> Values | None:
        match e:
            case Const(value) if e.dtype.is_int:
                return Values((((), Form((), int(value))),))
            case Var():
                return Values((((), variable(e)),))
            case Add():
                return _pairwise(of, lambda a, b: a.plus(b))
            case Sub():
                return _pairwise(of, lambda a, b: a.plus(b, -1))
            case Neg():
                return Values(tuple((p, f.times(-1)) for p, f in of[0].cases))
            case Mul() if all(not a.terms or not b.terms for (_, a), (_, b) in product(of[0].cases, of[1].cases)):
                return _pairwise(of, lambda a, b: a.times(b.constant) if not b.terms else b.times(a.constant))
            case FloorDiv() | Mod() if all(not f.terms for _, f in of[1].cases):
                return self._divided(e, of)
            case Max():
                return Values(tuple(_extreme(of, 1)))
            case Min():
                return Values(tuple(_extreme(of, -1)))
            case Call("abs"):
                return Values(tuple(_absolute(of[0])))
            case Select():
                return Values(tuple(_selected(of)))
            case Cast(operand) if _keeps_values(operand, e.dtype):
                return of[0]
        return None

    def _divided(self, e: Expr, of: list[Values]) -> Values:
        """x // c is the q with 0 <= x - c*q < |c| (or, for c below 0, c < x - c*q <= 0); x // 0 and x % 0 are 0."""
        cases = []
        for (p, x), (q, by) in product(of[0].cases, of[1].cases):
            c = by.constant
            if c == 0 or not x.terms:
                value = 0 if c == 0 else x.constant // c if isinstance(e, FloorDiv) else x.constant % c
                cases.append((p + q, Form((), value)))
                continue
            quotient = self._quotient(e, x, c)
            rest = x.plus(quotient, -c)
            inside = rest if c > 0 else rest.times(-1)
            defining = (Constraint(inside), below(inside, Form((), abs(c))))
            cases.append((p + q + defining, quotient if isinstance(e, FloorDiv) else rest))
        return Values(tuple(cases))

    def _unknown(self, e: Expr) -> Values:
        stable = all(t in self.stable for t in tensors(e))
        shared = stable and self.bound.isdisjoint(variables(e))
        known = _SHARED if shared else self._unknowns
        name = fingerprint(e) if stable else (e,)
        found = known.get(name)
        if found is None:
            form = variable(Unknown(True, shared, e))
            found = known[name] = Values(((self._bounds(e, form), form),))
        return found

    def _quotient(self, e: Expr, x: Form, c: int) -> Form:
        """The q of x = c*q + rest; one object for all programs where it depends on sizes alone."""
        shared = all(self.is_shared(k) for k, _ in x.terms)
        if not shared:
            return variable(Unknown(False, False, e))
        found = _SHARED.get((x, c))
        if found is None:
            form = variable(Unknown(False, True, e))
            found = _SHARED[x, c] = Values((((), form),))
        return found.cases[0][1]

    def _bounds(self, e: Expr, form: Form) -> Piece:
        """What is known of a value of data: its declared range, the range of its type, the range of a binder."""
        bounds: list[Constraint] = []
        if e.dtype.is_int and e.dtype != I64:
            lo, hi = int_range(e.dtype)
            bounds += [Constraint(form.shifted(-lo)), Constraint(form.times(-1).shifted(hi))]
        declared = _declared_range(e)
        if e.dtype == BOOL:
            bounds += [Constraint(form), Constraint(form.times(-1).shifted(1))]
        elif declared is not None:
            lower, upper = (self.values(x).cases for x in declared)
            if len(lower) == 1 and len(upper) == 1:
                bounds += [*lower[0][0], *upper[0][0], at_least(form, lower[0][1]), below(form, upper[0][1])]
        return tuple(bounds)


def _operands(e: Expr) -> tuple[Expr, ...]:
    """The operands that are looked into. Integer arithmetic below 64 bits may wrap, so it is not."""
    match e:
        case And(a, b) | Or(a, b):
            return a, b
        case Not(a):
            return (a,)
        case Compare(_, a, b) if a.dtype.is_int or a.dtype == BOOL:
            return a, b
        case Select(c, t, o) if e.dtype.is_int or e.dtype == BOOL:
            return c, t, o
        case Cast(a) if a.dtype.is_int and e.dtype.is_int:
            return (a,)
        case Max(a, b) | Min(a, b) if e.dtype.is_int:
            return a, b
        case Add(a, b) | Sub(a, b) | Mul(a, b) | FloorDiv(a, b) | Mod(a, b) if e.dtype == I64:
            return a, b
        case Neg(a) if e.dtype == I64:
            return (a,)
        case Call("abs", (a,)) if e.dtype == I64:
            return (a,)
    return ()


def _condition(e: Expr, of: list) -> Truth | None:
    match e:
        case Const(value):
            return ALWAYS if value else ALWAYS.negated
        case And():
            return conjoined(of[0], of[1])
        case Or():
            return conjoined(of[0].negated, of[1].negated).negated
        case Not():
            return of[0].negated
        case Select():
            chosen = conjoined(of[0], of[1]), conjoined(of[0].negated, of[2])
            against = conjoined(of[0], of[1].negated), conjoined(of[0].negated, of[2].negated)
            return Truth(chosen[0].true + chosen[1].true, against[0].true + against[1].true, all(t.exact for t in chosen))
        case Compare(op) if of and isinstance(of[0], Values):
            return _compared(op, of)
    return None


_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def _compared(op: str, of: list[Values]) -> Truth:
    true: list[Piece] = []
    false: list[Piece] = []
    exact = True
    for (p, a), (q, b) in product(of[0].cases, of[1].cases):
        difference = a.plus(b, -1)
        true += [p + q + atom for atom in _atoms(op, difference)]
        false += [p + q + atom for atom in _atoms(_OPPOSITE[op], difference)]
        exact = exact and not difference.opaque and is_exact(p + q)
    return Truth(tuple(true), tuple(false), exact)


def _atoms(op: str, difference: Form) -> list[Piece]:
    """`difference op 0` as a disjunction."""
    if not difference.terms:
        return [()] if _COMPARE[op](difference.constant, 0) else []
    negative = Constraint(difference.times(-1).shifted(-1))
    positive = Constraint(difference.shifted(-1))
    match op:
        case "<":
            return [(negative,)]
        case "<=":
            return [(Constraint(difference.times(-1)),)]
        case ">":
            return [(positive,)]
        case ">=":
            return [(Constraint(difference),)]
        case "==":
            return [(Constraint(difference, equality=True),)]
    return [(negative,), (positive,)]


def _pairwise(of: list[Values], combine) -> Values:
    return Values(tuple((p + q, combine(a, b)) for (p, a), (q, b) in product(of[0].cases, of[1].cases)))


def _extreme(of: list[Values], sign: int) -> Iterator[tuple[Piece, Form]]:
    """The larger of two values for sign 1, the smaller for -1."""
    for (p, a), (q, b) in product(of[0].cases, of[1].cases):
        difference = a.plus(b, -1).times(sign)
        if not difference.terms:
            yield p + q, a if difference.constant >= 0 else b
            continue
        yield (*p, *q, Constraint(difference)), a
        yield (*p, *q, Constraint(difference.times(-1).shifted(-1))), b


def _absolute(value: Values) -> Iterator[tuple[Piece, Form]]:
    for p, a in value.cases:
        yield (*p, Constraint(a)), a
        yield (*p, Constraint(a.times(-1).shifted(-1))), a.times(-1)


def _selected(of: list) -> Iterator[tuple[Piece, Form]]:
    for pieces, value in ((of[0].true, of[1]), (of[0].false, of[2])):
        for piece, (p, form) in product(pieces, value.cases):
            yield piece + p, form


def _keeps_values(operand: Expr, to: DType) -> bool:
    """Whether converting changes no value the operand can have."""
    if operand.dtype == U64 and to == I64:
        return _declared_range(operand) is not None
    (lo, hi), (low, high) = int_range(operand.dtype), int_range(to)
    if isinstance(operand, Const):
        return low <= operand.value <= high
    return low <= lo and hi <= high


def _declared_range(e: Expr) -> tuple[Expr, Expr] | None:
    match e:
        case Read(tensor):
            return tensor.value_range
        case Reduce("argmax" | "argmin", axes):
            return axes[e.which].lo, axes[e.which].hi
    return None

"""Expressions as integer constraints: index arithmetic and conditions in disjunctive normal form
(`linear_forms`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import product
from math import prod
from typing import TypeVar

from texpr.ir.build import REBUILD, integer, sub
from texpr.ir.dtypes import BOOL, I64, U64, DType, int_range
from texpr.ir.expr import (
    Add,
    And,
    Axis,
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
    Not,
    Or,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
    index,
)
from texpr.ir.index.overflow import LARGEST_FACTOR
from texpr.ir.traverse import children, tensors, variables, walk
from texpr.poly.constraints.affine_indices import PLAIN, plain
from texpr.poly.constraints.case_combination import (
    absolute,
    condition,
    count_cases,
    extreme,
    pairwise,
    selected,
)
from texpr.poly.constraints.comparisons import split_comparison
from texpr.poly.constraints.fingerprint import fingerprint
from texpr.poly.constraints.linear_forms import (
    ANYTHING,
    CASES_LIMIT,
    Conjunction,
    Constraint,
    Form,
    Key,
    Truth,
    Unknown,
    Values,
    at_least,
    below,
    conjoined,
    defining,
    is_contradiction,
    is_exact,
    variable,
)
from texpr.poly.constraints.overflow_ranges import bounded_keys, is_small

Range = tuple[Expr, Expr]
"""lo inclusive, hi exclusive."""
Case = tuple[Conjunction, tuple[Form, ...]]
"""Conditions, and the values that integer expressions have under them."""


K = TypeVar("K")
V = TypeVar("V")


_MOST_REMEMBERED = 4096


class _BoundedDict(OrderedDict[K, V]):
    """A dictionary that drops its oldest entries."""

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > _MOST_REMEMBERED:
            self.popitem(last=False)


_SHARED: _BoundedDict[tuple, Values] = _BoundedDict()
"""Unknowns that depend on sizes alone: the same objects in all programs over these sizes, so that
versions of one compare.
"""
_QUOTIENTS: _BoundedDict[tuple[Form, int], Unknown] = _BoundedDict()
"""Such unknowns of quotients."""


class Converter:
    """Converts the expressions of one program to constraints, with a cache.

    Args:
        bound: variables that differ between instances; all others are sizes.
        stable: tensors that nothing writes, so that equal reads are equal.
        ranges: of tensors that declare none.
        axes: whose ranges may be data: of such a range no variable is known to be far from 2^63.
        definition: the value that an element of an intermediate is, where it is looked into.
    """

    def __init__(
        self,
        bound: Collection[Var],
        stable: Collection[Tensor],
        ranges: Mapping[Tensor, Range] | None = None,
        axes: Iterable[Axis] = (),
        definition: Callable[[Read], Expr | None] = lambda _: None,
    ) -> None:
        self.bound, self.stable, self.ranges = set(bound), set(stable), dict(ranges or {})
        self._definition = definition
        self._bounded: frozenset[Key] = frozenset()
        self._assuming: dict[frozenset[Key], Converter] = {self._bounded: self}
        self._wild: dict[Key, bool] = {
            a.var: True for a in axes if any(_is_unbounded(e, self.ranges) for e in (a.lo, a.hi))
        }
        self._has_wild_variables = bool(self._wild)
        self._unknowns: dict[tuple, Values] = {}
        self._forget()

    def _forget(self) -> None:
        self._done: dict[int, tuple[Expr, Values | Truth]] = {}
        self._ranges: dict[tuple, tuple[Expr, Expr, Truth]] = {}

    def assuming(self, *pieces: Conjunction) -> Converter:
        """The converter under the assumption that one of the pieces holds: data that each of
        them bounds does not wrap there.
        """
        common = frozenset[Key]()
        for k, piece in enumerate(pieces):
            found = bounded_keys(piece, self._is_unbounded, self._bounded)
            common = found if k == 0 else common & found
            if not common:
                return self
        other = self._assuming.get(common)
        if other is None:
            other = self._assuming[common] = copy(self)
            other._bounded = common
            other._forget()
        return other

    def _is_unbounded(self, key: Key) -> bool:
        """True if a key may be any value of 64 bits."""
        found = self._wild.get(key)
        if found is None:
            found = self._wild[key] = isinstance(key, Unknown) and _is_unbounded(key.node, self.ranges)
        return found

    @property
    def expressions(self) -> int:
        """The number of expressions that are remembered."""
        return len(self._done)

    def is_shared(self, key: Key) -> bool:
        """True if all instances have the same value of it."""
        return key.shared if isinstance(key, Unknown) else key not in self.bound

    def is_decided(self, key: Key, by: Collection[Var]) -> bool:
        """True if all instances that are equal in these loops have the same value of it: it is of
        data that nothing writes.
        """
        return (
            isinstance(key, Unknown)
            and all(v in by or v not in self.bound for v in variables(key.node))
            and all(t in self.stable for t in tensors(key.node))
        )

    def values(self, e: Expr) -> Values:
        """The cases of an integer; a float is an unknown of its own."""
        found = self._convert(e) if e.dtype.is_int else None
        return found if isinstance(found, Values) else self._unknown(e)

    def truth(self, e: Expr) -> Truth:
        """The truth of a condition."""
        found = self._convert(e)
        return found if isinstance(found, Truth) else ANYTHING

    def tuples(
        self, indices: Sequence[Expr], happens: Callable[[Conjunction], bool] = lambda _: True
    ) -> tuple[tuple[Case, ...], bool]:
        """Several integer expressions at once: the cases of all, and whether they are exact.

        Args:
            happens: asked about the cases of each expression if there would be too many together;
                those that never happen are left out.
        """
        cases: tuple[Case, ...] = (((), ()),)
        exact = True
        values = [self.values(e) for e in indices]
        if all([len(v.cases) == 1 for v in values]):
            whole = tuple([c for v in values for c in v.cases[0][0]]), tuple([v.cases[0][1] for v in values])
            return (whole,), is_exact(whole[0]) and all(
                [v.exact and not v.cases[0][1].opaque for v in values]
            )
        if prod(len(v.cases) for v in values) > CASES_LIMIT:
            values = [v._replace(cases=tuple(c for c in v.cases if happens(c[0]))) for v in values]
        for e, found in zip(indices, values):
            if len(cases) * len(found.cases) > CASES_LIMIT:
                found = self._unknown(e)
            exact = exact and found.exact and not any(f.opaque or not is_exact(p) for p, f in found.cases)
            cases = tuple((p + q, forms + (form,)) for (p, forms), (q, form) in product(cases, found.cases))
        return cases, exact

    def within(self, var: Var, lo: Expr, hi: Expr) -> Truth:
        """The constraints `lo <= var < hi`, cached, since statements of a loop share them; the
        negation is never needed.
        """
        first = integer(lo)
        key = var, id(lo) if first is None else (first,), id(hi)
        found = self._ranges.get(key)
        if found is None:
            above = (
                self.truth(Compare("<=", lo, var))
                if first is None
                else Truth(((Constraint(Form(((var, 1),), -first)),),), ())
            )
            inside = conjoined(above, self.truth(Compare("<", var, hi)))
            # Of `max(N - 2, 0)` one case leaves no value.
            some = tuple([p for p in inside.true if not is_contradiction(p)]) if len(inside.true) > 1 else ()
            found = self._ranges[key] = lo, hi, Truth(some or inside.true, (), inside.exact)
        return found[2]

    def _convert(self, root: Expr) -> Values | Truth:
        if (known := self._done.get(id(root))) is not None:
            return known[1]
        stack: list[tuple[Expr, tuple[Expr, ...] | None]] = [(root, None)]
        while stack:
            node, below_it = stack.pop()
            if id(node) in self._done:
                continue
            if (
                below_it is None
                and type(node) in PLAIN
                and (form := plain(node)) is not None
                and not (self._has_wild_variables and any(self._is_unbounded(k) for k, _ in form.terms))
            ):
                self._done[id(node)] = node, Values((((), form),))
            elif below_it is None and (found := self._read(node) if type(node) is Read else _operands(node)):
                stack.append((node, found))
                stack.extend((o, None) for o in found)
            else:
                self._done[id(node)] = (
                    node,
                    self._combine(node, [self._done[id(o)][1] for o in below_it or ()]),
                )
        return self._done[id(root)][1]

    def _read(self, e: Read) -> tuple[Expr, ...]:
        value = self._definition(e)
        return () if value is None else (value,)

    def _combine(self, e: Expr, of: list) -> Values | Truth:
        found = condition(e, of) if e.dtype == BOOL else self._integer(e, of)
        if found is None or count_cases(found) > CASES_LIMIT:
            return ANYTHING if e.dtype == BOOL else self._unknown(e)
        return found if all(o.exact for o in of) else found._replace(exact=False)

    def _integer(self, e: Expr, of: list) -> Values | None:
        if not of and not isinstance(e, Const | Var):
            return None
        if self._may_wrap(e, of):
            return None
        match e:
            case Const(value):
                return Values((((), Form((), int(value))),))
            case Var():
                return Values((((), variable(e)),))
            case Add():
                return pairwise(of, lambda a, b: a.plus(b))
            case Sub():
                return pairwise(of, lambda a, b: a.plus(b, -1))
            case Neg():
                return Values(tuple((p, f.times(-1)) for p, f in of[0].cases))
            case Mul() if all(
                not a.terms or not b.terms for (_, a), (_, b) in product(of[0].cases, of[1].cases)
            ):
                return pairwise(of, lambda a, b: a.times(b.constant) if not b.terms else b.times(a.constant))
            case Mul() if factors := self._sizes_multiplied(e):
                return self._product(e, factors)
            case FloorDiv() | Mod() if all(not f.terms for _, f in of[1].cases):
                return self._division(e, of)
            case Mod(_, Var() as size) if size not in self.bound:
                return self._remainder(e, size)
            case Max():
                return Values(tuple(extreme(of, 1)))
            case Min():
                return Values(tuple(extreme(of, -1)))
            case Call("abs"):
                return Values(tuple(absolute(of[0])))
            case Select():
                return Values(tuple(selected(of)))
            case Cast(operand) if self._is_lossless(operand, e.dtype):
                return of[0]
            case Cast() if all(self.is_shared(k) for _, form in of[0].cases for k, _ in form.terms):
                return self._narrow(e, of[0])
            case Read():
                return of[0]
        return None

    def _narrow(self, e: Cast, value: Values) -> Values:
        """A size in fewer bits: itself where it fits."""
        lo, hi = int_range(e.dtype)
        other = self._unknown(e).cases
        cases: list[tuple[Conjunction, Form]] = []
        for piece, form in value.cases:
            above, under = Constraint(form.shifted(-lo)), Constraint(form.below(hi))
            cases.append(((*piece, above, under), form))
            cases += [
                ((*piece, *outside, *p), f)
                for outside in ((Constraint(form.shifted(-hi - 1)),), (Constraint(form.below(lo - 1)),))
                for p, f in other
            ]
        return Values(tuple(c for c in cases if not is_contradiction(c[0])), value.exact)

    def _may_wrap(self, e: Expr, of: list[Values]) -> bool:
        """True if arithmetic of 64 bits may wrap: on data without bounds, or with a factor that is
        no index arithmetic (`ir.index.overflow`).

        The least number has no opposite: so `abs(x)` and `x // -1` may wrap as well.
        """
        kind = type(e)
        if kind not in _WRAPPING and not (kind is FloorDiv and any(f.constant == -1 for _, f in of[1].cases)):
            return False
        if isinstance(e, Mul) and any(
            isinstance(c, Const) and abs(c.value) > LARGEST_FACTOR for c in (e.lhs, e.rhs)
        ):
            return True
        if not any(self._is_unbounded(k) for v in of for _, form in v.cases for k, _ in form.terms):
            return False
        if kind is Mul and all(any(f.terms for _, f in v.cases) for v in of):
            return True
        factor = max(abs(f.constant) for v in of for _, f in v.cases if not f.terms) if kind is Mul else 1
        return not all(self._is_small_sum(cases, factor) for cases in product(*(v.cases for v in of)))

    def _is_small_sum(self, cases: Sequence[tuple[Conjunction, Form]], factor: int) -> bool:
        """True if the data in these forms, each times a factor, is within bounds where all of
        the cases hold.
        """
        wild = {k for _, form in cases for k, _ in form.terms if self._is_unbounded(k)}
        piece = tuple(c for p, _ in cases for c in p)
        bounded = (
            bounded_keys(piece, self._is_unbounded, self._bounded)
            if not wild <= self._bounded
            else self._bounded
        )
        return wild <= bounded and is_small([form.times(factor) for _, form in cases], wild)

    def _division(self, e: Expr, of: list[Values]) -> Values:
        """The cases of a quotient or a remainder by constants; x // 0 and x % 0 are 0."""
        cases = []
        for (p, x), (q, by) in product(of[0].cases, of[1].cases):
            c = by.constant
            if c == 0 or not x.terms:
                constant = 0 if c == 0 else x.constant // c if isinstance(e, FloorDiv) else x.constant % c
                cases.append((p + q, Form((), constant)))
                continue
            quotient = self._quotient(e, x, c)
            value = variable(quotient)
            cases.append(
                (p + q + defining(quotient), value if isinstance(e, FloorDiv) else x.plus(value, -c))
            )
        return Values(tuple(cases))

    def _sizes_multiplied(self, e: Expr) -> list[Var]:
        """The factors of a product of sizes and positive constants; empty for another product."""
        factors: dict[Var, None] = {}
        stack = [e]
        while stack:
            match stack.pop():
                case Mul(a, b):
                    stack += [b, a]
                case Var() as size if size not in self.bound:
                    factors[size] = None
                case Const(value) if value >= 1:
                    pass
                case _:
                    return []
        return list(factors)

    def _product(self, e: Expr, factors: Sequence[Var]) -> Values:
        """The cases of a product of sizes: it is 0 if a factor is, else no less than any factor."""
        ((bounds, form),) = self._unknown(e).cases
        one = Form((), 1)
        some = tuple(c for f in factors for c in (at_least(variable(f), one), at_least(form, variable(f))))
        none = tuple(((Constraint(variable(f), equality=True),), Form()) for f in factors)
        return Values((((*bounds, *some), form), *none))

    def _remainder(self, e: Expr, size: Var) -> Values:
        """The cases of a remainder: x % N is in 0..N, and 0 if N is 0."""
        ((bounds, form),) = self._unknown(e).cases
        inside = (Constraint(form), below(form, variable(size)))
        return Values((((*bounds, *inside), form), ((Constraint(variable(size), equality=True),), Form())))

    def _unknown(self, e: Expr) -> Values:
        stable = all(t in self.stable for t in tensors(e))
        shared = stable and self.bound.isdisjoint(variables(e))
        known = _SHARED if shared else self._unknowns
        name = fingerprint(e) if stable else (e,)
        found = known.get(name)
        if found is None:
            form = variable(Unknown(True, shared, e))
            found = known[name] = Values(self._cases(e, form))
        return found

    def _cases(self, e: Expr, form: Form) -> tuple[tuple[Conjunction, Form], ...]:
        """The cases of a value of data: it lies within its bounds, or is the value of a guard."""
        within = self._bounds(e, form), form
        if (
            not isinstance(e, Read)
            or e.guard is None
            or e.guard.value is None
            or self._declared_range(e) is None
        ):
            return (within,)
        outside = self.values(e.guard.value).cases
        return within, *(
            ((*piece, Constraint(form.plus(value, -1), equality=True)), form) for piece, value in outside
        )

    def _quotient(self, e: Expr, x: Form, c: int) -> Unknown:
        """The q of x = c*q + rest; one object for all programs where it depends on sizes alone."""
        shared = all(self.is_shared(k) for k, _ in x.terms)
        found = _QUOTIENTS.get((x, c)) if shared else None
        if found is None:
            found = Unknown(False, shared, e, (x, c))
            if shared:
                _QUOTIENTS[x, c] = found
        return found

    def _bounds(self, e: Expr, form: Form) -> Conjunction:
        """Bounds of a value of data: its declared range, the range of its type, the range of a
        binder.
        """
        bounds: list[Constraint] = []
        if e.dtype != I64:
            lo, hi = int_range(e.dtype)
            bounds += [Constraint(form.shifted(-lo)), Constraint(form.times(-1).shifted(hi))]
        if isinstance(e, Call) and e.function == "bit_and":
            masks = [int(a.value) for a in e.args if isinstance(a, Const) and a.value >= 0]
            bounds += [c for mask in masks for c in (Constraint(form), Constraint(form.below(mask)))]
        if isinstance(e, Mul) and e.dtype == I64 and self._is_not_negative(e):
            bounds.append(Constraint(form))
        if isinstance(e, Mul) and e.dtype == I64:
            bounds += self._bounds_of_product(e, form)
        declared = self._declared_range(e)
        if declared is not None:
            lower, upper = (self.values(x).cases for x in declared)
            if len(lower) == 1 and len(upper) == 1:
                bounds += [*lower[0][0], *upper[0][0], at_least(form, lower[0][1]), below(form, upper[0][1])]
        return tuple(bounds)

    def _bounds_of_product(self, e: Mul, form: Form) -> Iterator[Constraint]:
        """Bounds of a product of two values of data: between numbers, or of 0..N and 0..M below
        (N - 1) * (M - 1).
        """
        ranges = [self._range_of_data(factor) for factor in (e.lhs, e.rhs)]
        if None in ranges:
            return
        (low, high), (least, most) = ranges  # type: ignore[misc]
        if all((n := integer(x)) is not None and abs(n) <= LARGEST_FACTOR for x in (low, high, least, most)):
            corners = [
                integer(a) * integer(b)  # type: ignore[operator]
                for a in (low, sub(high, index(1)))
                for b in (least, sub(most, index(1)))
            ]
            yield Constraint(form.shifted(-min(corners)))
            yield Constraint(form.below(max(corners)))
        elif integer(low) == integer(least) == 0 and all(
            isinstance(x, Var) and x not in self.bound for x in (high, most)
        ):
            yield Constraint(form)
            for whole in (Mul(high, most), Mul(most, high)):
                ((known, of_both),) = self._unknown(whole).cases
                yield from known
                yield at_least(of_both.plus(variable(high), -1).plus(variable(most), -1).shifted(1), form)  # type: ignore[arg-type]

    def _range_of_data(self, e: Expr) -> Range | None:
        """The range of a value that is read, or of one beside a number: the declared, else that of
        a narrow type.
        """
        if isinstance(e, Add | Sub) and isinstance(e.rhs, Const):
            of_value = self._range_of_data(e.lhs)
            return None if of_value is None else tuple(REBUILD[type(e)](x, e.rhs) for x in of_value)  # type: ignore[return-value]
        value = e.operand if isinstance(e, Cast) and e.operand.dtype.is_int else e
        if not isinstance(value, Read):
            return None
        if value.dtype.bits < 64 and self._declared_range(value) is None:
            lo, hi = int_range(value.dtype)
            return index(lo), index(hi + 1)
        return self._declared_range(value)

    def _is_not_negative(self, e: Expr) -> bool:
        """True if an expression is seen to be at least 0: it is made of sizes and such numbers
        without a difference.
        """
        match e:
            case Const(value):
                return value >= 0
            case Var():
                return e not in self.bound
            case Add(a, b) | Mul(a, b) | FloorDiv(a, b) | Min(a, b) | Mod(a, b):
                return self._is_not_negative(a) and self._is_not_negative(b)
            case Max(a, b):
                return self._is_not_negative(a) or self._is_not_negative(b)
        return False

    def _is_lossless(self, operand: Expr, to: DType) -> bool:
        """True if converting changes no value the operand can have."""
        if operand.dtype == U64 and to == I64:
            return self._declared_range(operand) is not None
        (lo, hi), (low, high) = int_range(operand.dtype), int_range(to)
        if isinstance(operand, Const):
            return low <= operand.value <= high
        return low <= lo and hi <= high

    def _declared_range(self, e: Expr) -> Range | None:
        match e:
            case Read(tensor):
                return tensor.value_range or self.ranges.get(tensor)
            case Reduce("argmax" | "argmin", axes):
                return axes[e.which].lo, axes[e.which].hi
        return None


_WRAPPING = frozenset({Add, Sub, Mul, Neg, Call})


def _is_unbounded(e: Expr, ranges: Mapping[Tensor, Range]) -> bool:
    """True if a 64-bit value of data without a range is part of an expression. A position is within
    the range that was searched.
    """
    if isinstance(e, Reduce) and e.op in ("argmax", "argmin"):
        return False
    return any(
        isinstance(n, Read)
        and n.dtype in (I64, U64)
        and n.tensor.value_range is None
        and n.tensor not in ranges
        or isinstance(n, Reduce)
        and n.dtype == I64
        and n.op in ("sum", "prod")
        or isinstance(n, Cast)
        and n.dtype == I64
        and n.operand.dtype.is_float
        for n in walk(e)
    )


def _operands(e: Expr) -> tuple[Expr, ...]:
    """The operands that conversion descends into: none of integer arithmetic below 64 bits, which
    may wrap.
    """
    kind = type(e)
    if kind in _ARITHMETIC and e.dtype == I64:
        return children(e)  # type: ignore[return-value]
    if (kind is FloorDiv or kind is Mod) and isinstance(e.rhs, Const) and e.rhs.value > 0:  # type: ignore[attr-defined]
        return children(e)  # type: ignore[return-value]
    if kind is Compare:
        return _compared_operands(e)  # type: ignore[arg-type]
    if kind in _CHOICES:
        return children(e)  # type: ignore[return-value]
    match e:
        case Cast(a) if a.dtype.is_int:
            return (a,)
        case Call("abs", (a,)) if e.dtype == I64:
            return (a,)
    return ()


_ARITHMETIC = frozenset({Add, Sub, Mul, FloorDiv, Mod, Neg})
_CHOICES = frozenset({And, Or, Not, Select, Max, Min})


def _compared_operands(e: Compare) -> tuple[Expr, ...]:
    if not (e.lhs.dtype.is_int or e.lhs.dtype == BOOL):
        return ()
    parts = split_comparison(e)
    return (e.lhs, e.rhs) if parts is None else (parts,)

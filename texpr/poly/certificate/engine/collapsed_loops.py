"""The iteration of collapsed and split loops that writes a given element: its digits, recombined.

    for o in 0..5: for t in 0..128: v = 128*o + t;  T[v // 72, v // 8 % 9, v % 8] = f     writes T[c, y, x] where v = 72*c + 8*y + x

To ask which elements *some* iteration writes, isl has to find the iteration, which takes seconds
where rows are strided. Here it is guessed, and isl is asked whether the guess is right: loops of
constant extents that count 0, 1, 2, ... together are one loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import islpy as isl

from texpr.ir.affine import Linear, linear
from texpr.ir.build import add, compare, floordiv, mod, mul, negation, sub
from texpr.ir.dtypes import I64
from texpr.ir.expr import Const, Expr, FloorDiv, Mod, Node, Var, index
from texpr.ir.traverse import rewrite, substitute, variables, walk
from texpr.poly.certificate.engine.instance_pairs import Access
from texpr.support.frozen_dataclass import frozen_by_identity


@frozen_by_identity
class _CollapsedLoops:
    """Several loops as one.

    Attributes:
        form: the number that they count together.
        var: what stands for it.
        count: how many iterations they have.
    """

    form: Linear
    var: Var
    count: int

    def rewritten(self, e: Expr) -> Expr:
        """Rewrite `e` over the one loop."""

        def rule(node: Node) -> Node | None:
            return (
                self.var
                if isinstance(node, Expr) and node.dtype == I64 and _same(linear(node), self.form)
                else None
            )

        return rewrite(e, rule)


def unwritten(remaining: isl.Set, a: Access, source: Access) -> isl.Set | None:
    """The instances in `remaining` without those whose element the source has written before, in
    the same iteration of the loops around both; None where nothing is guessed.
    """
    s, t = source.statement, a.statement
    inner = [n.var for n in s.loops[s.common_depth(t) :]]
    if not s.order < t.order or source.when is not None or s.frame.atoms or t.frame.atoms or not inner:
        return None
    digits = {
        n
        for e in source.place
        for n in walk(e)
        if isinstance(n, FloorDiv | Mod) and variables(n) & set(inner)
    }
    if not digits or not all(isinstance(n.rhs, Const) and n.rhs.value > 0 for n in digits):
        return None
    extents = {v: s.ranges[v][1] for v in inner}
    if None in extents.values():
        return None
    collapsed = list(_collapsed_loops(digits, {v: n + 1 for v, n in extents.items() if n is not None}))
    if all(len(each.form.variables) < 2 for each in collapsed):
        return None  # isl finds a single number itself
    place, constraints = list(source.place), list(s.traced_conditions)
    for each in collapsed:
        place, constraints = [each.rewritten(e) for e in place], [each.rewritten(e) for e in constraints]
    separate = [v for v in inner if not any(v in each.form.variables for each in collapsed)]
    ranges = {**{v: extents[v] or 0 for v in separate}, **{each.var: each.count - 1 for each in collapsed}}
    if variables(*place, *constraints) & set(inner) - set(separate):
        return None
    guess = _guess_iteration(place, a.place, ranges)
    wanted = [compare("==", substitute(x, guess), y) for x, y in zip(place, a.place)]
    inside = [
        c
        for v, top in ranges.items()
        for c in (compare("<=", index(0), guess[v]), compare("<=", guess[v], index(top)))
    ]
    plain = [
        t.frame.abstract(negation(c))
        for c in (*inside, *wanted, *(substitute(c, guess) for c in constraints))
    ]
    if t.frame.atoms:
        return None  # Arithmetic on data that may wrap: the guess has no form.
    return _union(remaining, [remaining & t.frame.holds(c) for c in plain])


def _union(left: isl.Set, parts: Sequence[isl.Set]) -> isl.Set:
    found = isl.Set.empty(left.get_space())
    for part in parts:
        found = found | part
    return found


def _collapsed_loops(digits: set[FloorDiv | Mod], extents: Mapping[Var, int]) -> Iterator[_CollapsedLoops]:
    """The numbers whose digits these are, where loops count 0, 1, 2, ... without gaps: each
    steps by the count of the loops inside.
    """
    seen = set[Var]()
    for node in digits:
        form = linear(_dividend(node))
        inside = set(form.variables)
        if seen & inside or not form.is_affine or form.constant or not inside <= extents.keys():
            continue
        count = 1
        for var in sorted(form.variables, key=form.coefficient):
            if form.coefficient(var) != count:
                break
            count *= extents[var]
        else:
            seen |= inside
            yield _CollapsedLoops(form, Var("v"), count)


def _dividend(e: Expr) -> Expr:
    """The number that a digit is taken of."""
    while isinstance(e, FloorDiv | Mod):
        e = e.lhs
    return e


def _scale(e: Expr) -> int:
    """The weight of a digit: that of v // 8 % 9 is 8."""
    scale = 1
    while isinstance(e, FloorDiv | Mod):
        scale *= int(e.rhs.value) if isinstance(e, FloorDiv) and isinstance(e.rhs, Const) else 1
        e = e.lhs
    return scale


def _guess_iteration(
    place: Sequence[Expr], wanted: Sequence[Expr], ranges: Mapping[Var, int]
) -> dict[Var, Expr]:
    """Guess values of the variables for which the place is the wanted one."""
    guess: dict[Var, Expr] = {v: index(0) for v in ranges}
    for x, y in zip(place, wanted):
        form = linear(x)
        digits = sorted(
            ((t, c) for t, c in form.terms if variables(t) & ranges.keys()), key=lambda tc: -tc[1]
        )
        rest = sub(
            y,
            Linear(
                tuple((t, c) for t, c in form.terms if not variables(t) & ranges.keys()), form.constant
            ).expr(),
        )
        outer = 0
        for t, c in digits:
            if c <= 0:
                break
            digit = floordiv(rest, index(c))
            digit = mod(digit, index(outer // c)) if outer else digit
            outer = c
            var = _dividend(t)
            if isinstance(var, Var):
                guess[var] = add(guess[var], mul(digit, index(_scale(t))))
    return guess


def _same(a: Linear, b: Linear) -> bool:
    return a.constant == b.constant and {id(t): c for t, c in a.terms} == {id(t): c for t, c in b.terms}

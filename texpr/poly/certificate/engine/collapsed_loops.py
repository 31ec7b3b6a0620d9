"""Which iteration of joined and cut loops writes a wanted element: its digits, put together.

    for o in 0..5: for t in 0..128: v = 128*o + t;  T[v // 72, v // 8 % 9, v % 8] = f     writes T[c, y, x] where v = 72*c + 8*y + x

To ask which elements *some* iteration writes, isl has to find the iteration, which takes seconds where rows are strided. Here it is
guessed, and isl is asked whether the guess is right: loops of constant extents that count 0, 1, 2, ... together are one loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from texpr.ir.affine import Linear, linear
from texpr.ir.build import add, compare, floordiv, mod, mul, negation, sub
from texpr.ir.dtypes import I64
from texpr.ir.expr import Const, Expr, FloorDiv, Mod, Node, Var, index
from texpr.ir.traverse import rewrite, substitute, variables, walk
from texpr.poly.certificate.engine.instance_pairs import Access


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """Several loops as one.

    Attributes:
        form: the number that they count together.
        var: what stands for it.
        count: how many iterations they have.
    """

    form: Linear
    var: Var
    count: int

    def of(self, e: Expr) -> Expr:
        """`e` over the one loop."""
        def rule(node: Node) -> Node | None:
            return self.var if isinstance(node, Expr) and node.dtype == I64 and _same(linear(node), self.form) else None

        return rewrite(e, rule)


def unwritten(left: isl.Set, a: Access, source: Access) -> isl.Set | None:
    """What is left of instances of `a` without those whose element the source has written before, in the same iteration of the loops
    around both; None where nothing is guessed.
    """
    s, t = source.statement, a.statement
    own = [n.var for n in s.loops[s.common(t) :]]
    if not s.order < t.order or source.when is not None or s.frame.atoms or t.frame.atoms or not own:
        return None
    digits = {n for e in source.place for n in walk(e) if isinstance(n, FloorDiv | Mod) and variables(n) & set(own)}
    if not digits or not all(isinstance(n.rhs, Const) and n.rhs.value > 0 for n in digits):
        return None
    extents = {v: s.ranges[v][1] for v in own}
    if None in extents.values():
        return None
    counted = list(_counted(digits, {v: n + 1 for v, n in extents.items() if n is not None}))
    if all(len(each.form.variables) < 2 for each in counted):
        return None  # isl finds a single number itself
    place, held = list(source.place), list(s.held)
    for each in counted:
        place, held = [each.of(e) for e in place], [each.of(e) for e in held]
    alone = [v for v in own if not any(v in each.form.variables for each in counted)]
    ranges = {**{v: extents[v] or 0 for v in alone}, **{each.var: each.count - 1 for each in counted}}
    if variables(*place, *held) & set(own) - set(alone):
        return None
    guess = _guess(place, a.place, ranges)
    wanted = [compare("==", substitute(x, guess), y) for x, y in zip(place, a.place)]
    inside = [c for v, top in ranges.items() for c in (compare("<=", index(0), guess[v]), compare("<=", guess[v], index(top)))]
    plain = [t.frame.plain(negation(c)) for c in (*inside, *wanted, *(substitute(c, guess) for c in held))]
    if t.frame.atoms:
        return None  # Arithmetic on data that may wrap: the guess has no form.
    return _union(left, [left & t.frame.holds(c) for c in plain])


def _union(left: isl.Set, parts: Sequence[isl.Set]) -> isl.Set:
    found = isl.Set.empty(left.get_space())
    for part in parts:
        found = found | part
    return found


def _counted(digits: set[FloorDiv | Mod], extents: Mapping[Var, int]) -> Iterator[_Counted]:
    """The numbers of which these are digits, where loops count 0, 1, 2, ... without gaps: each steps by the count of those inside it."""
    seen = set[Var]()
    for node in digits:
        form = linear(_inside(node))
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
            yield _Counted(form, Var("v"), count)


def _inside(e: Expr) -> Expr:
    """What the digit is one of."""
    while isinstance(e, FloorDiv | Mod):
        e = e.lhs
    return e


def _scale(e: Expr) -> int:
    """What the digit counts: v // 8 % 9 counts eights."""
    scale = 1
    while isinstance(e, FloorDiv | Mod):
        scale *= int(e.rhs.value) if isinstance(e, FloorDiv) and isinstance(e.rhs, Const) else 1
        e = e.lhs
    return scale


def _guess(place: Sequence[Expr], wanted: Sequence[Expr], ranges: Mapping[Var, int]) -> dict[Var, Expr]:
    """Values of the variables for which the place may be the wanted one."""
    guess: dict[Var, Expr] = {v: index(0) for v in ranges}
    for x, y in zip(place, wanted):
        form = linear(x)
        moving = sorted(((t, c) for t, c in form.terms if variables(t) & ranges.keys()), key=lambda tc: -tc[1])
        rest = sub(y, Linear(tuple((t, c) for t, c in form.terms if not variables(t) & ranges.keys()), form.constant).expr())
        around = 0
        for t, c in moving:
            if c <= 0:
                break
            digit = floordiv(rest, index(c))
            digit = mod(digit, index(around // c)) if around else digit
            around = c
            var = _inside(t)
            if isinstance(var, Var):
                guess[var] = add(guess[var], mul(digit, index(_scale(t))))
    return guess


def _same(a: Linear, b: Linear) -> bool:
    return a.constant == b.constant and {id(t): c for t, c in a.terms} == {id(t): c for t, c in b.terms}

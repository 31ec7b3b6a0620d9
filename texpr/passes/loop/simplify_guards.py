"""Conditions, clamps and divisions that the loops' ranges decide."""

from __future__ import annotations

from functools import lru_cache

from texpr.ir.affine import Linear, is_in_order, linear
from texpr.ir.build import FALSE, FOLDED, TRUE, conjuncts, fold, integer, sub
from texpr.ir.dtypes import I64
from texpr.ir.expr import (
    Add,
    Call,
    Compare,
    Const,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Node,
    Read,
    Sub,
    Var,
    index,
)
from texpr.ir.index.overflow import is_wild
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.traverse import children, equal, rewrite, walk, with_children
from texpr.passes.analysis.intervals import at_least_zero, interval, sign_of
from texpr.passes.lowering.naive_nest import divided
from texpr.support.frozen_dataclass import replace


@lru_cache(maxsize=16)  # asked for by the certificate and by code generation
def drop_guards(kernel: Kernel) -> Kernel:
    """Index conditions, clamps and divisions that constant loop ranges decide become what they are.

    for x in 0..8: A[max(0, x + 1)] if x < 9 else 0   ->   for x in 0..8: A[x + 1]
    """
    body = tuple(s for top in kernel.body for s in _simplified(top, {}))
    return (
        kernel
        if all(a is b for a, b in zip(body, kernel.body)) and len(body) == len(kernel.body)
        else replace(kernel, body=body)
    )


def _simplified(s: Stmt, ranges: dict[Var, Expr]) -> tuple[Stmt, ...]:
    """A statement under loops of these extents; nothing where it never runs. Depth is that of
    the loop nest.
    """
    match s:
        case For(var, extent, body):
            decided = decide(_tidy(extent), ranges)
            if (count := integer(decided)) is not None and count <= 0:
                return ()
            inner = ranges | {var: decided}
            new = tuple(n for b in body for n in _simplified(b, inner))
            return (
                (s,)
                if _same((decided, *new), (extent, *body))
                else (replace(s, extent=decided, body=new),)
                if new
                else ()
            )
        case If(cond, body):
            decided = decide(cond, ranges)
            new = tuple(n for b in body for n in _simplified(b, ranges))
            if decided is FALSE or not new:
                return ()
            if decided is TRUE:
                return new
            return (s,) if decided is cond and _same(new, body) else (replace(s, cond=decided, body=new),)
    below = children(s)
    new_below = tuple(decide(e, ranges) if isinstance(e, Expr) else e for e in below)
    if isinstance(s, Store):
        new_below = (*map(_tidy, new_below[:-1]), new_below[-1])  # type: ignore[arg-type]
    return (s,) if _same(new_below, below) else (with_children(s, new_below),)  # type: ignore[return-value]


def _same(a: tuple[Node, ...], b: tuple[Node, ...]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


def decide(e: Expr, ranges: dict[Var, Expr]) -> Expr:
    """`e` with index comparisons, max, min and divisions decided where the ranges of the loops
    decide them.
    """

    def rule(node: Node) -> Node | None:
        if isinstance(node, _DECIDED) and _first_operand(node).dtype == I64:
            found = _decided(node, ranges)
            # What differences and quotients say of numbers is not so where arithmetic wraps.
            return fold(node) if found is None or found is node or is_wild(node) else found
        if isinstance(node, Read):
            tidied = tuple(map(_tidy, node.indices))
            return None if _same(tidied, node.indices) else replace(node, indices=tidied)
        return fold(node)

    # Most expressions have nothing to decide, and finding that out is faster than a rewrite.
    return rewrite(e, rule, kinds=_CHANGED) if any(_may_change(n) for n in walk(e)) else e


def _may_change(node: Node) -> bool:
    """True if a decision, an index in another form, or folding may change a node."""
    kind = type(node)
    if kind is Read:
        return any(isinstance(i, Add | Sub) and not is_in_order(i) for i in node.indices)  # type: ignore[attr-defined]
    return kind in _CHANGED and (kind in _DECIDED or fold(node) is not None)


_DECIDED = (Compare, Max, Min, FloorDiv, Mod, Call)
_CHANGED = FOLDED | {Call, Read}


def _first_operand(node: Expr) -> Expr:
    return node.args[0] if isinstance(node, Call) else node.lhs  # type: ignore[attr-defined]


def _decided(node: Expr, ranges: dict[Var, Expr]) -> Expr | None:
    """Value of an operation on indices in these ranges, the node itself where it stays; None
    where they say nothing of such.
    """
    match node:
        case Compare(op, a, b):
            return _compared(op, *interval(Sub(a, b), ranges))
        case Max(a, b) | Min(a, b):
            larger, smaller = (a, b) if isinstance(node, Max) else (b, a)
            sign = sign_of(Sub(a, b), ranges)
            return node if sign is None else larger if sign else smaller
        case Call("abs", (a,)):
            sign = sign_of(a, ranges)
            return node if sign is None else a if sign else sub(index(0), a)
        case FloorDiv(a, Const(int(n))) | Mod(a, Const(int(n))) if n > 0:
            found = divided(a, n, ranges)[0 if isinstance(node, FloorDiv) else 1]
            return node if equal(found, node) else found
    return None


def _tidy(i: Expr) -> Expr:
    """608 + x + 1 + j - 1   ->   x + j + 608"""
    if not isinstance(i, Add | Sub) or is_in_order(i):
        return i
    tidied = linear(i).expr()
    return i if equal(i, tidied) else tidied


def _compared(op: str, low: int | None, high: int | None) -> Expr | None:
    """The truth of `difference op 0`, if the bounds of the difference tell."""
    below, above = high is not None and high < 0, low is not None and low > 0
    not_above, not_below = high is not None and high <= 0, low is not None and low >= 0
    holds = {
        "<": below,
        "<=": not_above,
        ">": above,
        ">=": not_below,
        "==": low == high == 0,
        "!=": below or above,
    }
    fails = {
        "<": not_below,
        "<=": above,
        ">": not_above,
        ">=": below,
        "==": below or above,
        "!=": low == high == 0,
    }
    return TRUE if holds[op] else FALSE if fails[op] else None


def drop_implied(kernel: Kernel) -> Kernel:
    """Comparisons of indices that follow from one of the conditions around them are true.

    if x < n: A[x] if x < n + 1 else 0   ->   if x < n: A[x]
    """
    body = tuple(_implied(s, ()) for s in kernel.body)
    return kernel if _same(body, kernel.body) else replace(kernel, body=body)


def _implied(s: Stmt, known: tuple[Linear, ...]) -> Stmt:
    """A statement where some forms are at least 0. Depth is that of the loop nest."""
    match s:
        case For(body=body):
            new = tuple(_implied(b, known) for b in body)
            return s if _same(new, body) else replace(s, body=new)
        case If(cond, body):
            said = [form for c in conjuncts(cond) if not is_wild(c) for form in at_least_zero(c)]
            new = tuple(_implied(b, (*known, *said)) for b in body)
            return s if _same(new, body) else replace(s, body=new)

    def rule(node: Node) -> Node | None:
        if isinstance(node, Compare):
            asked = [] if is_wild(node) else at_least_zero(node)
            return TRUE if asked and all(any(_follows(form, of) for of in known) for form in asked) else None
        return fold(node)

    return rewrite(s, rule, kinds=FOLDED | {Compare}) if known else s  # type: ignore[return-value]


def _follows(form: Linear, known: Linear) -> bool:
    """True if a form is at least another one."""
    difference = form.plus(known, -1)
    return not difference.terms and difference.constant >= 0

"""Variables replaced by expressions, with the index arithmetic in order again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from texpr.ir.affine import Linear, linear
from texpr.ir.build import FOLDED, add, fold, integer, mod, mul
from texpr.ir.dtypes import I64
from texpr.ir.expr import Add, Expr, FloorDiv, Mod, Node, Sub, Var, index
from texpr.ir.loop import For, Stmt
from texpr.ir.traverse import equal, rewrite
from texpr.passes.analysis.substitution import with_fresh_variables

N = TypeVar("N", bound=Node)
_CHANGED = FOLDED | {Var, Add, Sub}


def put(root: N, values: Mapping[Var, Expr]) -> N:
    """`root` with variables replaced and index arithmetic folded: 608 + x + 1 + j - 1   ->   x +
    j + 608.
    """

    def rule(node: Node) -> Node | None:
        match node:
            case Var():
                return values.get(node)
            case Add() | Sub() if node.dtype == I64:
                return tidy(node)
        return fold(node)

    return rewrite(root, rule, kinds=_CHANGED)


def tidy(e: Expr) -> Expr:
    """608 + x + 1 + j - 1   ->   x + j + 608;   x // 4 * 4 + x % 4   ->   x"""
    form = linear(e)
    for k, (rest, c) in enumerate(form.terms):
        if not isinstance(rest, Mod):
            continue
        for n, (whole, d) in enumerate(form.terms):
            matches = (
                isinstance(whole, FloorDiv) and equal(whole.lhs, rest.lhs) and equal(whole.rhs, rest.rhs)
            )
            if matches and d == c * (integer(rest.rhs) or 0):
                others = tuple(t for m, t in enumerate(form.terms) if m not in (k, n))
                return tidy(add(Linear(others, form.constant).expr(), mul(rest.lhs, index(c))))
    ordered = form.expr()
    return e if equal(e, ordered) else ordered


def moved_to(statements: Sequence[Stmt], values: Mapping[Var, Expr]) -> tuple[Stmt, ...]:
    """The statements for these values of variables of loops, with loops of their own."""
    return tuple(with_fresh_variables(put(s, values)) for s in statements)


def number(loops: Sequence[For]) -> Expr:
    """Index of an iteration among all iterations of nested loops, all but the first of which have
    constant extents.
    """
    count: Expr = index(0)
    for n in loops:
        count = add(mul(count, n.extent), n.var)
    return tidy(count)


def remainder(e: Expr, by: int) -> Expr:
    """(4*t + k) % 4   ->   k % 4"""
    form = linear(e)
    left = Linear(tuple((t, c % by) for t, c in form.terms if c % by), form.constant % by)
    return mod(left.expr(), index(by))

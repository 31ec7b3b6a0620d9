"""Choices between integers, decided one after the other: what is clamped, wrapped or tested is affine in every cell of the instances.

A guard of a guard of a guard is a tree of conditions on conditions. They are asked from the inside out: a comparison of indices without
choices holds, or does not, or cuts the instances in two. So only cells that have instances are looked at, and isl sees convex sets and
affine indices.
"""

from __future__ import annotations

from collections.abc import Callable

from texpr.ir.build import FALSE, TRUE, compare, fold
from texpr.ir.dtypes import BOOL, I64
from texpr.ir.expr import And, Call, Cast, Compare, Expr, Max, Min, Node, Not, Or, Read, Select
from texpr.ir.traverse import children, rewrite, walk
from texpr.poly.certificate.engine.isl_frame import alike


def integral(e: Expr) -> bool:
    """A condition on integers alone, which isl can be asked about."""
    return not any(isinstance(n, Compare) and not n.lhs.dtype.is_int and n.lhs.dtype != BOOL for n in walk(e))


def question(*roots: Expr) -> Expr | None:
    """A condition without choices in it that decides a choice in the expressions, the outermost one first; None if they have none."""
    return _deciding(roots, children)


def index_question(*roots: Expr) -> Expr | None:
    """As `question`, of integers and conditions on them, leaving alone what is inside of data."""
    return _deciding(roots, _integers)


def _integers(node: Node) -> tuple[Node, ...]:
    """What is below a node, if isl looks into it."""
    return () if isinstance(node, Read | Cast | Call) or isinstance(node, Compare) and not integral(node) else children(node)


def _deciding(roots: tuple[Node, ...], below: Callable[[Node], tuple[Node, ...]]) -> Expr | None:
    found: Expr | None = None
    inside = roots
    while (node := _choice(inside, below)) is not None:
        found = _atomic(node.cond) if isinstance(node, Select) else compare("<=", node.lhs, node.rhs)
        inside = (found,)
    return found


def _choice(roots: tuple[Node, ...], below: Callable[[Node], tuple[Node, ...]]) -> Select | Max | Min | None:
    """The first node, parents before what is below, that conditions on integers decide."""
    stack = list(reversed(roots))
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, Select) and integral(node.cond) or isinstance(node, Max | Min) and node.dtype == I64:
            return node
        if id(node) not in seen:
            seen.add(id(node))
            stack += reversed(below(node))
    return None


def _atomic(e: Expr) -> Expr:
    """The first part of a condition that is not put together of others."""
    while isinstance(e, And | Or | Not | Select):
        e = children(e)[0]  # type: ignore[assignment]
    return e


def answered(e: Expr, condition: Expr, holds: bool) -> Expr:
    """`e` where a condition is known."""
    kind = type(condition)

    def rule(node: Node) -> Node | None:
        match node:
            case Expr() if type(node) is kind and alike(node, condition):
                return TRUE if holds else FALSE
            case Max(a, b) | Min(a, b) if alike(compare("<=", a, b), condition):
                return b if holds == isinstance(node, Max) else a
        return fold(node)

    return rewrite(e, rule)

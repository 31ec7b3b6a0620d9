"""Choices between integers, decided one after the other: what is clamped, wrapped or tested is
affine in every cell of the instances.

A guard of a guard of a guard is a tree of conditions on conditions. They are asked from the inside
out: a comparison of indices without choices holds, or does not, or cuts the instances in two. So
only cells that have instances are looked at, and isl sees convex sets and affine indices.
"""

from __future__ import annotations

from collections.abc import Callable

from texpr.ir.build import FALSE, TRUE, compare, fold
from texpr.ir.dtypes import BOOL, I64
from texpr.ir.expr import And, Call, Cast, Compare, Expr, Max, Min, Node, Not, Or, Read, Select
from texpr.ir.traverse import children, rewrite, walk
from texpr.poly.certificate.engine.isl_frame import structurally_equal


def is_integer_condition(e: Expr) -> bool:
    """True if a condition is on integers alone, so that isl can be asked about it."""
    return not any(isinstance(n, Compare) and not n.lhs.dtype.is_int and n.lhs.dtype != BOOL for n in walk(e))


def split_condition(*roots: Expr) -> Expr | None:
    """A condition to split cases on: it decides the outermost choice and has no choice in it;
    None if there is no choice.
    """
    return _split_condition(roots, children)


def index_split_condition(*roots: Expr) -> Expr | None:
    """As `split_condition`, of integers and conditions on them; the inside of data is left
    alone.
    """
    return _split_condition(roots, _integers)


def _integers(node: Node) -> tuple[Node, ...]:
    """The children of a node, if isl looks into it."""
    return (
        ()
        if isinstance(node, Read | Cast | Call)
        or isinstance(node, Compare)
        and not is_integer_condition(node)
        else children(node)
    )


def _split_condition(roots: tuple[Node, ...], below: Callable[[Node], tuple[Node, ...]]) -> Expr | None:
    found: Expr | None = None
    inside = roots
    while (node := _first_choice(inside, below)) is not None:
        found = _first_atom(node.cond) if isinstance(node, Select) else compare("<=", node.lhs, node.rhs)
        inside = (found,)
    return found


def _first_choice(
    roots: tuple[Node, ...], below: Callable[[Node], tuple[Node, ...]]
) -> Select | Max | Min | None:
    """The first node, parents before what is below, that conditions on integers decide."""
    stack = list(reversed(roots))
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if (
            isinstance(node, Select)
            and is_integer_condition(node.cond)
            or isinstance(node, Max | Min)
            and node.dtype == I64
        ):
            return node
        if id(node) not in seen:
            seen.add(id(node))
            stack += reversed(below(node))
    return None


def _first_atom(e: Expr) -> Expr:
    """The first atomic part of a condition."""
    while isinstance(e, And | Or | Not | Select):
        e = children(e)[0]  # type: ignore[assignment]
    return e


def simplify_assuming(e: Expr, condition: Expr, holds: bool) -> Expr:
    """Simplify `e` under the assumption that a condition holds, or fails."""
    kind = type(condition)

    def rule(node: Node) -> Node | None:
        match node:
            case Expr() if type(node) is kind and structurally_equal(node, condition):
                return TRUE if holds else FALSE
            case Max(a, b) | Min(a, b) if structurally_equal(compare("<=", a, b), condition):
                return b if holds == isinstance(node, Max) else a
        return fold(node)

    return rewrite(e, rule)

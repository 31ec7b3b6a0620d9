"""Products with a sigmoid, such as `x * sigmoid(x)` and gates, computed as one quotient.

    a * sigmoid(x)   ->   a / (1 + exp(-x))

A sigmoid by itself removes the rounding error of its divisor; in a product that is the least of
three errors, and the quotient with the factor as its dividend has one rounding less.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

from texpr.ir.dtypes import F32
from texpr.ir.expr import Call, Expr, Mul, Node
from texpr.ir.loop import Store
from texpr.ir.traverse import children, equal, rewrite, walk
from texpr.passes.math.exponential import one_and_exp, sigmoid
from texpr.passes.math.primitives import Arithmetic

N = TypeVar("N", bound=Node)
TIMES_SIGMOID = "times_sigmoid"
"""The internal function of a and x."""


def join_sigmoid_products(root: N) -> N:
    """Each statement with one function in place of a product with a sigmoid that nothing else of it
    uses.
    """

    def rule(node: Node) -> Node | None:
        if not isinstance(node, Store) or not any(
            type(n) is Call and _is_sigmoid(n) for n in walk(node.value)
        ):
            return None
        alone = _used_once(node)
        return rewrite(node, lambda n: _joined(n, alone), kinds={Mul})

    return rewrite(root, rule, keep=_has_no_statement)


def _has_no_statement(node: Node) -> bool:
    return isinstance(node, Expr)


def _is_sigmoid(node: Node) -> bool:
    return isinstance(node, Call) and node.function == "sigmoid"


def _used_once(statement: Store) -> set[Node]:
    """The sigmoids that one place of a statement uses, and that no other one is equal to."""
    nodes = list(walk(statement.value))
    uses = Counter(c for n in nodes for c in children(n) if _is_sigmoid(c))
    found = [n for n in nodes if _is_sigmoid(n)]
    return {
        n for n in found if uses[n] == 1 and not any(other is not n and equal(other, n) for other in found)
    }


def _joined(node: Node, alone: set[Node]) -> Node | None:
    assert isinstance(node, Mul)
    for call, factor in ((node.lhs, node.rhs), (node.rhs, node.lhs)):
        if call in alone:
            assert isinstance(call, Call)
            return Call(TIMES_SIGMOID, (factor, call.args[0]), dtype=node.dtype)
    return None


def times_sigmoid(m: Arithmetic, a: Expr, x: Expr) -> Expr:
    """a / (1 + exp(-x)); where the exponential is beyond the numbers, which few vectors have, the
    product.
    """
    most, finite = (30.0, 87.0) if m.real == F32 else (50.0, 708.0)
    quotient = m.div(a, one_and_exp(m, m.neg(m.at_least(m.at_most(x, most), -finite))))
    return m.rarely(m.compare("<", x, -finite), m.mul(a, sigmoid(m, x)), quotient)

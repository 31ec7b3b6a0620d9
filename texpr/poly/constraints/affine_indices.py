"""Linear forms of indices that are sums of multiples of variables, as most are, in one pass."""

from __future__ import annotations

from texpr.ir.build import integer
from texpr.ir.dtypes import I64
from texpr.ir.expr import Add, Const, Expr, Mul, Neg, Sub, Var
from texpr.ir.index.overflow import LARGEST_FACTOR
from texpr.poly.constraints.linear_forms import Form, Key

PLAIN = frozenset({Const, Var, Add, Sub, Neg, Mul})
_MOST = 64


def plain(e: Expr) -> Form | None:
    """The form of an index that is a sum of multiples of variables, as most are, in one pass; None
    for any other, and for very long ones.
    """
    if e.dtype != I64:
        return None
    terms: dict[Key, int] = {}
    constant, count = 0, 0
    stack = [(e, 1)]
    while stack:
        node, factor = stack.pop()
        kind = type(node)
        count += 1
        if kind is Var:
            terms[node] = terms.get(node, 0) + factor  # type: ignore[index, arg-type]
        elif kind is Const:
            constant += factor * int(node.value)  # type: ignore[attr-defined]
        elif kind is Add:
            stack += ((node.rhs, factor), (node.lhs, factor))  # type: ignore[attr-defined]
        elif kind is Sub:
            stack += ((node.rhs, -factor), (node.lhs, factor))  # type: ignore[attr-defined]
        elif kind is Neg:
            stack.append((node.operand, -factor))  # type: ignore[attr-defined]
        elif kind is Mul and (c := integer(node.rhs)) is not None and abs(c) <= LARGEST_FACTOR:  # type: ignore[attr-defined]
            stack.append((node.lhs, factor * c))  # type: ignore[attr-defined]
        elif kind is Mul and (c := integer(node.lhs)) is not None and abs(c) <= LARGEST_FACTOR:  # type: ignore[attr-defined]
            stack.append((node.rhs, factor * c))  # type: ignore[attr-defined]
        else:
            return None
        if count > _MOST:
            return None
    return Form(tuple([(k, c) for k, c in terms.items() if c]), constant)

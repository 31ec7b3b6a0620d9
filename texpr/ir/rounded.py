"""Sums of products whose factors are rounded for tensor cores."""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.dtypes import F32
from texpr.ir.expr import Call, Expr, Mul, Node, Reduce

ROUNDING = "tf32"


def rounded_factors(e: Node) -> Reduce | None:
    """A sum of products of f32 with both factors rounded; None where it is none, or they are."""
    match e:
        case Reduce("sum", _, Mul(lhs, rhs) as product) if product.dtype == F32 and not (is_rounded(lhs) and is_rounded(rhs)):
            return replace(e, body=replace(product, lhs=_rounded(lhs), rhs=_rounded(rhs)))
    return None


def is_rounded(e: Expr) -> bool:
    """Whether it is a number of 10 bits."""
    return isinstance(e, Call) and e.function == ROUNDING


def _rounded(e: Expr) -> Expr:
    return e if is_rounded(e) else Call(ROUNDING, (e,))

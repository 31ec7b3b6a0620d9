"""`exp(u)` as `exp2(log2(e) * u)`, and `exp(u * k)` as `exp2((log2(e) * k) * u)`, which are the same numbers."""

from __future__ import annotations

import numpy as np

from texpr.ir.build import literal
from texpr.ir.dtypes import F32
from texpr.ir.expr import Call, Const, Expr, Mul, Node, Read, Var
from texpr.ir.traverse import walk

LAW = "exp(u) = exp2(log2(e) * u)"
LOG2_E = float(np.float32(np.log2(np.e)))
"""As f32 has it."""


def as_power(e: Node) -> Expr | None:
    """An exponential of f32 as a power of 2; None of others. Of a product with what no element decides, one factor is left."""
    match e:
        case Call("exp", (Mul(u, k),)) if e.dtype == F32 and _is_one_factor(k):
            return Call("exp2", (Mul(Mul(literal(LOG2_E, F32), k), u),))
        case Call("exp", (u,)) if e.dtype == F32:
            return Call("exp2", (Mul(literal(LOG2_E, F32), u),))
    return None


def _is_one_factor(k: Expr) -> bool:
    """Whether no element decides a factor, and a number is not so large or small that log2(e) times it would be no normal number."""
    if isinstance(k, Const):
        return 2.0**-100 < abs(k.value) < 2.0**100
    return not any(isinstance(n, Read | Var) for n in walk(k))


def as_exponential(e: Node) -> Expr | None:
    """The exponential that `as_power` made a power of; None of others."""
    match e:
        case Call("exp2", (Mul(Mul(Const(factor), k), u),)) if e.dtype == F32 and factor == LOG2_E:
            return Call("exp", (Mul(u, k),))
        case Call("exp2", (Mul(Const(factor), u),)) if e.dtype == F32 and factor == LOG2_E:
            return Call("exp", (u,))
    return None

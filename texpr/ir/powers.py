"""`exp(u)` as `exp2(log2(e) * u)`, which is the same number."""

from __future__ import annotations

import numpy as np

from texpr.ir.build import literal
from texpr.ir.dtypes import F32
from texpr.ir.expr import Call, Const, Expr, Mul, Node

LAW = "exp(u) = exp2(log2(e) * u)"
LOG2_E = float(np.float32(np.log2(np.e)))
"""As f32 has it."""


def as_power(e: Node) -> Expr | None:
    """An exponential of f32 as a power of 2; None of others."""
    match e:
        case Call("exp", (u,)) if e.dtype == F32:
            return Call("exp2", (Mul(literal(LOG2_E, F32), u),))
    return None


def as_exponential(e: Node) -> Expr | None:
    """The exponential that `as_power` made a power of; None of others."""
    match e:
        case Call("exp2", (Mul(Const(factor), u),)) if e.dtype == F32 and factor == LOG2_E:
            return Call("exp", (u,))
    return None

"""Identities of expressions that steps, math functions and certificates use: both sides are one
number.
"""

from __future__ import annotations

import numpy as np

from texpr.ir.build import literal
from texpr.ir.dtypes import F32, F64
from texpr.ir.expr import Add, Call, Const, Div, Expr, Mul, Node, Read, Reduce, Var
from texpr.ir.traverse import walk
from texpr.support.frozen_dataclass import replace

EXP2_LAW = "exp(u) = exp2(log2(e) * u)"
SIGMOID_LAW = "1 + tanh(u) = 2 / (1 + exp(-2 u))"
LOG2_E = float(np.float32(np.log2(np.e)))
"""As f32 has it."""
TF32 = "tf32"
"""The function that rounds to 10 bits, as tensor cores take floats of 32 bits."""


def exp_to_exp2(e: Node) -> Expr | None:
    """An exponential of f32 as a power of 2; None of others. Of a product with what no element
    decides, one factor is left.
    """
    match e:
        case Call("exp", (Mul(u, k),)) if e.dtype == F32 and _is_one_factor(k):
            return Call("exp2", (Mul(Mul(literal(LOG2_E, F32), k), u),))
        case Call("exp", (u,)) if e.dtype == F32:
            return Call("exp2", (Mul(literal(LOG2_E, F32), u),))
    return None


def _is_one_factor(k: Expr) -> bool:
    """True if no element decides a factor, and a number is not so large or small that log2(e) times
    it would be no normal number.
    """
    if isinstance(k, Const):
        return 2.0**-100 < abs(k.value) < 2.0**100
    return not any(isinstance(n, Read | Var) for n in walk(k))


def exp2_to_exp(e: Node) -> Expr | None:
    """The exponential that `exp_to_exp2` made a power of; None of others."""
    match e:
        case Call("exp2", (Mul(Mul(Const(factor), k), u),)) if e.dtype == F32 and factor == LOG2_E:
            return Call("exp", (Mul(u, k),))
        case Call("exp2", (Mul(Const(factor), u),)) if e.dtype == F32 and factor == LOG2_E:
            return Call("exp", (u,))
    return None


def shifted_tanh(e: Node) -> Expr | None:
    """The operand of `1 + tanh(u)` or `tanh(u) + 1` in f32 or f64; None of others."""
    match e:
        case Add(Const(1.0), Call("tanh", (u,))) | Add(Call("tanh", (u,)), Const(1.0)) if e.dtype in (
            F32,
            F64,
        ):
            return u
    return None


def tanh_to_sigmoid(e: Node) -> Expr | None:
    """`1 + tanh(u)` as a quotient; None of others."""
    u = shifted_tanh(e)
    if u is None:
        return None
    one, two, factor = (literal(value, u.dtype) for value in (1.0, 2.0, -2.0))
    return Div(two, Add(one, Call("exp", (Mul(factor, u),))))


def is_sigmoid(e: Node) -> bool:
    """True if it is an expression that `tanh_to_sigmoid` makes."""
    match e:
        case Div(Const(2.0), Add(Const(1.0), Call("exp", (Mul(Const(-2.0), _),)))):
            return True
    return False


def rounded_factors(e: Node) -> Reduce | None:
    """A sum of products of f32 with both factors rounded; None where it is none, or they are."""
    match e:
        case Reduce("sum", _, Mul(lhs, rhs) as product) if product.dtype == F32 and not (
            is_rounded(lhs) and is_rounded(rhs)
        ):
            return replace(e, body=replace(product, lhs=_rounded(lhs), rhs=_rounded(rhs)))
    return None


def is_rounded(e: Expr) -> bool:
    """True if it is a number rounded to tf32, which has a fraction of 10 bits."""
    return isinstance(e, Call) and e.function == TF32


def _rounded(e: Expr) -> Expr:
    return e if is_rounded(e) else Call(TF32, (e,))

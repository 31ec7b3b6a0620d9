"""`1 + tanh(u)` as `2 / (1 + exp(-2 u))`, which is the same number."""

from __future__ import annotations

from texpr.ir.build import literal
from texpr.ir.dtypes import F32, F64
from texpr.ir.expr import Add, Call, Const, Div, Expr, Mul, Node

LAW = "1 + tanh(u) = 2 / (1 + exp(-2 u))"


def shifted_tanh(e: Node) -> Expr | None:
    """The operand of `1 + tanh(u)` or `tanh(u) + 1` in f32 or f64; None of others."""
    match e:
        case Add(Const(1.0), Call("tanh", (u,))) | Add(Call("tanh", (u,)), Const(1.0)) if e.dtype in (F32, F64):
            return u
    return None


def as_quotient(e: Node) -> Expr | None:
    """`1 + tanh(u)` as a quotient; None of others."""
    u = shifted_tanh(e)
    if u is None:
        return None
    one, two, factor = (literal(value, u.dtype) for value in (1.0, 2.0, -2.0))
    return Div(two, Add(one, Call("exp", (Mul(factor, u),))))


def is_quotient(e: Node) -> bool:
    """Whether it is what `as_quotient` gives."""
    match e:
        case Div(Const(2.0), Add(Const(1.0), Call("exp", (Mul(Const(-2.0), _),)))):
            return True
    return False

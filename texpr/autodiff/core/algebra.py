"""Constructors of float expressions that leave out what is not there: `0 +`, `* 1`, double minus.
All are exact in IEEE arithmetic but for the sign of a zero; nothing is reassociated."""

from __future__ import annotations

import numpy as np

from texpr.ir import build
from texpr.ir.dtypes import DType, accumulator, numpy_dtype
from texpr.ir.expr import Add, Axis, Cast, Const, Div, Expr, Mul, Neg, Read, Reduce, Select, Sub
from texpr.ir.traverse import equal, walk


def constant(value: float, dtype: DType) -> Const:
    """A float literal rounded to `dtype` (those of types that NumPy lacks keep f32 precision:
    they are computed in f32).
    """
    rounding = np.dtype("float32") if dtype.as_bits else numpy_dtype(dtype)
    return Const(float(rounding.type(value)), dtype=dtype)


def zero(dtype: DType) -> Const:
    """The float 0."""
    return constant(0.0, dtype)


def is_value(e: Expr, value: float) -> bool:
    """True if `e` is this float literal."""
    return isinstance(e, Const) and e.dtype.is_float and e.value == value


def plus(a: Expr | None, b: Expr) -> Expr:
    """a + b; None stands for nothing. x + x is 2 * x."""
    if a is None or is_value(a, 0.0):
        return b
    if is_value(b, 0.0):
        return a
    if isinstance(b, Neg):
        return minus(a, b.operand)
    if isinstance(a, Mul) and isinstance(b, Mul) and a.lhs is b.lhs and a.rhs is b.rhs:
        return times(constant(2.0, a.dtype), a)
    return minus(b, a.operand) if isinstance(a, Neg) else Add(a, b)


def minus(a: Expr, b: Expr) -> Expr:
    """a - b."""
    if is_value(b, 0.0):
        return a
    if is_value(a, 0.0):
        return negative(b)
    return plus(a, b.operand) if isinstance(b, Neg) else Sub(a, b)


def negative(a: Expr) -> Expr:
    """-a."""
    if isinstance(a, Const):
        return constant(-a.value, a.dtype)
    return a.operand if isinstance(a, Neg) else Neg(a)


def times(a: Expr, b: Expr) -> Expr:
    """a * b. The gradient of something multiplied by a literal 0 is 0, infinities or not."""
    for x, y in ((a, b), (b, a)):
        if is_value(y, 0.0):
            return y
        if is_value(y, 1.0):
            return x
        if is_value(y, -1.0):
            return negative(x)
    if isinstance(a, Neg):
        return negative(times(a.operand, b))
    if isinstance(b, Neg):
        return negative(times(a, b.operand))
    return Mul(a, b)


def over(a: Expr, b: Expr) -> Expr:
    """a / b."""
    if is_value(b, 1.0) or is_value(a, 0.0):
        return a
    return negative(over(a.operand, b)) if isinstance(a, Neg) else Div(a, b)


def convert(a: Expr, dtype: DType) -> Expr:
    """`a` as a value of `dtype`."""
    if a.dtype == dtype:
        return a
    if isinstance(a, Const):
        return constant(float(a.value), dtype)
    return negative(convert(a.operand, dtype)) if isinstance(a, Neg) else Cast(a, dtype=dtype)


def choose(conditions: tuple[Expr, ...], value: Expr) -> Expr:
    """`value` where all conditions hold, else 0. A condition is looked at only where those
    before it hold.
    """
    for condition in reversed(conditions):
        if isinstance(value, Select) and is_value(value.orelse, 0.0) and _defined_with(value.cond, condition):
            value = build.select(build.conjunction(condition, value.cond), value.then, value.orelse)
        else:
            value = build.select(condition, value, zero(value.dtype))
    return value


def _defined_with(condition: Expr, first: Expr) -> bool:
    """True if `condition` can be computed wherever `first` can: each of its reads is where `first`
    reads an array of that shape.
    """
    firsts = [n for n in walk(first) if isinstance(n, Read)]
    return all(any(_same_place(n, other) for other in firsts) for n in walk(condition) if isinstance(n, Read))


def _same_place(a: Read, b: Read) -> bool:
    return equal(a.indices, b.indices) and equal(a.tensor.shape, b.tensor.shape) and a.guard is b.guard


def total(axes: tuple[Axis, ...], where: Expr | None, body: Expr) -> Expr:
    """`sum(axes where where: body)`, a minus of the body outside; 16-bit floats add up in f32,
    as they do everywhere.
    """
    if isinstance(body, Neg):
        return negative(total(axes, where, body.operand))
    wide = accumulator(body.dtype)
    return convert(Reduce("sum", axes, convert(body, wide), where, dtype=wide), body.dtype)

"""The pass: calls of transcendental functions and powers become expressions over primitives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from texpr.ir.build import literal
from texpr.ir.dtypes import F32, F64
from texpr.ir.expr import Add, Call, Compare, Expr, Node, Pow, Select
from texpr.ir.traverse import rewrite
from texpr.passes.math.arithmetic import DOUBLE, SINGLE, Arithmetic
from texpr.passes.math.error_function import erf
from texpr.passes.math.exponential import exp, exp2, expm1, sigmoid, tanh
from texpr.passes.math.logarithm import log, log1p, log2
from texpr.passes.math.power import power
from texpr.passes.math.random import normal, uniform
from texpr.passes.math.trigonometric import cos, sin

N = TypeVar("N", bound=Node)


def rsqrt(m: Arithmetic, x: Expr) -> Expr:
    """1 / sqrt(x), two roundings."""
    return m.div(1.0, m.call("sqrt", x))


EXPANSIONS: dict[str, Callable[[Arithmetic, Expr], Expr]] = {
    "exp": exp, "exp2": exp2, "expm1": expm1, "log": log, "log2": log2, "log1p": log1p, "rsqrt": rsqrt,
    "sin": sin, "cos": cos, "tanh": tanh, "sigmoid": sigmoid, "erf": erf,
}  # fmt: skip


NUMBERS: dict[str, Callable[..., Expr]] = {"uniform": uniform, "normal": normal}


def expand_math(root: N, native: frozenset[str] = frozenset()) -> N:
    """`root` without transcendental functions, `sign`, powers and random numbers.

    What is left are arithmetic, comparisons, selects, casts, integer operations and calls of `fma sqrt abs floor ceil trunc rint isnan
    isinf`, `to_bits` (f32 to i32, f64 to i64: the same bits) and `from_bits` (back). Equal calls of one node share their expansion.

    Args:
        native: functions to leave as calls because the target has an instruction for them. The internal `scale(x, n)`, x * 2^n rounded
            once for a whole float n, is left only where it is named here.
    """
    arithmetic = {F32: replace(SINGLE, native=native), F64: replace(DOUBLE, native=native)}
    known: dict[tuple[object, ...], Expr] = {}

    def rule(node: Node) -> Node | None:
        match node:
            case Call("sign", (x,)):
                key, build = ("sign", id(x)), lambda: _sign(x)
            case Call(name, (x,)) if name in EXPANSIONS and name not in native:
                key, build = (name, id(x)), lambda: EXPANSIONS[name](arithmetic[x.dtype], x)
            case Call(name, args) if name in NUMBERS:
                key, build = (name, node.dtype, *map(id, args)), lambda: NUMBERS[name](arithmetic[node.dtype], *args)
            case Pow(x, y):
                key, build = ("pow", id(x), id(y)), lambda: power(arithmetic[x.dtype], x, y)
            case _:
                return None
        if key not in known:
            known[key] = build()
        return known[key]

    return rewrite(root, rule)  # type: ignore[return-value]


def _sign(x: Expr) -> Expr:
    """-1, 0 or 1; NaN stays, and -0 becomes 0."""
    zero, one = literal(0, x.dtype), literal(1, x.dtype)
    if not x.dtype.is_signed:
        return Select(Compare(">", x, zero), one, zero)
    rest = Add(x, zero) if x.dtype.is_float else zero
    return Select(Compare(">", x, zero), one, Select(Compare("<", x, zero), literal(-1, x.dtype), rest))

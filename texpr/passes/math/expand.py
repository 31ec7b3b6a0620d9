"""The pass: calls of transcendental functions and powers become expressions over primitives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from texpr.ir.build import literal
from texpr.ir.dtypes import F32, F64
from texpr.ir.expr import Add, Call, Compare, Expr, FloorDiv, Mod, Node, Pow, Select
from texpr.ir.identities import exp2_to_exp
from texpr.ir.traverse import is_plain, rewrite, statements, walk
from texpr.passes.math.double_double import Pairs
from texpr.passes.math.error_function import erf, erfinv
from texpr.passes.math.exponential import exp, exp2, expm1, sigmoid, tanh
from texpr.passes.math.fma_emulation import without_fma
from texpr.passes.math.gamma import digamma, gamma, lgamma, trigamma
from texpr.passes.math.gelu import gelu
from texpr.passes.math.hyperbolic import acosh, asinh, atanh, cosh, sinh
from texpr.passes.math.inverse_trigonometric import acos, asin, atan, atan2
from texpr.passes.math.logarithm import log, log1p, log2
from texpr.passes.math.power import power
from texpr.passes.math.primitives import DOUBLE, SINGLE, Arithmetic
from texpr.passes.math.random import normal, uniform
from texpr.passes.math.remainder import copysign, floor_quotient, fmod, isfinite, modulo, nearest_whole
from texpr.passes.math.roots import cbrt, erfc, hypot, log10
from texpr.passes.math.sigmoid_products import TIMES_SIGMOID, join_sigmoid_products, times_sigmoid
from texpr.passes.math.tf32 import tf32
from texpr.passes.math.trigonometric import cos, sin, tan
from texpr.support.frozen_dataclass import replace

N = TypeVar("N", bound=Node)


def rsqrt(m: Arithmetic, x: Expr) -> Expr:
    """1 / sqrt(x), two roundings."""
    return m.div(1.0, m.call("sqrt", x))


def _in_pairs(build: Callable[..., Expr]) -> Callable[..., Expr]:
    """f64 by pairs of numbers; f32 by the same formula in f64, rounded once."""

    def expansion(m: Arithmetic, *args: Expr) -> Expr:
        wide = replace(DOUBLE, native=m.native)
        if m.real == F64:
            return build(Pairs(wide, True), *args)
        return m.cast(build(Pairs(wide, False), *(m.cast(x, F64) for x in args)), F32)

    return expansion


EXPANSIONS: dict[str, Callable[..., Expr]] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "log": log,
    "log2": log2,
    "log1p": log1p,
    "rsqrt": rsqrt,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "tanh": tanh,
    "sigmoid": sigmoid,
    "erf": erf,
    "gelu": gelu,
    **{
        f.__name__: _in_pairs(f)
        for f in (atan, asin, acos, sinh, cosh, asinh, acosh, atanh, cbrt, log10, erfc)
    },
}
"""Functions of one float."""

BINARY: dict[str, Callable[..., Expr]] = {"atan2": _in_pairs(atan2), "hypot": _in_pairs(hypot)}
"""Functions of two floats."""

SIMPLE: dict[str, Callable[..., Expr]] = {
    "fmod": fmod,
    "copysign": copysign,
    "isfinite": isfinite,
    "round": nearest_whole,
    "tf32": tf32,
}
"""Functions without a rounding error."""


def _in_doubles(build: Callable[..., Expr]) -> Callable[..., Expr]:
    """f64, and f32 by way of it."""

    def expansion(m: Arithmetic, x: Expr) -> Expr:
        wide = replace(DOUBLE, native=m.native)
        return build(m, x) if m.real == F64 else m.cast(build(wide, m.cast(x, F64)), F32)

    return expansion


SPECIAL: dict[str, Callable[..., Expr]] = {
    **{f.__name__: _in_doubles(f) for f in (lgamma, gamma, digamma, trigamma)},
    "erfinv": erfinv,
}
"""Functions of one float whose bounds are wider."""

NATIVE = {"tf32": (F32,), "exp2": (F32,)}
"""The types for which a target that has an instruction for a function has it, where it is not
all.
"""
_ALL = {**EXPANSIONS, **BINARY, **SIMPLE, **SPECIAL, TIMES_SIGMOID: times_sigmoid}


NUMBERS: dict[str, Callable[..., Expr]] = {"uniform": uniform, "normal": normal}


def expand_math(root: N, native: frozenset[str] = frozenset(), fma: bool = True) -> N:
    """`root` without transcendental functions, `sign`, powers and random numbers.

    What is left are arithmetic, comparisons, selects, casts, integer operations and calls of `fma
    sqrt abs floor ceil trunc rint isnan isinf`, the lazy choice `rarely`, `to_bits` (f32 to i32,
    f64 to i64: the same bits) and `from_bits` (back). Equal calls of one node share their
    expansion.

    Args:
        native: functions to leave as calls because the target has an instruction for them. The
            internal `scale(x, n)`, x * 2^n rounded once for a whole float n, is left only where it
            is named here.
        fma: whether the target has an instruction for `fma`; otherwise products and sums give the
            same bits.
    """
    arithmetic = {F32: replace(SINGLE, native=native), F64: replace(DOUBLE, native=native)}
    known: dict[tuple[object, ...], Expr] = {}

    def rule(node: Node) -> Node | None:
        match node:
            case Call("sign", (x,)):
                key, build = ("sign", id(x)), lambda: _sign(x)
            case Call(name, args) if name in _ALL and not _stays(node, native):
                key, build = (name, *map(id, args)), lambda: _ALL[name](arithmetic[args[0].dtype], *args)
            case Mod(x, y) | FloorDiv(x, y) if x.dtype.is_float:
                function = modulo if isinstance(node, Mod) else floor_quotient
                key, build = (function.__name__, id(x), id(y)), lambda: function(arithmetic[x.dtype], x, y)
            case Call(name, args) if name in NUMBERS:
                key, build = (
                    (name, node.dtype, *map(id, args)),
                    lambda: NUMBERS[name](arithmetic[node.dtype], *args),
                )
            case Pow(x, y):
                key, build = ("pow", id(x), id(y)), lambda: power(arithmetic[x.dtype], x, y)
            case _:
                return None
        if key not in known:
            known[key] = build()
        return known[key]

    # Most statements have no such call, and a pass over all their nodes costs more than this look.
    untouched = {
        s for s in statements(root) if is_plain(s) and not any(type(n) in _EXPANDED for n in walk(s))
    }
    expanded = rewrite(join_sigmoid_products(root), rule, keep=untouched.__contains__)
    return expanded if fma else without_fma(expanded)  # type: ignore[return-value]


_EXPANDED = frozenset({Call, Pow, Mod, FloorDiv})
"""The classes of nodes that may be expanded."""


def _stays(e: Call, native: frozenset[str]) -> bool:
    """True if a target has an instruction for a call that may be used. Instructions for powers of 2
    are coarser than this code: they are used only for exponentials that `exp_to_exp2` made.
    """
    known = e.function in native and e.args[0].dtype in NATIVE.get(e.function, (F32, F64))
    return known and (e.function != "exp2" or exp2_to_exp(e) is not None)


def _sign(x: Expr) -> Expr:
    """-1, 0 or 1; NaN stays, and -0 becomes 0."""
    zero, one = literal(0, x.dtype), literal(1, x.dtype)
    if not x.dtype.is_signed:
        return Select(Compare(">", x, zero), one, zero)
    rest = Add(x, zero) if x.dtype.is_float else zero
    return Select(Compare(">", x, zero), one, Select(Compare("<", x, zero), literal(-1, x.dtype), rest))

"""A plain evaluator of expanded expressions over arrays, with a fused multiply-add that rounds
once, and errors in ulp.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import (
    Add,
    And,
    Call,
    Cast,
    Compare,
    Const,
    Div,
    Expr,
    Mul,
    Neg,
    Node,
    Not,
    Or,
    Select,
    Sub,
    Var,
)
from texpr.ir.functions import FUNCTIONS
from texpr.ir.traverse import children

COMPARE = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
BINARY = {
    Add: np.add,
    Sub: np.subtract,
    Mul: np.multiply,
    Div: np.divide,
    And: np.logical_and,
    Or: np.logical_or,
}


def evaluate(root: Expr, values: Mapping[Var, np.ndarray]) -> np.ndarray:
    """The value of an expression whose variables are arrays; each shared node once."""
    done: dict[int, np.ndarray] = {}
    stack: list[Node] = [root]
    with np.errstate(all="ignore"):
        while stack:
            node = stack[-1]
            below = [c for c in children(node) if id(c) not in done]
            if below:
                stack += below
                continue
            stack.pop()
            done[id(node)] = np.asarray(_value(node, [done[id(c)] for c in children(node)], values))
    return done[id(root)]


def _value(node: Node, args: list[np.ndarray], values: Mapping[Var, np.ndarray]) -> np.ndarray:
    match node:
        case Var():
            return values[node]
        case Const(value):
            return numpy_dtype(node.dtype).type(value)
        case Compare(op=op):
            return COMPARE[op](*args)
        case Select():
            return np.where(*args)
        case Not():
            return ~args[0]
        case Neg():
            return -args[0]
        case Cast():
            assert node.operand.dtype.is_float == node.dtype.is_float or node.dtype.is_float
            return args[0].astype(numpy_dtype(node.dtype))
        case Call("to_bits" | "from_bits"):
            return args[0].view(numpy_dtype(node.dtype))
        case Call("fma"):
            return fma_f32(*args) if args[0].dtype == np.float32 else fma_f64(*args)
        case Call("rarely"):
            return np.where(*args)
        case Call("scale"):
            return np.ldexp(args[0], np.clip(np.nan_to_num(args[1]), -3000, 3000).astype(np.int32))
        case Call(name):
            return FUNCTIONS[name].reference(*args).astype(numpy_dtype(node.dtype))
        case _:
            return BINARY[type(node)](*args)


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a + b and its rounding error (Knuth)."""
    total = a + b
    t = total - a
    return total, (a - (total - t)) + (b - t)


def fma_f32(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """In f64 the product is exact; the sum is rounded to odd, so that the second rounding is the
    only one.
    """
    total, error = two_sum(np.multiply(a, b, dtype=np.float64), np.asarray(c, np.float64))
    even = (np.asarray(total).view(np.int64) & 1) == 0
    odd = np.where(
        even & (error != 0) & np.isfinite(error), np.nextafter(total, np.copysign(np.inf, error)), total
    )
    return odd.astype(np.float32)


def fma_f64(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """In the 64-bit precision of longdouble, whose exponents never overflow here: the exact
    product is a sum of two.
    """
    a, b, c = (np.asarray(v, np.longdouble) for v in (a, b, c))
    product = a * b
    finite = np.isfinite(product + c)
    a_high, b_high = (v - (v - _high_part(v)) for v in (a, b))
    a_low, b_low = a - a_high, b - b_high
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    high, error = two_sum(product, c)
    total, low = two_sum(high, rest + error)
    nudged = np.nextafter(total, np.copysign(np.longdouble(np.inf), low))
    halfway = _is_halfway(total)
    exact = np.where(halfway & (low != 0), nudged, total)
    return np.where(finite & (total != 0), exact, product + c).astype(np.float64)


def _high_part(v: np.ndarray) -> np.ndarray:
    return (
        v.astype(np.float32).astype(np.longdouble)
        if np.all(np.abs(v) < 1e38) and np.all((np.abs(v) > 1e-30) | (v == 0))
        else _split(v)
    )


def _split(v: np.ndarray) -> np.ndarray:
    t = v * (2.0**32 + 1)
    return t - (t - v)


def _is_halfway(v: np.ndarray) -> np.ndarray:
    """Whether a longdouble is a tie, or a number, of f64: then the sign of what is below it
    decides.
    """
    near = v.astype(np.float64)
    gap = np.abs(v - near)
    return (
        (gap == 0)
        | (gap == np.spacing(np.abs(near)).astype(np.longdouble) / 2)
        | (gap == np.spacing(np.nextafter(np.abs(near), 0)) / 2)
    )


def ulp_error(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """|got - want| in units of the last place of `want` as got's type has it; 0 where both are NaN or the same infinity.

    `want` has more precision than `got`. An infinity counts as the number after the largest one.
    """
    kind = got.dtype.type
    largest = np.finfo(kind).max
    with np.errstate(all="ignore"):
        rounded = want.astype(kind)
        unit = np.spacing(np.minimum(np.abs(rounded), largest)).astype(np.longdouble)
        error = np.abs(got.astype(np.longdouble) - want.astype(np.longdouble)) / unit
    error = np.where(np.isinf(rounded) & (got == rounded), 0, error)
    error = np.where(np.isnan(want) & np.isnan(got), 0, error)
    return np.where(np.isnan(want) != np.isnan(got), np.inf, error).astype(np.float64)

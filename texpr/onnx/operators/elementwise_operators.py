"""Operators of elements: arithmetic, comparisons, functions, conversions."""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.arrays.operator_texts import broadcast
from texpr.ir.dtypes import BOOL, F32, F64, I64, DType, numpy_dtype, small
from texpr.onnx.converters import converter
from texpr.onnx.element_types import FROM_ONNX, name_of, number_of
from texpr.onnx.graph_conversion import Node
from texpr.onnx.narrow_types import NARROW, Narrow, NarrowType
from texpr.onnx.onnx_package import library
from texpr.onnx.operator_definitions import each, number, wide, written
from texpr.onnx.operators.narrow_conversions import narrowed, numbers
from texpr.onnx.read import dense
from texpr.onnx.text_values import Texts
from texpr.onnx.values import Known, NeedsValue, Value, tensor_of

_TRUNCATED = "if ({0} < 0) != ({1} < 0) and {0} % {1} != 0 then {0} // {1} + 1 else {0} // {1}"
_BINARY = {
    "Add": "{0} + {1}",
    "Sub": "{0} - {1}",
    "Mul": "{0} * {1}",
    "And": "{0} and {1}",
    "Or": "{0} or {1}",
    "Xor": "{0} != {1}",
    "BitwiseAnd": "bit_and({0}, {1})",
    "BitwiseOr": "bit_or({0}, {1})",
    "BitwiseXor": "bit_xor({0}, {1})",
}
_COMPARE = {"Equal": "==", "Less": "<", "LessOrEqual": "<=", "Greater": ">", "GreaterOrEqual": ">="}
_UNARY = {
    "Neg": "-{0}",
    "Sqrt": "sqrt({0})",
    "Exp": "exp({0})",
    "Log": "log({0})",
    "Sin": "sin({0})",
    "Cos": "cos({0})",
    "Tan": "tan({0})",
    "Asin": "asin({0})",
    "Acos": "acos({0})",
    "Atan": "atan({0})",
    "Sinh": "sinh({0})",
    "Cosh": "cosh({0})",
    "Tanh": "tanh({0})",
    "Asinh": "asinh({0})",
    "Acosh": "acosh({0})",
    "Atanh": "atanh({0})",
    "Erf": "erf({0})",
    "Sigmoid": "sigmoid({0})",
    "Reciprocal": "1 / {0}",
    "Relu": "max({0}, 0)",
    "Softsign": "{0} / (1 + abs({0}))",
    "Not": "not {0}",
    "Softplus": "max({0}, 0) + log1p(exp(-abs({0})))",
    "HardSwish": "{0} * clamp({0} / 6 + 0.5, 0, 1)",
    "Mish": "{0} * tanh(max({0}, 0) + log1p(exp(-abs({0}))))",
    "Floor": "floor({0})",
    "Ceil": "ceil({0})",
    "Round": "round({0})",
    "BitwiseNot": "-{0} - 1",
}
_LARGEST = 3.4028234663852886e38
_EXTREME = {"Max": "max({0}, {1})", "Min": "min({0}, {1})", "Sum": "{0} + {1}"}


def _aligned(node: Node, a: Any, b: Any) -> Any:
    """The second operand of two that broadcast. Before version 7 it does where `broadcast` says so;
    its dimensions are the last ones of the first operand, or those from `axis` on.
    """
    if node.version >= 7 or a.shape == b.shape:
        return b
    if not node.attr("broadcast", 0):
        raise node.refuse(f"shapes {list(a.shape)} and {list(b.shape)} differ, and `broadcast` is 0")
    behind = a.ndim - b.ndim - node.axis(node.attr("axis"), a.ndim) if node.has("axis") else 0
    if behind < 0 or b.ndim > a.ndim:
        raise node.refuse(f"shape {list(b.shape)} has no place in {list(a.shape)}")
    return b.reshape(*b.shape, *[1] * behind)


@converter(*_BINARY)
def _binary(node: Node, a: Any, b: Any) -> Any:
    return each(node.op.lower(), _BINARY[node.op], a, _aligned(node, a, b))


@converter("Div")
def _divide(node: Node, a: Any, b: Any) -> Any:
    text = "{0} / {1}" if a.dtype.is_float else _TRUNCATED if a.dtype.is_signed else "{0} // {1}"
    return each("div", text, a, _aligned(node, a, b))


@converter("Mod")
def _remainder(node: Node, a: Any, b: Any) -> Any:
    if a.dtype.is_float:
        return each("mod", "fmod({0}, {1})" if node.attr("fmod", 0) else "{0} % {1}", a, b)
    text = "if {0} % {1} != 0 and ({0} < 0) != ({1} < 0) then {0} % {1} - {1} else {0} % {1}"
    return each("mod", text if node.attr("fmod", 0) and a.dtype.is_signed else "{0} % {1}", a, b)


_POWER = """op power(X: i64[N], Y: i64[N]) -> Z: i64[N] {
  let s: i64[N, BITS]
  s[i, 0] = X[i]
  s[i, k + 1] = s[i, k] * s[i, k]  for k in 0..BITS - 1
  Z[i] = if Y[i] < 0 then (if X[i] == 1 or X[i] + 1 == 0 and Y[i] % 2 == 0 then 1 else if X[i] + 1 == 0 then X[i] else 0)
         else prod(k in 0..BITS: if shr(Y[i], k) % 2 == 1 then s[i, k] else 1)
}"""
"""Integers to integer powers: the product of X^(2^k) over the bits of Y, which wraps as 64 bits do.
Knuth, The Art of Computer Programming, volume 2, section 4.6.3.
"""


@converter("Pow")
def _power(node: Node, x: Any, y: Any) -> Any:
    y = _aligned(node, x, y)
    if x.dtype.is_int and y.dtype.is_int:
        return _integer_power(x, y, node.values[1])
    return each("pow", "{0} ** {1}", x, y, result=_power_type(x, y), computed=_power_type(x, y)).astype(
        x.dtype.name
    )


def _power_type(x: Any, y: Any) -> DType:
    """The dtype in which a power with a float on one side is computed: it holds both."""
    floats = [wide(v.dtype) for v in (x, y) if v.dtype.is_float]
    exact = all(v.dtype.is_float or v.dtype.bits < 32 for v in (x, y))
    return F64 if F64 in floats or not exact else F32


def _integer_power(x: Any, y: Any, value: Value) -> Any:
    shape = broadcast([x.shape, y.shape])
    if not prod(shape):
        return x.broadcast_to(shape)
    bits = max(int(value.array.max()).bit_length(), 1) if isinstance(value, Known) else 63
    bases, exponents = (v.astype("i64").broadcast_to(shape).reshape(-1) for v in (x, y))
    return written(_POWER.replace("BITS", str(bits)))(bases, exponents).reshape(*shape).astype(x.dtype.name)


@converter("BitShift")
def _shift(node: Node, x: Any, y: Any) -> Any:
    return each(
        "shift",
        "shl({0}, {1})" if node.word("direction", "LEFT", "RIGHT") == "LEFT" else "shr({0}, {1})",
        x,
        y,
    )


@converter(*_COMPARE)
def _compare(node: Node, a: Any, b: Any) -> Any:
    return each(node.op.lower(), f"{{0}} {_COMPARE[node.op]} {{1}}", a, _aligned(node, a, b), result=BOOL)


@converter(*_UNARY)
def _unary(node: Node, x: Any) -> Any:
    return each(node.op.lower(), _UNARY[node.op], x)


@converter("Abs")
def _absolute(node: Node, x: Any) -> Any:
    return abs(x)


@converter("Sign")
def _sign(node: Node, x: Any) -> Any:
    return each("sign", "sign({0})" if x.dtype.is_signed else "if {0} > 0 then 1 else 0", x)


@converter(*_EXTREME)
def _extreme(node: Node, *given: Any) -> Any:
    return reduce(lambda a, b: each(node.op.lower(), _EXTREME[node.op], a, b), given)


@converter("Mean")
def _mean(node: Node, *given: Any) -> Any:
    return reduce(lambda a, b: each("sum", "{0} + {1}", a, b), given) / float(len(given))


@converter("Where")
def _where(node: Node, c: Any, a: Any, b: Any) -> Any:
    return each("where", "if {0} then {1} else {2}", c, a, b, result=a.dtype)


@converter("IsNaN")
def _isnan(node: Node, x: Any) -> Any:
    return each("isnan", "isnan({0})", x, result=BOOL, computed=wide(x.dtype))


@converter("IsInf")
def _isinf(node: Node, x: Any) -> Any:
    up, down = node.attr("detect_positive", 1), node.attr("detect_negative", 1)
    text = "isinf({0})" + (
        "" if up and down else " and {0} > 0" if up else " and {0} < 0" if down else " and False"
    )
    return each(
        "isinf", text.replace(" and False", " and {0} != {0}"), x, result=BOOL, computed=wide(x.dtype)
    )


@converter("Clip")
def _clip(node: Node, x: Any, lo: Any = None, hi: Any = None) -> Any:
    if node.version < 11:
        lo, hi = number(node.attr("min", -_LARGEST)), number(node.attr("max", _LARGEST))
        return each("clip", f"clamp({{0}}, {lo}, {hi})", x)
    x = x if lo is None else each("max", "max({0}, {1})", x, lo)
    return x if hi is None else each("min", "min({0}, {1})", x, hi)


@converter("Identity", control=True)
def _identity(node: Node, x: Any) -> Any:
    return (x,) if isinstance(x, list) else x


_WITH = {
    "LeakyRelu": ("if {0} < 0 then {0} * alpha else {0}", {"alpha": 0.01}),
    "Elu": ("if {0} < 0 then alpha * expm1({0}) else {0}", {"alpha": 1.0}),
    "Celu": ("max({0}, 0) + min(alpha * expm1({0} / alpha), 0)", {"alpha": 1.0}),
    "Selu": (
        "if {0} > 0 then gamma * {0} else gamma * (alpha * exp({0}) - alpha)",
        {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875},
    ),
    "ThresholdedRelu": ("if {0} > alpha then {0} else 0", {"alpha": 1.0}),
    "HardSigmoid": ("clamp({0} * alpha + beta, 0, 1)", {"alpha": 0.2, "beta": 0.5}),
    "Shrink": (
        "if {0} < -lambd then {0} + bias else if {0} > lambd then {0} - bias else 0",
        {"lambd": 0.5, "bias": 0.0},
    ),
    "Swish": ("{0} * sigmoid({0} * alpha)", {"alpha": 1.0}),
}


_SELU_1 = {"alpha": 1.6732, "gamma": 1.0507}
"""As version 1 has them."""


@converter(*_WITH)
def _with_constants(node: Node, x: Any) -> Any:
    text, constants = _WITH[node.op]
    constants = _SELU_1 if node.op == "Selu" and node.version < 6 else constants
    for name, default in constants.items():
        text = text.replace(name, number(node.attr(name, default)))
    t = None if x.dtype.is_float else F64
    found = each(node.op.lower(), text, x, result=t, computed=t)
    return found if t is None else found.astype(x.dtype)


@converter("Gelu")
def _gelu(node: Node, x: Any) -> Any:
    return ops.gelu_tanh(x) if node.word("approximate", "none", "tanh") == "tanh" else ops.gelu(x)


@converter("PRelu")
def _prelu(node: Node, x: Any, slope: Any) -> Any:
    if node.version < 7:  # one slope, or one for each channel
        slope = slope.reshape(()) if slope.size == 1 else slope.reshape(-1, *[1] * (x.ndim - 2))
    return each("prelu", "if {0} < 0 then {0} * {1} else {0}", x, slope)


def cast(node: Node, x: Any, number_of_type: int) -> Any:
    """Another element type, as ONNX converts."""
    x = numbers(node, x) if isinstance(x, Narrow) else x
    if number_of_type in NARROW:
        kind = NARROW[number_of_type]
        way = node.word("round_mode", "up", "down", "nearest") if kind.name == "float8e8m0" else "nearest"
        return narrowed(node, x, kind, way)
    if number_of_type not in FROM_ONNX:
        raise node.refuse(f"to {name_of(number_of_type)}, which texpr does not have")
    t = FROM_ONNX[number_of_type]
    return saturated(x, t) if small(t) is not None and node.attr("saturate", 1) else x.astype(t.name)


def saturated(x: Any, t: DType) -> Any:
    """As a float of 8 bits: what is too large becomes the largest number, infinity too."""
    form = small(t)
    assert form is not None
    limit = int(form.largest)
    wide = x if x.dtype.is_float else x.astype("f64")
    return each("saturate", f"{t}(clamp({{0}}, -{limit}, {limit}))", wide, result=t)


@converter("Cast", narrow=True)
def _cast(node: Node, x: Any) -> Any:
    to = node.attr("to")
    if isinstance(to, str):  # before version 6
        types = library().TensorProto.DataType
        if to.upper() not in types.keys():
            raise node.refuse(f"to is `{to}`")
        to = types.Value(to.upper())
    return cast(node, x, to)


@converter("CastLike", narrow=True)
def _cast_like(node: Node, x: Any, like: Any) -> Any:
    return cast(node, x, number_of(like.dtype))


@converter("BitCast", known=(0,), control=True, inferred=False)
def _bits(node: Node, x: Any) -> Any:
    """Integers, truth values and narrow types are computed; the bits of other floats, of which the
    language has only numbers, must be known.
    """
    to, t = node.attr("to"), x.dtype
    kind = NARROW.get(to) or FROM_ONNX.get(to)
    if kind is None or kind.bits != t.bits or kind.bits < 8:
        raise node.refuse(f"of {t} to {name_of(to)}; types of as many bits, 8 or more, are read")
    bare: Any = tensor_of(x)
    if isinstance(bare, Known):
        array = bare.array.reshape(-1).view(numpy_dtype(kind if isinstance(kind, DType) else kind.stored))
        found: Any = Known(array.reshape(bare.shape), kind if isinstance(kind, DType) else kind.stored)
    else:
        stored = [v if isinstance(v, DType) else v.stored for v in (t, kind)]
        if any(v.is_float for v in stored) or stored[1] == BOOL != stored[0]:
            raise NeedsValue(*node.run.origins(x), f"input 0 of {node.op}, which has floats,")
        found = bare.astype(stored[1].name)
    return Narrow(found, kind) if isinstance(kind, NarrowType) else found


@converter("Constant", control=True)
def _constant(node: Node) -> Any:
    for name, t in (
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        if node.has(name):
            return Known.of(np.array(node.attr(name), t))
    if node.has("sparse_value"):
        return dense(node.attr("sparse_value"))
    if node.has("value_string"):
        return Texts(node.attr("value_string"))
    if node.has("value_strings"):
        return Texts(node.attr("value_strings"))
    if not node.has("value"):
        raise node.refuse("it has no value")
    return node.attr("value")


@converter("Softmax", "LogSoftmax", "Hardmax")
def _softmax(node: Node, x: Any) -> Any:
    shape = x.shape
    axis = node.axis(node.attr("axis", -1 if node.version >= 13 else 1), len(shape))
    if not x.size:
        return x
    if node.version < 13:
        rows = int(np.prod(shape[:axis], dtype=np.int64))
        x, axis = x.reshape(rows, -1), 1
    if node.op == "Hardmax":
        best = x.argmax(axis=axis, keepdims=True)
        places = Known.of(
            np.arange(x.shape[axis], dtype=np.int64).reshape([-1 if k == axis else 1 for k in range(x.ndim)])
        )
        found = each(
            "equal", "if {0} == {1} then 1 else 0", best, node.run.tensor(places), result=I64
        ).astype(x.dtype)
    else:
        found = (ops.softmax if node.op == "Softmax" else ops.log_softmax)(x, axis=axis)
    return found.reshape(shape)

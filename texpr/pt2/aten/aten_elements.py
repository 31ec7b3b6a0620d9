"""Operators of elements: arithmetic, comparisons, functions, activations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph import Symbolic
from texpr.ir.dtypes import BOOL, DType
from texpr.pt2.aten_conversion import Call
from texpr.pt2.converters_of_aten import aten
from texpr.pt2.element_texts import alike, as_float, each, number, promoted

_OF_FLOATS = {
    "acos": "acos({0})",
    "acosh": "acosh({0})",
    "asin": "asin({0})",
    "asinh": "asinh({0})",
    "atan": "atan({0})",
    "atanh": "atanh({0})",
    "cos": "cos({0})",
    "cosh": "cosh({0})",
    "digamma": "digamma({0})",
    "erf": "erf({0})",
    "erfc": "erfc({0})",
    "erfinv": "erfinv({0})",
    "exp": "exp({0})",
    "exp2": "exp2({0})",
    "expm1": "expm1({0})",
    "lgamma": "lgamma({0})",
    "log": "log({0})",
    "log10": "log10({0})",
    "log1p": "log1p({0})",
    "log2": "log2({0})",
    "log_sigmoid": "min({0}, 0) - log1p(exp(-abs({0})))",
    "mish": "{0} * tanh(max({0}, 0) + log1p(exp(-abs({0}))))",
    "reciprocal": "1 / {0}",
    "rsqrt": "rsqrt({0})",
    "sigmoid": "sigmoid({0})",
    "silu": "{0} * sigmoid({0})",
    "sin": "sin({0})",
    "sinh": "sinh({0})",
    "softsign": "{0} / (1 + abs({0}))",
    "sqrt": "sqrt({0})",
    "tan": "tan({0})",
    "tanh": "tanh({0})",
    "tanhshrink": "{0} - tanh({0})",
}
_SAME = {
    "abs": "abs({0})",
    "neg": "-{0}",
    "relu": "max({0}, 0)",
    "relu6": "clamp({0}, 0, 6)",
    "sign": "sign({0})",
    "square": "{0} * {0}",
}
_ROUNDED = {"ceil": "ceil({0})", "floor": "floor({0})", "trunc": "trunc({0})"}
_TESTS = {"isnan": "isnan({0})", "isinf": "isinf({0})", "isfinite": "isfinite({0})"}
_LIBRARY = frozenset("tanh sigmoid silu mish softsign exp log sqrt rsqrt relu relu6 sin cos erf".split())


def _function(name: str, text: str, floats: bool) -> None:
    @aten(name)
    def convert(call: Call, self: Any) -> Any:
        t = as_float(self.dtype) if floats else self.dtype
        if self.dtype.is_float and name in _LIBRARY:
            return getattr(ops, name)(self)
        return each(name, text, self, result=t, computed=t)


for _name, _text in _OF_FLOATS.items():
    _function(_name, _text, True)
for _name, _text in _SAME.items():
    _function(_name, _text, False)


def _rounding(name: str, text: str) -> None:
    @aten(name)
    def convert(call: Call, self: Any) -> Any:
        return each(name, text, self, result=self.dtype) if self.dtype.is_float else self


for _name, _text in _ROUNDED.items():
    _rounding(_name, _text)


def _test(name: str, text: str) -> None:
    @aten(name)
    def convert(call: Call, self: Any) -> Any:
        if self.dtype.is_float:
            return each(name, text, self, result=BOOL)
        wanted = "true" if name == "isfinite" else "false"
        return each(name, f"if {{0}} == {{0}} then {wanted} else {wanted}", self, result=BOOL)


for _name, _text in _TESTS.items():
    _test(_name, _text)


@aten("round")
def _round(call: Call, self: Any, decimals: int = 0) -> Any:
    return self.round(decimals) if self.dtype.is_float else self


@aten("logical_not")
def _not(call: Call, self: Any) -> Any:
    return each("not", "{0} == 0" if self.dtype != BOOL else "not {0}", self, result=BOOL)


@aten("bitwise_not")
def _bits_not(call: Call, self: Any) -> Any:
    return each("not", "not {0}" if self.dtype == BOOL else "-{0} - 1", self, result=self.dtype)


def _arithmetic(name: str, symbol: str, a: Any, b: Any, scale: Any) -> Any:
    t = promoted(a, b)
    if symbol == "*" and t == BOOL:
        return each(name, "{0} and {1}", a, b, result=BOOL)
    if symbol == "+" and t == BOOL:
        return each(name, "{0} or {1}", a, b, result=BOOL)
    if scale == 1:
        x, y = alike(a, b)
        if isinstance(x, Symbolic) and isinstance(y, Symbolic):
            return x + y if symbol == "+" else x - y if symbol == "-" else x * y
        return each(name, f"{{0}} {symbol} {{1}}", x, y, result=t, computed=t)
    return each(name, f"{{0}} {symbol} {{1}} * {number(scale, t)}", a, b, result=t, computed=t)


@aten("add", "__add__")
def _add(call: Call, self: Any, other: Any, alpha: Any = 1) -> Any:
    return _arithmetic("add", "+", self, other, alpha)


@aten("sub", "subtract", "__sub__")
def _sub(call: Call, self: Any, other: Any, alpha: Any = 1) -> Any:
    return _arithmetic("sub", "-", self, other, alpha)


@aten("rsub")
def _rsub(call: Call, self: Any, other: Any, alpha: Any = 1) -> Any:
    return _arithmetic("rsub", "-", other, self, alpha)


@aten("mul", "multiply", "__mul__")
def _mul(call: Call, self: Any, other: Any) -> Any:
    return _arithmetic("mul", "*", self, other, 1)


_TRUNCATED = "if ({0} < 0) != ({1} < 0) and {0} % {1} != 0 then {0} // {1} + 1 else {0} // {1}"


@aten("div", "divide", "true_divide", "__div__")
def _div(call: Call, self: Any, other: Any, rounding_mode: str | None = None) -> Any:
    t = promoted(self, other)
    if rounding_mode is None:
        t = as_float(t)
        return each("div", "{0} / {1}", self, other, result=t, computed=t)
    if rounding_mode == "floor" or not (t.is_float or t.is_signed):
        text = "{0} // {1}"
    else:
        text = "trunc({0} / {1})" if t.is_float else _TRUNCATED
    return each("div", text, self, other, result=t, computed=t)


@aten("floor_divide", "__floordiv__")
def _floor_divide(call: Call, self: Any, other: Any) -> Any:
    return _div(call, self, other, "floor")


@aten("remainder", "__mod__")
def _remainder(call: Call, self: Any, other: Any) -> Any:
    t = promoted(self, other)
    return each("remainder", "{0} % {1}", self, other, result=t, computed=t)


@aten("fmod")
def _fmod(call: Call, self: Any, other: Any) -> Any:
    t = promoted(self, other)
    text = "if {0} % {1} != 0 and ({0} < 0) != ({1} < 0) then {0} % {1} - {1} else {0} % {1}"
    text = "fmod({0}, {1})" if t.is_float else text if t.is_signed else "{0} % {1}"
    return each("fmod", text, self, other, result=t, computed=t)


@aten("pow", "__pow__")
def _pow(call: Call, self: Any, exponent: Any) -> Any:
    t = promoted(self, exponent)
    if t.is_float:
        if isinstance(exponent, int | float) and exponent in (2, 3):
            x = self.astype(t)
            return x * x if exponent == 2 else x * x * x
        return each("pow", "{0} ** {1}", self, exponent, result=t, computed=t)
    return _whole_power(self, exponent, t)


def _whole_power(a: Any, b: Any, t: DType) -> Any:
    x = a.astype(t) if isinstance(a, Symbolic) else a
    return (x ** (b.astype(t) if isinstance(b, Symbolic) else b)).astype(t)


_BINARY = {
    "atan2": "atan2({0}, {1})",
    "copysign": "copysign({0}, {1})",
    "hypot": "hypot({0}, {1})",
    "xlogy": "if {0} == 0 and not isnan({1}) then 0 else {0} * log({1})",
}
_ORDERED = {
    "maximum": "max({0}, {1})",
    "minimum": "min({0}, {1})",
    "fmax": "if isnan({0}) then {1} else if isnan({1}) then {0} else max({0}, {1})",
    "fmin": "if isnan({0}) then {1} else if isnan({1}) then {0} else min({0}, {1})",
}
_BITS = {"and": ("{0} and {1}", "bit_and"), "or": ("{0} or {1}", "bit_or"), "xor": ("{0} != {1}", "bit_xor")}
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_WORDS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater"}
_WORDS |= {"ge": "greater_equal"}


def _binary(name: str, text: str, floats: bool) -> None:
    @aten(name)
    def convert(call: Call, self: Any, other: Any) -> Any:
        t = as_float(promoted(self, other)) if floats else promoted(self, other)
        plain = text if t.is_float else f"{name[-3:]}({{0}}, {{1}})"
        return each(name, text if floats or "isnan" not in text else plain, self, other, result=t, computed=t)


for _name, _text in _BINARY.items():
    _binary(_name, _text, True)
for _name, _text in _ORDERED.items():
    _binary(_name, _text, False)


def _bitwise(word: str) -> None:
    truth, function = _BITS[word]

    @aten(f"bitwise_{word}", f"__{word}__")
    def convert(call: Call, self: Any, other: Any) -> Any:
        t = promoted(self, other)
        return each(
            word, truth if t == BOOL else f"{function}({{0}}, {{1}})", self, other, result=t, computed=t
        )

    @aten(f"logical_{word}")
    def logical(call: Call, self: Any, other: Any) -> Any:
        return each(word, truth, self, other, result=BOOL, computed=BOOL)


for _name in _BITS:
    _bitwise(_name)


@aten("bitwise_left_shift", "__lshift__")
def _left(call: Call, self: Any, other: Any) -> Any:
    t = promoted(self, other)
    return each("shift", "shl({0}, {1})", self, other, result=t, computed=t)


@aten("bitwise_right_shift", "__rshift__")
def _right(call: Call, self: Any, other: Any) -> Any:
    t = promoted(self, other)
    return each("shift", "shr({0}, {1})", self, other, result=t, computed=t)


def _comparison(name: str) -> None:
    @aten(name, _WORDS[name])
    def convert(call: Call, self: Any, other: Any) -> Any:
        t = promoted(self, other)
        return each(name, f"{{0}} {_COMPARED[name]} {{1}}", self, other, result=BOOL, computed=t)


for _name in _COMPARED:
    _comparison(_name)


@aten("where")
def _where(call: Call, condition: Any, self: Any, other: Any) -> Any:
    t = promoted(self, other)
    a, b = alike(self, other)
    c = condition if condition.dtype == BOOL else condition.astype(BOOL)
    if isinstance(a, Symbolic) and isinstance(b, Symbolic):
        return each("where", "if {0} then {1} else {2}", c, a, b, result=t)
    words = [x if isinstance(x, Symbolic) else number(x, t) for x in (a, b)]
    tensors = [x for x in (a, b) if isinstance(x, Symbolic)]
    names = iter(f"{{{k}}}" for k in range(1, 3))
    left, right = (next(names) if isinstance(w, Symbolic) else f"{t}({w})" for w in words)
    return each("where", f"if {{0}} then {left} else {right}", c, *tensors, result=t)


@aten("masked_fill")
def _masked_fill(call: Call, self: Any, mask: Any, value: Any) -> Any:
    filled = _where(call, mask, value if not isinstance(value, Symbolic) else value.astype(self.dtype), self)
    return filled.astype(self.dtype)


@aten("clamp", "clip")
def _clamp(call: Call, self: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    t = promoted(*[v for v in (self, min, max) if v is not None])
    x = self.astype(t)
    x = x if min is None else each("clamp", "max({0}, {1})", x, min, result=t, computed=t)
    return x if max is None else each("clamp", "min({0}, {1})", x, max, result=t, computed=t)


@aten("clamp_min")
def _clamp_min(call: Call, self: Any, min: Any) -> Any:  # noqa: A002
    return _clamp(call, self, min)


@aten("clamp_max")
def _clamp_max(call: Call, self: Any, max: Any) -> Any:  # noqa: A002
    return _clamp(call, self, None, max)


@aten("addcmul")
def _addcmul(call: Call, self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    t = promoted(self, tensor1, tensor2)
    text = f"{{0}} + {number(value, t)} * {{1}} * {{2}}"
    return each("addcmul", text, self, tensor1, tensor2, result=t, computed=t)


@aten("addcdiv")
def _addcdiv(call: Call, self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    t = promoted(self, tensor1, tensor2)
    text = f"{{0}} + {number(value, t)} * {{1}} / {{2}}"
    return each("addcdiv", text, self, tensor1, tensor2, result=t, computed=t)


@aten("lerp")
def _lerp(call: Call, self: Any, end: Any, weight: Any) -> Any:
    return each("lerp", "{0} + {2} * ({1} - {0})", self, end, weight, result=self.dtype)


@aten("logaddexp")
def _logaddexp(call: Call, self: Any, other: Any) -> Any:
    return np.logaddexp(*alike(self, other))


@aten("gelu")
def _gelu(call: Call, self: Any, approximate: str = "none") -> Any:
    return ops.gelu_tanh(self) if approximate == "tanh" else ops.gelu(self)


@aten("hardswish")
def _hardswish(call: Call, self: Any) -> Any:
    return ops.hardswish(self)


@aten("hardsigmoid")
def _hardsigmoid(call: Call, self: Any) -> Any:
    return ops.hardsigmoid(self)


@aten("hardtanh")
def _hardtanh(call: Call, self: Any, min_val: float = -1, max_val: float = 1) -> Any:
    return _clamp(call, self, min_val, max_val)


@aten("leaky_relu")
def _leaky(call: Call, self: Any, negative_slope: float = 0.01) -> Any:
    return ops.leaky_relu(self, slope=float(negative_slope))


@aten("elu")
def _elu(call: Call, self: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    t = self.dtype
    text = f"if {{0}} > 0 then {number(scale, t)} * {{0}} else {number(alpha * scale, t)} * expm1({{0}} * "
    return each("elu", f"{text}{number(input_scale, t)})", self, result=t)


@aten("selu")
def _selu(call: Call, self: Any) -> Any:
    return ops.selu(self)


@aten("celu")
def _celu(call: Call, self: Any, alpha: float = 1.0) -> Any:
    return ops.celu(self, alpha=float(alpha))


@aten("softplus")
def _softplus(call: Call, self: Any, beta: float = 1, threshold: float = 20) -> Any:
    return ops.softplus(self, beta=float(beta), threshold=float(threshold))


@aten("threshold")
def _threshold(call: Call, self: Any, threshold: float, value: float) -> Any:
    return ops.threshold(self, limit=float(threshold), value=float(value))


@aten("hardshrink")
def _hardshrink(call: Call, self: Any, lambd: float = 0.5) -> Any:
    return ops.hardshrink(self, lambd=float(lambd))


@aten("softshrink")
def _softshrink(call: Call, self: Any, lambd: float = 0.5) -> Any:
    return ops.softshrink(self, lambd=float(lambd))


@aten("prelu", "_prelu_kernel")
def _prelu(call: Call, self: Any, weight: Any) -> Any:
    w = weight.reshape(-1, *[1] * (self.ndim - 2)) if weight.size > 1 and weight.ndim == 1 else weight
    return each("prelu", "if {0} > 0 then {0} else {0} * {1}", self, w, result=self.dtype)


@aten("glu")
def _glu(call: Call, self: Any, dim: int = -1) -> Any:
    return ops.glu(self, axis=dim % self.ndim)


@aten("nan_to_num")
def _nan_to_num(
    call: Call, self: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Any:
    return self.nan_to_num(nan or 0.0, posinf, neginf)


@aten("logit")
def _logit(call: Call, self: Any, eps: float | None = None) -> Any:
    t = as_float(self.dtype)
    x = self if eps is None else _clamp(call, self, eps, 1 - eps)
    return each("logit", "log({0} / (1 - {0}))", x, result=t, computed=t)


@aten("isclose")
def _isclose(
    call: Call, self: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    return self.isclose(other, rtol, atol, equal_nan)


@aten("deg2rad")
def _radians(call: Call, self: Any) -> Any:
    t = as_float(self.dtype)
    return each("deg2rad", f"{{0}} * {math.pi / 180!r}", self, result=t, computed=t)

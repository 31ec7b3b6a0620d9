"""Operations on two tensors, element by element: what NumPy's operators are in the language."""

from __future__ import annotations

from typing import Any

from texpr.graph.arrays import array_functions, operator_texts
from texpr.graph.arrays.promotion import of_elementary, of_quotient, promoted
from texpr.ir.dtypes import BOOL, F32, F64, I8, I32, I64, U64, DType, int_range, largest
from texpr.support.errors import CallError

_TEXTS = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "floor_divide": "{0} // {1}",
    "remainder": "{0} % {1}",
    "power": "{0} ** {1}",
    "maximum": "max({0}, {1})",
    "minimum": "min({0}, {1})",
    "arctan2": "atan2({0}, {1})",
    "hypot": "hypot({0}, {1})",
    "copysign": "copysign({0}, {1})",
    "logaddexp": (
        "if {0} == {1} and abs({0}) == inf then {0} "
        "else max({0}, {1}) + log1p(exp(if {0} > {1} then {1} - {0} else {0} - {1}))"
    ),
    "logaddexp2": (
        "if {0} == {1} and abs({0}) == inf then {0} "
        "else max({0}, {1}) + log2(1 + exp2(if {0} > {1} then {1} - {0} else {0} - {1}))"
    ),
    "nextafter": "",
    "fmod": "fmod({0}, {1})",
    "fmax": "if {0} != {0} then {1} else if {1} != {1} then {0} else max({0}, {1})",
    "fmin": "if {0} != {0} then {1} else if {1} != {1} then {0} else min({0}, {1})",
    "bitwise_and": "bit_and({0}, {1})",
    "bitwise_or": "bit_or({0}, {1})",
    "bitwise_xor": "bit_xor({0}, {1})",
    "left_shift": "shl({0}, {1})",
    "right_shift": "shr({0}, {1})",
}
NAMES = frozenset(_TEXTS)
"""The operations, by NumPy's names."""
_OF_FLOATS = ("arctan2", "hypot", "copysign", "logaddexp", "logaddexp2", "nextafter")
"""Functions that make floats of integers first."""
_OF_BOOLS = {
    "add": "{0} or {1}",
    "multiply": "{0} and {1}",
    "maximum": "{0} or {1}",
    "minimum": "{0} and {1}",
    "fmax": "{0} or {1}",
    "fmin": "{0} and {1}",
    "bitwise_and": "{0} and {1}",
    "bitwise_or": "{0} or {1}",
    "bitwise_xor": "{0} != {1}",
}
_OF_INTEGERS = ("floor_divide", "remainder", "power", "left_shift", "right_shift", "fmod")
"""Functions that NumPy computes on booleans as integers of 8 bits."""
COMPARISONS = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_TURNED = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
_SIGNED_FIRST = {
    "equal": "{0} >= 0 and u64({0}) == {1}",
    "not_equal": "{0} < 0 or u64({0}) != {1}",
    "less": "{0} < 0 or u64({0}) < {1}",
    "less_equal": "{0} < 0 or u64({0}) <= {1}",
    "greater": "{0} >= 0 and u64({0}) > {1}",
    "greater_equal": "{0} >= 0 and u64({0}) >= {1}",
}
"""Comparisons of an i64 with a u64, which no integer dtype holds together."""
MOST_FACTORS = 16
"""Whole exponents up to this one are part of the operator's text, so that powers become
products.
"""

MOST_SQUARED = 1 << 16
"""The same for exponents of integers, as products of squares."""


def apply_binary(name: str, a: object, b: object) -> Any:
    """An operation on two operands, one of them a tensor.

    Raises:
        CallError: shapes do not fit each other, or the dtype has no such operation.
    """
    x, y = array_functions.operand(a), array_functions.operand(b)
    if name == "divide" or name in _OF_FLOATS:  # of floats, whatever the other operand is
        x, y = (_as_float(v) if type(v) is int else v for v in (x, y))
    if name.startswith("bitwise"):
        x, y = _as_bits(x, y), _as_bits(y, x)
    t = array_functions.common_dtype(x, y)
    if t == BOOL and name in _OF_INTEGERS:
        t = I8
    if name == "power":
        return _power(x, y, t)
    if name == "divide" or name in _OF_FLOATS:
        t = of_quotient(t) if name == "divide" else of_elementary(t)
    if t == BOOL:
        if name not in _OF_BOOLS:
            raise CallError(f"{name} of booleans", code="dtype", help='convert one: .astype("i64")')
        return array_functions.elementwise(name, _OF_BOOLS[name], (x, y), t, t)
    if t.is_float and (name.startswith("bitwise") or name.endswith("shift")):
        raise CallError(f"{name} of {t}", code="dtype", help="it is for integers and booleans")
    return array_functions.elementwise(name, _text(name, t), (x, y), t, t)


def _text(name: str, t: DType) -> str:
    """The expression of an operation in a dtype that is not bool."""
    if name == "nextafter":
        return _next(t)
    if name == "fmod" and t.is_int:  # the sign of the first operand, 0 where the second one is 0
        positive = "{0} - {0} // {1} * {1}"
        if not t.is_signed:
            return f"if {{1}} == 0 then 0 else {positive}"
        rest = "({0} % {1})"
        return f"if {{1}} == 0 then 0 else if {rest} != 0 and ({{0}} < 0) != ({{1}} < 0) then {rest} - {{1}} else {rest}"
    return _TEXTS[name]


def _next(t: DType) -> str:
    """The next number after {0} towards {1}: Rump, Zimmermann, Boldo, Melquiond, Computing predecessor
    and successor in rounding to nearest, BIT 49 (2009), algorithm 2.

    Raises:
        CallError: the dtype is computed in another one.
    """
    if t not in (F32, F64):
        raise CallError(f"nextafter of {t}", code="dtype", help='convert it: .astype("f32")')
    digits, least = (53, 5e-324) if t == F64 else (24, 1.401298464324817e-45)
    u = 2.0**-digits
    step, large, small = u * (1 + 2 * u), 0.5 / u / u * least, least / u
    most = float(largest(t))
    up = "({1} > {0})"
    sign = f"(if {up} then 1 else -1)"
    wide = f"{{0}} + {sign} * ({step!r} * abs({{0}}))"
    tiny = f"{{0}} + {sign} * {least!r}"
    scaled = f"({{0}} * {1 / u!r} + {sign} * ({step!r} * abs({{0}} * {1 / u!r}))) * {u!r}"
    inner = f"if abs({{0}}) >= {large!r} then {wide} else if abs({{0}}) < {small!r} then {tiny} else {scaled}"
    ends = f"if abs({{0}}) == inf then (if {{0}} > 0 then {most!r} else -{most!r}) else {inner}"
    return f"if {{0}} != {{0}} or {{1}} != {{1}} then {{0}} + {{1}} else if {{0}} == {{1}} then {{1}} else {ends}"


def _power(x: Any, y: Any, t: DType) -> Any:
    if type(y) is int and y < 0 and t.is_int:
        raise CallError(
            f"an integer to the power {y} is no integer", code="dtype", help='convert it: .astype("f64")'
        )
    if (
        type(y) is int
        and 0 <= y <= MOST_FACTORS
        or (type(y) in (int, float) and y in (-1, -2, 0.5, -0.5, 2.0, 3.0) and t.is_float)
    ):
        text = (
            f"{{0}} ** {y}" if t.is_float and y >= 0 else f"1 / {{0}} ** {-y}" if t.is_float else _factors(y)
        )
        return array_functions.elementwise("power", text, (x,), t, t)
    if type(y) is int and y <= MOST_SQUARED and t.is_int:
        return operator_texts.constant_power(len(array_functions.shape_of(x)), t, y)(
            array_functions.cast_any(x, t)
        )
    if t.is_int:
        dtypes = [t if array_functions.is_number(v) else array_functions.dtype_of(v) for v in (x, y)]
        base, exponent = (v if d != BOOL else array_functions.cast_any(v, t) for v, d in zip((x, y), dtypes))
        shapes = [array_functions.shape_of(v) for v in (x, y)]
        return operator_texts.power(shapes, [t if d == BOOL else d for d in dtypes], t)(base, exponent)
    return array_functions.elementwise("power", _TEXTS["power"], (x, y), t, t)


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        raise CallError("an integer beyond f64 is an operand of a quotient", code="dtype") from None


def _as_bits(number: Any, other: Any) -> Any:
    """A number whose bits are meant, beside a dtype with a sign: `i32 | 0xFFFFFFFF` takes -1, whose bits
    these are. NumPy refuses such numbers; torch takes them, and longer ones too.
    """
    if type(number) is not int or array_functions.is_number(other):
        return number
    t = array_functions.dtype_of(other)
    wraps = t.is_int and t.is_signed and int_range(t)[1] < number < 1 << t.bits
    return number - (1 << t.bits) if wraps else number


def _factors(n: int) -> str:
    """A whole power as a product; 1 is of the element's dtype too."""
    return " * ".join(["{0}"] * n) if n else "{0} * 0 + 1"


def compare(name: str, a: object, b: object) -> Any:
    """A comparison: a boolean tensor. Integers are compared as numbers, whatever their dtypes."""
    x, y = array_functions.operand(a), array_functions.operand(b)
    for tensor, number, this in ((x, y, name), (y, x, _TURNED[name])):
        if (
            type(number) is int
            and not array_functions.is_weak(tensor)
            and (beyond := _beyond(array_functions.dtype_of(tensor), number))
        ):
            holds = this == "not_equal" or this.startswith("less" if beyond > 0 else "greater")
            return array_functions.elementwise(
                name, str(holds).lower(), (tensor,), array_functions.dtype_of(tensor), BOOL
            )
    given = [v if array_functions.is_number(v) else array_functions.dtype_of(v) for v in (x, y)]
    integers = all(
        isinstance(g, DType) and g.is_int for g in given
    )  # those of Python that a traced function is given among them
    t = promoted(*given) if integers else array_functions.common_dtype(x, y)  # type: ignore[arg-type]
    if integers and t.is_float:
        return _compare_signs(name, x, y) if given[1] == U64 else _compare_signs(_TURNED[name], y, x)
    if t == BOOL and COMPARISONS[name] not in ("==", "!="):
        t = I32  # False < True
    return array_functions.elementwise(name, f"{{0}} {COMPARISONS[name]} {{1}}", (x, y), t, BOOL)


def _compare_signs(name: str, x: Any, y: Any) -> Any:
    """A comparison of integers with a sign with u64."""
    return array_functions.elementwise(
        name, _SIGNED_FIRST[name], (array_functions.cast_any(x, I64), y), None, BOOL
    )


def _beyond(t: DType, number: int) -> int:
    """1 for a number above all of an integer dtype, -1 below them, else 0."""
    if not t.is_int:
        return 0
    lo, hi = int_range(t)
    return (number > hi) - (number < lo)

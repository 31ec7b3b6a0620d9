"""Operations of elements: arithmetic, comparisons, functions, choices."""

from __future__ import annotations

from functools import reduce
from typing import Any

from texpr import ops
from texpr.graph import Symbolic
from texpr.ir.dtypes import BOOL, DType
from texpr.nnef.operation_table import Operation, operation
from texpr.nnef.operation_texts import each, number

_BINARY = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "min": "min({0}, {1})",
    "max": "max({0}, {1})",
}
_COMPARE = {"lt": "<", "gt": ">", "le": "<=", "ge": ">=", "eq": "==", "ne": "!="}
_UNARY = {
    "exp": "exp({0})",
    "log": "log({0})",
    "sin": "sin({0})",
    "cos": "cos({0})",
    "tan": "tan({0})",
    "sinh": "sinh({0})",
    "cosh": "cosh({0})",
    "tanh": "tanh({0})",
    "asin": "asin({0})",
    "acos": "acos({0})",
    "atan": "atan({0})",
    "asinh": "asinh({0})",
    "acosh": "acosh({0})",
    "atanh": "atanh({0})",
    "rcp": "1 / {0}",
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    "sqrt": "sqrt({0})",
    "rsqr": "1 / ({0} * {0})",
    "rsqrt": "1 / sqrt({0})",
    "log2": "log2({0})",
    "softplus": "max({0}, 0) + log1p(exp(-abs({0})))",
}
_ANY_NUMBER = {"abs": "abs({0})", "sign": "sign({0})", "neg": "-{0}", "sqr": "{0} * {0}"}
_ROUND = "floor({0}) + (if {0} - floor({0}) >= 0.5 then 1 else 0)"
"""Halves upwards: `floor(x + 0.5)` of the specification, without the rounding of that sum."""
_TRACT_ROUND = (
    "(if {0} < 0 then -1 else 1) * (floor(abs({0})) + (if abs({0}) - floor(abs({0})) >= 0.5 then 1 else 0))"
)
"""Halves away from 0."""
_TRUNCATED = "if ({0} < 0) != ({1} < 0) and {0} % {1} != 0 then {0} // {1} + 1 else {0} // {1}"


def common(operation: Operation, *operands: Any) -> list[Any]:
    """Operands of one dtype: of the float among them; numbers that do not fit integers make them
    floats.
    """
    types = [x.dtype for x in operands if isinstance(x, Symbolic)]
    floats = [t for t in types if t.is_float]
    if not floats and any(isinstance(x, float) and x != int_or_none(x) for x in operands):
        floats = [operation.evaluation.float_type]
    wanted: DType = max(floats or types, key=lambda t: t.bits)
    return [
        x.astype(wanted.name) if isinstance(x, Symbolic) and x.dtype != wanted else fitted(x, wanted)
        for x in operands
    ]


def int_or_none(x: float) -> int | None:
    """A float as an integer, where it is one."""
    return int(x) if x == x and abs(x) < 1 << 53 and x == int(x) else None


def fitted(x: Any, t: DType) -> Any:
    """A number as one of a dtype's kind; tensors as they are."""
    if isinstance(x, Symbolic) or t == BOOL:
        return x
    return float(x) if t.is_float else int(x)


@operation(*_BINARY, numbers=True)
def _binary(about: Operation, x: Any, y: Any) -> Any:
    x, y = common(about, x, y)
    return each(about.name, _BINARY[about.name], x, y)


@operation("div", numbers=True)
def _divide(about: Operation, x: Any, y: Any) -> Any:
    x, y = common(about, x, y)
    t = next(v.dtype for v in (x, y) if isinstance(v, Symbolic))
    return each("div", "{0} / {1}" if t.is_float else _TRUNCATED if t.is_signed else "{0} // {1}", x, y)


@operation("pow", numbers=True)
def _power(about: Operation, x: Any, y: Any) -> Any:
    known = {2.0: "{0} * {0}", 0.5: "sqrt({0})", 1.0: "{0}", -1.0: "1 / {0}", -0.5: "1 / sqrt({0})"}
    if isinstance(x, Symbolic) and x.dtype.is_float and not isinstance(y, Symbolic) and float(y) in known:
        return each("pow", known[float(y)], x)
    x, y = common(about, x, y)
    t = next(v.dtype for v in (x, y) if isinstance(v, Symbolic))
    if t.is_float:
        return each("pow", "{0} ** {1}", x, y)
    if isinstance(y, int) and 0 <= y <= 64:
        return each("pow", " * ".join(["{0}"] * y) or "1 + 0 * {0}", x)
    raise about.refuse("powers of integers by tensors", "cast<scalar> makes them floats")


@operation(*_COMPARE, numbers=True)
def _compare(about: Operation, x: Any, y: Any) -> Any:
    x, y = common(about, x, y)
    return each(about.name, f"{{0}} {_COMPARE[about.name]} {{1}}", x, y, result=BOOL)


@operation("and", "or")
def _logic(about: Operation, x: Any, y: Any) -> Any:
    return each(about.name, f"{{0}} {about.name} {{1}}", _truths(x), _truths(y))


def _truths(x: Any) -> Any:
    return x if x.dtype == BOOL else x.astype("bool")


@operation("not")
def _not(about: Operation, x: Any) -> Any:
    return each("not", "not {0}", _truths(x))


@operation(*_UNARY)
def _unary(about: Operation, x: Any) -> Any:
    if about.name in ("floor", "ceil") and not x.dtype.is_float:
        return x
    return each(about.name, _UNARY[about.name], floats(about, x))


def floats(about: Operation, x: Any) -> Any:
    """A tensor of floats: integers are converted."""
    return x if x.dtype.is_float else x.astype(about.evaluation.float_type.name)


@operation(*_ANY_NUMBER)
def _of_number(about: Operation, x: Any) -> Any:
    return each(about.name, _ANY_NUMBER[about.name], x)


@operation("round")
def _round(about: Operation, x: Any) -> Any:
    text = _TRACT_ROUND if about.evaluation.tract else _ROUND
    return each("round", text, x) if x.dtype.is_float else x


@operation("copy")
def _copy(about: Operation, x: Any) -> Any:
    return x


@operation("copy_n")
def _copies(about: Operation, x: Any, times: int) -> Any:
    if not isinstance(times, int) or not 0 <= times <= 1 << 16:
        raise about.refuse(f"{times} copies")
    return [x] * times


@operation("add_n")
def _sum(about: Operation, x: list[Any]) -> Any:
    if not x:
        return about.tensor([0.0])
    return reduce(lambda a, b: each("add", "{0} + {1}", *common(about, a, b)), x)


@operation("select", numbers=True)
def _select(about: Operation, condition: Any, true_value: Any, false_value: Any) -> Any:
    if not isinstance(condition, Symbolic):
        chosen = true_value if condition else false_value
        return chosen if isinstance(chosen, Symbolic) else about.tensor(chosen)
    if not any(isinstance(v, Symbolic) for v in (true_value, false_value)):
        true_value = about.tensor(true_value, about.evaluation.float_type)
    yes, no = common(about, true_value, false_value)
    t = next(v.dtype for v in (yes, no) if isinstance(v, Symbolic))
    return each("select", "if {0} then {1} else {2}", _truths(condition), yes, no, result=t)


@operation("clamp", numbers=True)
def _clamp(about: Operation, x: Any, a: Any, b: Any) -> Any:
    x, a, b = common(about, x, a, b)
    return each("clamp", "max(min({0}, {2}), {1})", x, a, b)


@operation("relu", "sigmoid", "silu", "gelu")
def _activation(about: Operation, x: Any) -> Any:
    return getattr(ops, about.name)(floats(about, x))


@operation("elu")
def _elu(about: Operation, x: Any, alpha: float) -> Any:
    return ops.elu(x, alpha=float(alpha))


@operation("selu", numbers=True)
def _selu(about: Operation, x: Any, alpha: float, **more: float) -> Any:
    scale = number(float(more["lambda"]))
    return each("selu", f"{scale} * (if {{0}} < 0 then {number(float(alpha))} * expm1({{0}}) else {{0}})", x)


@operation("leaky_relu")
def _leaky(about: Operation, x: Any, alpha: float) -> Any:
    return ops.leaky_relu(x, slope=float(alpha))


@operation("prelu", numbers=True)
def _prelu(about: Operation, x: Any, alpha: Any) -> Any:
    x, alpha = common(about, x, alpha)
    return each("prelu", "if {0} < 0 then {1} * {0} else {0}", x, alpha)

"""NumPy's universal functions called on tensors: `np.exp(x)` is `x.exp()`, and `array + x` what
`x` says. Their methods `reduce`, `accumulate` and `outer` are reductions, scans and products of all
pairs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.arrays import array_functions, binary
from texpr.graph.arrays.array_functions import operand
from texpr.graph.arrays.numpy_operands import strong
from texpr.graph.arrays.recorded import Recorded
from texpr.graph.arrays.sums_of_products import vecdot
from texpr.ir.dtypes import BOOL
from texpr.support.errors import CallError


def _truth(x: Any) -> Any:
    v = strong(x)
    return v if v.dtype in (BOOL, np.dtype(bool)) else v != 0


def _divmod(x: Any, y: Any) -> Any:
    return binary.apply_binary("floor_divide", x, y), binary.apply_binary("remainder", x, y)


def _rounded(name: str) -> Callable[[Any], Any]:
    """A function to whole numbers: integers are their own."""

    def of_array(x: Any) -> Any:
        return getattr(x, name)() if x.dtype.is_float else array_functions.itself(x)

    return of_array


def _vector_product(x: Any, y: Any) -> Any:
    return array_functions.matmul(x, y) if len(x.shape) > 1 and len(y.shape) == 1 else NotImplemented


_OPERATORS: dict[str, Callable[..., Any]] = {
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": operator.abs,
    "fabs": operator.abs,
    "conjugate": operator.pos,
    "invert": operator.invert,
    "logical_not": lambda x: ~_truth(x),
    "logical_and": lambda x, y: _truth(x) & _truth(y),
    "logical_or": lambda x, y: _truth(x) | _truth(y),
    "logical_xor": lambda x, y: _truth(x) ^ _truth(y),
    "rint": _rounded("round"),
    "trunc": _rounded("trunc"),
    "sign": lambda x: x.sign(),
    "signbit": lambda x: x.signbit(),
    "reciprocal": lambda x: 1 / x if x.dtype.is_float else NotImplemented,
    "degrees": lambda x: x * (180 / np.pi),
    "rad2deg": lambda x: x * (180 / np.pi),
    "radians": lambda x: x * (np.pi / 180),
    "deg2rad": lambda x: x * (np.pi / 180),
    "matmul": array_functions.matmul,
    "vecdot": vecdot,
    "matvec": _vector_product,
    "divmod": _divmod,
    "float_power": lambda x, y: binary.apply_binary("power", _as_f64(x), _as_f64(y)),
    "ldexp": lambda x, y: (
        x * 2.0 ** array_functions.cast_any(strong(y), x.dtype) if x.dtype.is_float else NotImplemented
    ),
    "heaviside": lambda x, y: (
        array_functions.where(
            x < 0, 0.0, array_functions.where(x > 0, 1.0, array_functions.where(x == 0, y, x))
        )
        if x.dtype.is_float
        else NotImplemented
    ),
}
_METHODS = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "square"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"),
    *("floor", "ceil", "isnan", "isinf", "isfinite"),
)
_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
_SCANS = {"add": "cumsum", "multiply": "cumprod"}


def _as_f64(x: Any) -> Any:
    v = strong(x)
    return v.astype("f64" if not isinstance(v, np.ndarray) else "f8")


def apply_ufunc(name: str, method: str, inputs: tuple[Any, ...], options: dict[str, object]) -> Any:
    """A universal function on operands of which one is a tensor.

    Args:
        method: `__call__`, or what else NumPy asks of the function, such as `reduce`.
        options: such as `out`, `where` and `dtype`.
    Raises:
        CallError: tensors have no such function.
    """
    if method == "__call__" and not options and isinstance(inputs[0], Recorded):
        return inputs[0].recorded_call(_method(name), inputs[1:], {})
    return _run(name, method, inputs, options)


@cache
def _method(name: str) -> Callable[..., Any]:
    """A universal function as a method of its first operand; the same object each time."""
    return lambda *inputs: _run(name, "__call__", inputs, {})


def _run(name: str, method: str, inputs: tuple[Any, ...], options: dict[str, object]) -> Any:
    found: Any = NotImplemented
    if method == "__call__":
        left = {k: v for k, v in options.items() if (k, v) not in (("where", True), ("casting", "same_kind"))}
        dtype = left.pop("dtype", None)
        if not left:
            given = inputs if dtype is None else tuple(_converted(x, dtype) for x in inputs)
            found = _called(name, given)
    elif method in _BY_METHOD:
        found = _BY_METHOD[method](name, *inputs, **options)
    if found is not NotImplemented:
        return found
    asked = name if method == "__call__" else f"{name}.{method}"
    given_options = f" with {', '.join(options)}" if options else ""
    raise CallError(
        f"numpy.{asked}{given_options} of a tensor", code="arguments", help=_help(method, options)
    )


def _help(method: str, options: dict[str, object]) -> str:
    if "out" in options:
        return "use the result: x = x + y; an array is written to by x[...] = np.asarray(y)"
    if "where" in options:
        return "choose from both results: np.where(condition, y, x)"
    if method == "at":
        return "tx.ops.scatter_add gives a tensor with numbers added at places"
    return "use a method of the tensor, texpr.ops, or np.asarray(x)"


def _converted(x: Any, dtype: object) -> Any:
    v = strong(x)
    return v.astype(np.dtype(dtype) if isinstance(v, np.ndarray) else dtype)  # type: ignore[call-overload]


def _called(name: str, inputs: tuple[Any, ...]) -> Any:
    if name in binary.NAMES:
        return binary.apply_binary(name, *inputs)
    if name in binary.COMPARISONS:
        return binary.compare(name, *inputs)
    if name in _METHODS:
        return getattr(operand(inputs[0]), name)()
    if name in _OPERATORS:
        return _OPERATORS[name](*(operand(x) for x in inputs))
    return NotImplemented


def _reduce(
    name: str,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """`np.add.reduce` and its kin: along the first axis by default."""
    if name not in _REDUCTIONS or out is not None or options:
        return NotImplemented
    v = _truth(x) if name.startswith("logical") else operand(x)
    more = {} if dtype is None else {"dtype": dtype}
    return getattr(v, _REDUCTIONS[name])(axis, keepdims=keepdims, **more)


def _accumulate(name: str, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """`np.add.accumulate` and its kin."""
    v = operand(x)
    if out is not None or not v.shape:
        return NotImplemented
    if name in _SCANS:
        return getattr(v, _SCANS[name])(axis, dtype)
    if name not in ("maximum", "minimum") or dtype is not None or v.dtype == BOOL:
        return NotImplemented
    (k,) = array_functions.axes_of(axis, len(v.shape))
    if name == "maximum":
        return ops.cummax(v, axis=k)
    return ops.cummin(v, axis=k) if v.dtype.is_float else ops.cummin_places(v, axis=k)[0]


def _outer(name: str, a: Any, b: Any, **options: Any) -> Any:
    """`np.add.outer` and its kin: the function of all pairs."""
    if options or name in ("matmul", "vecdot", "matvec", "vecmat"):
        return NotImplemented
    x, y = strong(a), strong(b)
    return _called(name, (x.reshape((*x.shape, *[1] * len(y.shape))), y))


_BY_METHOD: dict[str, Callable[..., Any]] = {"reduce": _reduce, "accumulate": _accumulate, "outer": _outer}

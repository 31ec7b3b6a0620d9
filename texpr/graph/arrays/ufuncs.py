"""NumPy's universal functions called on tensors: `np.exp(x)` is `x.exp()`, and `array + x` what
`x` says.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

from texpr.graph.arrays import array_functions, binary
from texpr.graph.arrays.recorded import Recorded
from texpr.support.errors import CallError

_OPERATORS: dict[str, Callable[..., Any]] = {
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": operator.abs,
    "fabs": operator.abs,
    "invert": operator.invert,
    "logical_not": lambda x: ~x.astype("bool"),
    "rint": lambda x: x.round(),
    "matmul": array_functions.matmul,
    "divmod": lambda x, y: (
        binary.apply_binary("floor_divide", x, y),
        binary.apply_binary("remainder", x, y),
    ),
}
_METHODS = (
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "square",
    "floor",
    "ceil",
    "isnan",
    "isinf",
    "isfinite",
)


def apply_ufunc(name: str, method: str, inputs: tuple[Any, ...], options: dict[str, object]) -> Any:
    """A universal function on operands of which one is a tensor.

    Args:
        method: `__call__`, or what else NumPy asks of the function, such as `reduce`.
        options: such as `out`, `where` and `dtype`, which tensors do not take.
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
    if method == "__call__" and not options:
        if name in binary.NAMES:
            return binary.apply_binary(name, *inputs)
        if name in binary.COMPARISONS:
            return binary.compare(name, *inputs)
        if name in _METHODS:
            return getattr(inputs[0], name)()
        if name in _OPERATORS:
            return _OPERATORS[name](*inputs)
    asked = name if method == "__call__" else f"{name}.{method}"
    given = f" with {', '.join(options)}" if options else ""
    raise CallError(
        f"numpy.{asked}{given} of a tensor",
        code="arguments",
        help="use a method of the tensor, texpr.ops, or np.asarray(x)",
    )

"""Operators that are declared, not written: `extern op`. A Program without equations is one; a registered function computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from texpr.ir.dtypes import DType, numpy_dtype
from texpr.ir.tensor import Program
from texpr.support.errors import CallError

_FUNCTIONS: dict[str, Callable[..., object]] = {}


def register_extern(name: str, function: Callable[..., object]) -> None:
    """Let `function` compute every `extern op` called `name`, where the interpreter runs it.

    Args:
        function: takes one array per input, in the callers' shapes, and the operator's constants by name; gives an array, or a tuple with
            one per output. A later registration replaces an earlier one.
    """
    _FUNCTIONS[name] = function


def is_extern(program: Program) -> bool:
    """Whether nothing says here how the outputs are computed."""
    return not program.equations


def run_extern(program: Program, arrays: Sequence[np.ndarray], shapes: Sequence[tuple[int, ...]]) -> tuple[np.ndarray, ...]:
    """The outputs of an extern operator, in the given shapes.

    Raises:
        CallError: no function is registered, or its results have other shapes or dtypes than the operator declares.
    """
    function = _FUNCTIONS.get(program.name)
    if function is None:
        raise CallError(f"`{program.name}` is extern and nothing computes it", code="extern",
                        help=f"texpr.register_extern({program.name!r}, function)")
    found = function(*arrays, **{name: value for name, value in program.constants if not isinstance(value, DType)})
    results = found if isinstance(found, tuple) else (found,)
    if len(results) != len(program.outputs):
        raise CallError(f"the function of `{program.name}` gives {len(results)} results, expected {len(program.outputs)}", code="extern")
    stored = []
    for tensor, result, shape in zip(program.outputs, results, shapes):
        array = np.asarray(result)
        if array.shape != shape or array.dtype != numpy_dtype(tensor.dtype):
            raise CallError(f"the function of `{program.name}` gives {array.dtype}{list(array.shape)} for `{tensor.name}`, expected "
                            f"{numpy_dtype(tensor.dtype)}{list(shape)}", code="extern")
        stored.append(array)
    return tuple(stored)

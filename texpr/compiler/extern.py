"""What compiled kernels call for extern operators in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Expr, Tensor, Var
from texpr.ir.extern import extern_address, extern_symbol, run_function
from texpr.ir.loop import ExternCall, Kernel
from texpr.ir.shapes import evaluate_size
from texpr.ir.traverse import variables
from texpr.runtime.extern import NativeFunction, native_function
from texpr.runtime.spec import DistinctCheck, RangeCheck

Extents = Mapping[Var, int]


def extern_functions(kernel: Kernel) -> dict[str, NativeFunction]:
    """The code behind every symbol that the kernel calls."""
    return {extern_symbol(s): _function(s) for s in kernel.body if isinstance(s, ExternCall)}


def _function(call: ExternCall) -> NativeFunction:
    address = extern_address(call.name)
    if address is not None:
        return NativeFunction(address, None)

    def run(arrays: list[np.ndarray], shapes: list[tuple[int, ...]]) -> Sequence[np.ndarray]:
        results = run_function(call.name, call.constants, call.outputs, arrays, shapes)
        extents = _extents(call, [*(a.shape for a in arrays), *shapes])
        for k, tensor in enumerate(call.outputs):
            _check(tensor, k, results, extents)
        return results

    inputs, outputs = ([(numpy_dtype(t.dtype), t.rank) for t in part] for part in (call.inputs, call.outputs))
    return native_function(run, inputs, outputs)


def _extents(call: ExternCall, shapes: Sequence[tuple[int, ...]]) -> Extents:
    """The sizes that the shapes of a call tell."""
    found: dict[Var, int] = {}
    for tensor, shape in zip((*call.inputs, *call.outputs), shapes):
        found |= {size: n for size, n in zip(tensor.shape, shape) if isinstance(size, Var)}
    return found


def _check(tensor: Tensor, position: int, results: Sequence[np.ndarray], extents: Extents) -> None:
    """What the operator declares of the values it gives.

    Raises:
        CallError: one of them is something else.
    """
    if tensor.value_range is not None and _known(tensor.value_range, extents):
        lo, hi = (evaluate_size(e, extents) for e in tensor.value_range)
        RangeCheck(position, tensor.name, lo, hi)(results, {})
    if tensor.distinct and tensor.rank:
        DistinctCheck(position, tensor.name, results[position].shape[-1])(results, {})


def _known(bounds: Sequence[Expr], extents: Extents) -> bool:
    return variables(*bounds) <= set(extents)

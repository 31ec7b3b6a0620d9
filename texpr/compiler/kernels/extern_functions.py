"""Functions that compiled kernels call for extern operators in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor, Var
from texpr.ir.extern import extern_address, extern_symbol, joined_extents, opened_shape, run_function
from texpr.ir.loop import ExternCall, Kernel
from texpr.ir.tensor import Invoke, Program
from texpr.passes.tensor.inline_calls import inline_calls
from texpr.runtime.call.joined_extents import with_joined_extents
from texpr.runtime.call.native_callbacks import NativeFunction, native_function

Shape = tuple[int, ...]
_running = threading.local()


def extern_functions(kernel: Kernel, program: Program) -> dict[str, NativeFunction]:
    """The code behind every symbol that the kernel calls.

    Args:
        program: what the kernel computes; in it, sizes have names that became numbers in the
            kernel.
    """
    whole = inline_calls(program)
    declared = {t.name: t for t in (*whole.inputs, *whole.outputs, *whole.temporaries)}
    joined = {e.targets[0].name: joined_extents(e) for e in whole.equations if isinstance(e, Invoke)}
    return {
        extern_symbol(s): _function(s, declared, joined.get(s.outputs[0].name, ()))
        for s in externs_of(kernel)
    }


def externs_of(kernel: Kernel) -> list[ExternCall]:
    """The calls of extern operators in a kernel."""
    return [s for s in kernel.body if isinstance(s, ExternCall)]


def _function(
    call: ExternCall, declared: Mapping[str, Tensor], joined: tuple[tuple[int, ...], ...]
) -> NativeFunction:
    address = extern_address(call, tuple(map(len, joined)))
    if address is not None:
        apart = all(n == 1 for group in joined for n in group)
        return NativeFunction(address, None) if apart else with_joined_extents(address, joined)
    tensors = [declared.get(t.name, t) for t in (*call.inputs, *call.outputs)]
    outputs = tensors[len(call.inputs) :]

    def run(arrays: list[np.ndarray], shapes: list[Shape]) -> Sequence[np.ndarray]:
        flat = [*(a.shape for a in arrays), *shapes]
        known, packs = getattr(_running, "call", ({}, {}))
        sizes = {**_extents(tensors, flat), **known}
        opened = [opened_shape(t, shape, packs) for t, shape in zip(tensors, flat)]
        given = [a.reshape(shape) for a, shape in zip(arrays, opened)]
        wanted = opened[len(arrays) :]
        results = run_function(call.name, call.constants, call.inputs, outputs, given, wanted, sizes)
        return [r.reshape(shape) for r, shape in zip(results, shapes)]

    inputs, results = ([(numpy_dtype(t.dtype), t.rank) for t in part] for part in (call.inputs, call.outputs))
    return native_function(run, inputs, results)


def _extents(tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> dict[Var, int]:
    """The sizes that the shapes of a call tell."""
    return {
        size: n
        for t, shape in zip(tensors, shapes)
        for size, n in zip(t.shape, shape)
        if isinstance(size, Var)
    }


def with_known_sizes(
    sizes: Mapping[Var, int], packs: Mapping[Var, Shape], call: Callable[..., object]
) -> Callable[..., object]:
    """`call`, during which extern functions see these sizes, and packs in the callers'
    dimensions.
    """

    def run(*arrays: object, **options: object) -> object:
        before = getattr(_running, "call", ({}, {}))
        _running.call = sizes, packs
        try:
            return call(*arrays, **options)
        finally:
            _running.call = before

    return run

"""Calls on plain tensors of the CPU, which do not go through torch's dispatcher."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._C import _functorch
from torch.autograd import forward_ad

from texpr.bridges import derived
from texpr.bridges.torch import tensor_memory
from texpr.compiler import Op
from texpr.ir.tensor import Program

Tensors = Sequence[torch.Tensor | None]

PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})
"""Classes of tensors without behaviour of their own."""

dispatch_modes: Callable[[], int] = torch._C._len_torch_dispatch_stack
transform: Callable[[], object] = _functorch.peek_interpreter_stack
is_tracing: Callable[[], bool] = torch._C._is_tracing


def nobody_watches() -> bool:
    """True if nothing but its results depends on a call: no trace, no mode, no transformation of
    `torch.func`, no tangents of forward mode.
    """
    return forward_ad._current_level < 0 and not dispatch_modes() and transform() is None and not is_tracing()


def tangents_flow() -> bool:
    """True inside of transformations of `torch.func`, and where there are tangents."""
    return forward_ad._current_level >= 0 or transform() is not None


class AtAddresses:
    """Calls of a kernel on the memory of tensors.

    Attributes:
        at: takes the addresses of C-contiguous inputs, and gives the result, or a tuple of several.
    """

    def __init__(self, operator: str, bound: derived.Bound) -> None:
        self._operator = operator
        self.at = _with_new_arrays(bound) or _with_new_tensors(bound)

    def __call__(self, tensors: Tensors) -> Any:
        """The results, of tensors of the shapes and dtypes that the kernel is for."""
        inputs = [tensor_memory.readable(self._operator, t) for t in tensors if t is not None]
        return self.at(*[t.data_ptr() for t in inputs])


def _with_new_arrays(bound: derived.Bound) -> Callable[..., Any] | None:
    """Results as arrays of NumPy's, which are made in native code, under tensors: that takes less
    time than `torch.empty`. None where NumPy lacks a dtype.
    """
    call, convert = bound.calls.call, torch.from_numpy
    if call is None or any(d.dtype.as_bits for d in bound.results):
        return None
    if len(bound.results) == 1 and bound.inputs == 1:
        return lambda address: convert(call(address))
    if len(bound.results) == 1:
        return lambda *addresses: convert(call(*addresses))
    return lambda *addresses: tuple([convert(a) for a in call(*addresses)])


def _with_new_tensors(bound: derived.Bound) -> Callable[..., Any]:
    """Results as tensors that torch makes: like others, which takes less time than `torch.empty`."""
    run, one, empty_like = bound.calls.run, len(bound.results) == 1, torch.empty_like
    like = [
        torch.empty((), dtype=tensor_memory.TO_TORCH[d.dtype], device="cpu").expand(d.shape)
        for d in bound.results
    ]

    def call(*addresses: int) -> Any:
        made = [empty_like(t, memory_format=torch.contiguous_format) for t in like]
        run(*addresses, *[t.data_ptr() for t in made])
        return made[0] if one else tuple(made)

    return call


class OnArrays:
    """Calls of an operator on arrays of NumPy's that share the memory of tensors: where values are
    checked, or a kernel serves any size.
    """

    at = None

    def __init__(
        self, operator: Op, names: Sequence[str], constants: Mapping[str, object], program: Program
    ) -> None:
        self._operator, self._names, self._constants = operator, names, constants
        self._dtypes = [t.dtype for t in program.outputs]

    def __call__(self, tensors: Tensors) -> Any:
        """The results."""
        name = self._operator.__name__
        given = {n: t for n, t in zip(self._names, tensors) if t is not None}
        arrays = {n: tensor_memory.as_array(tensor_memory.readable(name, t)) for n, t in given.items()}
        found = self._operator(**arrays, **self._constants)
        if len(self._dtypes) == 1:
            return tensor_memory.as_tensor(found, self._dtypes[0])
        return tuple(map(tensor_memory.as_tensor, found, self._dtypes))

"""Operators as users of torch call them, by their names in torch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._C._functorch import unwrap_if_dead
from torch.autograd import forward_ad

from texpr.bridges import derived
from texpr.bridges.derived import Described
from texpr.bridges.torch import tensor_memory
from texpr.bridges.torch.autograd_functions import Differentiable, Transformed
from texpr.bridges.torch.dispatched import define
from texpr.bridges.torch.eager_calls import (
    PLAIN,
    AtAddresses,
    OnArrays,
    Tensors,
    dispatch_modes,
    is_tracing,
    nobody_watches,
    tangents_flow,
    transform,
)
from texpr.compiler import Op, grad, jvp
from texpr.compiler.operator_signature import signature_of
from texpr.graph.lazy.mapped_operators import map_operator
from texpr.ir.tensor import Program
from texpr.runtime.native import native_library
from texpr.support.errors import CallError
from texpr.support.suggest import did_you_mean

_MOST_CALLS = 1024
_QUALIFIED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*::[A-Za-z_][A-Za-z0-9_]*")
_OF_TORCH = ("aten", "prim", "prims", "torch")
_NO_CONSTANTS: Mapping[str, object] = {}

_compiling = torch.compiler.is_dynamo_compiling
"""True while Dynamo reads a call. `torch.export` without Dynamo has a dispatch mode instead."""
_grad_enabled = torch.is_grad_enabled
_threads = torch.get_num_threads


class TorchOp:
    """An operator of texpr, called on tensors of torch.

    Attributes:
        operator: of texpr.
        qualname: `NAMESPACE::NAME` in torch.
        overload: `torch.ops.NAMESPACE.NAME.default`, which takes inputs by position, None for those
            that are absent, and constants by name.
    """

    def __init__(self, operator: Op, qualname: str) -> None:
        self.operator, self.qualname, self.signature = operator, qualname, operator.signature
        self.__name__, self.__doc__ = operator.__name__, operator.__doc__
        self._names = tuple(p.name for p in self.signature.inputs)
        self._count = len(self._names)
        self._calls: dict[tuple, AtAddresses | OnArrays] = {}
        self._gradients: dict[tuple[str, ...], TorchOp] = {}
        self._tangents: dict[tuple[str, ...], TorchOp] = {}
        self._mapped: dict[tuple[int | None, ...], TorchOp] = {}
        self.overload = define(self)

    def __call__(self, *tensors: torch.Tensor | None, **options: Any) -> Any:
        """The results: a tensor, or a tuple of several. Inputs by position or name, constants by
        name.

        Raises:
            CallError: arguments that do not fit.
        """
        if options or len(tensors) != self._count:
            tensors, options = self._ordered(tensors, options)
        if _compiling():
            return self.overload(*tensors, **options)
        if not options:
            found = self._served(tensors)
            if found is not None:
                return found
        return self._general(tensors, options)

    def _served(self, tensors: Tensors) -> Any:
        """The results where tensors are plain and a kernel for them is there, which is the way that
        takes the least time; else None.
        """
        if not nobody_watches():
            return None
        key: list[object] = []
        addresses: list[int] = []
        differentiable = False
        try:
            for t in tensors:
                if type(t) not in PLAIN or not t.is_cpu or not t.is_contiguous() or t.is_neg():  # type: ignore[union-attr]
                    return None
                if t.requires_grad:  # type: ignore[union-attr]
                    differentiable = True
                key += (t.shape, t.dtype)  # type: ignore[union-attr]
                addresses.append(t.data_ptr())  # type: ignore[union-attr]
        except RuntimeError:  # a tensor without memory of its own: sparse, or left by a transformation
            return None
        if differentiable and _grad_enabled():
            return Differentiable.apply(self, _NO_CONSTANTS, *tensors)
        call = self._calls.get(tuple(key))
        if call is None or call.at is None:
            return None
        if _threads() != native_library.pool_threads:
            tensor_memory.follow_torchs_threads()
        return call.at(*addresses)

    def _general(self, tensors: Tensors, constants: Mapping[str, Any]) -> Any:
        for name, t in zip(self._names, tensors):
            if t is not None:
                tensor_memory.described(self.__name__, name, t)
        if not nobody_watches() or not all(t is None or type(t) in PLAIN and t.is_cpu for t in tensors):
            if tangents_flow():
                return Transformed.apply(self, constants, *tensors)
            return self.overload(*tensors, **constants)
        tensors = [t if t is None else unwrap_if_dead(t) for t in tensors]
        if _grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
            return Differentiable.apply(self, constants, *tensors)
        return self.compute(tensors, constants)

    def compute(self, tensors: Tensors, constants: Mapping[str, object]) -> Any:
        """The results, of plain tensors on the CPU, without a gradient: a tensor, or a tuple of
        several.
        """
        if not constants:
            found = self._served(tensors)
            if found is not None:
                return found
        key: list[object] = []
        for t in tensors:
            key += (None,) if t is None else (t.shape, t.dtype)
        key += [(n, type(v), str(v)) for n, v in constants.items()]
        call = self._calls.get(tuple(key)) or self._bind(tuple(key), tensors, constants)
        if _threads() != native_library.pool_threads:
            tensor_memory.follow_torchs_threads()
        return call(tensors)

    def _bind(self, key: tuple, tensors: Tensors, constants: Mapping[str, object]) -> AtAddresses | OnArrays:
        """Find what computes calls of one form, and keep it."""
        given, program = self._program(tensors, constants)
        for t in tensors:
            if t is not None:
                tensor_memory.readable(self.__name__, t)
        bound = derived.bound(self.operator, program, [d.shape for d in given.values()])
        if bound is None:
            call: AtAddresses | OnArrays = OnArrays(self.operator, self._names, constants, program)
        else:
            call = AtAddresses(self.__name__, bound)
        if len(self._calls) >= _MOST_CALLS:
            self._calls.clear()
        self._calls[key] = call
        return call

    def _program(
        self, tensors: Tensors, constants: Mapping[str, object]
    ) -> tuple[dict[str, Described], Program]:
        """The inputs that are given, and the program that serves them."""
        given = {
            n: tensor_memory.described(self.__name__, n, t)
            for n, t in zip(self._names, tensors)
            if t is not None
        }
        return given, derived.program_for(self.operator, given, constants, tensor_memory.conversion)

    def describe(self, tensors: Tensors, constants: Mapping[str, object]) -> tuple[Described, ...]:
        """The results' shapes and dtypes; shapes may be symbolic."""
        given, program = self._program(tensors, constants)
        return derived.results_of(program, [d.shape for d in given.values()])

    def gradients(
        self, tensors: Tensors, constants: Mapping[str, object], cotangents: Tensors, needed: Sequence[bool]
    ) -> list[torch.Tensor | None]:
        """The cotangent of each input that is needed, else None."""
        if self._count == 1 and needed[0] and len(cotangents) == 1:
            known = self._gradients.get(self._names) or self._gradient(self._names)
            return [known(tensors[0], cotangents[0], **constants)]
        wrt = tuple([n for n, asked, t in zip(self._names, needed, tensors) if asked and t is not None])
        if not wrt:
            return [None] * self._count
        known = self._gradients.get(wrt) or self._gradient(wrt)
        given = [c for c in cotangents if c is not None and c.is_floating_point()]
        found = known(*tensors, *given, **constants)
        results = dict(zip(wrt, (found,) if len(wrt) == 1 else found))
        return [results.get(n) for n in self._names]

    def _gradient(self, wrt: tuple[str, ...]) -> TorchOp:
        """The operator of the gradient, registered.

        Raises:
            CheckError: something has no gradient.
        """
        made = register(grad(self.operator, wrt), f"{self.qualname}_grad_{'_'.join(wrt)}")
        self._gradients[wrt] = made
        return made

    def tangents(
        self, tensors: Tensors, constants: Mapping[str, object], tangents: Tensors
    ) -> Sequence[torch.Tensor]:
        """The tangents of the float outputs, for those of the inputs."""
        floats = {n: t for n, t in zip(self._names, tangents) if t is not None and t.is_floating_point()}
        wrt = tuple(floats)
        known = self._tangents.get(wrt)
        if known is None:
            known = register(jvp(self.operator, wrt), f"{self.qualname}_jvp_{'_'.join(wrt)}")
            self._tangents[wrt] = known
        found = known(*tensors, *floats.values(), **constants)
        return found[len(self.signature.outputs) :]

    def mapped(
        self,
        tensors: Tensors,
        constants: Mapping[str, object],
        axes: Sequence[int | None],
        size: int,
        dispatched: bool = False,
    ) -> Any:
        """The results of every slice along `axes`, stacked in front.

        Args:
            dispatched: by torch's dispatcher, inside of which calls are `overload`'s.
        """
        known = self.mapped_along(tuple([None if t is None else axis for t, axis in zip(tensors, axes)]))
        return (known.overload if dispatched else known)(*tensors, **constants)

    def mapped_along(self, axes: tuple[int | None, ...]) -> TorchOp:
        """The operator with one more index, along these axes of the inputs, registered.

        Raises:
            CheckError: it cannot be mapped so.
        """
        known = self._mapped.get(axes)
        if known is None:
            written = "_".join(["n" if axis is None else str(axis) for axis in axes])
            operator = map_operator(self.operator, axes)
            known = self._mapped[axes] = register(operator, f"{self.qualname}_vmap_{written}")
        return known

    def _ordered(
        self, tensors: Tensors, options: Mapping[str, Any]
    ) -> tuple[tuple[torch.Tensor | None, ...], dict[str, Any]]:
        """Inputs in their order, None for those that are absent, and the constants.

        Raises:
            CallError: too many inputs, one that is missing or given twice, an unknown name.
        """
        signature, found = self.signature, dict(zip(self._names, tensors))
        constants = {c.name: options[c.name] for c in signature.constants if c.name in options}
        if len(tensors) > self._count:
            raise self._refusal(f"found {len(tensors)} tensors", "give constants by name")
        for name, value in options.items():
            if name in constants:
                continue
            if name not in self._names:
                known = frozenset((*self._names, *(c.name for c in signature.constants)))
                raise self._refusal(f"there is no `{name}`", did_you_mean(name, known))
            if found.get(name) is not None:
                raise self._refusal(f"`{name}` is given twice", "")
            found[name] = value
        missing = [p.name for p in signature.inputs if found.get(p.name) is None and not p.optional]
        if missing:
            raise self._refusal(f"missing: {', '.join(missing)}", "")
        return tuple([found.get(n) for n in self._names]), constants

    def _refusal(self, problem: str, way_out: str) -> CallError:
        names = ", ".join(self._names) or "no tensors"
        text = f"{self.__name__} takes {names}; {problem}"
        return CallError(text, code="arguments", notes=(str(self.signature),), help=way_out)

    def __repr__(self) -> str:
        return f"<torch op {self.qualname}{str(self.signature).removeprefix(self.signature.name)}>"

    def __reduce__(self) -> tuple[Callable[..., TorchOp], tuple[Op, str]]:
        return register, (self.operator, self.qualname)


class OneInputTorchOp(TorchOp):
    """An operator of one input. A call of a thousand floats costs as much as its checks, so they are
    written out here, `nobody_watches` too, and the kernel of the latest shape is kept.
    """

    _latest: tuple[Any, Any, Callable[[int], Any]] = (None, None, lambda address: None)

    def __call__(self, tensor: Any = None, *more: Any, **options: Any) -> Any:
        if (
            more
            or options
            or _compiling()
            or forward_ad._current_level >= 0
            or dispatch_modes()
            or transform() is not None
            or is_tracing()
            or type(tensor) not in PLAIN
            or not tensor.is_cpu
            or not tensor.is_contiguous()
            or tensor.is_neg()
        ):
            return super().__call__(*(() if tensor is None else (tensor,)), *more, **options)
        if tensor.requires_grad and _grad_enabled():
            return Differentiable.apply(self, _NO_CONSTANTS, tensor)
        shape, dtype, at = self._latest
        if tensor.shape != shape or tensor.dtype is not dtype:
            found = self._calls.get((tensor.shape, tensor.dtype))
            if found is None or found.at is None:
                return super().__call__(tensor)
            at = found.at
            self._latest = tensor.shape, tensor.dtype, at
        try:
            address = tensor.data_ptr()
        except RuntimeError:  # a tensor without memory of its own: sparse, or left by a transformation
            return super().__call__(tensor)
        if _threads() != native_library.pool_threads:
            tensor_memory.follow_torchs_threads()
        return at(address)


_registered: dict[str, TorchOp] = {}


def register(operator: Op, name: str | None) -> TorchOp:
    """`tx.torch.op`."""
    qualname = _qualified(name if name is not None else signature_of(operator).name)
    signature_of(operator)
    known = _registered.get(qualname)
    if known is not None and (known.operator is operator or _same(known.operator, operator)):
        return known
    if known is not None or torch._C._jit_get_schemas_for_operator(qualname):
        raise CallError(
            f"PyTorch has another operator `{qualname}`",
            code="name",
            help="give this one its own name: tx.torch.op(op, name=...)",
        )
    kind = OneInputTorchOp if len(operator.signature.inputs) == 1 else TorchOp
    made = _registered[qualname] = kind(operator, qualname)
    return made


def _same(one: Op, other: Op) -> bool:
    """True if two operators were made from one text."""
    return one.__reduce__() == other.__reduce__()


def _qualified(name: object) -> str:
    """A name with its namespace."""
    qualname = name if isinstance(name, str) and "::" in name else f"texpr::{name}"
    if not isinstance(name, str) or not _QUALIFIED.fullmatch(qualname):
        raise CallError(
            f"the name of an operator of PyTorch is {name!r}",
            code="name",
            help="give it letters, digits and `_`: NAME, or NAMESPACE::NAME",
        )
    if qualname.split("::")[0] in _OF_TORCH:
        raise CallError(
            f"the name `{qualname}` is in a namespace of PyTorch's own",
            code="name",
            help=f"another namespace: texpr::{qualname.split('::')[1]}",
        )
    return qualname

"""Networks of texpr as modules of torch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from operator import is_
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch.autograd.function import once_differentiable

from texpr.bridges.derived import Described
from texpr.bridges.torch import tensor_memory
from texpr.bridges.torch.captured_network import (
    CapturedNetwork,
    RunningProgram,
    arrays_of,
    place_of,
    tensors_of,
)
from texpr.bridges.torch.eager_calls import nobody_watches
from texpr.graph import Variable
from texpr.graph.capture.variable import array_of
from texpr.nn import Module
from texpr.nn.core.module import structure
from texpr.runtime.gpu import HOST
from texpr.support.errors import CallError

_numbers = count()
_networks: WeakValueDictionary[int, Network] = WeakValueDictionary()
_MOST_CAPTURES = 64


class Network:
    """Computations of a module, by the shapes of its inputs.

    Attributes:
        variables: of the model, in the order in which calls give their tensors.
    """

    def __init__(self, model: Module, variables: Sequence[Variable]) -> None:
        self.model, self.variables = model, tuple(variables)
        self.name = type(model).__name__
        self.number = next(_numbers)
        self._captured: dict[tuple, CapturedNetwork] = {}
        _networks[self.number] = self

    def captured(self, data: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor]) -> CapturedNetwork:
        """The program for inputs of these shapes, captured if it is the first call of them.

        Raises:
            CallError: inputs that do not fit, or parameters that were converted.
        """
        for variable, t in zip(self.variables, tensors):
            if tensor_memory.OF_TORCH.get(t.dtype) != variable.dtype or tuple(t.shape) != variable.shape:
                raise CallError(
                    f"{self.name}: `{variable.name}` is {t.dtype}{list(t.shape)}, and the network has "
                    f"{variable.dtype}{list(variable.shape)}",
                    code="dtype",
                    help='convert the network of texpr, model.to("f64"), and call tx.torch.module(model) again',
                )
        key = (structure(self.model), tuple([(tuple(map(int, t.shape)), t.dtype) for t in data]))
        found = self._captured.get(key)
        if found is None:
            given = [tensor_memory.described(self.name, f"input {k}", t) for k, t in enumerate(data)]
            if len(self._captured) >= _MOST_CAPTURES:
                self._captured.clear()
            numbers = [Described(tuple(map(int, d.shape)), d.dtype) for d in given]
            found = self._captured[key] = CapturedNetwork(self.model, numbers)
        return found

    def inputs(
        self, captured: CapturedNetwork, data: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """The inputs of a program: the data, and of the tensors those that it reads."""
        return [*data, *[tensors[place_of(v, self.variables)] for v in captured.variables]]


class _Part(torch.nn.Module):
    """The parameters and buffers of a module of texpr, whose memory they share."""

    def __init__(self, part: Module, made: dict[int, Any]) -> None:
        super().__init__()
        made[id(part)] = self
        self._part = part
        for name, parameter in part._parameters.items():
            if id(parameter) not in made:
                tensor = _shared(parameter)
                made[id(parameter)] = torch.nn.Parameter(tensor, parameter.requires_grad)
            self.register_parameter(name, made[id(parameter)])
        for name, buffer in part._buffers.items():
            if id(buffer) not in made:
                made[id(buffer)] = _shared(buffer)
            self.register_buffer(name, made[id(buffer)], persistent=buffer.persistent)
        for name, child in part._modules.items():
            self.add_module(name, made.get(id(child)) or _Part(child, made))
        self.training = part.training

    def train(self, mode: bool = True) -> Any:
        """Set this module and all below it, and those of texpr, to training."""
        self._part.training = bool(mode)
        return super().train(mode)

    def _get_name(self) -> str:
        return type(self._part).__name__

    def extra_repr(self) -> str:
        """The arguments of the layer."""
        return "" if self._part._modules else self._part.extra_repr()


class TorchModule(_Part):
    """A network of texpr as a module of torch. `model` is that of texpr."""

    def __init__(self, model: Module) -> None:
        made: dict[int, Any] = {}
        super().__init__(model, made)
        self.model = model
        places: dict[int, tuple[Variable, torch.nn.Module, str]] = {}
        for part in self.modules():
            assert isinstance(part, _Part)
            for name, variable in (*part._part._parameters.items(), *part._part._buffers.items()):
                places.setdefault(id(variable), (variable, part, name))
        self._places = [(part, name) for _, part, name in places.values()]
        self._network = Network(model, [variable for variable, _, _ in places.values()])
        self._number = self._network.number
        self._arrays = [array_of(v) for v in self._network.variables]

    def forward(self, *inputs: torch.Tensor) -> Any:
        """Compute the results: a tensor, or a tuple of tensors."""
        if not torch.compiler.is_compiling():
            self._follow()
        tensors = [getattr(part, name) for part, name in self._places]
        if torch.compiler.is_compiling() or not nobody_watches():
            # A copy of what changes below: the backward pass reads it as it is now.
            given = [t if isinstance(t, torch.nn.Parameter) else t.clone() for t in tensors]
            results, updates = torch.ops.texpr.network(list(inputs), given, self._number)
            for t, new in zip(tensors, updates):
                if not isinstance(t, torch.nn.Parameter):
                    t.copy_(new)
            return results[0] if len(results) == 1 else tuple(results)
        return self._eager(inputs, tensors)

    def _follow(self) -> None:
        """Share memory with variables that lie elsewhere since training by texpr."""
        arrays = [array_of(v) for v in self._network.variables]
        if not all(map(is_, arrays, self._arrays)):
            for (part, name), variable in zip(self._places, self._network.variables):
                getattr(part, name).data = _shared(variable)
            self._arrays = arrays

    def _eager(self, inputs: Sequence[torch.Tensor], tensors: list[torch.Tensor]) -> Any:
        network = self._network
        for k, x in enumerate(inputs):
            tensor_memory.described(network.name, f"input {k}", x)
        captured = network.captured(inputs, tensors)
        given = network.inputs(captured, inputs, tensors)
        if torch.is_grad_enabled() and any([t.requires_grad for t in given]):
            found = _Differentiable.apply(captured, network.name, *given)
            found = found if isinstance(found, tuple) else (found,)
        else:
            arrays = captured.forward(arrays_of(network.name, given))
            found = _as_results(captured, arrays)
        count = len(captured.results)
        with torch.no_grad():
            for variable, new in zip(captured.updates, found[count:]):
                tensors[place_of(variable, network.variables)].copy_(new)
        return tuple(found[:count]) if captured.several else found[0]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copies share memory with a copy of the network."""
        for (part, name), variable in zip(self._places, self._network.variables):
            if hasattr(variable, "requires_grad"):
                variable.requires_grad = getattr(part, name).requires_grad
        return TorchModule, (self.model,)


class _Differentiable(torch.autograd.Function):
    """A forward pass in torch's graph."""

    @staticmethod
    def forward(ctx: Any, captured: CapturedNetwork, name: str, *given: torch.Tensor) -> Any:
        wrt = tuple([k for k, t in enumerate(given) if ctx.needs_input_grad[2 + k] and t.is_floating_point()])
        pair = ctx.pair = captured.pair(wrt)
        ctx.count, ctx.name, ctx.floats = len(given), name, captured.float_results
        arrays = arrays_of(name, given)
        found = pair.forward(arrays)
        ctx.save_for_backward(*[given[k] for k in pair.kept if k < ctx.count])
        ctx.residuals = [found[k - ctx.count] for k in pair.kept if k >= ctx.count]
        outputs = len(captured.results) + len(captured.updates)
        results = _as_results(captured, found[:outputs])
        constant = [t for k, t in enumerate(results) if k not in ctx.floats]
        if constant:
            ctx.mark_non_differentiable(*constant)
        return tuple(results)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: torch.Tensor) -> Any:
        saved = iter(arrays_of(ctx.name, ctx.saved_tensors))
        residuals = iter(ctx.residuals)
        kept = [next(saved) if k < ctx.count else next(residuals) for k in ctx.pair.kept]
        seeds = arrays_of(ctx.name, [cotangents[k] for k in ctx.floats])
        backward: RunningProgram = ctx.pair.backward
        found = tensors_of(backward([*kept, *seeds]), backward.dtypes)
        results = dict(zip(ctx.pair.wrt, found))
        return None, None, *[results.get(k) for k in range(ctx.count)]


def _as_results(captured: CapturedNetwork, arrays: Sequence[Any]) -> list[torch.Tensor]:
    dtypes = [d.dtype for d in captured.results] + [v.dtype for v in captured.updates]
    return tensors_of(arrays, dtypes)


def _shared(variable: Variable) -> torch.Tensor:
    """A tensor on the memory of a variable."""
    if variable.device != HOST:
        raise CallError(
            f"`{variable.name}` is on the device {variable.device}, and networks inside PyTorch run on the CPU",
            code="device",
            help='move the network: model.to("cpu")',
        )
    return tensor_memory.as_tensor(variable.data, variable.dtype)


def _found(data: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor], number: int) -> tuple[Any, ...]:
    network = _networks.get(number)
    if network is None:
        raise CallError(
            "a graph calls a network that this process does not have",
            code="module",
            help="keep the module of tx.torch.module as long as what was compiled or exported from it",
        )
    captured = network.captured(data, tensors)
    return network, captured, network.inputs(captured, data, tensors)


@torch.library.custom_op(
    "texpr::network",
    mutates_args=(),
    schema="(Tensor[] data, Tensor[] variables, int number) -> (Tensor[], Tensor[])",
)
def _network(data: list[torch.Tensor], variables: list[torch.Tensor], number: int) -> Any:
    """The results; and, where the network updates variables, all of them with their new values."""
    network, captured, given = _found(data, variables, number)
    found = _as_results(captured, captured.forward(arrays_of(network.name, given)))
    count = len(captured.results)
    if not captured.updates:
        return found[:count], []
    new = [t.detach().clone() for t in variables]
    for variable, value in zip(captured.updates, found[count:]):
        new[place_of(variable, network.variables)] = value
    return found[:count], new


@_network.register_fake
def _(data: list[torch.Tensor], variables: list[torch.Tensor], number: int) -> Any:
    _, captured, _ = _found(data, variables, number)
    results = [torch.empty(d.shape, dtype=tensor_memory.TO_TORCH[d.dtype]) for d in captured.results]
    return results, [torch.empty_like(t) for t in variables] if captured.updates else []


@torch.library.custom_op(
    "texpr::network_backward",
    mutates_args=(),
    schema="(Tensor[] data, Tensor[] variables, Tensor[] cotangents, bool[] needed, int number) -> Tensor[]",
)
def _network_backward(
    data: list[torch.Tensor],
    variables: list[torch.Tensor],
    cotangents: list[torch.Tensor],
    needed: list[bool],
    number: int,
) -> Any:
    """The cotangents of those data and variables that are needed; the forward pass is run again."""
    network, captured, given = _found(data, variables, number)
    places = [*range(len(data)), *[len(data) + place_of(v, network.variables) for v in captured.variables]]
    wrt = tuple([k for k, place in enumerate(places) if needed[place]])
    found = {}
    if wrt:
        pair, arrays = captured.pair(wrt), arrays_of(network.name, given)
        forward = pair.forward(arrays)
        kept = [arrays[k] if k < len(given) else forward[k - len(given)] for k in pair.kept]
        seeds = arrays_of(network.name, [cotangents[k] for k in captured.float_results])
        gradients = tensors_of(pair.backward([*kept, *seeds]), pair.backward.dtypes)
        found = {places[k]: g for k, g in zip(wrt, gradients)}
    every = [*data, *variables]
    return [found[k] if k in found else torch.zeros_like(t) for k, t in enumerate(every) if needed[k]]


@_network_backward.register_fake
def _(
    data: list[torch.Tensor],
    variables: list[torch.Tensor],
    cotangents: list[torch.Tensor],
    needed: list[bool],
    number: int,
) -> Any:
    return [torch.empty_like(t) for k, t in enumerate([*data, *variables]) if needed[k]]


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    data, variables, ctx.number = inputs
    ctx.counts = len(data), len(variables)
    ctx.save_for_backward(*data, *variables)


def _backward(ctx: Any, results: Sequence[torch.Tensor], updates: Sequence[torch.Tensor]) -> Any:
    first, _ = ctx.counts
    data, variables = list(ctx.saved_tensors[:first]), list(ctx.saved_tensors[first:])
    needed = [bool(n) for n in (*ctx.needs_input_grad[0], *ctx.needs_input_grad[1])]
    found = iter(torch.ops.texpr.network_backward(data, variables, list(results), needed, ctx.number))
    every = [next(found) if n else None for n in needed]
    return every[:first], every[first:], None


_network.register_autograd(_backward, setup_context=_keep)

"""A network's computation for inputs of some shapes, and its derivative, on torch's memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch

from texpr import autodiff
from texpr.bridges.derived import Described
from texpr.bridges.torch import tensor_memory
from texpr.graph import Capture, Plan, Variable
from texpr.ir.dtypes import DType
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Program
from texpr.nn import Module
from texpr.nn.core import pytree
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen

Tensors = Sequence[torch.Tensor]


@frozen
class Pair:
    """A forward pass that keeps what the backward pass needs.

    Attributes:
        kept: for each input of `backward` that is no cotangent, its place among the inputs of the
            program, or behind them among the outputs of `forward`.
        wrt: places of the inputs whose cotangents `backward` gives.
    """

    forward: RunningProgram
    backward: RunningProgram
    kept: tuple[int, ...]
    wrt: tuple[int, ...]


class RunningProgram:
    """A program of known shapes, compiled, on arrays where they lie.

    Attributes:
        dtypes: of the results.
    """

    def __init__(self, program: Program, constants: dict[str, np.ndarray]) -> None:
        capture = Capture(program.name)
        given = [
            capture.constant(constants[t.name], dtype=t.dtype)
            if t.name in constants
            else capture.input(t.name, [evaluate_size(e, {}) for e in t.shape], t.dtype)
            for t in program.inputs
        ]
        with capture:
            results = [capture.own_result(y) for y in capture.call(program, given)]
        self.dtypes = [t.dtype for t in program.outputs]
        self._plan = Plan(capture, results)

    def __call__(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """The results as new arrays."""
        tensor_memory.follow_torchs_threads()
        return self._plan(*arrays)


class CapturedNetwork:
    """The program of a network.

    Attributes:
        variables: of the network that it reads, in the order of its inputs behind the data.
        updates: variables whose next values are outputs, behind the results.
        results: shapes and dtypes.
    """

    def __init__(self, model: Module, given: Sequence[Described]) -> None:
        capture = Capture(type(model).__name__)
        symbols = [capture.input(f"x{k}" if k else "x", d.shape, d.dtype) for k, d in enumerate(given)]
        with capture:
            outputs = model(*symbols)
            several = isinstance(outputs, tuple | list)
            results = [capture.own_result(y) for y in pytree.leaves(outputs)]
        if several and len(results) != len(outputs) or not several and len(results) != 1:
            raise CallError(
                f"{type(model).__name__} gives nested results; inside PyTorch it gives a tensor, or a tuple "
                "of tensors",
                code="module",
            )
        if capture.rows:
            raise CallError(
                f"{type(model).__name__} asks for distinct values of an input, which is not checked here",
                code="distinct",
                help="call it on arrays",
            )
        self.several = several
        self.results = [Described(r.shape, r.dtype) for r in results]
        self.updates = tuple(capture.updates)
        self.variables = tuple(capture.variables)
        distinct = tuple(dict.fromkeys([*(r.tensor for r in results), *capture.updates.values()]))
        self._program = capture.differentiable(distinct)
        self._constants = {t.name: array for t, array in capture.constants.items()}
        self._count = len(given) + len(self.variables)
        self._pair = lru_cache(maxsize=16)(self._differentiated)
        self._whole: RunningProgram | None = None

    def forward(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """The results, and the updates behind them."""
        if self._whole is None:
            self._whole = RunningProgram(self._program, self._constants)
        return self._whole(arrays)

    def pair(self, wrt: tuple[int, ...]) -> Pair:
        """Forward and backward passes for cotangents of the inputs at these places."""
        return self._pair(wrt)

    @property
    def float_results(self) -> list[int]:
        """Places of the results through which gradients flow."""
        return [k for k, d in enumerate(self.results) if d.dtype.is_float]

    def _differentiated(self, wrt: tuple[int, ...]) -> Pair:
        program, count = self._program, len(self.results)
        outputs = [t.name for t in program.outputs[:count] if t.dtype.is_float]
        names = [program.inputs[k].name for k in wrt]
        made = autodiff.vjp(program, wrt=names, outputs=outputs)
        places = {t.name: k for k, t in enumerate((*program.inputs[: self._count], *made.forward.outputs))}
        behind = len(made.backward.inputs) - len(outputs)
        residuals = made.backward.inputs[:behind]
        return Pair(
            RunningProgram(made.forward, self._constants),
            RunningProgram(made.backward, self._constants),
            tuple(places[t.name] for t in residuals if t.name not in self._constants),
            wrt,
        )


def arrays_of(name: str, tensors: Tensors) -> list[np.ndarray]:
    """Arrays on the memory of tensors, as plans take them: what NumPy lacks as its bits."""
    return [tensor_memory.as_stored(tensor_memory.readable(name, t)) for t in tensors]


def tensors_of(arrays: Sequence[np.ndarray], dtypes: Sequence[DType]) -> list[torch.Tensor]:
    """Tensors on the memory of arrays."""
    return [tensor_memory.as_tensor(a, t) for a, t in zip(arrays, dtypes)]


def place_of(variable: Variable, variables: Sequence[Variable]) -> int:
    """The place of a variable among others, by identity."""
    return next(k for k, v in enumerate(variables) if v is variable)

"""Modules on lazy tensors: a call of a module is one operator in what waits to be computed.

The module is captured once per shapes, as when it is called on arrays; its program then takes part
in the history of tensors, with the parameters as leaves, so that `loss.backward()` gives each
parameter its `grad`. What a program changes, such as running statistics, is computed at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from texpr.graph import Capture, Variable
from texpr.graph.capture.variable import layout_of
from texpr.graph.lazy import Tensor
from texpr.graph.lazy.computation_cache import ComputationCache, cache_of_program
from texpr.graph.lazy.devices import common_device
from texpr.graph.lazy.lazy_tensor import apply_program, leaf_of, record_call
from texpr.graph.lazy.making import tensor
from texpr.graph.lazy.recipes import Spec, result_specs
from texpr.ir.dtypes import DType
from texpr.ir.tensor import Program
from texpr.nn.core import pytree
from texpr.nn.core.protocol import ModuleLike
from texpr.runtime.gpu import HOST
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen

_ALONE = pytree.skeleton(np.empty(0))
"""One result and nothing around it."""


@frozen
class CapturedCall:
    """A module's computation for inputs of some shapes.

    Attributes:
        nesting: how its results are nested.
        updates: variables whose next values are the last outputs.
        cache: of the program, which is the same for modules whose programs are equal.
        results: shapes and dtypes of what the program gives.
    """

    cache: ComputationCache
    variables: tuple[Variable, ...]
    constants: dict[str, tuple[Tensor, ...]]
    """By device: they are copied there once."""
    nesting: pytree.Skeleton
    updates: tuple[Variable, ...]
    results: tuple[Spec, ...]

    @staticmethod
    def of(module: ModuleLike, tensors: Sequence[Tensor], nesting: pytree.Skeleton) -> CapturedCall:
        """Capture a call.

        Raises:
            CallError: inputs that do not fit.
        """
        capture = Capture(type(module).__name__)
        symbols = [capture.input(f"x{k}" if k else "x", t.shape, t.dtype) for k, t in enumerate(tensors)]
        with capture:
            inputs, options = pytree.rebuild(nesting, symbols)
            outputs = module(*inputs, **options)
            results = [capture.own_result(y) for y in pytree.leaves(outputs)]
        if capture.rows:
            raise CallError(
                f"{type(module).__name__} asks for distinct values of an input, which is not checked of "
                f"tensors",
                code="distinct",
                help="call it on arrays",
            )
        updates = capture.updates
        distinct = tuple(dict.fromkeys([*(r.tensor for r in results), *updates.values()]))
        assert len(distinct) == len(results) + len(updates), "results are tensors of their own"
        constants = tuple(Tensor(a.shape, t.dtype, a) for t, a in capture.constants.items())
        weight = sum(layout_of(v).nbytes for v in capture.variables)
        cache = cache_of_program(capture.differentiable(distinct), weight)
        assert cache.program is not None
        shapes = (
            *(t.shape for t in tensors),
            *(v.shape for v in capture.variables),
            *(c.shape for c in constants),
        )
        return CapturedCall(
            cache,
            tuple(capture.variables),
            {HOST: constants},
            pytree.skeleton(outputs),
            tuple(updates),
            result_specs(cache.program, shapes),
        )

    @property
    def program(self) -> Program:
        """The operators of the module: its inputs are data, the values of `variables`, and
        `constants`.
        """
        assert self.cache.program is not None
        return self.cache.program

    def _recorded(self, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if all([t.spec or t.own_spec() for t in given]):  # on the host
            return record_call(self.program, (*given, *self.constants[HOST]), self.results, self.cache)
        device = common_device(self.program.name, given)
        if device not in self.constants:
            self.constants[device] = tuple(c.to(device) for c in self.constants[HOST])
        return apply_program(self.program, (*given, *self.constants[device]), self.cache)

    def __call__(self, tensors: Sequence[Tensor]) -> Any:
        """The results, nested as the module gives them."""
        found = self._recorded((*tensors, *map(leaf_of, self.variables)))
        if self.nesting == _ALONE and not self.updates:
            return found[0]
        count = len(found) - len(self.updates)
        values = [new.realize().value for new in found[count:]]
        for variable, value in zip(self.updates, values, strict=True):
            variable.data = value
        return pytree.rebuild(self.nesting, found[:count])


def as_tensor(value: object, dtype: DType | None) -> Tensor:
    """An input of a module: floats in the network's dtype, everything else as it is."""
    found = (
        leaf_of(value)
        if isinstance(value, Variable)
        else value
        if isinstance(value, Tensor)
        else tensor(value)
    )
    is_given = not found.dtype.is_float or dtype is None or found.dtype == dtype
    return found if is_given else found.astype(dtype)

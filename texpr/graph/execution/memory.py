"""The arrays behind the tensors of a plan: one block for all that it computes, data, constants,
variables as they are now.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod
from typing import Any

import numpy as np

from texpr.graph.capture.variable import Variable, array_of, layout_of
from texpr.graph.execution.arena import Arena, Lifetimes, lifetimes, make_arena, reuse_in_place
from texpr.graph.execution.in_place_updates import LaunchOrder
from texpr.graph.execution.interface import Interface
from texpr.graph.execution.placement import HostScalars, Placement, device_of
from texpr.graph.execution.prepacked import Prepacked
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor
from texpr.runtime.call.kernel_sequence import Parameter
from texpr.runtime.gpu import HOST
from texpr.support.frozen_dataclass import replace
from texpr.support.once import once


class Memory:
    """The arrays of a plan.

    Attributes:
        scalars: variables of one element on the host that a device reads.
        in_place: variables whose new values are written over the old ones.
        exchanged: variables whose new values are written to their spare arrays.
        prepacked: what kernels keep from run to run.
    """

    def __init__(
        self,
        placement: Placement,
        interface: Interface,
        views: Mapping[Tensor, Tensor],
        order: LaunchOrder,
        reuse: bool,
        sent: Mapping[Tensor, Any] | None = None,
        starts: Mapping[Tensor, int] | None = None,
    ) -> None:
        """Allocate.

        Args:
            views: tensors that are other tensors' memory.
            starts: the first elements of those that are parts of it.
            reuse: tensors may be computed in the memory of others.
            sent: computed tensors that lie in these arrays.
        """
        self._placement, self._interface, self._views = placement, interface, views
        self._sent, self._starts = dict(sent or {}), starts or {}
        variables, updates = interface.variables, interface.updates
        elsewhere = {v: t for v, t in variables.items() if device_of(layout_of(v)) == HOST != placement.name}
        self.scalars = HostScalars(placement, elsewhere)
        self.in_place = tuple(v for v, t in updates.items() if t in order.overwrites)
        self.exchanged = tuple(v for v in updates if v not in self.in_place)
        self._constants = {t: placement.constant(a) for t, a in interface.constants.items()}
        given_away = {*interface.results, *updates.values(), *self._sent}
        self.prepacked = Prepacked(placement, order.all, variables, given_away, views)
        self._lives, self._over = self._lifetimes(order, reuse)

    @once
    def arena(self) -> Arena:
        """Places of intermediate tensors and results, where they stay (`fixed`)."""
        return make_arena(self._lives, self._over)

    def _lifetimes(self, order: LaunchOrder, reuse: bool) -> tuple[Lifetimes, Mapping[Tensor, Tensor]]:
        """Live ranges of computed tensors, new values of variables, what is sent and what is kept
        aside, and the tensors that lie in the memory of others.
        """
        assigned = {*self._interface.updates.values(), *self._sent, *self.prepacked.arrays}
        launches, root = order.all, self.root
        reads = [[root(t) for t in n.inputs] for n in launches]
        writes = [[root(t) for t in (*n.outputs, *n.scratch) if t not in assigned] for n in launches]
        lives = lifetimes([*zip(reads, writes)], set(self._interface.results))
        pairs = [n.overwrites if reuse else () for n in launches]
        outputs = [n.outputs for n in launches]
        # A part lies elsewhere than what would be computed in the memory of the whole.
        whole = [[t if t in self._starts else root(t) for t in n.inputs] for n in launches]
        return lives, reuse_in_place([*zip(whole, outputs)], pairs, lives)

    @once
    def fixed(self) -> dict[Tensor, Any]:
        """The arrays that stay, those of data and results among them. They are made when they are
        asked for: calls have arrays of their callers.
        """
        data = {t: self._placement.zeros(t) for t in self._interface.data}
        return self._block(self.arena) | data | self._constants | self.scalars.arrays | self._sent

    def _block(self, arena: Arena) -> dict[Tensor, Any]:
        """Arrays in one block."""
        block = self._placement.block(arena.size)
        return {t: self._placement.view(block, at, t) for t, at in arena.offset.items()}

    @once
    def _call_arena(self) -> Arena:
        """Places of what is computed on the way from the arrays of a caller to results."""
        return make_arena(self._lives, self._over, set(self._interface.results))

    @once
    def _call_block(self) -> dict[Tensor, Any]:
        return self._block(self._call_arena)

    def call_arrays(self, parameters: Mapping[Tensor, Parameter | np.ndarray]) -> dict[Tensor, Any]:
        """All tensors as arrays, data and results as parameters of a call. Variables that are not read
        may have a stand-in.

        Args:
            parameters: those of the data and of the results, or arrays.
        """
        inside = {t: _beginning(parameters[result], t) for t, result in self._call_arena.given.items()}
        arrays = self._call_block | self._constants | dict(parameters) | inside
        return self._with_variables(arrays, None, self.prepacked.unread)

    def constant_arrays(self) -> dict[Tensor, Any]:
        """Variables, and what kernels keep, as arrays."""
        return self._with_views(
            {t: array_of(v) for v, t in self._interface.variables.items()} | self.prepacked.arrays
        )

    @property
    def prepacked_bytes(self) -> int:
        """Bytes of what kernels keep from run to run."""
        return sum(a.nbytes for a in self.prepacked.arrays.values())

    @property
    def held_bytes(self) -> int:
        """Bytes that runs need: those of calls, and those that `fixed` has."""
        if "fixed" not in self.__dict__:
            return self._call_arena.size + self.prepacked_bytes
        return (
            self.arena.size + self.prepacked_bytes + sum(self.fixed[t].nbytes for t in self._interface.data)
        )

    def root(self, tensor: Tensor) -> Tensor:
        """The tensor whose memory this one is."""
        return self._views.get(tensor, tensor)

    def arrays(self, replaced: Mapping[Tensor, Any] | None = None) -> dict[Tensor, Any]:
        """All tensors as arrays, with those that the variables have now, and `replaced` in the
        place of others.
        """
        return self._with_variables(dict(self.fixed), replaced)

    def _with_variables(
        self,
        arrays: dict[Tensor, Any],
        replaced: Mapping[Tensor, Any] | None = None,
        unread: Collection[Variable] = (),
    ) -> dict[Tensor, Any]:
        """The same with the variables, and with the tensors that are views."""
        updates = self._interface.updates
        for variable, tensor in self._interface.variables.items():
            if tensor not in self.scalars.arrays:
                arrays[tensor] = layout_of(variable) if variable in unread else array_of(variable)
        arrays |= {updates[v]: array_of(v) for v in self.in_place} | {
            updates[v]: v.arrays()[1] for v in self.exchanged
        }
        arrays |= self.prepacked.arrays | self._sent
        return self._with_views(arrays | dict(replaced or {}))

    def _with_views(self, arrays: dict[Tensor, Any]) -> dict[Tensor, Any]:
        """The same with the tensors that are the memory of one of them, or a part of it."""
        found = {t: arrays.get(source) for t, source in self._views.items()}
        return arrays | {t: self._view(a, t) for t, a in found.items() if a is not None}

    def _view(self, array: Any, tensor: Tensor) -> Any:
        if tensor in self._starts:
            return self._placement.part(array, self._starts[tensor], tensor)
        return array.reshape(shape_of(tensor))

    @property
    def assigned(self) -> list[Any]:
        """The arrays of variables that the next run writes."""
        return [*map(array_of, self.in_place), *(v.arrays()[1] for v in self.exchanged)]

    def restartable(self, overwrites: Mapping[Tensor, Tensor]) -> dict[Tensor, Any]:
        """All tensors as arrays, none in the memory of others: kernels that run alone may begin
        anew.

        Args:
            overwrites: new values of variables; they are thrown away.
        """
        return self.arrays(self._separate | {t: self._placement.zeros(t) for t in overwrites})

    def spare(self) -> dict[Tensor, Any]:
        """The same, with new values of all variables in their spare arrays."""
        return self.arrays(self._separate | {t: v.arrays()[1] for v, t in self._interface.updates.items()})

    @once
    def _separate(self) -> dict[Tensor, Any]:
        """Arrays for tensors that lie in the memory of others. They stay, and their pages are written
        once here, as the arena's are: the first write to each page of new memory takes as long as a
        kernel, which a profile would show as the kernel's time.
        """
        made = {t: self._placement.zeros(t) for t in self.arena.overwrites}
        for array in (*made.values(), *(self.fixed[t] for t in self.arena.offset)):
            if isinstance(array, np.ndarray):
                array.fill(0)
        return made

    def store_results(self, arrays: Mapping[Tensor, Any]) -> None:
        """Put results of a run on `spare` arrays where results lie."""
        for t in {*self._interface.results} & self.arena.overwrites.keys():
            self.fixed[t][...] = arrays[t]


def _beginning(memory: Parameter | np.ndarray, tensor: Tensor) -> Any:
    """A tensor that lies from the beginning of a parameter, or of an array, on."""
    shape, dtype = shape_of(tensor), np.dtype(numpy_dtype(tensor.dtype))
    if isinstance(memory, Parameter):
        return replace(memory, shape=shape, dtype=dtype)
    return memory.reshape(-1).view(np.uint8)[: prod(shape) * dtype.itemsize].view(dtype).reshape(shape)

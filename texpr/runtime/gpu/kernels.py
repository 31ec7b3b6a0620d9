"""Kernels that were loaded into a device, launched on its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from texpr.runtime.gpu.array import DeviceArray, empty
from texpr.runtime.gpu.device import Device
from texpr.runtime.gpu.driver_api import BoxMap, Code, Extents
from texpr.support.frozen_dataclass import frozen


@frozen
class Bound:
    """Launches with everything they take.

    Attributes:
        launches: function, grid, block and bytes of shared memory of each, in order.
        parameters: of all of them.
        keep: arrays whose memory they use.
    """

    device: Device
    launches: tuple[tuple[Any, Extents, Extents, int], ...]
    parameters: Any
    keep: tuple[DeviceArray, ...]

    def touch(self) -> None:
        """Note that the current stream uses the arrays."""
        for array in self.keep:
            array.used_here()

    def __call__(self, stream: int) -> None:
        """Queue them."""
        for function, grid, block, shared in self.launches:
            self.device.driver.launch(function, grid, block, self.parameters, stream, shared)


class Loaded:
    """The kernels of an operator on one device."""

    def __init__(self, device: Device, code: Code) -> None:
        self.device = device
        self._module = device.driver.load(code)
        self._functions: dict[str, Any] = {}

    def bind(
        self,
        launches: Sequence[tuple[str, Extents, Extents, int]],
        arrays: Sequence[DeviceArray],
        scratch: Sequence[int],
        sizes: Sequence[int],
        maps: Sequence[BoxMap] = (),
    ) -> Bound:
        """Launches on arrays.

        Args:
            launches: symbol, grid, block and bytes of shared memory of each, beside what its code
                says.
            arrays: inputs, then outputs.
            scratch: bytes of each buffer that launches pass to each other.
            sizes: the symbolic ones.
            maps: of arrays and buffers whose boxes are copied as a whole.
        Raises:
            ResourceError: the device has not enough memory for the buffers.
        """
        buffers = [empty(self.device, (n,), np.uint8) for n in scratch]
        kept = (*arrays, *buffers)
        parameters = self.device.driver.parameters([a.used_here() for a in kept], sizes, maps)
        found = tuple(
            (self._function(symbol, shared), grid, block, shared) for symbol, grid, block, shared in launches
        )
        return Bound(self.device, found, parameters, kept)

    def _function(self, symbol: str, shared: int) -> Any:
        found = self._functions.get(symbol)
        if found is None:
            found = self._functions[symbol] = self.device.driver.function(self._module, symbol, shared)
        return found


class Replay:
    """Work on fixed memory that is done again and again: queued piece by piece the first time, as
    one graph from then on.

    The first time loads code, which must not happen while a graph is captured.

    Args:
        bound: the work, in order.
        keep: kept alive as well.
    """

    def __init__(self, device: Device, bound: Sequence[Bound], keep: object = None) -> None:
        self._device, self._bound, self._keep = device, tuple(bound), keep
        self._streams: set[int] = set()
        self._graph: Any = None

    def __call__(self) -> None:
        """Queue all of it on the current stream."""
        driver, stream = self._device.driver, self._device.stream
        first = not self._streams
        if stream not in self._streams:
            self._streams.add(stream)
            for each in self._bound:
                each.touch()
        if first:
            for each in self._bound:
                each(stream)
            return
        if self._graph is None:
            self._graph = self._captured()
        driver.launch_graph(self._graph, stream)

    def _captured(self) -> Any:
        stream = self._device.driver.begin_capture()
        try:
            for each in self._bound:
                each(stream)
        except BaseException:
            self._device.driver.end_capture(stream)
            raise
        return self._device.driver.end_capture(stream)

    def __del__(self) -> None:
        if getattr(self, "_graph", None) is not None:
            self._device.driver.end_graph(self._graph)

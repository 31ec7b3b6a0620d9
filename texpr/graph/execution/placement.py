"""Placement of a program: this machine, or a device with memory and kernels of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from texpr.autoschedule.core.cost_model import COSTS
from texpr.compiler import CompiledKernel
from texpr.graph.capture.variable import Variable, array_of, layout_of
from texpr.graph.lowering.default_kernels import kernel_for
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor, Var
from texpr.ir.tensor import Program
from texpr.runtime import gpu
from texpr.runtime.call.kernel_sequence import (
    AnyEntry,
    Entry,
    Function,
    Parameter,
    RangeEntry,
    SweepEntry,
    function,
    sequence,
    sweep,
)
from texpr.runtime.call.spec import RangeCheck
from texpr.runtime.gpu.dlpack import ALIGNMENT as VECTOR
from texpr.runtime.slabs import ALIGNMENT, block
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import replace
from texpr.support.late import late
from texpr.support.options import current
from texpr.targets import target_of

if TYPE_CHECKING:
    from texpr.compiler import parallel_compile
    from texpr.graph.lowering.launch_sequence import Launch
else:
    parallel_compile = late("texpr.compiler.parallel_compile")

Arrays = Mapping[Tensor, Any]
"""Tensors as arrays: NumPy's, or those of a device."""

Step = Callable[[], object]


class Placement(Protocol):
    """Memory, and kernels over it."""

    name: str
    sweeps: bool
    """True if one launch can run a kernel on the elements of many tensors."""
    alignment: int
    """Bytes, at multiples of which kernels expect that tensors begin."""

    def kernel(
        self, program: Program, sizes: Mapping[Var, int], constants: Set[str] = frozenset()
    ) -> CompiledKernel:
        """The default kernel for these sizes, and for inputs of these names with the same values
        from run to run.
        """
        ...

    def with_scratch(self, launches: Sequence[Launch]) -> tuple[Launch, ...]:
        """Launches with the memory that their kernels want of the program."""
        ...

    def block(self, size: int) -> Any:
        """Memory of so many bytes."""
        ...

    def view(self, memory: Any, at: int, tensor: Tensor) -> Any:
        """An array in a block."""
        ...

    def part(self, array: Any, start: int, tensor: Tensor) -> Any:
        """A tensor that lies in an array from an element on."""
        ...

    def zeros(self, tensor: Tensor) -> Any:
        """A new array."""
        ...

    def constant(self, value: np.ndarray) -> Any:
        """An array of NumPy's here."""
        ...

    def sequence(
        self,
        name: str,
        ranges: Sequence[tuple[Tensor, RangeCheck]],
        launches: Sequence[Launch],
        arrays: Arrays,
        failed: Callable[[int], object],
    ) -> Step:
        """Checks and kernels on fixed arrays, to be run again and again."""
        ...

    def single(self, launch: Launch, arrays: Arrays, failed: Callable[[int], object]) -> Step:
        """One kernel, run and waited for."""
        ...


class Host:
    """This machine."""

    name = gpu.HOST
    sweeps = True
    alignment = 1

    def kernel(
        self, program: Program, sizes: Mapping[Var, int], constants: Set[str] = frozenset()
    ) -> CompiledKernel:
        """Machine code of this process."""
        return kernel_for(program, sizes, constants)

    def with_scratch(self, launches: Sequence[Launch]) -> tuple[Launch, ...]:
        """Buffers that would be on the heap."""
        parallel_compile.compile_all(k for n in launches for k in n.kernels)
        kept: dict[object, tuple[Tensor, ...]] = {}
        return tuple(_sharing(n.with_scratch(), kept) for n in launches)

    def block(self, size: int) -> np.ndarray:
        """Memory that begins at a whole line."""
        return block(size)

    def view(self, memory: np.ndarray, at: int, tensor: Tensor) -> np.ndarray:
        """An array in a block."""
        shape, dtype = shape_of(tensor), numpy_dtype(tensor.dtype)
        return memory[at : at + prod(shape) * dtype.itemsize].view(dtype).reshape(shape)

    def part(self, array: np.ndarray | Parameter, start: int, tensor: Tensor) -> np.ndarray | Parameter:
        """A view."""
        shape = shape_of(tensor)
        if isinstance(array, Parameter):
            return array.part(start, shape)
        return array.reshape(-1)[start : start + prod(shape)].reshape(shape)

    def zeros(self, tensor: Tensor) -> np.ndarray:
        """A new array."""
        return np.zeros(shape_of(tensor), numpy_dtype(tensor.dtype))

    def constant(self, value: np.ndarray) -> np.ndarray:
        """The array itself."""
        return value

    def sequence(
        self,
        name: str,
        ranges: Sequence[tuple[Tensor, RangeCheck]],
        launches: Sequence[Launch],
        arrays: Arrays,
        failed: Callable[[int], object],
    ) -> Step:
        """One native call, which keeps the arrays themselves: those that kernels see may be
        views of them.
        """
        return sequence(name, _entries(ranges, launches, arrays), failed, (launches, arrays))

    def function(
        self,
        name: str,
        ranges: Sequence[tuple[Tensor, RangeCheck]],
        launches: Sequence[Launch],
        later: Sequence[Launch],
        arrays: Arrays,
        failed: Callable[[int], object],
        inputs: Sequence[Parameter],
        results: Sequence[Parameter],
    ) -> Function:
        """The same as a function of arrays for `inputs`, which gives `results` as new arrays; None
        where it does not take those. Its `finish` runs `later`.
        """
        entries, last = _entries(ranges, launches, arrays), _entries((), later, arrays)
        return function(name, entries, last, inputs, results, failed, _nothing, (launches, later, arrays))

    def single(self, launch: Launch, arrays: Arrays, failed: Callable[[int], object]) -> Step:
        """One native call."""
        return sequence(launch.program.name, [_entry(launch, arrays)], failed, launch)


class OnDevice:
    """A device. Kernels are queued on its current stream; calls do not wait for them."""

    sweeps = False
    alignment = VECTOR

    def __init__(self, device: gpu.Device) -> None:
        self.device, self.name = device, device.name
        self._target = target_of(device).name

    def kernel(
        self, program: Program, sizes: Mapping[Var, int], constants: Set[str] = frozenset()
    ) -> CompiledKernel:
        """Code for the device's processor, which keeps nothing from run to run."""
        return kernel_for(program, sizes, target=self._target)

    def with_scratch(self, launches: Sequence[Launch]) -> tuple[Launch, ...]:
        """The launches: what kernels pass to each other comes from the allocator."""
        return tuple(launches)

    def block(self, size: int) -> gpu.DeviceArray:
        """Memory of the device's allocator."""
        return gpu.empty(self.device, (size,), np.uint8)

    def view(self, memory: gpu.DeviceArray, at: int, tensor: Tensor) -> gpu.DeviceArray:
        """An array in a block."""
        return memory.view(at, shape_of(tensor), numpy_dtype(tensor.dtype))

    def part(self, array: gpu.DeviceArray, start: int, tensor: Tensor) -> gpu.DeviceArray:
        """A view."""
        return array.view(start * tensor.dtype.bytes, shape_of(tensor), numpy_dtype(tensor.dtype))

    def zeros(self, tensor: Tensor) -> gpu.DeviceArray:
        """A new array."""
        return gpu.to_device(self.device, np.zeros(shape_of(tensor), numpy_dtype(tensor.dtype)))

    def constant(self, value: np.ndarray) -> gpu.DeviceArray:
        """A copy on the device."""
        return gpu.to_device(self.device, value)

    def sequence(
        self,
        name: str,
        ranges: Sequence[tuple[Tensor, RangeCheck]],
        launches: Sequence[Launch],
        arrays: Arrays,
        failed: Callable[[int], object],
    ) -> Step:
        """Launches, from the second run on as one graph. Nothing is checked there."""
        assert not ranges, "values are checked before"
        return gpu.Replay(self.device, [self.bound(n, arrays) for n in launches], tuple(arrays.values()))

    def single(self, launch: Launch, arrays: Arrays, failed: Callable[[int], object]) -> Step:
        """One kernel and a wait."""
        bound = self.bound(launch, arrays)

        def step() -> None:
            bound(self.device.stream)
            self.device.driver.synchronize(self.device.stream)

        return step

    def bound(self, launch: Launch, arrays: Arrays) -> gpu.Bound:
        """A kernel with its arrays."""
        return launch.kernel.device_code.bound(
            self.device, [arrays[t] for t in (*launch.inputs, *launch.outputs)], {}
        )


class HostScalars:
    """Variables of one element that live on the host and are read by programs on a device: copied
    there before each run, all at once.

    Attributes:
        arrays: where programs find them.
    """

    def __init__(self, placement: Placement, variables: Mapping[Variable, Tensor]) -> None:
        self._variables = tuple(variables)
        self.arrays: dict[Tensor, gpu.DeviceArray] = {}
        if not isinstance(placement, OnDevice) or not variables:
            self._on_device = None
            return
        self._on_host = np.zeros(ALIGNMENT * len(variables), np.uint8)
        self._on_device = placement.block(self._on_host.nbytes)
        offsets = [(k * ALIGNMENT, t) for k, t in enumerate(variables.values())]
        self._views = [
            self._on_host[at : at + numpy_dtype(t.dtype).itemsize].view(numpy_dtype(t.dtype))
            for at, t in offsets
        ]
        self.arrays = {t: placement.view(self._on_device, at, t) for at, t in offsets}

    def copy(self) -> None:
        """Let the device have the values of now."""
        if self._on_device is not None:
            for view, variable in zip(self._views, self._variables):
                view[0] = array_of(variable)
            self._on_device.set(self._on_host)


def _nothing(*_: object) -> None:
    """No work, for arrays that are not taken."""


def _entries(
    ranges: Sequence[tuple[Tensor, RangeCheck]], launches: Sequence[Launch], arrays: Arrays
) -> list[AnyEntry]:
    checks = [RangeEntry(arrays[t], check.lo, check.hi) for t, check in ranges]  # type: ignore[arg-type]
    return [*checks, *(_entry(n, arrays) for n in launches)]


def _entry(launch: Launch, arrays: Arrays) -> Entry | SweepEntry:
    if launch.lengths:
        parts = [[arrays[t] for t in (*part.inputs, *part.outputs)] for part in launch.parts()]
        shared = sum(launch.lengths) * len(launch.outputs) // len(launch.lengths) >= COSTS.parallel_work
        address, whole = (
            launch.kernel.address if launch.kernel in launch.kernels else 0,
            launch.whole.address if launch.whole else 0,
        )
        return sweep(address, whole, parts, launch.lengths, shared)
    given = (*launch.inputs, *launch.outputs, *launch.scratch, *launch.prepacked)
    return Entry(launch.kernel.address, tuple(arrays[t] for t in given))


def placement_of_name(name: str) -> Placement:
    """The placement of a device's name.

    Raises:
        CallError: there is no such device.
        ResourceError: it cannot be used.
        CompileError: there is no code for it.
    """
    device = gpu.find_device(name)
    return Host() if device is None else OnDevice(device)


def device_of(array: object) -> str:
    """The name of the device that an array lies on."""
    return array.device.name if isinstance(array, gpu.DeviceArray) else gpu.HOST


def choose_placement(
    name: str | None, variables: Iterable[Variable], assigned: Iterable[Variable]
) -> Placement:
    """Placement of a program with these variables: the device where they lie. Without variables it
    is `name`, or the device of `options(device=...)`.

    Variables of one element may stay on the host, unless the program assigns to them.

    Raises:
        CallError: variables lie elsewhere, or on several devices.
    """
    found: dict[str, Variable] = {}
    for v in variables:
        if v.shape or device_of(layout_of(v)) != gpu.HOST:
            found.setdefault(device_of(layout_of(v)), v)
    wanted = (
        gpu.full_name(name)
        if name is not None
        else next(iter(found), None) or gpu.full_name(current().device)
    )
    others = [v for d, v in found.items() if d != wanted]
    others += [v for v in assigned if device_of(layout_of(v)) != wanted]
    for variable in others:
        raise CallError(
            f"`{variable.name}` lies on {variable.device}, and the program runs on {wanted}",
            code="device",
            help=f'move what belongs together to one device, such as model.to("{wanted}")',
        )
    return placement_of_name(wanted)


def to_host(array: Any) -> np.ndarray:
    """An array as NumPy's: itself, or a copy of what lies on a device."""
    return array.numpy() if isinstance(array, gpu.DeviceArray) else array


def describe(value: Any) -> str:
    """An array by its dtype and shape, anything else by its type."""
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"{value.dtype}{list(shape)}"


def _sharing(launch: Launch, kept: dict[object, tuple[Tensor, ...]]) -> Launch:
    """A launch that shares what a kernel keeps of constant inputs with those before it that run the
    same kernel on them.
    """
    if not launch.prepacked:
        return launch
    constant = [t for own, t in zip(launch.program.inputs, launch.inputs) if own.name in launch.constants]
    return replace(launch, prepacked=kept.setdefault((launch.kernel, *constant), launch.prepacked))

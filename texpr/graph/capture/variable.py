"""Tensors that live longer than one step: parameters, the state of optimizers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, ClassVar, Protocol
from weakref import WeakSet

import numpy as np

from texpr.compiler import Op
from texpr.graph.arrays.recording import active_capture
from texpr.graph.arrays.size import Size
from texpr.graph.capture.protocol import value_of
from texpr.graph.capture.variable_methods import VariableMethods
from texpr.ir.dtypes import DType, as_bits, from_numpy, numpy_dtype, readable, stored
from texpr.runtime import gpu
from texpr.runtime.slabs import Given, block, in_lines, mapped
from texpr.support.errors import CallError
from texpr.support.forks import held_over_forks
from texpr.support.suggest import UnknownName
from texpr.support.tracebacks import boundary, hide_frames, hide_own_frame

_restoring = held_over_forks(threading.RLock())
"""Held while a value that lies elsewhere is read to stay, so that it has one array."""


class Structures:
    """Stamp of the last change of anything that captured programs depend on besides shapes, such as
    the parts of modules or dtypes.

    Attributes:
        stamp: another object after each change; what was found under the same stamp still holds.
    """

    stamp: ClassVar[object] = object()

    @classmethod
    def change(cls) -> None:
        """To be called after a change."""
        cls.stamp = object()


class Leaf(Protocol):
    """A lazy tensor over the memory of a variable."""

    def kept(self) -> None:
        """Called before that memory changes."""


class Copies(Protocol):
    """Copies of a variable's value.

    Attributes:
        stale: true once the value may be another one.
    """

    stale: bool


class Stored(Protocol):
    """A value that lies elsewhere, such as in a file."""

    @property
    def stand_in(self) -> np.ndarray:
        """An array of its shape and dtype, whose elements nobody may read."""
        ...

    def read(self, memory: np.ndarray) -> np.ndarray:
        """The value in these bytes, which are as many as it has."""
        ...


class Variable(VariableMethods):
    """A tensor with a value, of a shape that never changes.

    A step that assigns to it writes the new value over the old one, once nothing can fail any more,
    or to a second array, which it exchanges for the first one when it is complete (`Plan.explain()`
    says which): a step that fails leaves the old value. So take `data` anew after each step; an
    array taken before holds the new value or an older one, and `data.copy()` keeps a value. Both
    begin at whole lines of memory.

    It has the methods and operators of tensors, which compute from the value that it has then and
    pass gradients to it; `==` and `len` are those of objects.

    Attributes:
        leaf: the lazy tensor that stands for the value, if there is one.
        exposed: true once somebody had the array of the value, and may write to it at any time.
    Args:
        data: the first value, copied unless it was given away (`slabs.Given`).
        name: for messages and listings.
        dtype: what NumPy cannot say of `data`: bf16 in 16 bits, floats in 8 bits.
        device: where it lies, a name.
    Raises:
        CallError: a dtype that texpr does not have.
    """

    __slots__ = (
        "__weakref__", "_current", "_spare", "_stored", "_watching", "dtype", "exposed", "leaf", "name",
    )  # fmt: skip
    moves: ClassVar[int] = 0
    """Number of times that variables went to other devices: programs are captured anew afterwards.
    """

    def __init__(
        self, data: object, name: str = "variable", dtype: DType | None = None, device: str = gpu.HOST
    ) -> None:
        array, known = _storage_array(np.asarray(data))
        dtype = dtype or known
        if dtype is None or array.dtype != numpy_dtype(dtype):
            raise CallError(f"`{name}` has dtype {array.dtype}, which texpr does not have", code="dtype")
        self.name, self.dtype = name, dtype
        is_given = isinstance(data, Given) and device == gpu.HOST
        self._current: Any = array if is_given else _copy_to_device(array, device)
        self._spare: Any = None
        self._stored: Stored | None = None
        self.leaf: Leaf | None = None
        self.exposed = False
        self._watching: WeakSet[Copies] | None = None
        capture = active_capture.get()
        if capture is not None:
            capture.made.append(self)

    def defer(self, stored: Stored) -> None:
        """Let the value lie elsewhere until its array is asked for; it was made of the `stand_in`."""
        with _restoring:
            self._stored = stored
            del self._current

    @property
    def is_deferred(self) -> bool:
        """True while the value lies elsewhere."""
        return self._stored is not None

    def __getattr__(self, name: str) -> Any:
        """The array of a value that lay elsewhere. It lies here from then on."""
        if name != "_current":
            try:
                return super().__getattr__(name)  # type: ignore[misc]
            except UnknownName as error:  # often: NumPy asks for its protocols in each conversion
                hide_own_frame(error)
                raise
            except Exception as error:
                hide_frames(error)
                raise
        with _restoring:
            stored = self._stored
            if stored is not None:
                self._current = stored.read(block(stored.stand_in.nbytes))
                self._stored = None
            return object.__getattribute__(self, name)

    def _put(self, array: Any) -> None:
        """Let an array hold the value from now on, which may lie elsewhere until now."""
        with _restoring:
            self._current, self._spare, self._stored = array, None, None

    def changes(self) -> None:
        """The value is about to be another one: computations that wait for this one keep it."""
        if self.leaf is not None:
            self.leaf.kept()
            self.leaf = None

    def changed(self) -> None:
        """The value is another one now: copies of it are stale. To be called after the change: a
        call in another thread may have copied what was there meanwhile.
        """
        for copies in self._watching or ():
            copies.stale = True

    def watch(self, copies: Copies) -> None:
        """Let copies of the value know when it changes, while they are there."""
        if self._watching is None:
            self._watching = WeakSet()
        self._watching.add(copies)

    def expose(self) -> Any:
        """The array of the value, for somebody who may write to it at any time."""
        found = self._current  # first: a value that lies elsewhere may be lost, and nobody has it then
        if not self.exposed:
            self.exposed = True
            self.changed()
        return found

    @property
    def data(self) -> Any:
        """The value. Writing into this array changes the value; assigning to `data` copies, and
        while a program is captured it lets the program do so. What NumPy lacks is held as its bits;
        `np.asarray(variable)` and `numpy()` are its numbers. On a device it is an array of the
        device, which takes values as a whole: `data[...] = value`. While a function is traced, what
        stands for the value.
        """
        capture = active_capture.get()
        found = self._current if capture is None else capture.data_of(self, self._current)
        return self.expose() if found is self._current else found

    @data.setter
    @boundary
    def data(self, value: object) -> None:
        capture = getattr(value, "capture", None)
        if capture is not None:
            capture.assign(self, value)
            return
        array, dtype = (
            (value, self.dtype) if isinstance(value, gpu.DeviceArray) else _storage_array(np.asarray(value))
        )
        bits = self.dtype.as_bits and array.dtype == numpy_dtype(self.dtype)
        if array.shape != self.shape or not (dtype == self.dtype or bits):
            raise CallError(
                f"`{self.name}` is {self.dtype}{list(self.shape)}, the new value "
                f"{array.dtype}{list(array.shape)}",
                code="shape",
                help="a variable keeps its shape and dtype; make a new one",
            )
        if isinstance(array, gpu.DeviceArray) and not isinstance(self._current, gpu.DeviceArray):
            array = array.numpy()
        self.changes()
        if self.is_deferred:  # the old value need not be read
            self._put(in_lines(np.asarray(array)))
        else:
            self._current[...] = array
        self.changed()

    def held(self) -> np.ndarray:
        """The value as NumPy stores it, to be read: `data`, or a copy of what lies on a device or
        elsewhere.
        """
        stored = self._stored
        if stored is not None:
            return stored.read(mapped(stored.stand_in.nbytes))
        return self._current.numpy() if isinstance(self._current, gpu.DeviceArray) else self._current

    def held_in(self, memory: Callable[[int], np.ndarray]) -> np.ndarray:
        """The same, where it lies elsewhere in memory that is asked for."""
        stored = self._stored
        return self.held() if stored is None else stored.read(memory(stored.stand_in.nbytes))

    def numpy(self) -> np.ndarray:
        """The value as numbers: `data`, but for what NumPy lacks, and a copy of what lies on a
        device.
        """
        self.expose()
        return self.numbers()

    def numbers(self) -> np.ndarray:
        """The same, to be read."""
        return readable(self.held(), self.dtype)

    @property
    def device(self) -> str:
        """The name of the device that the value lies on."""
        found = layout_of(self)
        return found.device.name if isinstance(found, gpu.DeviceArray) else gpu.HOST

    def move(self, device: str) -> None:
        """Let the value lie on another device. Programs that were captured before are for the old
        one.

        Raises:
            CallError: there is no such device.
            ResourceError: it cannot be used, or has not enough memory.
        """
        if gpu.full_name(device) != self.device:
            moved = _copy_to_device(self.held(), device)
            self.changes()
            self._put(moved)
            self.changed()
            Variable.moves += 1
            Structures.change()

    @property
    def shape(self) -> tuple[int, ...]:
        return layout_of(self).shape

    @property
    def size(self) -> Size:
        found = layout_of(self)
        return Size(found.size, found.shape)

    @property
    def ndim(self) -> int:
        return layout_of(self).ndim

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return layout_of(self).nbytes

    def arrays(self) -> tuple[Any, Any]:
        """The array that holds the value, and the one a step may write."""
        if self._spare is None:
            now = self._current
            self._spare = (
                gpu.empty(now.device, now.shape, now.dtype)
                if isinstance(now, gpu.DeviceArray)
                else in_lines(now)
            )
        return self._current, self._spare

    def convert(self, dtype: DType) -> None:
        """Let the value be of another dtype. Programs that were captured before are of the old
        one.
        """
        if dtype != self.dtype:
            self.changes()
            self._put(_copy_to_device(stored(self.numbers(), dtype), self.device))
            self.dtype = dtype
            self.changed()
            Structures.change()

    def replace(self, array: np.ndarray) -> None:
        """Let a copy of an array be the value, in the memory of no other one; of the variable's shape,
        and as NumPy stores its dtype.
        """
        assert array.shape == self.shape and array.dtype == numpy_dtype(self.dtype)
        self.changes()
        self._put(_copy_to_device(array, self.device))
        self.changed()

    def __texpr_call__(
        self, operator: Op, inputs: Mapping[str, object], constants: Mapping[str, object]
    ) -> object:
        capture = active_capture.get()
        if capture is None:  # as a tensor, which passes gradients to the variable
            return value_of(self).__texpr_call__(operator, inputs, constants)
        return capture.apply(operator, inputs, constants)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        value = readable(np.asarray(self.held() if copy else self.expose()), self.dtype)
        return np.array(value, dtype=dtype, copy=copy)  # type: ignore[call-overload]

    def __getstate__(self) -> tuple:
        """Without the leaf, which stands for this variable, those who watch it, and the second
        array, which holds nothing that is needed.
        """
        nothing, slots = object.__getstate__(self)  # type: ignore[misc]
        hidden = {"leaf": None, "_spare": None, "_stored": None, "_watching": None, "exposed": False}
        return nothing, {**slots, **hidden}

    def __reduce_ex__(self, protocol: Any) -> Any:
        """From the fifth protocol on, buffers may be handed out as they are."""
        if protocol >= 5:
            self.expose()
        return super().__reduce_ex__(protocol)

    def __setstate__(self, state: tuple) -> None:
        """The value lies in memory of its own: a shallow copy and buffers that are handed over
        share it, and NumPy's copies begin anywhere.
        """
        self.exposed, self._watching, self._stored = False, None, None
        for name, value in {**(state[0] or {}), **state[1]}.items():
            setattr(self, name, value)
        if isinstance(self._current, np.ndarray):
            self._current = in_lines(self._current)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}: {self.dtype}[{', '.join(map(str, self.shape))}])"


def _storage_array(array: np.ndarray) -> tuple[np.ndarray, DType | None]:
    """An array as variables hold it, in native byte order, and its dtype."""
    dtype = from_numpy(array.dtype)
    if dtype is None or dtype.as_bits:
        return as_bits(array, dtype), dtype
    return array.astype(numpy_dtype(dtype), copy=False), dtype


def _copy_to_device(array: np.ndarray, device: str) -> Any:
    """A copy of an array where it is to lie, from the beginning of a line on."""
    found = gpu.find_device(device)
    return in_lines(array) if found is None else gpu.to_device(found, np.asarray(array, order="C"))


def announce_changes(variables: Iterable[Variable]) -> None:
    """Tell all who wait for the values of variables that they change: they make copies, for
    which there may be no memory.
    """
    for v in variables:
        if v.leaf is not None:
            v.changes()


def exchange_arrays(variables: Iterable[Variable]) -> None:
    """Make the arrays that a step has written the values, which was announced."""
    for v in variables:
        v._current, v._spare = v._spare, v._current


def report_changes(variables: Iterable[Variable]) -> None:
    """Tell those who keep copies of variables that these have changed."""
    for v in variables:
        if v._watching is not None:
            v.changed()


array_of = attrgetter("_current")
"""`Variable.data` for every step, which asks for that of all variables: a property takes four
times as long. A value that lies elsewhere is read then (`Variable.__getattr__`).
"""


def layout_of(variable: Variable) -> Any:
    """The array that holds the value, or a stand-in where it lies elsewhere: of its shape, dtype and
    device.
    """
    stored = variable._stored
    return variable._current if stored is None else stored.stand_in

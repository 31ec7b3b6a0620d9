"""The call path in Python: arguments by keyword, other layouts, overlapping outputs, and every
complaint.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from texpr.runtime import host
from texpr.runtime.call import numpy_api
from texpr.runtime.call.convert import read_input, refuse_masked, wrong_dtype, wrong_rank
from texpr.runtime.call.spec import Argument, CallSpec, Computed, extent_value
from texpr.support.errors import CallError, ResourceError
from texpr.support.tracebacks import hide_frames

Run = Callable[..., object]


class SlowCall:
    """Calls a kernel with arguments of any form.

    Args:
        runner: makes what runs the kernel on its arrays, in order and as it wants them, and an
            int64 array of the sizes. Most kernels are only called with arrays that need none of
            this.
        wrap: makes the result of a list of several outputs; None where there is one.
    """

    __slots__ = ("_inputs", "_outputs", "_run", "_runner", "_spec", "_wrap")

    def __init__(
        self, spec: CallSpec, runner: Callable[[], Run], wrap: Callable[[Sequence[np.ndarray]], object] | None
    ) -> None:
        self._spec, self._runner, self._wrap = spec, runner, wrap
        self._run: Run | None = None
        self._inputs, self._outputs = spec.inputs, spec.outputs

    def __call__(self, *positional: object, **keywords: object) -> object:
        try:
            return self._convert_and_run(positional, keywords)
        except Exception as error:
            hide_frames(error)
            raise

    def _convert_and_run(self, positional: tuple, keywords: dict[str, object]) -> object:
        count = len(self._inputs)
        values = (
            positional
            if len(positional) == count and not keywords
            else _assign(self._spec, positional, keywords)
        )
        given = _given_outputs(self._spec, positional[count:], keywords.get("out"))
        inputs = list(map(read_input, values, self._inputs))
        sizes = _Sizes()
        for array, argument in zip(inputs, self._inputs):
            sizes.meet(argument, array.shape)
        for value, argument in zip(given, self._outputs):
            if value is not None:
                sizes.meet(argument, _checked_output(value, argument).shape)
        sizes.settle()
        for check in self._spec.checks:
            check(inputs, sizes.value)
        return self._compute(inputs, given, sizes.value)

    def _compute(
        self, inputs: Sequence[np.ndarray], given: Sequence[object], sizes: Mapping[str, int]
    ) -> object:
        _refuse_shared(self._outputs, given)
        outputs = [_buffer(value, argument, inputs, sizes) for value, argument in zip(given, self._outputs)]
        run = self._run = self._run or self._runner()
        run(
            *inputs,
            *outputs,
            np.array([_size(self._spec, name, sizes) for name in self._spec.sizes], np.int64),
        )
        results = [
            output if value is None else _returned(value, output) for value, output in zip(given, outputs)
        ]
        return results[0] if self._wrap is None else self._wrap(results)


def _assign(spec: CallSpec, positional: tuple, keywords: dict[str, object]) -> list[object]:
    """The inputs, in order."""
    names = [argument.name for argument in spec.inputs]
    values = dict(zip(names, positional))
    for name, value in keywords.items():
        if name in values:
            raise CallError(f"{spec.name} got `{name}` twice, by position and by name", code="arguments")
        if name in names:
            values[name] = value
        elif name != "out":
            raise CallError(
                f"{spec.name} has no argument `{name}`; it takes {_listing(spec)}", code="arguments"
            )
    missing = [name for name in names if name not in values]
    if missing:
        listing = ", ".join(f"`{name}`" for name in missing)
        raise CallError(f"{spec.name} misses {listing}; it takes {_listing(spec)}", code="arguments")
    return [values[name] for name in names]


def _given_outputs(spec: CallSpec, extra: tuple, out: object) -> list[object]:
    """For every output the array given for it, or None."""
    count = len(spec.outputs)
    if extra and (len(extra) != count or out is not None):
        both = " and `out`" if out is not None else ""
        raise CallError(
            f"{spec.name} got {len(spec.inputs) + len(extra)} arrays{both}; it takes {_listing(spec)}",
            code="arguments",
        )
    if extra:
        return list(extra)
    if out is None:
        return [None] * count
    if isinstance(out, (tuple, list)):
        if len(out) != count:
            outputs = f"{count} {'output' if count == 1 else 'outputs'}"
            raise CallError(f"{spec.name} has {outputs}; `out` has {len(out)} entries", code="arguments")
        return list(out)
    if count != 1:
        names = ", ".join(argument.name for argument in spec.outputs)
        raise CallError(f"{spec.name} has {count} outputs; pass out=({names})", code="arguments")
    return [out]


def _listing(spec: CallSpec) -> str:
    return ", ".join([argument.name for argument in spec.inputs] + ["out"])


class _Sizes:
    """Sizes as they are met, and where each was bound."""

    __slots__ = ("value", "_bound_by", "_later")

    def __init__(self) -> None:
        self.value: dict[str, int] = {}
        self._bound_by: dict[str, tuple[Argument, int]] = {}
        self._later: list[tuple[Argument, int, int]] = []

    def meet(self, argument: Argument, shape: tuple[int, ...]) -> None:
        """Bind or compare every extent of an array."""
        for axis, (extent, found) in enumerate(zip(argument.shape, shape)):
            if isinstance(extent, Computed):
                self._later.append((argument, axis, found))
            elif isinstance(extent, str) and extent not in self.value:
                self.value[extent], self._bound_by[extent] = found, (argument, axis)
            elif found != (self.value[extent] if isinstance(extent, str) else extent):
                raise self._mismatch(argument, axis, found)

    def settle(self) -> None:
        """Compare the computed extents, now that all sizes are known."""
        for argument, axis, found in self._later:
            if found != extent_value(argument.shape[axis], self.value):
                raise self._mismatch(argument, axis, found)

    def _mismatch(self, argument: Argument, axis: int, found: int) -> CallError:
        extent = argument.shape[axis]
        expected = str(extent_value(extent, self.value))
        name = f"{extent} = " if not isinstance(extent, int) else ""
        origin = f" ({_place(*self._bound_by[extent])})" if isinstance(extent, str) else ""
        return CallError(
            f"{_place(argument, axis)} has extent {found}, expected {name}{expected}{origin}", code="shape"
        )


def _place(argument: Argument, axis: int) -> str:
    return f"axis {axis} of `{argument.name}`"


def _size(spec: CallSpec, name: str | int, sizes: Mapping[str, int]) -> int:
    if isinstance(name, int):
        return name
    if name not in sizes:
        raise CallError(
            f"the size `{name}` of {spec.name} follows from no argument; pass `out`", code="shape"
        )
    return sizes[name]


def _checked_output(value: object, argument: Argument) -> np.ndarray:
    """The array that the caller gave for an output, if it can take every element."""
    if not isinstance(value, np.ndarray):
        raise CallError(
            f"the output `{argument.name}` is a {type(value).__name__}, expected a NumPy array", code="type"
        )
    refuse_masked(value, argument)
    if value.dtype != argument.dtype and value.dtype.newbyteorder("=") != argument.dtype:
        raise wrong_dtype(value.dtype, argument)
    if value.ndim != len(argument.shape):
        raise wrong_rank(value.shape, argument)
    if not value.flags.writeable:
        raise CallError(f"the output `{argument.name}` is read-only", code="output")
    if _repeats_elements(value):
        raise CallError(
            f"elements of the output `{argument.name}` share memory (a broadcast or overlapping view)",
            code="output",
        )
    return value


def _repeats_elements(array: np.ndarray) -> bool:
    """True if two indices may mean the same bytes: some stride is smaller than all that the shorter
    strides span.
    """
    span = array.itemsize
    for stride, extent in sorted(
        (abs(stride), extent) for stride, extent in zip(array.strides, array.shape) if extent > 1
    ):
        if stride < span:
            return array.size > 0
        span += stride * (extent - 1)
    return False


def _refuse_shared(outputs: Sequence[Argument], given: Sequence[object]) -> None:
    """Two outputs in the same memory have no meaning."""
    if len(given) == 1:
        return
    arrays = [
        (argument.name, value) for argument, value in zip(outputs, given) if isinstance(value, np.ndarray)
    ]
    for index, (name, array) in enumerate(arrays):
        for other_name, other in arrays[:index]:
            if _share(array, other):
                raise CallError(f"the outputs `{other_name}` and `{name}` share memory", code="output")


def _share(one: np.ndarray, other: np.ndarray) -> bool:
    try:
        return np.shares_memory(one, other, max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _buffer(
    value: object, argument: Argument, inputs: Sequence[np.ndarray], sizes: Mapping[str, int]
) -> np.ndarray:
    """The array for an output: the given array if it can be used as it is, a new one otherwise."""
    if isinstance(value, np.ndarray):
        usable = value.flags.c_contiguous and value.dtype.isnative
        if usable and not any(np.may_share_memory(value, array) for array in inputs):
            return value
    return _empty(argument, tuple(_extent(argument, axis, sizes) for axis in range(len(argument.shape))))


def _extent(argument: Argument, axis: int, sizes: Mapping[str, int]) -> int:
    extent = argument.shape[axis]
    if isinstance(extent, str) and extent not in sizes:
        raise CallError(
            f"axis {axis} of the output `{argument.name}` ({extent}) follows from no input; pass `out`",
            code="shape",
        )
    value = extent_value(extent, sizes)
    if value < 0:
        raise CallError(
            f"axis {axis} of the output `{argument.name}` would have extent {value} ({extent})", code="shape"
        )
    return value


def _empty(argument: Argument, shape: tuple[int, ...]) -> np.ndarray:
    size = argument.dtype.itemsize
    for extent in shape:
        size *= extent
    try:
        if size > host.memory_bytes():
            raise MemoryError
        if size < numpy_api.LARGE:
            return np.empty(shape, argument.dtype)
        with numpy_api.our_memory():
            return np.empty(shape, argument.dtype)
    except (MemoryError, ValueError) as error:
        have = host.memory_bytes() / 2**30
        raise ResourceError(
            f"the output `{argument}` needs {size / 2**30:.1f} GiB; this machine has {have:.1f}"
        ) from error


def _returned(value: object, output: np.ndarray) -> np.ndarray:
    """The caller's array with the result in it."""
    assert isinstance(value, np.ndarray)
    if value is not output:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            np.copyto(value, output)
    return value

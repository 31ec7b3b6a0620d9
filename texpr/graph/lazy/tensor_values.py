"""The values of a tensor as objects of Python, NumPy and DLPack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from texpr.graph.arrays.methods import ArrayMethods
from texpr.graph.execution.placement import to_host
from texpr.graph.lazy.dlpack_dtypes import coded
from texpr.graph.lazy.recipes import observation
from texpr.ir.dtypes import readable
from texpr.runtime import gpu
from texpr.support.errors import CallError
from texpr.support.tracebacks import boundary, hide_frames

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""Of the array API standard."""


class TensorValues(ArrayMethods, gpu.Exchanged):
    """Conversions of a tensor. All but those on a device wait for the value."""

    __slots__ = ()
    if TYPE_CHECKING:
        value: Any
        spec: Any
        requires_grad: bool
        owner: Any

        @property
        def device(self) -> str: ...

        def realize(self) -> Self: ...

        def to(self, device: Any = None, dtype: object = None) -> Self: ...

    def numpy(self) -> np.ndarray:
        """The value, without a copy: an array that cannot be written to, since results that wait for
        the tensor would change. `x.numpy().copy()` and `np.array(x)` may be written to, and so may
        the array of a parameter.

        What lies on a device is copied. What NumPy lacks comes in the dtypes of `ml_dtypes` where
        that is installed, else as f32, which holds it exactly.
        """
        try:
            value = self.realize().value
            assert value is not None
            if type(value) is np.ndarray and not self.dtype.as_bits:
                return self._lent(value)
            return self._lent(readable(to_host(value), self.dtype))
        except Exception as error:
            hide_frames(error)
            raise

    def _lent(self, array: np.ndarray) -> np.ndarray:
        """The array for somebody who may not write to it, unless it is that of a variable."""
        if self.owner is not None:
            self.owner.expose()
            return array
        found = array.view()
        found.setflags(write=False)
        return found

    def _expose(self) -> None:
        """Somebody gets the array, who may write to it: it may be that of a variable."""
        if self.owner is not None:
            self.owner.expose()

    def item(self) -> float | int | bool:
        """The only element."""
        try:
            if self.size != 1:
                raise CallError(
                    f"a tensor of shape {list(self.shape)} is no single number",
                    code="shape",
                    help="reduce or index it",
                )
            return self.numpy().reshape(()).item()
        except Exception as error:
            hide_frames(error)
            raise

    @boundary
    def tolist(self) -> Any:
        """The values as nested lists."""
        return self.numpy().tolist()

    @boundary
    def __iter__(self) -> Iterator[Self]:
        return (self[k] for k in range(len(self)))

    @boundary
    def __contains__(self, value: object) -> bool:
        """True if some element equals a number."""
        return bool((self == value).any())

    @boundary
    def __format__(self, form: str) -> str:
        return format(self.item(), form) if form else repr(self)

    @boundary
    def __bool__(self) -> bool:
        return bool(self.item())

    @boundary
    def __float__(self) -> float:
        return float(self.item())

    @boundary
    def __int__(self) -> int:
        return int(self.item())

    @boundary
    def __index__(self) -> int:
        if not self.dtype.is_int:
            raise TypeError(f"a tensor of {self.dtype} is no index")
        return int(self.item())

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        try:
            if (seen := observation.get()) is not None:
                seen.pure = False
            if type(self.value) is np.ndarray and dtype is None and not copy and not self.dtype.as_bits:
                return self._lent(self.value)
            if self.device != gpu.HOST:
                raise CallError(
                    f"a tensor on {self.device} is asked for as an array of NumPy's",
                    code="device",
                    help="copy it: x.numpy()",
                )
            return np.array(self.numpy(), dtype=dtype, copy=copy)  # type: ignore[call-overload]
        except Exception as error:
            hide_frames(error)
            raise

    def __complex__(self) -> complex:
        return complex(self.item())

    _namespace: ClassVar[Any]
    """Gives the module `graph.array_api`, which stands above."""

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """The functions of the array API standard for tensors: `tx.array_api`.

        Raises:
            ValueError: a version of the standard that is not there.
        """
        if api_version is not None and api_version not in _VERSIONS:
            raise ValueError(f"no version {api_version!r} of the standard; there are {', '.join(_VERSIONS)}")
        return self._namespace()

    def to_device(self, device: str, /, *, stream: object = None) -> Self:
        """The same values on another device, as `to`. Streams are texpr's own."""
        if stream is not None:
            raise CallError("a stream of another library", code="arguments", help="leave `stream` out")
        return self.to(device)

    @boundary
    def __dlpack__(
        self,
        /,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule over the same memory, whose strides are never negative. Values that may not be
        written are exported as such to consumers that know such arrays, and copied for others.

        Raises:
            BufferError: a tensor on a device that is asked for on another one; a copy would be
                needed and is not allowed.
        """
        given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        options = {name: value for name, value in given.items() if value is not None}
        self._expose()
        array = self._on_device()
        if array is not None:
            if options.get("copy") or options.get("dl_device") not in (None, array.device.facts.dlpack):
                raise BufferError(
                    f"a tensor on {self.device} is exported as it is; copy it before: x.to(...)"
                )
            return coded(gpu.exported(array, options.get("stream")), self.dtype)
        value = self.realize().value
        assert value is not None
        if not value.flags.writeable and options.get("copy") is None and not options.get("max_version"):
            value = value.copy()
        return coded(value.__dlpack__(**options), self.dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        found = gpu.find_device(self.device)
        return (1, 0) if found is None else found.facts.dlpack

    def _on_device(self) -> gpu.DeviceArray | None:
        return None if self.device == gpu.HOST else self.realize().value

    @boundary
    def __repr__(self) -> str:
        grad = ", requires_grad=True" if self.requires_grad else ""
        values = np.array2string(np.asarray(self.numpy()), separator=", ", prefix="tensor(")
        where = "" if self.device == gpu.HOST else f', device="{self.device}"'
        return f"tensor({values}, {self.dtype}{list(self.shape)}{where}{grad})"

    @boundary
    def _repr_html_(self) -> str:
        from texpr.graph.lazy.notebook import table

        return table(self)

    @boundary
    def __reduce__(self) -> tuple:
        from texpr.graph.lazy.making import restored

        return restored, (to_host(self.realize().value), self.dtype.name, self.requires_grad, self.device)

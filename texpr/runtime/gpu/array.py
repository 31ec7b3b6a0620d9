"""Arrays in the memory of a device: contiguous, of a shape and a dtype of NumPy's, freed when
nobody holds them.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from texpr.runtime.gpu.device import Device, found_device
from texpr.runtime.gpu.pool import Block
from texpr.support.errors import CallError
from texpr.support.shaped import ShapedMemory


class Owner:
    """Holds a block of the device's memory as long as some array needs it."""

    __slots__ = ("block", "device")

    def __init__(self, device: Device, size: int) -> None:
        self.device = device
        self.block: Block = device.pool.take(size, device.stream)

    def __del__(self) -> None:
        if hasattr(self, "block"):
            self.device.pool.give_back(self.block)


class DeviceArray(ShapedMemory):
    """Array on a device. Its content is what the queued work makes it.

    Attributes:
        device: where it lies.
        shape, dtype: as of a NumPy array.
        address: of the first element, for kernels.
        owner: what keeps the memory.
    Raises:
        CallError: `set` of an array of another shape or dtype.
        ResourceError: the device has not enough memory for a copy.
    Example:
        >>> x = tx.tensor([1.0, 2.0], device="emulated")
        >>> x.device, x.tolist()
        ('emulated:0', [1.0, 2.0])
    """

    __slots__ = ("__weakref__", "address", "device", "dtype", "owner", "shape")

    def __init__(
        self, device: Device, shape: tuple[int, ...], dtype: Any, address: int, owner: object
    ) -> None:
        """Use `empty` or `to_device`."""
        self.device, self.shape, self.dtype = device, tuple(shape), np.dtype(dtype)
        self.address, self.owner = address, owner

    def used_here(self) -> int:
        """The address, for work on the current stream: the memory is not given to others before
        that is done.
        """
        stream = self.device.stream
        if isinstance(self.owner, Owner) and self.owner.block.stream != stream:
            self.owner.block.others.add(stream)
        return self.address

    def numpy(self) -> np.ndarray:
        """The content as a new array of the host's; waits for it."""
        found = np.empty(self.shape, self.dtype)
        if found.nbytes:
            self.device.driver.to_host(found, self.used_here(), self.device.stream)
        return found

    def copy(self) -> DeviceArray:
        """A new array of the same content, on the same device."""
        made = empty(self.device, self.shape, self.dtype)
        made.set(self)
        return made

    def set(self, value: object) -> None:
        """Take the content of an array of this shape, or of one number.

        Raises:
            CallError: another shape or dtype, or another device.
        """
        stream = self.device.stream
        if isinstance(value, DeviceArray):
            if value.device is not self.device:
                raise CallError(
                    f"an array on {value.device.name} is copied to {self.device.name}",
                    code="device",
                    help="go through the host: .numpy()",
                )
            if value.shape != self.shape or value.dtype != self.dtype:
                raise _other(self, value.shape, value.dtype)
            if self.nbytes:
                self.device.driver.copy(self.used_here(), value.used_here(), self.nbytes, stream)
            return
        given = np.asarray(value)
        if given.shape not in ((), self.shape):
            raise _other(self, given.shape, given.dtype)
        if self.nbytes:
            content = np.ascontiguousarray(np.broadcast_to(given, self.shape), self.dtype)
            self.device.driver.to_device(self.used_here(), content, stream)

    def __setitem__(self, key: object, value: object) -> None:
        """`array[...] = value`, or `array[k] = value`; other parts are assigned on the host."""
        if isinstance(key, int) and self.shape and -self.shape[0] <= key < self.shape[0]:
            row = self.shape[1:]
            self.view(key % self.shape[0] * prod(row) * self.dtype.itemsize, row, self.dtype).set(value)
            return
        if key is not Ellipsis and not (isinstance(key, slice) and key == slice(None)):
            raise CallError(
                "elements of an array on a device are not assigned one by one",
                code="device",
                help="change a copy: x = a.numpy(); x[...] = ...; a[...] = x",
            )
        self.set(value)

    def view(self, at: int, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """An array over a part of this memory that begins `at` bytes behind its start."""
        return DeviceArray(self.device, shape, dtype, self.address + at, self.owner)

    def reshape(self, *shape: Any) -> DeviceArray:
        """The same memory under another shape of as many elements."""
        wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        assert prod(wanted) == self.size, f"{list(self.shape)} as {list(wanted)}"
        return self.view(0, wanted, self.dtype)

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise CallError(
            f"an array of {self.dtype}{list(self.shape)} lies on {self.device.name}, and NumPy asks for it",
            code="device",
            help="copy it: .numpy()",
        )

    def __reduce__(self) -> tuple:
        return _restored, (self.device.name, self.numpy())

    def __repr__(self) -> str:
        return f"<array {self.dtype}{list(self.shape)} on {self.device.name}>"


def _other(array: DeviceArray, shape: tuple[int, ...], dtype: np.dtype) -> CallError:
    return CallError(
        f"an array of {array.dtype}{list(array.shape)} cannot become {dtype}{list(shape)}", code="shape"
    )


def empty(device: Device, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
    """A new array whose content is not set.

    Raises:
        ResourceError: the device has not enough memory.
    """
    owner = Owner(device, prod(shape) * np.dtype(dtype).itemsize)
    return DeviceArray(device, shape, dtype, owner.block.address, owner)


def to_device(device: Device, array: np.ndarray) -> DeviceArray:
    """A copy of a NumPy array.

    Raises:
        ResourceError: the device has not enough memory.
    """
    made = empty(device, array.shape, array.dtype.newbyteorder("="))
    made.set(array)
    return made


def _restored(name: str, content: np.ndarray) -> DeviceArray:
    return to_device(found_device(name), content)

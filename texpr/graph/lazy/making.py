"""Tensors of data: arrays, numbers, nested lists, tensors of other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr.graph.arrays import array_functions
from texpr.graph.arrays.promotion import named, promoted
from texpr.graph.capture.protocol import value_of
from texpr.graph.capture.variable import Variable
from texpr.graph.lazy.devices import transfer
from texpr.graph.lazy.dlpack_dtypes import taken_over
from texpr.graph.lazy.lazy_tensor import Tensor
from texpr.ir.dtypes import DType, as_bits, from_numpy, int_range, known_dtype, native_dtype, stored
from texpr.runtime import gpu
from texpr.runtime.call.convert import is_masked
from texpr.support.errors import CallError, Error
from texpr.support.options import current
from texpr.support.suggest import known_arguments
from texpr.support.tracebacks import boundary


@known_arguments
def tensor(
    data: object, dtype: object = None, requires_grad: bool = False, device: str | None = None
) -> Tensor:
    """Tensor of an array, a number, nested lists or a tensor of another library.

    The values are copied, so that no later write to an array changes the tensor or what waits for
    it; `as_tensor` shares memory. An array that nobody may write to is shared. A variable passes
    gradients on, as in any expression.

    Args:
        dtype: a name such as `"f32"`, or a NumPy dtype; None for that of the data.
        requires_grad: whether `backward()` computes derivatives in it.
        device: where it is to be, a name; None for where the data are if they are a tensor, else
            what `options(device=...)` says.
    Raises:
        CallError: no array, or of a dtype that texpr does not have; values beyond the range of
            `dtype`, which `astype` converts.
        ResourceError: the device cannot be used here, or has not enough memory.
    Example:
        >>> x = tx.tensor([[1.0, 2.0]], dtype="f32", requires_grad=True)
        >>> x.shape, x.dtype.name
        ((1, 2), 'f32')
    """
    return _tensor(data, dtype, requires_grad, device, shares=False)


@known_arguments
def as_tensor(
    data: object, dtype: object = None, requires_grad: bool = False, device: str | None = None
) -> Tensor:
    """`tensor`, over the memory of a contiguous array of a dtype that texpr has.

    A write to the array changes the tensor, and results that wait for it: `realize()` computes those
    before.

    Raises:
        CallError: no numbers, rows of different lengths, or a dtype that texpr does not have.
    Example:
        >>> a = np.zeros(2)
        >>> x = tx.as_tensor(a)
        >>> a[:] = 7
        >>> x.tolist()
        [7.0, 7.0]
    """
    return _tensor(data, dtype, requires_grad, device, shares=True)


def _tensor(data: object, dtype: object, requires_grad: bool, device: str | None, shares: bool) -> Tensor:
    if isinstance(data, Variable) and not requires_grad:
        found = value_of(data) if dtype is None else value_of(data).astype(dtype)
        return found if device is None else found.to(device)
    taken = _of_another_library(data)
    data = data if taken is None else taken
    if isinstance(data, Tensor):
        if dtype is not None and named(dtype).is_int and promoted(data.dtype, named(dtype)) != named(dtype):
            _refuse_beyond(data.numpy(), named(dtype))
        made = data.detach() if dtype is None else data.detach().astype(dtype)
        if device is not None:
            made = made.to(device)
        if not requires_grad:
            return made
        value, t, device = made.realize().value, made.dtype, made.device
        assert value is not None, "it was computed"
    else:
        value, t = _as_array(data, dtype, shares)
    return of_bits(value, t, requires_grad, current().device if device is None else device)


def _refuse_beyond(array: np.ndarray, t: DType) -> None:
    """Raise CallError for numbers that an integer dtype does not have; fractions are cut off."""
    if not t.is_int or not array.size or array.dtype == bool:
        return
    lo, hi = int_range(t)
    least, most = array.min(), array.max()
    wrong = next(
        (x for x in (least, most) if not lo <= (x.item() if np.isnan(x) or np.isinf(x) else int(x)) <= hi),
        None,
    )
    if wrong is not None:
        raise CallError(
            f"{wrong} does not fit {t}",
            code="dtype",
            help="choose a wider dtype, or convert: tensor(data).astype(...)",
        )


def _as_array(data: object, dtype: object, shares: bool) -> tuple[np.ndarray, DType]:
    """Data other than a tensor as an array that can be used as it is, and its dtype."""
    if is_masked(data):
        raise CallError(
            "the data are a masked array, whose mask would be lost", code="type", help="fill it: x.filled(0)"
        )
    wanted = None if dtype is None else named(dtype)
    array = np.asarray(array_functions.operand(data))
    t = from_numpy(array.dtype)
    assert t is not None
    if wanted in (None, t):
        found = _contiguous(as_bits(array, t))
        new = shares or isinstance(data, list | tuple | bool | int | float | np.generic)
        if not new and _may_be_written(found) and np.may_share_memory(found, array):
            found = found.copy()
        return found, t
    _refuse_beyond(array, wanted)  # type: ignore[arg-type]
    return _contiguous(stored(array, wanted)), wanted  # type: ignore[return-value, arg-type]


def _may_be_written(array: Any) -> bool:
    """True if somebody may write to the memory: through the array, or one that it is a view of."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return True
        array = array.base
    return False


def _contiguous(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, native_dtype(array.dtype)).reshape(array.shape)


def of_bits(
    value: np.ndarray | gpu.DeviceArray, t: DType, requires_grad: bool = False, device: str = gpu.HOST
) -> Tensor:
    """A tensor of an array as texpr stores it: dtypes that NumPy lacks as their bits."""
    there = transfer(_contiguous(value) if isinstance(value, np.ndarray) else value, device)
    found = Tensor(there.shape, t, there)
    found.stops = False
    return found.requires_grad_() if requires_grad else found


@boundary
def from_dlpack(data: Any) -> Tensor:
    """Tensor over the memory of another library's tensor, where that lies.

    Raises:
        CallError: it is of a dtype or layout that DLPack cannot hand over.
        ResourceError: it lies on a device that cannot be used here.
    Example:
        >>> tx.from_dlpack(np.arange(3))
        tensor([0, 1, 2], i64[3])
    """
    try:
        array, t = taken_over(data)
    except Error:
        raise
    except (BufferError, RuntimeError, TypeError, AttributeError, ValueError) as error:
        raise CallError(
            f"the tensor cannot be taken over: {error}",
            code="type",
            help="what can be: a dtype that texpr has, on the CPU, detached from gradients",
        ) from None
    return _adopted(array, t)


def _adopted(array: np.ndarray | gpu.DeviceArray, t: DType | None) -> Tensor:
    if isinstance(array, np.ndarray):
        return as_tensor(array, device=gpu.HOST) if t is None else of_bits(array, t)
    t = known_dtype("the tensor", array.dtype) if t is None else t
    return of_bits(array, t, device=array.device.name)


def _of_another_library(data: object) -> Tensor | None:
    """A tensor of another library that lies on a device, or that NumPy does not read as an
    array.
    """
    if isinstance(data, Tensor | np.ndarray | np.generic):
        return None
    if not hasattr(data, "__dlpack__"):
        array = gpu.taken_over(data)  # there is an older interface, for devices
        return None if array is None else _adopted(array, None)
    try:
        found, t = taken_over(data)
    except Error:
        raise
    except Exception:  # noqa: BLE001 - `numpy.asarray` says what is wrong with it, or can do it
        return None
    on_host = isinstance(found, np.ndarray) and t is None and hasattr(data, "__array__")
    return None if on_host else _adopted(found, t)


def restored(value: np.ndarray, dtype: str, requires_grad: bool, device: str = gpu.HOST) -> Tensor:
    """A tensor that was pickled."""
    return of_bits(value, named(dtype), requires_grad, device)

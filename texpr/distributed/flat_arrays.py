"""Arrays as collectives take them: contiguous, in a dtype that can be added."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from texpr.ir.dtypes import BOOL, F32, F64, DType, as_bits, known_dtype, numbers_of, numpy_dtype, stored
from texpr.runtime.call.convert import is_masked
from texpr.support.errors import CallError
from texpr.support.late import late

if TYPE_CHECKING:
    from texpr.graph.lazy import making
else:
    making = late("texpr.graph.lazy.making")

OPS = ("mean", "sum", "min", "max", "prod")
REDUCTIONS = ("fast", "ordered")


class Given(NamedTuple):
    """Argument of a collective: its values as texpr stores them, contiguous, and how a result is
    handed back.
    """

    array: np.ndarray
    dtype: DType
    back: Callable[[np.ndarray], Any]

    @property
    def said(self) -> str:
        return f"{self.dtype}{list(self.array.shape)}"


def given(what: str, value: Any) -> Given:
    """An array, a tensor, a variable or a number, to be read.

    Raises:
        CallError: something else, or a dtype that texpr does not have.
    """
    if hasattr(value, "__texpr_call__"):  # a tensor or a variable; their modules are imported by who has one
        if not hasattr(value, "device"):  # it stands for a value to come
            raise CallError(
                f"{what} of a value that a traced function computes",
                code="symbolic",
                help="call it on the results, outside of the function",
            )
        t, device = value.dtype, value.device
        array = value.held() if hasattr(value, "held") else _held(value)
        return Given(_contiguous(array), t, lambda found: making.of_bits(found, t, False, device))
    if is_masked(value):
        raise CallError(
            f"{what}: the array is masked, and its mask would be lost",
            code="type",
            help="fill it: x.filled(0)",
        )
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise CallError(f"{what}: expected an array, a tensor or a number: {error}", code="type") from None
    way_out = "comm.broadcast_object and comm.gather_object take any object"
    t = known_dtype(f"{what}: the array", array.dtype, way_out)
    own = array.dtype.newbyteorder("=")
    return Given(_contiguous(as_bits(array, t)), t, lambda found: found.view(own) if t.as_bits else found)


def _held(value: Any) -> np.ndarray:
    found = value.realize().value
    return found if isinstance(found, np.ndarray) else found.numpy()


def _contiguous(array: np.ndarray) -> np.ndarray:
    """In native byte order and C order, of the same rank."""
    return np.asarray(array, array.dtype.newbyteorder("="), order="C")


def check_reduction(what: str, dtype: DType, op: str, reduction: str) -> None:
    """Raise CallError for an operation that there is not, or not of this dtype."""
    for name, value, known in (("op", op, OPS), ("reduction", reduction, REDUCTIONS)):
        if not isinstance(value, str) or value not in known:
            raise CallError(
                f"{what}: {name} is {value!r}, expected {', '.join(known[:-1])} or {known[-1]}",
                code="arguments",
            )
    if dtype == BOOL and op not in ("min", "max"):
        raise CallError(
            f"{what}: the {op} of truth values",
            code="dtype",
            help='op="min" is true where all are, op="max" where any is; convert for a count: '
            'x.astype("int64")',
        )
    if op == "mean" and not dtype.is_float:
        raise CallError(
            f"{what}: the mean of {dtype} is no integer", code="dtype", help='convert: x.astype("float64")'
        )


def computed(array: np.ndarray, dtype: DType) -> np.ndarray:
    """A flat copy of the values in the type that they are reduced in: floats below 32 bits in f32,
    truth values as bytes.
    """
    if dtype.as_bits:
        return numbers_of(array.reshape(-1), dtype).astype(np.float32)
    if dtype.is_float and dtype.bits < 32:
        return array.reshape(-1).astype(np.float32)
    return np.array(array.reshape(-1).view(np.uint8) if dtype == BOOL else array.reshape(-1))


def rounded_back(flat: np.ndarray, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """Reduced values in the dtype that was given, rounded once."""
    if dtype == BOOL:
        return flat.view(np.bool_).reshape(shape)
    if dtype.is_float and dtype not in (F32, F64):
        with np.errstate(over="ignore"):
            return stored(flat, dtype).reshape(shape)
    return flat.astype(numpy_dtype(dtype), copy=False).reshape(shape)


def in_order(pieces: np.ndarray, op: str) -> np.ndarray:
    """The reduction of rows one after the other: row 0 with row 1, then with row 2, and so on."""
    function = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}[op]
    found = pieces[0].copy()
    with np.errstate(all="ignore"):
        for row in pieces[1:]:
            function(found, row, out=found)
    return found

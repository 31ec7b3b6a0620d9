"""Tensors of an archive: a table says where each lies, and how it is laid out there."""

from __future__ import annotations

from math import prod

import numpy as np

from texpr.ir.dtypes import BF16, BOOL, DTYPES, DType, numpy_dtype
from texpr.pt2.json_reading import Json
from texpr.pt2.zip_members import Members
from texpr.support.frozen_dataclass import frozen

STRIDED = 7
"""PyTorch's number of a layout by strides."""
MOST_AXES = 64
LARGEST = 1 << 48
"""No axis, stride or offset is as large."""
REPEATED = 1 << 24
"""Bytes of a tensor that says each of its elements several times, by strides of 0."""
_TYPES = {
    1: DTYPES["u8"],
    2: DTYPES["i8"],
    3: DTYPES["i16"],
    4: DTYPES["i32"],
    5: DTYPES["i64"],
    6: DTYPES["f16"],
    7: DTYPES["f32"],
    8: DTYPES["f64"],
    12: BOOL,
    13: BF16,
    28: DTYPES["u16"],
    29: DTYPES["f8e4m3"],
    30: DTYPES["f8e5m2"],
    34: DTYPES["u32"],
    35: DTYPES["u64"],
}
"""By PyTorch's numbers, `ScalarType` of the archive's schema."""
_OTHERS = {0: "unknown", 9: "complex32", 10: "complex64", 11: "complex128", 31: "float8_e4m3fnuz"}


def dtype_of_number(at: Json) -> DType:
    """The dtype of a number of PyTorch's.

    Raises:
        CheckpointError: one that texpr does not have.
    """
    number = at.as_(int)
    if number not in _TYPES:
        raise at.refuse(f"the dtype {_OTHERS.get(number, f'number {number}')}, which texpr does not have")
    return _TYPES[number]


@frozen
class TensorType:
    """The type of a tensor, as far as a program says it.

    Attributes:
        dims: extents; the name of a symbol, or None for an expression of several.
        trained: True if PyTorch computes gradients of it.
        strides: elements between neighbours on each axis, or the text of an expression; empty where
            nothing says them.
        offset: elements before the first one, or the text of an expression.
    """

    dtype: DType
    dims: tuple[int | str | None, ...]
    trained: bool
    strides: tuple[int | str, ...] = ()
    offset: int | str = 0


@frozen
class Layout:
    """Elements between neighbours on each axis, and before the first element."""

    strides: tuple[int, ...]
    offset: int


def tensor_type(at: Json) -> TensorType:
    """The type that a program says."""
    dims = tuple(_extent(n) for n in at["sizes"])
    if len(dims) > MOST_AXES:
        raise at.refuse(f"{len(dims)} axes; up to {MOST_AXES} are read")
    trained, strides, offset = at.get("requires_grad"), at.get("strides"), at.get("storage_offset")
    return TensorType(
        dtype_of_number(at["dtype"]),
        dims,
        trained is not None and trained.as_(bool),
        () if strides is None else tuple(_stride(n) for n in strides),
        0 if offset is None else _stride(offset),
    )


def _extent(at: Json) -> int | str | None:
    kind, found = at.one()
    if kind == "as_int":
        return _size(found)
    if kind != "as_expr":
        raise at.refuse(f"`{kind}`, expected as_int or as_expr")
    text = found["expr_str"].as_(str)
    name = text.removeprefix("Symbol('").partition("'")[0]
    return name if text.startswith(f"Symbol('{name}'") and text.count("(") == 1 or text == name else None


def _stride(at: Json) -> int | str:
    kind, found = at.one()
    return found["expr_str"].as_(str) if kind == "as_expr" else _size(found)


def _size(at: Json) -> int:
    if not 0 <= at.as_(int) < LARGEST:
        raise at.refuse(f"{at.value}, expected a number from 0 to 2^48")
    return at.value


def _layout(at: Json) -> Layout:
    if at["layout"].as_(int) != STRIDED:
        raise at["layout"].refuse(f"the layout {at['layout'].value}; dense tensors are read")
    return Layout(tuple(_size(n["as_int"]) for n in at["strides"]), _size(at["storage_offset"]["as_int"]))


class Weights:
    """The tensors of an archive by name. Those that share a part of the file, type and layout are
    one array.
    """

    def __init__(self, members: Members, model: str) -> None:
        self._members = members
        self._entries: dict[str, tuple[str, Json]] = {}
        self._read: dict[tuple, tuple[np.ndarray, DType]] = {}
        for kind in ("weights", "constants"):
            config = f"data/{kind}/{model}_{kind}_config.json"
            if members.has(config):
                table = Json.of(members.text(config), f"{members.path}, {config}")["config"]
                self._entries |= {name: (f"data/{kind}/", entry) for name, entry in table.items()}

    def has(self, name: str) -> bool:
        """True if there is such a tensor."""
        return name in self._entries

    def read(self, name: str, place: Json) -> tuple[np.ndarray, DType]:
        """The values of a tensor, as texpr stores its dtype; the same array for the same place.

        Raises:
            CheckpointError: it is not there, pickled, or does not fit its part of the file.
        """
        if name not in self._entries:
            raise place.refuse(f"the archive has no values of `{name}`")
        folder, entry = self._entries[name]
        file = entry["path_name"].as_(str)
        if entry["use_pickle"].as_(bool):
            raise entry.refuse(
                f"the values of `{name}` are pickled, and pickles run code that a file brings along"
            )
        if "/" in file or "\\" in file or file in ("", ".", ".."):
            raise entry["path_name"].refuse(f"`{file}` is not the name of a part beside it")
        meta = entry.get("tensor_meta")
        if meta is None:
            raise entry.refuse(f"nothing says the shape of `{name}`")
        found, layout = tensor_type(meta), _layout(meta)
        key = (folder, file, found.dtype, found.dims, layout)
        if key not in self._read:
            self._read[key] = self._values(folder + file, found, layout, meta), found.dtype
        return self._read[key]

    def _values(self, file: str, found: TensorType, layout: Layout, meta: Json) -> np.ndarray:
        shape = tuple(n for n in found.dims if isinstance(n, int))
        if len(shape) < len(found.dims) or len(layout.strides) != len(shape):
            raise meta.refuse("sizes and strides of values must be as many numbers")
        data, dtype = self._members.values(file), np.dtype(numpy_dtype(found.dtype)).newbyteorder("<")
        last = layout.offset + sum((n - 1) * s for n, s in zip(shape, layout.strides)) if prod(shape) else -1
        if (last + 1) * dtype.itemsize > len(data):
            raise meta.refuse(
                f"{found.dtype}{list(shape)} needs {(last + 1) * dtype.itemsize:,} bytes, and `{file}` has "
                f"{len(data):,}"
            )
        if prod(shape) * dtype.itemsize > max(len(data), REPEATED):
            raise meta.refuse(f"{found.dtype}{list(shape)} has more elements than `{file}`")
        flat = np.frombuffer(data, dtype, len(data) // dtype.itemsize)
        steps = [s * dtype.itemsize for s in layout.strides]
        if not prod(shape):
            return np.zeros(shape, dtype)
        return np.lib.stride_tricks.as_strided(flat[layout.offset :], shape, steps, writeable=False).copy()

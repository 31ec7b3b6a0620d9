"""Tensors in files `.dat`: a header of 128 bytes, and the elements in the order of C.

The Khronos NNEF Working Group, Neural Network Exchange Format 1.0.5, section 5.2. Numbers are
little-endian.
"""

from __future__ import annotations

import struct
from math import prod

import numpy as np

from texpr.support.errors import CheckpointError
from texpr.support.frozen_dataclass import frozen

HEADER = struct.Struct("<2sBBII8III76s")
MAGIC = b"N\xef"
MOST_AXES = 8
MOST_LENGTH = (1 << 32) - 1
"""Of the elements' bytes: the header has 32 bits for it."""
FLOAT, UNSIGNED, QUANTIZED_UNSIGNED, QUANTIZED, SIGNED, LOGICAL = range(6)
_KINDS = (
    "float",
    "unsigned integer",
    "quantized unsigned integer",
    "quantized integer",
    "integer",
    "logical",
)
_WIDTHS = {FLOAT: (16, 32, 64), LOGICAL: (1, 8)} | dict.fromkeys(
    (UNSIGNED, SIGNED, QUANTIZED_UNSIGNED, QUANTIZED), (8, 16, 32, 64)
)
_LETTERS = {FLOAT: "f", UNSIGNED: "u", SIGNED: "i", QUANTIZED_UNSIGNED: "u", QUANTIZED: "i"}


@frozen
class Header:
    """Account of a tensor at the beginning of its file.

    Attributes:
        bits: of an element; 1 where booleans are packed.
        length: bytes of all elements.
    """

    shape: tuple[int, ...]
    kind: int
    bits: int
    length: int

    @property
    def quantized(self) -> bool:
        """True if integers stand for other numbers."""
        return self.kind in (QUANTIZED, QUANTIZED_UNSIGNED)

    @property
    def dtype(self) -> np.dtype:
        """Of NumPy."""
        return np.dtype(bool) if self.kind == LOGICAL else np.dtype(f"<{_LETTERS[self.kind]}{self.bits // 8}")


def read_header(data: bytes, size: int, name: str) -> Header:
    """The checked header of a file. Nothing is allocated by what it says.

    Args:
        data: its first bytes, 128 or all that there are.
        size: bytes of the file.
        name: for messages.
    Raises:
        CheckpointError: it is no such file, or its sizes do not fit each other.
    """

    def refused(byte: int, message: str) -> CheckpointError:
        return CheckpointError(f"{name}, byte {byte}: {message}", code="nnef")

    if size < HEADER.size or len(data) < HEADER.size:
        raise refused(min(size, len(data)), f"the file ends within its header of {HEADER.size} bytes")
    magic, major, minor, length, rank, *rest = HEADER.unpack_from(data)
    extents, (bits, kind, reserved) = rest[:MOST_AXES], rest[MOST_AXES:]
    if magic != MAGIC:
        raise refused(0, f"it begins with {magic.hex(' ')}, a tensor of NNEF with {MAGIC.hex(' ')}")
    if (major, minor) != (1, 0):
        raise refused(2, f"version {major}.{minor} of tensor files; 1.0 is read")
    if rank > MOST_AXES:
        raise refused(8, f"{rank:,} axes, the limit is {MOST_AXES}")
    if kind == UNSIGNED and int.from_bytes(reserved[:4], "little"):
        kind = SIGNED  # how the first version of the format said it
    if kind >= len(_KINDS):
        raise refused(48, f"element type {kind:#x}, which NNEF 1.0 does not have")
    if bits not in _WIDTHS[kind]:
        raise refused(44, f"{bits} bits for an element of type {_KINDS[kind]}")
    shape = tuple(extents[:rank])
    needed = -(-prod(shape) * bits // 8)
    if needed != length:
        raise refused(
            4, f"a tensor of shape {list(shape)} with {bits} bits an element needs {needed:,} bytes, and "
            f"{length:,} are declared"
        )  # fmt: skip
    if size != HEADER.size + length:
        raise refused(
            min(size, HEADER.size + length),
            f"the file has {size:,} bytes, and its header declares {HEADER.size + length:,}",
        )
    return Header(shape, kind, bits, length)


def array_of(header: Header, data: bytes) -> np.ndarray:
    """The elements behind a header; of `data`, all of the file."""
    held = memoryview(data)[HEADER.size :]
    if header.bits == 1:
        flat = np.unpackbits(np.frombuffer(held, np.uint8))[: prod(header.shape)].astype(bool)
    elif header.kind == LOGICAL:
        flat = np.frombuffer(held, np.uint8) != 0
    else:
        flat = np.frombuffer(held, header.dtype)
    return flat.reshape(header.shape)


def file_of(array: np.ndarray, name: str) -> bytes:
    """The bytes of a file.

    Raises:
        CheckpointError: the format has no such tensors.
    """
    kinds = {"f": FLOAT, "u": UNSIGNED, "i": SIGNED, "b": LOGICAL}
    kind, bits = kinds.get(array.dtype.kind), 1 if array.dtype == bool else array.dtype.itemsize * 8
    length = -(-array.size * bits // 8)
    if kind is None or array.ndim > MOST_AXES or length > MOST_LENGTH:
        raise CheckpointError(
            f"`{name}` is {array.dtype}{list(array.shape)}; files of NNEF have floats, integers and logical "
            f"values, up to {MOST_AXES} axes and 4 GiB",
            code="nnef",
        )
    extents = [*array.shape, *[0] * (MOST_AXES - array.ndim)]
    header = HEADER.pack(MAGIC, 1, 0, length, array.ndim, *extents, bits, kind, b"")
    held = np.packbits(array) if bits == 1 else np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return header + held.tobytes()

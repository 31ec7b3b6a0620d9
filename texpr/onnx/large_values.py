"""Large values of a model's file: left out of what protobuf reads, and read where they are to lie.

protobuf holds a file's bytes, its own copy of the values, and gives another one of each that is
asked for (`findings/protobuf_bytes_copied.sh`). The values of initializers, and of `Constant` nodes,
are one field of a message, at a place that its lengths say. Here a file is read without the large
ones; each becomes external data of ONNX, in the file itself.

Source: the encoding of messages, https://protobuf.dev/programming-guides/encoding; field numbers of
onnx.proto.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from math import prod
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, ClassVar

import numpy as np

from texpr.ir.dtypes import numpy_dtype
from texpr.onnx.element_types import FROM_ONNX, bytes_in_file, name_of
from texpr.onnx.onnx_package import library
from texpr.runtime.slabs import Given, given, untouched
from texpr.support.background import Helper
from texpr.support.errors import CheckpointError
from texpr.support.frozen_dataclass import frozen

LARGE = 1 << 16
"""Bytes of values that are left out."""
IN_HALVES = 1 << 25
"""Bytes of values that two threads read: the system copies them, and gives memory to them."""
GRAPH, NODE, INITIALIZER, RAW_DATA = 7, 1, 5, 9
"""Numbers of fields: `graph` of a ModelProto, `node` and `initializer` of a GraphProto, `raw_data` of
a TensorProto."""
OPERATOR, ATTRIBUTE, TENSOR = 4, 5, 5
"""Numbers of fields: `op_type` and `attribute` of a NodeProto, `t` of an AttributeProto."""
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types."""
MOST_OPEN = 128
"""Files that are open because values lie in them: a process may have 1024 files on many systems."""
LONGEST = 10
"""Bytes of a number, at most."""
OTHER_VALUES = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
"""Fields of a TensorProto that may hold its values in the place of `raw_data`."""
HERE = f"texpr.{token_hex(16)}"
"""The location of external data that lie in the model's own file; no model can say it."""


class Damaged(Exception):
    """A file is no message of protobuf, or is one of an unusual form."""


@frozen
class _Field:
    """A field of a message in a file.

    Attributes:
        start, payload, end: bytes from the beginning of the file at which the field and what it
            holds begin, and at which it ends.
    """

    number: int
    wire: int
    start: int
    payload: int
    end: int


_Strip = Callable[[IO[bytes], _Field, str], bytes | None]
"""Gives a field's message, in a file of a version, with its large values as external data; None where
they are to stay."""


def version_of(file: IO[bytes] | OpenFile) -> str:
    """A text that is another one once a file was written to, or replaced."""
    return _version(os.fstat(file.fileno()))


def _version(about: os.stat_result) -> str:
    return f"{about.st_dev} {about.st_ino} {about.st_size} {about.st_mtime_ns}"


def without_large_values(file: IO[bytes], size: int, version: str) -> bytes | None:
    """The bytes of a model whose initializers and `Constant` nodes with large values have them as
    external data at `HERE`; None where no message says where they are, or none is large.

    Args:
        size: bytes of the file.
        version: of the file (`version_of`).
    """
    try:
        return _with_one(file, _Field(0, BYTES, 0, 0, size), GRAPH, version, _stripped_graph)
    except Damaged:
        return None


def _stripped_graph(file: IO[bytes], graph: _Field, version: str) -> bytes | None:
    """A GraphProto with large values as external data; None where there are none."""
    pieces, changed = [], False
    for f in _fields(file, graph.payload, graph.end):
        strip = _STRIPPED.get(f.number) if f.wire == BYTES and f.end - f.payload >= LARGE else None
        short = strip(file, f, version) if strip else None
        changed |= short is not None
        pieces.append(_bytes(file, f.start, f.end) if short is None else _field(f.number, short))
    return b"".join(pieces) if changed else None


def _stripped_node(file: IO[bytes], node: _Field, version: str) -> bytes | None:
    """A NodeProto of a `Constant` with its values as external data; None where they are to stay."""
    operators = [f for f in _fields(file, node.payload, node.end) if f.number == OPERATOR]
    if len(operators) != 1 or _bytes(file, operators[0].payload, operators[0].end) != b"Constant":
        return None
    return _with_one(file, node, ATTRIBUTE, version, _stripped_attribute)


def _stripped_attribute(file: IO[bytes], attribute: _Field, version: str) -> bytes | None:
    return _with_one(file, attribute, TENSOR, version, _stripped)


def _with_one(file: IO[bytes], message: _Field, number: int, version: str, strip: _Strip) -> bytes | None:
    """A message whose one field of a number is stripped; None where it has several, or stays."""
    found = [f for f in _fields(file, message.payload, message.end) if f.number == number]
    if len(found) != 1 or found[0].wire != BYTES:
        return None
    short = strip(file, found[0], version)
    if short is None:
        return None
    before = _bytes(file, message.payload, found[0].start)
    return before + _field(number, short) + _bytes(file, found[0].end, message.end)


def _stripped(file: IO[bytes], initializer: _Field, version: str) -> bytes | None:
    """A TensorProto with its values as external data; None where they are to stay."""
    fields = list(_fields(file, initializer.payload, initializer.end))
    values = [f for f in fields if f.number == RAW_DATA]
    if len(values) != 1 or values[0].wire != BYTES or values[0].end - values[0].payload < LARGE:
        return None
    onnx, value = library(), values[0]
    before, behind = _bytes(file, initializer.payload, value.start), _bytes(file, value.end, initializer.end)
    try:
        tensor = onnx.TensorProto.FromString(before + behind)
    except Exception:  # protobuf's own class of errors is not public
        raise Damaged from None
    if tensor.data_type not in FROM_ONNX or FROM_ONNX[tensor.data_type].as_bits or _is_unusual(tensor):
        return None
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, text in (
        ("location", HERE),
        ("offset", value.payload),
        ("length", value.end - value.payload),
        ("version", version),
    ):
        tensor.external_data.add(key=key, value=str(text))
    return tensor.SerializeToString()


_STRIPPED: dict[int, _Strip] = {INITIALIZER: _stripped, NODE: _stripped_node}
"""Fields of a graph that hold values."""


def _is_unusual(tensor: Any) -> bool:
    """True if a tensor has other values too, or comes in parts: those who read it say so."""
    return (
        tensor.HasField("segment")
        or bool(tensor.data_location or len(tensor.external_data))
        or any(len(getattr(tensor, name)) for name in OTHER_VALUES)
    )


def is_here(tensor: Any) -> bool:
    """True if the values of an onnx.TensorProto were left in a file."""
    return len(tensor.external_data) >= 4 and tensor.external_data[0].value == HERE


def path_here(tensor: Any, path: Path) -> Path:
    """The file in which values were left.

    Args:
        path: of the model's file.
    """
    if len(tensor.external_data) < 5:
        return path
    return Path(os.fsdecode(bytes.fromhex(tensor.external_data[4].value)))  # a text must be UTF-8


def leave_external(tensor: Any, path: Path, offset: int) -> bool:
    """Let the values of a tensor, which lie in another file, stay there until they are needed, if
    they are large. True if they stay.
    """
    length = bytes_in_file(tensor.data_type, prod(tensor.dims))
    dtype = FROM_ONNX.get(tensor.data_type)
    others = any(len(getattr(tensor, name)) for name in ("raw_data", *OTHER_VALUES))
    if length < LARGE or dtype is None or dtype.as_bits or tensor.HasField("segment") or others:
        return False
    del tensor.external_data[:]
    for key, text in (
        ("location", HERE),
        ("offset", offset),
        ("length", length),
        ("version", _version(os.stat(path))),
        ("path", os.fsencode(path).hex()),
    ):
        tensor.external_data.add(key=key, value=str(text))
    return True


def length_here(tensor: Any) -> int:
    """Bytes of values that were left in the file."""
    return int(tensor.external_data[2].value)


def values_here(tensor: Any, path: Path) -> Given:
    """The values of a tensor that were left in the file, as many as its dimensions say.

    Raises:
        CheckpointError: the file has changed.
        ResourceError: they do not fit into memory.
    """
    dtype = np.dtype(numpy_dtype(FROM_ONNX[tensor.data_type])).newbyteorder("<")
    values = given(length_here(tensor), dtype, tuple(tensor.dims))
    path = path_here(tensor, path)
    with open(path, "rb", buffering=0) as file:
        if version_of(file) != tensor.external_data[3].value:
            raise _changed(path)
        file.seek(int(tensor.external_data[1].value))
        left = memoryview(values.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        while left:
            count = file.readinto(left)
            if not count:
                raise _changed(path)
            left = left[count:]
    return values


def restore_constants(nodes: Iterable[Any], path: Path) -> None:
    """Give `Constant` nodes the values that were left in the file: numbers of the program.

    Raises:
        CheckpointError: the file has changed.
    """
    for t in (a.t for n in nodes if n.op_type == "Constant" for a in n.attribute if a.HasField("t")):
        if is_here(t):
            values = values_here(t, path)
            t.ClearField("external_data")
            t.ClearField("data_location")
            t.raw_data = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


class OpenFile:
    """A file that is closed once nobody has it.

    Attributes:
        count: how many there are.
    """

    __slots__ = ("_number",)
    count: ClassVar[int] = 0

    def __init__(self, path: Path) -> None:
        self._number = os.open(path, os.O_RDONLY)
        OpenFile.count += 1

    def fileno(self) -> int:
        """Its number in this process."""
        return self._number

    def __del__(self) -> None:
        if hasattr(self, "_number"):
            OpenFile.count -= 1
            os.close(self._number)


class StoredValues:
    """Values of a tensor that were left in the file, read when they are needed; the file stays open
    meanwhile, so it may be replaced or deleted, but not written to.
    """

    __slots__ = ("_file", "_offset", "_path", "_version", "stand_in")

    def __init__(self, tensor: Any, file: OpenFile, path: Path) -> None:
        self._file, self._path = file, path
        self._offset, self._version = int(tensor.external_data[1].value), tensor.external_data[3].value
        dtype = np.dtype(numpy_dtype(FROM_ONNX[tensor.data_type]))
        self.stand_in = untouched(length_here(tensor), dtype, tuple(tensor.dims))

    def read(self, memory: np.ndarray) -> np.ndarray:
        """The values in these bytes.

        Raises:
            CheckpointError: the file has changed.
        """
        if memory.size < IN_HALVES:
            self._fill(memory, self._offset)
        else:
            middle = memory.size // 2
            with Helper() as helper:
                first = helper.begin(lambda: self._fill(memory[:middle], self._offset))
                self._fill(memory[middle:], self._offset + middle)
                first.result()
        if version_of(self._file) != self._version:
            raise _changed(self._path, "since the model was loaded")
        return memory.view(self.stand_in.dtype).reshape(self.stand_in.shape)

    def _fill(self, memory: np.ndarray, at: int) -> None:
        left = memoryview(memory)  # type: ignore[arg-type]
        while left:
            count = os.preadv(self._file.fileno(), [left], at)
            if not count:
                raise _changed(self._path, "since the model was loaded")
            at, left = at + count, left[count:]


def stored_values(tensors: Iterable[Any], path: Path) -> dict[str, StoredValues]:
    """Values of tensors that can be read from their files at any time, by the tensors' names; none where
    many files are open already.

    Args:
        path: of the model's file.
    """
    if not hasattr(os, "preadv") or sys.byteorder != "little":
        return {}
    found: dict[str, StoredValues] = {}
    files: dict[Path, OpenFile] = {}
    for t in tensors:
        if is_here(t):
            place = path_here(t, path)
            if place not in files and OpenFile.count >= MOST_OPEN:
                continue
            file = files[place] = files.get(place) or OpenFile(place)
            found[t.name] = StoredValues(t, file, place)
    return found


def _changed(path: Path, meanwhile: str = "while it was read") -> CheckpointError:
    return CheckpointError(f"{path} has changed {meanwhile}", code="onnx", help="load it again")


def wrong_length(tensor: Any, length: int) -> CheckpointError:
    """The error of a tensor whose values are not as many bytes as its dimensions say."""
    needed = bytes_in_file(tensor.data_type, prod(tensor.dims))
    return CheckpointError(
        f"the tensor `{tensor.name}` of {name_of(tensor.data_type)}{list(tensor.dims)} needs "
        f"{needed:,} bytes and has {length:,}",
        code="onnx",
        help="export or download the model again",
    )


def _fields(file: IO[bytes], start: int, end: int) -> Iterator[_Field]:
    """The fields of a message that lies in a file from one place to another.

    Raises:
        Damaged: a field goes beyond the end, or has no known form.
    """
    while start < end:
        key, payload = _number(file, start, end)
        wire = key & 7
        if wire == BYTES:
            length, payload = _number(file, payload, end)
        elif wire == VARINT:
            _, after = _number(file, payload, end)
            length = after - payload
        else:
            length = {FIXED32: 4, FIXED64: 8}.get(wire, end)
        if payload + length > end:
            raise Damaged
        yield _Field(key >> 3, wire, start, payload, payload + length)
        start = payload + length


def _number(file: IO[bytes], start: int, end: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and the place behind it."""
    file.seek(start)
    given = file.read(min(LONGEST, end - start))
    value = 0
    for k, byte in enumerate(given):
        value |= (byte & 0x7F) << 7 * k
        if byte < 0x80:
            return value, start + k + 1
    raise Damaged


def _bytes(file: IO[bytes], start: int, end: int) -> bytes:
    file.seek(start)
    found = file.read(end - start)
    if len(found) != end - start:
        raise Damaged
    return found


def _field(number: int, payload: bytes) -> bytes:
    """A field of bytes."""
    return _varint(number << 3 | BYTES) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])

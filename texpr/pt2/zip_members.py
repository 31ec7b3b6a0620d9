"""The parts of an archive of PyTorch by name, each checked before a byte of it is read.

Source of the format: https://docs.pytorch.org/docs/stable/export/pt2_archive.html
"""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

from texpr.nn.reader_advice import advise_reader, refuse_folder
from texpr.support.errors import CheckpointError, ResourceError
from texpr.support.files import read_file

MOST_MEMBERS = 200_000
LONGEST_TEXT = 1 << 28
"""Bytes of a JSON document."""
AGAIN = "save it again with torch.export.save of PyTorch 2.8 or newer"


class Members:
    """An archive in memory.

    Attributes:
        path: for messages.
        folder: the name before all others, with its slash.
    """

    def __init__(self, source: str | os.PathLike[str] | bytes | bytearray | memoryview) -> None:
        held = isinstance(source, bytes | bytearray | memoryview)
        self.path = "the archive" if held else str(source)
        self._data = memoryview(bytes(source) if held else _read(Path(source)))
        self._sums: dict[str, int] = {}
        self._members = self._listed()
        self.folder = self._root()

    def _reader(self) -> str:
        """Advice on a file of another kind."""
        return "" if self.path.endswith(".pt2") else advise_reader(self.path)

    def _listed(self) -> dict[str, tuple[int, int]]:
        """First byte and length of every part."""
        if self._data[:2] != b"PK":
            raise self.damaged("it does not begin as a zip file does", help=self._reader() or AGAIN)
        try:
            with zipfile.ZipFile(io.BytesIO(self._data)) as file:
                entries = file.infolist()
        except Exception as error:  # zipfile raises struct.error, UnicodeDecodeError and more
            raise self.damaged(f"its directory cannot be read ({error})") from None
        names = {e.filename.rpartition("/")[2] for e in entries}
        if "data.pkl" in names and "archive_format" not in names:  # before the parts, which may be compressed
            raise self._other_format(names)
        if len(entries) > MOST_MEMBERS:
            raise ResourceError(f"{self.path} has more than {MOST_MEMBERS:,} parts", code="pt2")
        found: dict[str, tuple[int, int]] = {}
        for entry in entries:
            if entry.filename in found:
                raise self.damaged(f"the part `{entry.filename}` comes twice")
            if not entry.filename:
                raise self.damaged(f"the part whose header is at byte {entry.header_offset:,} has no name")
            if not entry.is_dir():
                found[entry.filename] = self._place(entry)
                self._sums[entry.filename] = entry.CRC
        return found

    def _place(self, entry: zipfile.ZipInfo) -> tuple[int, int]:
        """First byte and length of a part. PyTorch stores it as it is: one of another size than its
        bytes has been compressed by somebody else.
        """
        name, at, size = entry.filename, entry.header_offset, entry.file_size
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != size:
            raise self.damaged(f"the part `{name}` is compressed", help="store it: zip -0")
        if entry.flag_bits & 1:
            raise self.damaged(f"the part `{name}` is encrypted")
        header = bytes(self._data[at : at + 30]) if 0 <= at else b""
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise self.damaged(f"the part `{name}` has no header at byte {at:,}")
        first = at + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        if first + size > len(self._data):
            raise self.damaged(
                f"the part `{name}` has {size:,} bytes from byte {first:,} on, and the file ends at "
                f"{len(self._data):,}"
            )
        return first, size

    def _root(self) -> str:
        """The folder that all parts of a new archive are in; older ones have none."""
        formats = [n for n in self._members if n == "archive_format" or n.endswith("/archive_format")]
        if not formats:
            raise self._other_format({name.rpartition("/")[2] for name in self._members})
        if len(formats) > 1 or formats[0].count("/") > 1:
            raise self.damaged(f"it has several formats: {', '.join(sorted(formats)[:3])}")
        root = formats[0].removesuffix("archive_format")
        if bytes(self._bytes(formats[0], 64)).strip() != b"pt2":
            raise self.damaged(f"`{formats[0]}` does not say pt2")
        order = root + "byteorder"
        if order in self._members and bytes(self._bytes(order, 64)).strip() != b"little":
            raise self.damaged("its numbers are not stored with the lowest byte first")
        return root

    def _other_format(self, names: set[str]) -> CheckpointError:
        if "serialized_exported_program.json" in names:
            return CheckpointError(
                f"{self.path} was written by PyTorch 2.7 or older: its weights are pickled, and pickles run "
                f"code that a file brings along",
                code="pt2",
                help=AGAIN,
            )
        if "data.pkl" in names:
            return CheckpointError(
                f"{self.path} is a pickle in a zip file, of torch.save or TorchScript: pickles run code that "
                f"a file brings along, and are not read",
                code="pt2",
                help="torch.export.save(torch.export.export(model, arguments), path)",
            )
        return self.damaged("it has no part `archive_format`", help=AGAIN)

    def names(self, folder: str) -> list[str]:
        """Names in a folder, without it."""
        before = self.folder + folder
        return sorted(n.removeprefix(before) for n in self._members if n.startswith(before))

    def has(self, name: str) -> bool:
        """True if there is such a part."""
        return self.folder + name in self._members

    def text(self, name: str) -> str:
        """A part as text.

        Raises:
            CheckpointError: it is not there, or no text.
            ResourceError: it is longer than the limit.
        """
        try:
            return str(self._bytes(self.folder + name, LONGEST_TEXT), "utf-8")
        except UnicodeDecodeError as error:
            raise self.damaged(f"`{name}` is no text ({error})") from None

    def values(self, name: str) -> memoryview:
        """The bytes of a part.

        Raises:
            CheckpointError: it is not there.
        """
        return self._bytes(self.folder + name, None)

    def _bytes(self, name: str, most: int | None) -> memoryview:
        if name not in self._members:
            raise self.damaged(f"the part `{name}` is not there")
        first, size = self._members[name]
        if most is not None and size > most:
            raise ResourceError(f"{self.path}: `{name}` has {size:,} bytes, more than {most:,}", code="pt2")
        data = self._data[first : first + size]
        if zlib.crc32(data) != self._sums[name]:
            raise self.damaged(
                f"the part `{name}` has other bytes than its checksum says",
                help="copy it again; torch.serialization.set_crc32_options(True) writes checksums",
            )
        return data

    def damaged(self, reason: str, **more: Any) -> CheckpointError:
        """The error of a file that is no such archive, or not whole."""
        return CheckpointError(f"{self.path} is no intact archive of PyTorch: {reason}", code="pt2", **more)


def _read(path: Path) -> bytes:
    refuse_folder(path, ".pt2", "pt2")
    return read_file(path)

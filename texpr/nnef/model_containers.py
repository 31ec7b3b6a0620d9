"""Folders and archives of models: their files by name, and nothing outside of them."""

from __future__ import annotations

import errno
import io
import os
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from texpr.nn.reader_advice import advise_reader
from texpr.support.errors import CheckpointError, ResourceError

MOST_FILES = 100_000
MOST_BYTES = 64 << 30
"""Of all files of an archive together."""


Check = Callable[[bytes, int], object]
"""Looks at the first bytes of a file, and at its size; raises where the rest must not be read."""


class Container(Protocol):
    """Files by name.

    Attributes:
        place: for messages.
    """

    place: str

    def names(self) -> list[str]:
        """The names of all files."""
        ...

    def size(self, name: str) -> int | None:
        """Bytes of a file; None where it is not there."""
        ...

    def read(self, name: str, first: int, check: Check) -> bytes:
        """All bytes of a file; `check` sees the first ones, and its size, before the rest is read."""
        ...

    def place_of(self, name: str) -> int:
        """Place at which a file begins; files are read fastest in this order."""
        ...


def opened(path: str | os.PathLike[str]) -> Container:
    """A folder, or an archive of tar, compressed or not.

    Raises:
        CheckpointError: it is neither, or it has links, devices, or names that lead outside.
        OSError: it cannot be read.
    """
    given = Path(path)
    return Folder(given) if given.is_dir() else Archive(given)


def inside(name: str) -> bool:
    """True if a name stays where it is looked up: relative, without `..`, of printable characters."""
    parts = PurePosixPath(name).parts
    return (
        bool(parts)
        and ".." not in parts
        and not name.startswith("/")
        and "\\" not in name
        and name.isprintable()
        and len(name) < 1024
        and ":" not in parts[0]
    )


class Folder:
    """A folder; links in it are not followed."""

    def __init__(self, path: Path) -> None:
        self.path, self.place = path, str(path)

    def names(self) -> list[str]:
        """The names of the files that lie directly in it."""
        return sorted(e.name for e in os.scandir(self.path) if e.is_file(follow_symlinks=False))

    def size(self, name: str) -> int | None:
        """Bytes of a file.

        Raises:
            CheckpointError: a link, or no regular file.
        """
        place = self.path
        for part in PurePosixPath(name).parts:
            place = place / part
            try:
                about = os.lstat(place)
            except (FileNotFoundError, NotADirectoryError):
                return None
            if stat.S_ISLNK(about.st_mode):
                raise CheckpointError(f"{place} is a link, which is not followed", code="nnef")
        if not stat.S_ISREG(about.st_mode):
            raise CheckpointError(f"{place} is no regular file", code="nnef")
        return about.st_size

    def read(self, name: str, first: int, check: Check) -> bytes:
        """All bytes of a file."""
        size = self.size(name) or 0
        with open(self.path / name, "rb") as file:
            head = file.read(first)
            check(head, size)
            return head + file.read(max(size - len(head), 0))

    def place_of(self, name: str) -> int:
        """All files are as near."""
        return 0


class Archive:
    """An archive of tar; a compressed one is read once for each file that is asked for, in turn."""

    def __init__(self, path: Path) -> None:
        self.path, self.place = path, str(path)
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            raise CheckpointError(f"{path} is neither a folder nor a file", code="nnef")
        self._members: dict[str, tarfile.TarInfo] = {}
        self._archive = self._opened()
        total = 0
        for member in self._listed():
            name = member.name.removeprefix("./")
            if member.isdir():
                continue
            if not member.isreg() or not inside(name):
                kind = "is no regular file" if inside(name) else "leads outside of the archive"
                raise self._refused(f"`{member.name}` {kind}", member.offset)
            total += member.size
            if name in self._members:
                raise self._refused(f"`{name}` comes twice", member.offset)
            if len(self._members) >= MOST_FILES or total > MOST_BYTES:
                raise ResourceError(
                    f"{path} has more than {MOST_FILES:,} files or {MOST_BYTES:,} bytes", code="nnef"
                )
            self._members[name] = member

    def _opened(self) -> tarfile.TarFile:
        try:
            return tarfile.open(self.path, "r:*")
        except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOENT, errno.EACCES, errno.EISDIR):
                raise
            # Only the first line: tarfile goes on with a line for each form of compression.
            reason = str(error).split("\n", 1)[0].removesuffix(":")
            raise self._refused(f"it is no archive of tar: {reason}", 0, advise_reader(self.path)) from None

    def _listed(self) -> Iterator[tarfile.TarInfo]:
        while True:
            try:
                member = self._archive.next()
            except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError) as error:
                raise self._refused(f"the archive is damaged: {error}", self._archive.offset) from None
            if member is None:
                break
            yield member
        if not self._members:
            raise self._refused("it holds no files", 0)

    def _refused(self, message: str, byte: int, help: str = "") -> CheckpointError:
        return CheckpointError(f"{self.path}, byte {byte}: {message}", code="nnef", help=help)

    def names(self) -> list[str]:
        """The names of all files."""
        return sorted(self._members)

    def size(self, name: str) -> int | None:
        """Bytes of a file; None where it is not there."""
        member = self._members.get(name)
        return None if member is None else member.size

    def place_of(self, name: str) -> int:
        """The byte of the archive at which a file begins."""
        return self._members[name].offset_data

    def read(self, name: str, first: int, check: Check) -> bytes:
        """All bytes of a file."""
        member = self._members[name]
        try:
            file: IO[bytes] = self._archive.extractfile(member) or io.BytesIO()
            head = file.read(min(first, member.size))
            check(head, member.size)
            data = head + file.read(member.size - len(head))
        except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
            raise self._refused(f"`{name}` is damaged: {error}", member.offset_data) from None
        if len(data) != member.size:
            raise self._refused(
                f"the archive ends within `{name}`: {len(data):,} of {member.size:,} bytes are there",
                member.offset_data,
            )
        return data

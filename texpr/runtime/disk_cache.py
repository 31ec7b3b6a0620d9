"""Bytes on disk, by key, shared by all processes of a user.

An entry is a file: a header of magic, version, length and checksum, then the bytes. Files appear by
`os.replace`, so readers see whole entries only; what is damaged anyway is removed and counts as
absent. What is stored is machine code that will run, so the directory must belong to the user and
be writable by nobody else; diskcache, which would be a dependency at run time, looks at neither,
and unpickles what it finds. A cache that cannot be used (no such permission, a full disk) is no
error: `problem` says why nothing is kept.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING

from texpr.support.files import read_file
from texpr.support.late import late
from texpr.support.options import current

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = late("tempfile")

_MAGIC = b"texpr\x00\x01\x00"
_HEADER = Struct("<8sQ32s")  # magic and version, length, SHA-256 of key and data
DEFAULT_LIMIT = 1 << 30
FOLDERS = 256
"""Folders of entries, by the first two digits of their names."""


class DiskCache:
    """A bounded store of bytes. Entries used least recently go first.

    Args:
        directory: made with mode 0700 if absent; None keeps nothing.
        limit: bytes it may hold, roughly.
    Attributes:
        problem: why the cache is not in use, or the last failure to store; empty if all is well.
    """

    def __init__(self, directory: str | os.PathLike[str] | None, limit: int = DEFAULT_LIMIT) -> None:
        self.directory = Path(directory) if directory is not None else Path(os.devnull)
        self.limit = limit
        self.problem = "no directory" if directory is None else self._open()
        self._usable = not self.problem
        self._unchecked = limit  # bytes stored since the size was looked at; the first `put` looks

    def _open(self) -> str:
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            return _distrust(self.directory)
        except OSError as error:
            return f"{self.directory}: {error.strerror or error}"

    def get(self, key: str) -> bytes | None:
        """The bytes stored under `key`; None if there are none, or damaged ones."""
        if not self._usable:
            return None
        path = self._path(key)
        try:
            content = read_file(path, self.limit)
        except OSError:
            return None
        data = _unwrap(key, content)
        try:
            if data is None:
                path.unlink()
            else:
                os.utime(path)
        except OSError as error:
            self.problem = f"{path}: {error.strerror or error}"
        return data

    def has(self, key: str) -> bool:
        """True if something is stored under `key`, intact or not."""
        return self._usable and self._path(key).exists()

    def put(self, key: str, data: bytes) -> None:
        """Store `data` under `key`, in place of what was there."""
        if not self._usable or len(data) > self.limit // 2:
            return
        path = self._path(key)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            _write_whole(path, _wrap(key, data))
        except OSError as error:
            self.problem = f"{path}: {error.strerror or error}"
            return
        self._unchecked += len(data)
        if self._unchecked > self.limit // 8:
            self._unchecked = 0
            if self._estimate(path.parent) > self.limit:
                self._evict()

    def usage(self) -> tuple[int, int]:
        """Number of entries, and their bytes."""
        sizes = [size for _, size, _ in self._entries()] if self._usable else []
        return len(sizes), sum(sizes)

    def clear(self) -> None:
        """Remove all entries."""
        if self._usable:
            for _, _, path in self._entries():
                path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        name = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        return self.directory / name[:2] / name[2:]

    def _entries(self) -> list[tuple[float, int, Path]]:
        """Age, bytes and path of every file, oldest first."""
        return sorted(each for folder in self.directory.glob("[0-9a-f][0-9a-f]") for each in _files(folder))

    def _estimate(self, folder: Path) -> int:
        """Bytes of all entries, if all folders hold what one does: names are digests. To look at
        tens of thousands of files takes longer than to compile a kernel.
        """
        return FOLDERS * sum(size for _, size, _ in _files(folder))

    def _evict(self) -> None:
        """Remove the oldest entries until a quarter of the limit is free, if the limit is
        passed.
        """
        entries = self._entries()
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        for _, size, path in entries:
            try:
                path.unlink()
            except OSError as error:
                self.problem = f"{path}: {error.strerror or error}"
                continue
            total -= size
            if total <= self.limit * 3 // 4:
                return


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Age, bytes and path of every file of a folder. Files may vanish meanwhile: another process
    evicts too.
    """
    for each in _listed(folder):
        try:
            status = each.stat(follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            yield status.st_mtime, status.st_size, Path(each.path)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    """The entries of a folder; none where it is not there."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _distrust(directory: Path) -> str:
    """The reason why code from this directory must not run; empty if it may."""
    status = directory.stat()
    if not stat.S_ISDIR(status.st_mode):
        return f"{directory} is no directory"
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        return f"{directory} belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"{directory} is writable by others"
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        return f"{directory} is not writable"
    return ""


def _digest(key: str, data: bytes) -> bytes:
    return sha256(sha256(key.encode("utf-8", "surrogatepass")).digest() + data).digest()


def _wrap(key: str, data: bytes) -> bytes:
    return _HEADER.pack(_MAGIC, len(data), _digest(key, data)) + data


def _unwrap(key: str, content: bytes) -> bytes | None:
    """The data of an entry, or None if it is not exactly what was stored under `key`."""
    if len(content) < _HEADER.size:
        return None
    magic, length, digest = _HEADER.unpack_from(content)
    data = content[_HEADER.size :]
    return data if magic == _MAGIC and length == len(data) and digest == _digest(key, data) else None


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file that is there completely or not at all, whatever interrupts."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


@cache
def _at(directory: Path | None) -> DiskCache:
    return DiskCache(directory)


def shared() -> DiskCache:
    """The cache in the directory that the options name."""
    return _at(current().cache_dir)

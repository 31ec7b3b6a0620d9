"""Files that are there whole or not at all. Kept by hand: the standard library has no such
write.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_PIECE = 1 << 16
"""Bytes that are asked for of a file whose size is not known, as of those in `/proc`."""


def read_file(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """The content of a file. A pipe would be waited for, and a device has no end: their reading is
    refused, and long files before it.

    Args:
        most: bytes.
    Raises:
        OSError: it cannot be read, is no regular file (EINVAL), or longer (EFBIG).
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    about = os.fstat(handle)
    if stat.S_ISDIR(about.st_mode):  # `fdopen` would say the number of the handle, and leave it open
        os.close(handle)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        if most is not None and about.st_size > most:
            raise OSError(errno.EFBIG, f"it has {about.st_size:,} bytes, more than {most:,}", str(path))
        # As much memory as is asked for is allocated at once.
        return file.read() if most is None else file.read(min(most, max(about.st_size, _PIECE)))


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path` in one step: readers see the old content or the new one, also after a
    crash or Ctrl-C.

    Raises:
        OSError: the folder is not there, or `path` is a folder or a device.
    """
    target = _checked(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(
            0o077
        )  # asked for by setting it: Ctrl-C in between leaves one that gives nothing away
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):  # Ctrl-C came when the new content was there already
            os.unlink(name)
        raise


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write several files, or none where one of them has no place to go.

    Raises:
        OSError: a folder is not there, may not be written to, or a path is a folder or a device.
    """
    for path in files:
        _checked(path)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    for path, data in files.items():
        write_file(path, data)


def _checked(path: str | os.PathLike[str]) -> Path:
    """A path where a file can be made or replaced."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target))
    if target.exists() and not target.is_file():
        kind = errno.EISDIR if target.is_dir() else errno.EINVAL
        raise OSError(
            kind, f"{os.strerror(kind)}: it is there, and no file that can be replaced", str(target)
        )
    return target

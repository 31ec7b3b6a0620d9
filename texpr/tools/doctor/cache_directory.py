"""Checks of the disk cache: its directory, who may write there, and how much room there is."""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from texpr.support.options import current
from texpr.tools.doctor.finding import Finding

LEAST_FREE = 64 << 20
"""Bytes of disk below which kernels may not fit."""
_ELSEWHERE = "or name another directory: TEXPR_CACHE_DIR=DIRECTORY"


def cache() -> Iterator[Finding]:
    """Check that kernels can be kept. Nothing that stays is written."""
    directory = current().cache_dir
    if directory is None:
        yield Finding("cache", "directory", "fact", "off (cache_dir is None)")
        return
    if not directory.exists():
        yield _absent(directory)
        return
    yield Finding("cache", "directory", "ok", str(directory))
    yield _permissions(directory)
    yield _size(directory)
    yield _free(directory)


def _absent(directory: Path) -> Finding:
    """A directory that is made on first use, if its nearest parent lets it."""
    parent = next(each for each in directory.parents if each.exists())
    refused = _refusal(parent)
    if not refused:
        return Finding("cache", "directory", "ok", f"{directory}, made when first needed")
    help = f"make it by hand, writable by you alone, {_ELSEWHERE}"
    return Finding("cache", "directory", "problem", f"{directory} cannot be made: {parent}: {refused}", help)


def _permissions(directory: Path) -> Finding:
    from texpr.runtime.disk_cache import DiskCache

    mode = f"{stat.S_IMODE(directory.stat().st_mode):04o}"
    problem = DiskCache(directory).problem
    if not problem and (refused := _refusal(directory)):
        problem = f"{directory}: {refused}"
    if not problem:
        return Finding("cache", "permissions", "ok", f"{mode}, writable by this user alone")
    way = f"chmod go-w {directory}" if problem.endswith("by others") else f"chmod u+rwx {directory}"
    return Finding("cache", "permissions", "problem", f"{problem} (mode {mode})", f"{way}, {_ELSEWHERE}")


def _refusal(directory: Path) -> str:
    """The reason why no file can be made in a directory; empty if one can."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(b"texpr")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _size(directory: Path) -> Finding:
    from texpr.runtime.disk_cache import DiskCache

    store = DiskCache(directory)
    entries, used = store.usage()
    value = f"{entries} entries, {used / 2**20:.1f} of {store.limit >> 20} MiB"
    return Finding("cache", "size", "fact", value)


def _free(directory: Path) -> Finding:
    free = shutil.disk_usage(directory).free
    value = f"{free / 2**20:.0f} MiB"
    if free >= LEAST_FREE:
        return Finding("cache", "free space", "ok", value)
    help = f"python -m texpr cache clear, make room, {_ELSEWHERE}"
    return Finding("cache", "free space", "problem", f"{value}, below {LEAST_FREE >> 20} MiB", help)

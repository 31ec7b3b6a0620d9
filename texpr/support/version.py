"""Identity of this texpr's code, to which records on disk belong, and the build of Python that runs
it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

FREE_THREADED = "t" in getattr(sys, "abiflags", "")
"""True in a build of CPython without the GIL (PEP 703), whether its GIL is on or not: objects have
another head there.
"""
_KINDS = (".py", ".ll", ".json", ".lark", ".tx")


@cache
def identity() -> str:
    """A digest of texpr's sources and of the libraries that its output depends on.

    Sources count by size and time of change, which takes about a millisecond; their text would take
    fifty.
    """
    parts = [f"{package} {installed(package)}" for package in ("texpr", "llvmlite", "islpy")]
    parts += sorted(_sources(str(Path(__file__).parents[1])))
    return sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def digest(parts: Iterable[bytes]) -> str:
    """A digest of parts, which is another one where the same bytes are parted elsewhere."""
    found = sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def _sources(directory: str) -> list[str]:
    """A line per source file below a directory."""
    found: list[str] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(_KINDS):
                status = entry.stat()
                found.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
            elif entry.is_dir() and not entry.name.startswith(("_", ".")):
                found += _sources(entry.path)
    return found


def installed(package: str) -> str:
    """The version of a package, by the names of the records that installers leave beside it:
    `importlib.metadata` takes twenty times as long.
    """
    spec = find_spec(package)
    place = next(iter(spec.submodule_search_locations or ()), None) if spec is not None else None
    if place is None:
        return "absent"
    ends = (".dist-info", ".egg-info")
    beside = os.listdir(Path(place).parent)
    return " ".join(sorted(n for n in beside if n.startswith(f"{package}-") and n.endswith(ends))) or "source"


def runs_without_gil() -> bool:
    """True while threads run Python at once. The GIL of a free-threaded build is on after an import of
    a module that asks for it, and with `PYTHON_GIL=1`.
    """
    return FREE_THREADED and not sys._is_gil_enabled()  # type: ignore[attr-defined]

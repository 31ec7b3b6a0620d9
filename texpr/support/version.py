"""Identity of this texpr's code: records on disk belong to the code that made them."""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

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

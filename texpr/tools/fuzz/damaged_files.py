"""Files of models with a few bytes changed, read in child processes: they are read, or refused with a
reasoned error, without much memory and without a look at other files.
"""

from __future__ import annotations

import os
import re
import resource
import sys
import sysconfig
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from texpr.support.errors import Error
from texpr.support.options import current
from texpr.tools.fuzz.damaged_models import changed
from texpr.tools.fuzz.model_formats import formats, joined, parts_of
from texpr.tools.fuzz.part import Part, alone, batched, file_name
from texpr.tools.fuzz.trial import Finding

MOST_MEMORY = 1 << 18
"""KB that a child may grow by while it reads a file of a few KB."""
NUMBERS = (
    b"-1",
    b"0",
    b"1",
    b"255",
    b"65536",
    b"2147483648",
    b"9223372036854775807",
    b"1e308",
    b"99999999999999999999",
)
NAMES = (b"../weights", b"/etc/passwd", b"", b"a/b", b"\\\\host\\a", b"weight_0")


@cache
def _valid(name: str) -> bytes:
    return formats()[name].make()


def file_of(seed: int, number: int, chosen: Sequence[str] = ()) -> tuple[str, bytes]:
    """The format and the bytes of trial `number`.

    Args:
        chosen: the names of the formats that are tried; empty for all.
    """
    r = Random(f"{seed}:{number}")
    name = r.choice(sorted(chosen or formats()))
    data, known = _valid(name), formats()[name]
    if known.kind and (known.several or r.random() < 0.7):  # a part: checksums and headers are right
        return name, _with_part(r, known.kind, data)
    return name, _damaged(r, f"m{known.suffix}", data)


def _damaged(r: Random, file: str, data: bytes) -> bytes:
    """A file with bytes changed, or fields of what it says."""
    if file.endswith(".onnx") and r.random() < 0.6:
        return changed(r, data)
    if file.endswith(".safetensors") and r.random() < 0.7:
        return _with_header(r, data)
    return spoilt(r, data)


def _with_header(r: Random, data: bytes) -> bytes:
    """A file of safetensors whose header is changed, and has the length that is said before it."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = spoilt(r, data[8:end])
    return len(header).to_bytes(8, "little") + header + data[end:]


def _with_part(r: Random, kind: str, data: bytes) -> bytes:
    parts = parts_of(kind, data)
    name = r.choice(sorted(parts, key=lambda n: len(parts[n]))[-4:])
    return joined(kind, {**parts, name: _damaged(r, name, parts[name])})


def spoilt(r: Random, data: bytes) -> bytes:
    """Data with bytes changed, cut, repeated, or with other numbers and names in its texts."""
    found = bytearray(data)
    for _ in range(r.choice((1, 1, 2, 4))):
        how, k = r.random(), r.randrange(len(found) + 1)
        if how < 0.35:
            found[k : k + 1] = bytes([r.randrange(256)])
        elif how < 0.45:
            del found[k : k + r.choice((1, 8, 64))]
        elif how < 0.5:
            del found[k:]
        elif how < 0.6:
            found[k:k] = found[k : k + r.choice((1, 8, 64))]
        elif how < 0.85:
            _replace(r, found, rb"-?\d+", NUMBERS)
        else:
            _replace(r, found, rb'(?<=")[a-z_0-9.]+(?=")', NAMES)
    return bytes(found)


def _replace(r: Random, data: bytearray, pattern: bytes, words: tuple[bytes, ...]) -> None:
    """Another word in the place of one that the pattern finds."""
    places = [m.span() for m in re.finditer(pattern, bytes(data))]
    if places:
        first, last = r.choice(places)
        data[first:last] = r.choice(words)


class ModelFiles(Part):
    """The part of the fuzzer that tries files of models."""

    what, size, seconds = "files", 200, (120.0, 20.0)

    def __init__(self, seed: int, chosen: Sequence[str] = ()) -> None:
        super().__init__(seed)
        self.chosen = list(chosen)

    def request(self, numbers: list[int]) -> tuple[object, ...]:
        return f"{__name__}:batch", self.seed, self.chosen, numbers

    def write(self, folder: Path, number: int, finding: Finding) -> Path:
        """The file as it was tried, and a file about it."""
        name, data = file_of(self.seed, number, self.chosen)
        stem = file_name(finding, repr(data))
        (folder / f"{stem}.txt").write_text(
            f"{finding.kind}\nseed {self.seed}, file {number}\n\n{finding.detail}\n"
        )
        path = folder / f"{stem}{formats()[name].suffix}"
        path.write_bytes(data)
        return path


def replayed(path: Path) -> Finding | None:
    """Read a file in a child process."""
    return alone(f"{__name__}:one", str(path), seconds=ModelFiles.seconds[1])


def one(path: str) -> list[str] | None:
    """Runs in a child."""
    fitting = [n for n, f in formats().items() if path.endswith(f.suffix)]
    name = max(fitting, key=lambda n: len(formats()[n].suffix))
    finding = trial(name, Path(path).read_bytes(), Counter())
    return None if finding is None else [finding.kind, finding.detail]


def batch(seed: int, chosen: list[str], numbers: list[int]) -> list[Any]:
    """Runs in a child."""
    return batched(numbers, lambda number, counts: trial(*file_of(seed, number, chosen), counts))


def trial(name: str, data: bytes, counts: Counter[str]) -> Finding | None:
    """Read the bytes as a file of a format: what went wrong, or nothing."""
    known = formats()[name]
    _watch()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"m{known.suffix}"
        path.write_bytes(data)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        _OPENED.clear()
        try:
            known.read(path)
            counts[f"{name} | read"] += 1
        except Error as error:
            counts[f"{name} | refused"] += 1
            if not str(error):
                return Finding(f"{name}: an error without words", repr(error))
        except Exception as error:
            return Finding(f"{name}: {type(error).__name__}", traceback.format_exc())
        others = [p for p in _OPENED if is_foreign(p, folder)]
    if others:
        return Finding(f"{name}: another file is opened", "\n".join(others))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return Finding(f"{name}: memory", f"{grown:,} KB") if grown > MOST_MEMORY else None


_OPENED: list[str] = []
"""Paths that were opened since the trial began."""


@cache
def _watch() -> None:
    """Note every file that this process opens."""
    sys.addaudithook(lambda event, given: _OPENED.append(str(given[0])) if event == "open" else None)


def is_foreign(path: str, folder: str) -> bool:
    """True for a file that is neither in the folder nor a part of Python, its packages, or texpr's
    cache.
    """
    own = (
        folder,
        sys.prefix,
        sys.base_prefix,
        *sysconfig.get_paths().values(),
        str(Path(__file__).parents[3]),
        *([str(cache)] if (cache := current().cache_dir) else []),
    )
    return not path.isdigit() and not os.path.abspath(path).startswith((*own, "/proc/", "/sys/", "/dev/null"))

"""Records of tuning: which schedules were measured for a program of certain sizes on this machine,
and which was chosen.

A file of JSON lines per program, sizes and machine, in the folder `tuned` of the cache directory. A
line is a schedule as a script, with the seconds of a call or the reason why it does not count, and
a digest of itself. What is read is data: steps with literal arguments, which are proven again where
they are applied.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from texpr.compiler.kernel_cache import machine_text, program_text
from texpr.ir.expr import Var
from texpr.ir.tensor import Program
from texpr.support.files import read_file
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import current
from texpr.targets import find_target

VERSION = 1
MOST_BYTES = 1 << 24


@frozen
class Record:
    """A schedule that was tried.

    Attributes:
        script: its steps.
        seconds: of a call; None where it does not count.
        error: why it does not count; empty if it does.
        chosen: later calls use it.
    """

    script: str
    seconds: float | None
    error: str = ""
    chosen: bool = False


def path_of(
    program: Program, sizes: Mapping[Var, int], directory: Path | None = None, machine: str = ""
) -> Path | None:
    """The file of records for a program; None where nothing is kept.

    Args:
        machine: the record as text of the machine that measured, if it is not this one.
    """
    root = directory or (current().cache_dir and current().cache_dir / "tuned")  # type: ignore[operator]
    return root / f"{_key(program, sizes, machine)}.jsonl" if root else None


def _key(program: Program, sizes: Mapping[Var, int], machine: str) -> str:
    numbers = sorted((v.name, n) for v, n in sizes.items())
    key = "\0".join((program_text(program), repr(numbers), machine or machine_text(find_target("native"))))
    return sha256(key.encode()).hexdigest()[:40]


_USED: dict[str, str] = {}
"""Schedules that this process uses, whatever is on disk."""


def use(program: Program, sizes: Mapping[Var, int], script: str) -> None:
    """Let later kernels of this process use a schedule, which was proven."""
    _USED[_key(program, sizes, "")] = script


def chosen_script(program: Program, sizes: Mapping[Var, int]) -> str | None:
    """The schedule that later calls of a program use, if it was tuned; `options(tuned=False)`
    has none.
    """
    options = current()
    if not options.tuned or len(sizes) < len(program.sizes):
        return None
    if _USED and (script := _USED.get(_key(program, sizes, ""))) is not None:
        return script
    if options.cache_dir is None or not (options.cache_dir / "tuned").is_dir():
        return None
    path = path_of(program, sizes)
    assert path is not None
    try:
        changed = os.stat(path).st_mtime_ns
    except OSError:
        return None
    return _chosen(path, changed)


@lru_cache(maxsize=1024)
def _chosen(path: Path, changed: int) -> str | None:
    return next((r.script for r in reversed(list(read(path))) if r.chosen), None)


def read(path: Path) -> Iterator[Record]:
    """The records of a file, oldest first. Lines that are damaged or of another form count as
    absent, and so does a file of absurd size.
    """
    try:
        lines = read_file(path, MOST_BYTES).split(b"\n")
    except OSError:
        return
    for line in lines:
        record = _parsed(line)
        if record is not None:
            yield record


def append(path: Path, record: Record) -> None:
    """Add a record. Several processes may do so at once: a line is one write."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    data = {"version": VERSION, **asdict(record)}
    line = json.dumps(data | {"digest": _digest(data)}).encode() + b"\n"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)


def _digest(data: Mapping[str, object]) -> str:
    return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _parsed(line: bytes) -> Record | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.pop("digest", None) != _digest(data):
        return None
    match data:
        case {
            "version": 1,
            "script": str(script),
            "seconds": (None | float()) as seconds,
            "error": str(error),
            "chosen": bool(chosen),
        }:
            return Record(script, seconds, error, chosen)
    return None

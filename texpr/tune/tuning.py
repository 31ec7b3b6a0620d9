"""`tx.tuning`: chosen schedules in a file beside their operators, which is proven where it is read.

A line of JSON for each program, sizes and machine: the program as text, the sizes, the machine's
record, the steps, and their times. What is read is data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from texpr.compiler import op, tuning_records
from texpr.compiler.kernel_cache import machine_text, program_text
from texpr.compiler.scheduled_kernels import scripted
from texpr.ir.expr import Var
from texpr.ir.tensor import Program
from texpr.support.errors import CallError, CompileError, Error, ScheduleError
from texpr.support.files import read_file, write_file
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import options
from texpr.support.tracebacks import boundary
from texpr.support.warn import warn
from texpr.targets import find_target
from texpr.tune.search import Tuned

__all__ = ["Loaded", "export", "load"]
VERSION = 1
MOST_BYTES = 1 << 26


@frozen
class Loaded:
    """A schedule of a file.

    Attributes:
        name: of the operator.
        sizes: by name.
        script: its steps.
        used: calls with these sizes use it.
        reason: why they do not: another machine, or a step that is refused.
    Example:
        >>> tx.tuning.Loaded("dot", {"N": 512}, "", False, "it is of another machine").used
        False
    """

    name: str
    sizes: Mapping[str, int]
    script: str
    used: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of a file; `program` is text."""

    program: str
    sizes: Mapping[str, int]
    machine: str
    script: str
    seconds: float
    default_seconds: float
    version: int = VERSION

    @property
    def key(self) -> tuple[object, ...]:
        """A file has one schedule for it."""
        return self.program, tuple(sorted(self.sizes.items())), self.machine


@boundary
def export(path: str | os.PathLike[str], *tuned: Tuned) -> None:
    """Write chosen schedules to a file, for `load` in other processes and on other machines of the
    same kind. Schedules that the file has for other programs, sizes and machines stay in it.

    Args:
        path: the file, which may be there.
        tuned: results of `tx.tune`.
    Raises:
        CallError: something is no result of a search, or the file is none of schedules.
        OSError: the file cannot be written. It stays as it was.
    Example:
        >>> import tempfile, os
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> found = tx.tune(dot, N=512, trials=2, keep=False, progress=False)
        >>> tx.tuning.export(os.path.join(tempfile.mkdtemp(), "dot.tuned"), found)
    """
    for each in tuned:
        if not isinstance(each, Tuned):
            raise CallError(
                f"export takes results of tx.tune, not {type(each).__name__}",
                code="tune",
                help="tx.tuning.export(path, tx.tune(op, N=512))",
            )
    entries = {e.key: e for e in (_read(path) if os.path.exists(path) else ())}
    entries |= {e.key: e for e in map(_entry, tuned)}
    lines = [json.dumps(asdict(e), sort_keys=True) for e in entries.values()]
    write_file(path, "".join(f"{line}\n" for line in lines).encode())


@boundary
def load(path: str | os.PathLike[str]) -> tuple[Loaded, ...]:
    """Let calls in this process use the schedules of a file. Each is proven first, and compiled;
    those of other machines are left out. Kernels that are there already stay: load before the
    first call.

    Returns:
        what the file has, in order. A schedule that is refused is not used, with a warning.

    Raises:
        CallError: the file is not there, or a line of it is none of `export`.
    Example:
        >>> import tempfile, os
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> path = os.path.join(tempfile.mkdtemp(), "dot.tuned")
        >>> tx.tuning.export(path, tx.tune(dot, N=512, trials=2, keep=False, progress=False))
        >>> [(each.name, each.used) for each in tx.tuning.load(path)]
        [('dot', True)]
    """
    here = machine_text(find_target("native"))
    return tuple(_used(entry, here) for entry in list(_read(path)))


def _used(entry: _Entry, here: str) -> Loaded:
    program = op(entry.program).program()
    if entry.machine != here:
        return Loaded(program.name, entry.sizes, entry.script, False, "it is of another machine")
    sizes = {v: entry.sizes[v.name] for v in program.sizes}
    try:
        _prove(program, sizes, entry.script)
    except (ScheduleError, CompileError, CallError) as error:
        warn(f"{program.name}: a schedule that was loaded is not used: {error}")
        return Loaded(program.name, entry.sizes, entry.script, False, error.message)
    tuning_records.use(program, sizes, entry.script)
    return Loaded(program.name, entry.sizes, entry.script, True)


def _prove(program: Program, sizes: Mapping[Var, int], script: str) -> None:
    with options(certify=True):
        scripted(program, sizes, script).ready()


def _entry(tuned: Tuned) -> _Entry:
    return _Entry(
        program_text(tuned.program),
        {v.name: n for v, n in tuned.sizes.items()},
        machine_text(find_target("native")),
        tuned.script,
        tuned.seconds,
        tuned.default_seconds,
    )


def _read(path: str | os.PathLike[str]) -> Iterator[_Entry]:
    """The lines of a file.

    Raises:
        CallError: it cannot be read, or a line is wrong.
    """
    try:
        lines = read_file(path, MOST_BYTES).splitlines()
    except OSError as error:
        raise CallError(f"{os.fspath(path)}: {error.strerror}", code="tune") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _parsed(line, f"{os.fspath(path)}:{number}")


def _parsed(line: bytes, place: str) -> _Entry:
    try:
        data = json.loads(line)
        entry = _Entry(**data)
        if entry.version != VERSION:
            raise ValueError(f"version {entry.version!r}, expected {VERSION}")
        _check(entry)
    except (ValueError, TypeError, RecursionError, Error) as error:
        said = error.message if isinstance(error, Error) else str(error)
        raise CallError(
            f"{place}: no schedule that tx.tuning.export wrote: {said}",
            code="tune",
            help="remove the line, or export again",
        ) from None
    return entry


def _check(entry: _Entry) -> None:
    texts = (entry.program, entry.machine, entry.script)
    numbers = (entry.seconds, entry.default_seconds)
    if not all(isinstance(t, str) for t in texts) or not all(isinstance(n, int | float) for n in numbers):
        raise ValueError("a value has another type")
    program, sizes = op(entry.program).program(), entry.sizes
    if not isinstance(sizes, dict) or any(type(n) is not int or n < 0 for n in sizes.values()):
        raise ValueError("sizes are numbers by name")
    names = [v.name for v in program.sizes]
    if set(names) != set(sizes):
        raise ValueError(f"sizes are of {', '.join(sizes)}, expected {', '.join(names)}")

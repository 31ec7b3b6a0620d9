"""Compiled kernels on disk: what a kernel needs to run, without its loops: a line of JSON, then its
object code.

A record is found by what was asked for: the program as printed (or the text it was made from), its
sizes, the schedule as text, the target with its machine record, and the texpr that made it
(`support.version`). So a kernel that is found was lowered, scheduled, proven and compiled before,
perhaps by another process, and none of that is done again. What is damaged, incomplete or of
another form counts as absent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from hashlib import sha256

from texpr.compiler.fallback import Fallback
from texpr.ir.expr import Expr, Tensor, Var
from texpr.ir.json.sizes import size_from_json, size_to_json
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Program
from texpr.runtime import disk_cache
from texpr.runtime.call.spec import Duration
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import current
from texpr.support.version import identity
from texpr.targets import Target

MOST_ORIGINS = 1024
_origins: dict[Program, str] = {}


@frozen
class Buffer:
    """A temporary of a scheduled kernel: its name, bytes of an element, extents."""

    name: str
    item: int
    extents: tuple[Expr, ...]


@frozen
class Built:
    """Record of a kernel, with everything it needs to run.

    Attributes:
        code: object code.
        certificate: what was proven of its loops, in words; empty if nothing was.
        buffers: its temporaries, which are asked about their size before a call.
        duration: whether it looks for Ctrl-C, as `pass_pipeline.duration` has it.
        short_up_to: sizes up to which an `interruptible` one is short, as
            `pass_pipeline.short_up_to` has it.
        externs: it calls functions of this process, which its loops name.
        overwrites: positions of inputs, and of outputs that may lie in their memory.
        self_contained: it cannot fail, as `scratch.is_self_contained` has it.
        scratch: bytes of buffers that the caller gives.
        prepacked: bytes of buffers that the caller keeps.
        packed: positions of inputs that are read for these buffers alone.
        fallback: the plainer schedule that was compiled, where the default one is not certified.
    """

    code: bytes
    certificate: str
    buffers: tuple[Buffer, ...]
    duration: Duration
    short_up_to: int
    externs: bool
    overwrites: tuple[tuple[int, int], ...]
    self_contained: bool
    scratch: tuple[int, ...]
    prepacked: tuple[int, ...]
    packed: tuple[int, ...]
    fallback: Fallback | None = None


def buffers_of(temporaries: tuple[Tensor, ...]) -> tuple[Buffer, ...]:
    """The temporaries of a scheduled kernel. One of constant extents can be too large as well:
    those of partial results multiply.
    """
    return tuple(Buffer(t.name, t.dtype.bytes, t.shape) for t in temporaries)


def usable() -> bool:
    """True if records may be used. Options that watch or verify passes need the passes to run, and
    guarded kernels have other code.
    """
    options = current()
    return options.cache_dir is not None and not options.verify and not options.print and not options.guard


def key_of(program: Program, sizes: Mapping[Var, int], schedule: str, target: Target) -> str:
    """Everything that a compiled kernel depends on."""
    numbers = sorted((v.name, n) for v, n in sizes.items())
    return "\0".join(("kernel", identity(), origin_of(program), repr(numbers), schedule, *_target(target)))


def find(key: str, program: Program) -> Built | None:
    """The kernel that was kept under a key."""
    record = disk_cache.shared().get(key)
    if record is None:
        return None
    line, _, code = record.partition(b"\n")
    try:
        return _read(json.loads(line), code, program)
    except ValueError:
        return None


def _read(data: object, code: bytes, program: Program) -> Built | None:
    match data:
        case {
            "certificate": str(certificate),
            "buffers": list(found),
            "duration": ("interruptible" | "short" | "trivial") as duration,
            "short_up_to": int(short),
            "externs": bool(externs),
            "overwrites": list(over),
            "self_contained": bool(alone),
            "scratch": list(scratch),
            "prepacked": list(kept),
            "packed": list(packed),
            "fallback": left,
        } if code and all(isinstance(n, int) for n in (*scratch, *kept, *packed)):
            sizes = {v.name: v for v in program.sizes}
            return Built(
                code,
                certificate,
                tuple(_buffer(b, sizes) for b in found),
                duration,
                short,
                externs,
                tuple(map(_pair, over)),
                alone,
                tuple(scratch),
                tuple(kept),
                tuple(packed),
                Fallback.from_json(left),
            )
    return None


def _pair(data: object) -> tuple[int, int]:
    match data:
        case [int(k), int(j)]:
            return k, j
    raise ValueError(f"no pair: {data!r:.80}")


def _buffer(data: object, sizes: Mapping[str, Var]) -> Buffer:
    match data:
        case [str(name), int(item), list(extents)]:
            return Buffer(name, item, tuple(size_from_json(e, sizes) for e in extents))
    raise ValueError(f"no buffer: {data!r:.80}")


def keep(key: str, built: Built) -> None:
    """Keep a kernel."""
    buffers = [[b.name, b.item, [size_to_json(e) for e in b.extents]] for b in built.buffers]
    data = {
        "certificate": built.certificate,
        "buffers": buffers,
        "duration": built.duration,
        "short_up_to": built.short_up_to,
        "externs": built.externs,
        "overwrites": built.overwrites,
        "self_contained": built.self_contained,
        "scratch": built.scratch,
        "prepacked": built.prepacked,
        "packed": built.packed,
        "fallback": built.fallback and built.fallback.to_json(),
    }
    disk_cache.shared().put(key, json.dumps(data).encode() + b"\n" + built.code)


def remember_origin(program: Program, origin: str) -> None:
    """Say what a program was made from, all of it: where that is known, finding its kernels
    takes no printing.
    """
    if len(_origins) >= MOST_ORIGINS:
        _origins.clear()
    _origins[program] = origin


def origin_of(program: Program) -> str:
    """The origin of a program as text; a digest of the program where none is known."""
    return _origins.get(program) or _digest(program)


@lru_cache(maxsize=1024)
def _digest(program: Program) -> str:
    return sha256(program_text(program).encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=1024)
def program_text(program: Program) -> str:
    """A program with all that it calls, as text."""
    return show_program(program, with_callees=True)


@lru_cache(maxsize=16)
def _target(target: Target) -> tuple[str, ...]:
    return (target.triple, target.cpu, target.features, machine_text(target))


@lru_cache(maxsize=16)
def machine_text(target: Target) -> str:
    """The machine record as text, the same in every process: sets have no order of their own."""
    machine = target.machine
    values = {f.name: getattr(machine, f.name) for f in fields(machine)}  # type: ignore[arg-type]
    return repr({name: sorted(v) if isinstance(v, frozenset) else v for name, v in values.items()})

"""Plans of captured programs, on disk: the program after all passes, its kernels in order, and what
was decided.

A record is found by the program that was captured, node for node, with everything else that its
passes depend on, and the texpr that made it. A step that another process made before needs no
passes, fusion or grouping then; its kernels are found as all are (`compiler.kernel_cache`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from itertools import starmap

import numpy as np

from texpr.compiler import kernel_cache
from texpr.graph.fusion.producer_consumer import Decision
from texpr.graph.lowering.launch_sequence import KernelOf, Launch, Launches, launch_of_sweep
from texpr.graph.passes.fold_constants import known_scalars
from texpr.ir.dtypes import stored
from texpr.ir.expr import Tensor, Var
from texpr.ir.json.program import Decoder, Encoder
from texpr.ir.tensor import Program
from texpr.runtime import disk_cache
from texpr.support.version import identity

ProgramOf = Callable[[], Program]
"""Gives the program that the kernels of a plan compute: to read it from disk takes as long as to
read the kernels, and few ask for it."""


def key_of(program: Program, constants: Mapping[Tensor, np.ndarray], settings: Sequence[object]) -> str:
    """Everything that the kernels of a captured program depend on; empty where there is to be no
    record of them.

    Args:
        settings: what the passes were told, and the place.
    """
    if not kernel_cache.usable():
        return ""
    encoder = Encoder()
    try:
        asked = encoder.item((program, tuple((t, c.value) for t, c in known_scalars(constants).items())))
    except ValueError:
        return ""
    return "\0".join(("plan", identity(), repr(settings), json.dumps([encoder.rows, asked])))


def program_of(key: str) -> tuple[Program, dict[Tensor, np.ndarray]]:
    """The program that a key stands for, and the values of its constants of rank 0."""
    rows, asked = json.loads(key.rpartition("\0")[2])
    program, scalars = Decoder(rows).item(asked)  # type: ignore[misc]
    return program, {t: stored(value, t.dtype) for t, value in scalars}


def keep(key: str, captured: Program, better: Program, launches: Launches) -> None:
    """Keep what became of a program: a line for its kernels, and one for the program, which nobody
    reads but who asks for it.
    """
    encoder = Encoder(known_tensors(captured))
    order = tuple(
        (
            n.kernel.program,
            kernel_cache.origin_of(n.kernel.program),
            tuple(n.kernel.sizes.items()),
            n.inputs,
            n.outputs,
            n.operations,
            n.lengths,
            tuple(sorted(n.constants)),
        )
        for n in launches.order
    )
    try:
        lies = tuple(launches.views.items()), tuple(launches.starts.items())
        found = encoder.item((order, *lies, tuple(map(astuple, launches.decisions))))
        first = len(encoder.rows)
        program = encoder.item(better)
    except ValueError:
        return
    parts = [encoder.rows[:first], found], [encoder.rows[first:], program]
    lines = (json.dumps(part, separators=(",", ":")).encode() for part in parts)
    disk_cache.shared().put(key, b"\n".join(lines))


def find(key: str, known: Sequence[Tensor], kernel_of: KernelOf) -> tuple[ProgramOf, Launches] | None:
    """The plan kept under a key, of a program with these tensors (`known_tensors`)."""
    record = disk_cache.shared().get(key)
    if record is None:
        return None
    kernels, _, program = record.partition(b"\n")
    try:
        rows, found = json.loads(kernels)
        decoder = Decoder(rows, known)
        order, views, starts, decisions = decoder.item(found)  # type: ignore[misc]
        launches = tuple(_launch(kernel_of, *each) for each in order)
        return partial(_program, decoder, program), Launches(
            launches, dict(views), tuple(starmap(Decision, decisions)), dict(starts)
        )
    except (ValueError, TypeError):
        return None


def _program(decoder: Decoder, line: bytes) -> Program:
    """The program of a record whose kernels were read."""
    rows, item = json.loads(line)
    decoder.add(rows)
    return decoder.item(item)  # type: ignore[return-value]


def _launch(
    kernel_of: KernelOf,
    program: Program,
    origin: str,
    sizes: tuple[tuple[Var, int], ...],
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    operations: int,
    lengths: tuple[int, ...],
    constants: tuple[str, ...],
) -> Launch:
    kernel_cache.remember_origin(program, origin)  # to print it takes longer than to find its kernel
    if lengths:
        return launch_of_sweep(program, inputs, outputs, lengths, kernel_of)
    names = frozenset(constants)
    kernel = kernel_of(program, dict(sizes), names)
    return Launch(program, kernel, inputs, outputs, operations, constants=names)


def known_tensors(captured: Program) -> tuple[Tensor, ...]:
    """The tensors that a record and the captured program have in common."""
    return tuple(dict.fromkeys((*captured.inputs, *captured.outputs)))

"""Plans of captured programs, on disk: the program after all passes, its kernels in order, and what
was decided.

A record is found by the program that was captured, node for node, with everything else that its
passes depend on, and the texpr that made it. A step that another process made before needs no
passes, fusion or grouping then; its kernels are found as all are (`compiler.kernel_cache`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
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
    """Keep what became of a program."""
    encoder = Encoder(_known(captured))
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
        found = encoder.item(
            (better, order, tuple(launches.views.items()), tuple(map(astuple, launches.decisions)))
        )
    except ValueError:
        return
    disk_cache.shared().put(key, json.dumps([encoder.rows, found], separators=(",", ":")).encode())


def find(key: str, captured: Program, kernel_of: KernelOf) -> tuple[Program, Launches] | None:
    """The plan kept under a key, of this program."""
    record = disk_cache.shared().get(key)
    if record is None:
        return None
    try:
        rows, found = json.loads(record)
        better, order, views, decisions = Decoder(rows, _known(captured)).item(found)  # type: ignore[misc]
        launches = tuple(_launch(kernel_of, *each) for each in order)
        return better, Launches(launches, dict(views), tuple(starmap(Decision, decisions)))
    except (ValueError, TypeError):
        return None


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


def _known(captured: Program) -> tuple[Tensor, ...]:
    """The tensors that a record and the program have in common."""
    return tuple(dict.fromkeys((*captured.inputs, *captured.outputs)))

"""From a captured program to its kernels: all passes that are wanted, fusion, groups, or what
the disk has of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from texpr.graph.execution import early_workers
from texpr.graph.execution.placement import Placement, placement_of_name
from texpr.graph.fusion.producer_consumer import Decision, fuse
from texpr.graph.lowering import plan_cache
from texpr.graph.lowering.launch_sequence import Launches, make_launches
from texpr.graph.passes import BATCH, FUSE, IN_PLACE, PREPACK, SWEEP, WINOGRAD, apply_laws, optimize
from texpr.ir.expr import Tensor
from texpr.ir.tensor import Program
from texpr.runtime import gpu
from texpr.support.errors import Error
from texpr.support.frozen_dataclass import frozen, replace
from texpr.support.gc_pause import uncollected
from texpr.support.late import late
from texpr.support.options import current

if TYPE_CHECKING:
    from texpr.compiler import parallel_compile
    from texpr.graph.fusion import batch_parts, materialize, operand_transposes, winograd
    from texpr.graph.lowering import batch_launches
    from texpr.runtime.process import worker
else:
    parallel_compile = late("texpr.compiler.parallel_compile")
    batch_launches = late("texpr.graph.lowering.batch_launches")
    batch_parts = late("texpr.graph.fusion.batch_parts")
    materialize = late("texpr.graph.fusion.materialize")
    operand_transposes = late("texpr.graph.fusion.operand_transposes")
    winograd = late("texpr.graph.fusion.winograd")
    worker = late("texpr.runtime.process.worker")

LARGE, LARGE_NETWORK = 48, 24
"""Equations of a program from which on a worker lowers it, so that what that needs is not in the
memory of this process (ADR 43): of any, and of one that keeps packed weights from call to call.
"""
TIMEOUT = 600.0
"""Seconds after which a worker that lowers a program is killed."""


@frozen
class Settings:
    """Settings of the passes over a program.

    Attributes:
        level: of optimization.
        disabled: names of passes.
        reassociate: sums of floats may be added up in another order.
    """

    level: int
    disabled: Collection[str]
    reassociate: bool

    @staticmethod
    def of(opt: int | None, disable: Collection[str] | None, reassociate: bool | None) -> Settings:
        """The settings that were given, those of the options for others. One text names passes with commas
        between them, as the option does.
        """
        options = current()
        named = disable.split(",") if isinstance(disable, str) else disable
        return Settings(
            options.opt if opt is None else opt,
            options.disable if named is None else [n.strip() for n in named if n.strip()],
            options.reassociate if reassociate is None else reassociate,
        )

    @property
    def in_place(self) -> bool:
        """True if tensors and variables may be computed in the memory of others."""
        return self.level >= 1 and IN_PLACE not in self.disabled


@frozen
class Compiled:
    """Kernels of a captured program.

    Attributes:
        key: of the plan in the disk cache; empty where it is not there.
        program: gives the program after all passes.
    """

    key: str
    program: plan_cache.ProgramOf
    launches: Launches


def compile_program(
    program: Program,
    constants: Mapping[Tensor, np.ndarray],
    placement: Placement,
    settings: Settings,
    prepacked: Set[Tensor] = frozenset(),
    apart: Set[Tensor] = frozenset(),
) -> Compiled:
    """The program after all passes, and its kernels, made now or found on disk.

    Args:
        constants: inputs with their values.
        prepacked: inputs that have the same values from run to run, of which kernels may keep what
            they compute of them alone.
        apart: outputs that end no reduction (`fuse`).
    """
    if PREPACK in settings.disabled:
        prepacked = frozenset()
    chosen = (
        settings.level,
        sorted(settings.disabled),
        settings.reassociate,
        placement.name,
        placement.sweeps,
        [t in prepacked for t in program.inputs],
        [t in apart for t in program.outputs],
    )
    key = plan_cache.key_of(program, constants, chosen)
    found = plan_cache.find(key, plan_cache.known_tensors(program), placement.kernel) if key else None
    large = len(program.equations) >= (LARGE_NETWORK if prepacked else LARGE)
    if found is None and key and large and placement.name == gpu.HOST and parallel_compile.hands_over():
        found = _lower_in_worker(key, program, placement, settings, prepacked, apart)
    if found is not None:
        return Compiled(key, *found)
    better, launches = _lower(program, constants, placement, settings, prepacked, apart)
    if key:
        plan_cache.keep(key, program, better, launches)
    return Compiled(key, lambda: better, launches)


def _lower_in_worker(
    key: str,
    program: Program,
    placement: Placement,
    settings: Settings,
    prepacked: Set[Tensor],
    apart: Set[Tensor],
) -> tuple[plan_cache.ProgramOf, Launches] | None:
    """The result of `_lower` by a worker, through the disk cache; None where it fails there.

    Other workers start meanwhile, for the kernels, of which there may be one for two equations.
    """
    if not early_workers.are_started():
        parallel_compile.start_workers(len(program.equations) // 2)
    given = (settings.level, list(settings.disabled), settings.reassociate)
    marks = [t in prepacked for t in program.inputs], [t in apart for t in program.outputs]
    try:
        worker.run_in_child(
            f"{__name__}:lower_here", key, given, marks, parallel_compile.options_to_send(), timeout=TIMEOUT
        )
    except (Error, AssertionError, OSError):
        return None
    return plan_cache.find(key, plan_cache.known_tensors(program), placement.kernel)


def lower_here(
    key: str, given: Sequence[Any], marks: Sequence[Sequence[bool]], chosen: Mapping[str, Any]
) -> None:
    """Lower the program of a key and keep what becomes of it, in a worker.

    Args:
        given: the fields of `Settings`.
        marks: for each input whether it has the same values from run to run, and for each output
            whether it ends no reduction.
        chosen: options.
    """
    program, constants = plan_cache.program_of(key)
    prepacked, apart = (
        {t for t, marked in zip(tensors, found) if marked}
        for tensors, found in zip((program.inputs, program.outputs), marks)
    )
    with parallel_compile.received_options(chosen), uncollected():
        found = _lower(program, constants, placement_of_name(gpu.HOST), Settings(*given), prepacked, apart)
        plan_cache.keep(key, program, *found)
        alone = current().threads == 1
    if alone:  # else another worker has prepared itself meanwhile
        parallel_compile.prepare_worker(chosen)


def _lower(
    program: Program,
    constants: Mapping[Tensor, np.ndarray],
    placement: Placement,
    settings: Settings,
    prepacked: Set[Tensor],
    apart: Set[Tensor],
) -> tuple[Program, Launches]:
    """The program after all passes, and its kernels."""
    disabled = settings.disabled
    better = optimize(program, constants, settings.level, disabled, settings.reassociate)
    if settings.level < 3 or FUSE in disabled:
        return better, make_launches(better, False, False, placement.kernel, prepacked)
    better, stored = materialize.materialize_shared_values(better)
    fused, decisions = _fused(better, settings, placement, apart)
    split = None
    if placement.name == gpu.HOST and prepacked and BATCH not in disabled:
        split = batch_parts.in_parts(fused, prepacked, constants.keys())
    if split is None:
        launches = _made(fused, settings, placement, prepacked)
        return fused, replace(launches, decisions=(*stored, *decisions, *launches.decisions))
    split = batch_parts.before_fusion(split, better, prepacked, constants.keys())
    halves = []
    for half, known in ((split.part, prepacked), (split.rest, prepacked | split.constants)):
        program, decisions = _fused(half, settings, placement, apart)
        made = _made(program, settings, placement, known)
        halves.append(replace(made, decisions=(*decisions, *made.decisions)))
    launches = batch_launches.launches_of_parts(split, *halves)
    return fused, replace(launches, decisions=(*stored, *launches.decisions))


def _fused(
    program: Program, settings: Settings, placement: Placement, apart: Set[Tensor]
) -> tuple[Program, tuple[Decision, ...]]:
    """A program with its equations written into others."""
    better, decisions = fuse(program, apart, placement.alignment, placement.name == gpu.HOST)
    if "algebra" not in settings.disabled:
        better = apply_laws(better, settings.reassociate)
    better, layouts = operand_transposes.transpose_recurrence_operands(better)
    return better, (*decisions, *layouts)


def _made(program: Program, settings: Settings, placement: Placement, prepacked: Set[Tensor]) -> Launches:
    """The kernels of a program after fusion."""
    tiled: list[Decision] = []
    if placement.name == gpu.HOST and WINOGRAD not in settings.disabled:
        program, tiled = winograd.with_winograd(program, prepacked)
    sweeps = placement.sweeps and SWEEP not in settings.disabled
    made = make_launches(program, True, sweeps, placement.kernel, prepacked, placement.alignment)
    return replace(made, decisions=(*tiled, *made.decisions))

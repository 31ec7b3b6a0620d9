"""From a captured program to its kernels: all passes that are wanted, fusion, groups, or what
the disk has of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from typing import TYPE_CHECKING

import numpy as np

from texpr.graph.execution.placement import Placement
from texpr.graph.fusion.producer_consumer import Decision, fuse
from texpr.graph.lowering import plan_cache
from texpr.graph.lowering.launch_sequence import Launches, make_launches
from texpr.graph.passes import FUSE, IN_PLACE, SWEEP, WINOGRAD, apply_laws, optimize
from texpr.ir.expr import Tensor
from texpr.ir.tensor import Program
from texpr.runtime import gpu
from texpr.support.frozen_dataclass import frozen
from texpr.support.late import late
from texpr.support.options import current

if TYPE_CHECKING:
    from texpr.graph.fusion import materialize, operand_transposes, winograd
else:
    materialize = late("texpr.graph.fusion.materialize")
    operand_transposes = late("texpr.graph.fusion.operand_transposes")
    winograd = late("texpr.graph.fusion.winograd")


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


def compile_program(
    program: Program,
    constants: Mapping[Tensor, np.ndarray],
    placement: Placement,
    settings: Settings,
    prepacked: Set[Tensor] = frozenset(),
) -> tuple[Program, Launches]:
    """The program after all passes, and its kernels, made now or found on disk.

    Args:
        constants: inputs with their values.
        prepacked: inputs that have the same values from run to run, of which kernels may keep what
            they compute of them alone.
    """
    chosen = (
        settings.level,
        sorted(settings.disabled),
        settings.reassociate,
        placement.name,
        placement.sweeps,
        [t in prepacked for t in program.inputs],
    )
    key = plan_cache.key_of(program, constants, chosen)
    found = plan_cache.find(key, program, placement.kernel) if key else None
    if found is None:
        found = _lower(program, constants, placement, settings, prepacked)
        if key:
            plan_cache.keep(key, program, *found)
    return found


def _lower(
    program: Program,
    constants: Mapping[Tensor, np.ndarray],
    placement: Placement,
    settings: Settings,
    prepacked: Set[Tensor],
) -> tuple[Program, Launches]:
    """The program after all passes, and its kernels."""
    disabled = settings.disabled
    better = optimize(program, constants, settings.level, disabled, settings.reassociate)
    if settings.level < 3 or FUSE in disabled:
        return better, make_launches(better, False, False, placement.kernel, prepacked)
    better, stored = materialize.materialize_shared_values(better)
    better, decisions = fuse(better)
    if "algebra" not in disabled:
        better = apply_laws(better, settings.reassociate)
    better, layouts = operand_transposes.transpose_recurrence_operands(better)
    tiled: list[Decision] = []
    if placement.name == gpu.HOST and WINOGRAD not in disabled:
        better, tiled = winograd.with_winograd(better, prepacked)
    sweeps = placement.sweeps and SWEEP not in disabled
    made = make_launches(better, True, sweeps, placement.kernel, prepacked)
    return better, Launches(made.order, made.views, (*stored, *decisions, *layouts, *tiled, *made.decisions))

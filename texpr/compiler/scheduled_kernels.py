"""Kernels of schedules that are made when the loops are needed: not where the disk cache has the
code. So a call of such a kernel imports no scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cache
from typing import TYPE_CHECKING

from texpr.compiler.fallback import DefaultSchedule
from texpr.compiler.kernel_cache import machine_text
from texpr.compiler.kernels.compiled_kernel import CompiledKernel
from texpr.compiler.permitted_target import permitted_target
from texpr.ir.expr import Var
from texpr.ir.loop import Kernel
from texpr.ir.tensor import Program
from texpr.support.late import late
from texpr.targets import find_target

if TYPE_CHECKING:
    from texpr.compiler import schedule
else:
    schedule = late("texpr.compiler.schedule")


def automatic(
    program: Program, sizes: Mapping[Var, int], target: str = "native", constants: Set[str] = frozenset()
) -> CompiledKernel:
    """The kernel of the default schedule for a target.

    Args:
        constants: as `Schedule.auto` takes them.
    """
    chosen = permitted_target(target)

    @cache
    def scheduled() -> schedule.Schedule:
        return schedule.chosen_for(program, sizes, chosen, constants)

    def presumed() -> Kernel:
        return schedule.presumed_for(program, sizes, chosen, constants)

    default = DefaultSchedule(
        lambda: scheduled().steps,
        lambda: scheduled().naive,
        lambda: scheduled().explain(),
        presumed if chosen.native else None,
    )
    return CompiledKernel(
        lambda: scheduled().kernel,
        find_target(target),
        program,
        sizes,
        f"{','.join(('auto', *sorted(constants)))} {machine_text(chosen)}",
        default,
        constants,
    )


def scripted(
    program: Program, sizes: Mapping[Var, int], script: str, constants: Set[str] = frozenset()
) -> CompiledKernel:
    """The kernel of a script for this machine.

    Args:
        constants: as `Schedule.auto` takes them.
    """
    return CompiledKernel(
        lambda: schedule.Schedule(program, sizes).replay(script).kernel,
        find_target("native"),
        program,
        sizes,
        f"{','.join(('steps', *sorted(constants)))} {script}",
        constants=constants,
    )


def compiled_again(
    program: Program, sizes: Mapping[Var, int], target: str, text: str, loops: Kernel | None
) -> CompiledKernel:
    """A kernel that was pickled: what it was made of, compiled when it is needed, or found in
    the cache of compiled kernels.
    """
    if loops is not None:
        return CompiledKernel(lambda: loops, find_target(target), program, sizes)
    kinds, _, script = text.partition(" ")
    kind, *constants = kinds.split(",")
    if kind == "auto":
        return automatic(program, sizes, target, frozenset(constants))
    return schedule.replayed(program, sizes, script, constants).compile(target)

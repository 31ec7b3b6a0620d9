"""Proof that iterations of a loop are independent, for every loop whose iterations run at once:
when it is marked and whenever a step moves it.
"""

from __future__ import annotations

from collections.abc import Collection

from texpr import poly
from texpr.ir.expr import Tensor, Var
from texpr.ir.loop import For, Kernel, Store, is_bound
from texpr.ir.loop_kind import PARALLEL, SERIAL, UNROLLED, VECTOR, InstructionNest, has_lanes
from texpr.ir.store_kind import ATOMIC
from texpr.ir.traverse import variables
from texpr.schedule.legality.presumption import conflict_of, is_presumed
from texpr.schedule.legality.refusal import refused
from texpr.schedule.structure.loops import all_loops, loops_around, private_temporaries, replace_loops, stores
from texpr.support.frozen_dataclass import replace


def check_independent(
    kernel: Kernel,
    loop: For,
    step: str,
    private: tuple[Tensor, ...],
    *,
    lanes: bool = False,
    bound: bool = False,
) -> None:
    """Prove that no iteration of `loop` uses what another one writes; `private` tensors have a copy
    per iteration.

    Args:
        lanes: the iterations are lanes of a vector, whose updates of one element are joined before
            it is touched: they may meet there if their order does not matter.
        bound: they run on threads or blocks of a GPU, which may meet in atomic updates.
    Raises:
        ScheduleError: with the smallest pair of iterations that do.
    """

    def joined(s: Store) -> bool:
        if bound and s.mode is ATOMIC:
            return poly.reassociable(s)
        return lanes and poly.reassociable(s) and loop.var not in variables(*s.indices)

    conflict = conflict_of(lambda: poly.carried_dependence(kernel, loop, private=private, free=joined))
    if conflict is None:
        return
    source, sink = conflict.source[0], conflict.sink[0]
    sums = source is sink and sink.update is not None and loop.var not in variables(*sink.indices)
    help = (
        f'rfactor("{loop.var.name}") gives each iteration a sum of its own'
        if sums
        else "choose a loop whose iterations are independent"
    )
    at_once = replace_loops(kernel, [loop], lambda n: replace(n, kind=PARALLEL))
    raise refused(
        kernel,
        f"{step} of `{loop.var.name}`: its iterations depend on each other",
        conflict,
        "they may not run at once",
        help=help,
        after=at_once,
        at_once=True,
    )


def check_moved(before: Kernel, after: Kernel, step: str) -> None:
    """Prove again what holds of loops that run at once and that stand under other loops, or around
    more statements, than before.

    Raises:
        ScheduleError: such a loop is no longer independent where it stands now.
    """
    stood = {
        loop.var: (_outer(before, loop), len(stores(loop))) for loop in all_loops(before) if _at_once(loop)
    }
    for loop in all_loops(after):
        if not _at_once(loop):
            continue
        outer, held = stood.get(loop.var, (None, 0))
        if outer != _outer(after, loop) or held < len(stores(loop)):
            _check_still(after, loop, step)


def check_changed(after: Kernel, changed: Collection[Store], step: str) -> None:
    """Prove again what holds of loops that run at once around stores which a step has changed.

    Raises:
        ScheduleError: such a loop is no longer independent.
    """
    for loop in all_loops(after):
        if _at_once(loop) and any(s in changed for s in stores(loop)):
            _check_still(after, loop, step)


def check_inside(after: Kernel, around: Collection[For], step: str) -> None:
    """Prove again what holds of loops that run at once inside others, which became lanes or got a
    buffer: before, each of their iterations may have had one of its own.

    Raises:
        ScheduleError: such a loop is no longer independent, now that its iterations share a buffer.
    """
    for loop in all_loops(after):
        if _at_once(loop) and any(n.var in _outer(after, loop) for n in around):
            _check_still(after, loop, step)


def own_buffers(kernel: Kernel, loop: For) -> tuple[Tensor, ...]:
    """Temporaries of which each iteration of a loop that runs at once has its own: none for
    lanes and within them.
    """
    lanes = any(n.kind == VECTOR for n in (*loops_around(kernel, loop), loop))
    return () if lanes else private_temporaries(kernel, loop)


def _check_still(after: Kernel, loop: For, step: str) -> None:
    if is_presumed():
        return
    private = own_buffers(after, loop)
    check_independent(
        after,
        loop,
        f"after {step}, {loop.kind} run",
        private,
        lanes=has_lanes(loop.kind),
        bound=is_bound(loop),
    )


def _at_once(loop: For) -> bool:
    return loop.kind not in (SERIAL, UNROLLED) and not isinstance(loop.kind, InstructionNest)


def _outer(kernel: Kernel, loop: For) -> tuple[Var, ...]:
    return tuple(n.var for n in loops_around(kernel, loop))

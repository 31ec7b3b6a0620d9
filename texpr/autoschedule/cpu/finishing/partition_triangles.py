"""Loops without conditions: where a condition compares loops with each other, the innermost of them
is separated, and so are tiles and terms of windows that have zeros at the edges of their field."""

from __future__ import annotations

from collections.abc import Collection, Set

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handle
from texpr.ir.affine import Linear, ceiling
from texpr.ir.expr import Var
from texpr.ir.loop import For, Kernel
from texpr.ir.loop_kind import SERIAL
from texpr.ir.traverse import variables
from texpr.schedule.steps.loops.partition import bounds_of
from texpr.schedule.structure.loops import all_loops


def partition_triangles(builder: ScheduleBuilder) -> None:
    """Separate the loops of triangles, inner ones first: what bounds these says nothing of the
    loops around any more. Those that lost their edges have been.
    """
    before = {step.args for step in builder.steps if step.name == "partition"}
    for loop in _bounded(builder.kernel):
        if (str(loop),) not in before:
            builder.try_apply("partition", loop)


def _bounded(kernel: Kernel) -> list[LoopHandle]:
    """For each condition the innermost serial loop that it bounds in terms of a loop around, if
    sizes are constants: in terms of symbolic ones cuts are extremes of extremes, whose proofs may
    take seconds.
    """
    loops = [] if kernel.sizes else all_loops(kernel)
    everywhere = {n.var for n in loops}
    bounded: dict[LoopHandle, None] = {}
    taken: set[int] = set()
    for n in reversed(loops):
        if n.kind != SERIAL:
            continue
        found = {id(b.condition) for of in bounds_of(n) for b in of if _compares(b.surely, n, everywhere)}
        if found - taken:
            bounded[handle(n)] = None
        taken |= found
    return list(bounded)


def without_edges(builder: ScheduleBuilder, chosen: Collection[LoopHandle]) -> None:
    """Separate those of some loops, inner ones first, that are the innermost ones which a condition
    bounds, if it says of their first or last iterations alone that it fails there. What it says in
    terms of loops around is left to `partition_triangles`.
    """
    loops = [n for n in all_loops(builder.kernel) if handle(n) in chosen]
    around = {n.var for n in loops}
    taken: set[int] = set()
    for n in reversed(loops):
        if n.kind == SERIAL:
            bounds = [b for of in bounds_of(n) for b in of]
            if any(id(b.condition) not in taken and not _compares(b.surely, n, around) for b in bounds):
                builder.try_apply("partition", n)
            taken |= {id(b.condition) for b in bounds}


def _compares(form: Linear, loop: For, loops: Set[Var]) -> bool:
    """True if a bound of a loop depends on another loop, and not as the end of its last tile does."""
    c, length = form.coefficient(loop.var), ceiling(loop.extent)
    return any(
        loops & variables(term) and (k * c < 0 or length is None or abs(k) < abs(c) * length)
        for term, k in form.terms
        if term is not loop.var
    )

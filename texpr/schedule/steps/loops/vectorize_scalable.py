"""`vectorize_scalable`: lanes of registers whose length the processor tells."""

from __future__ import annotations

from texpr import poly
from texpr.ir.expr import Node, Var
from texpr.ir.loop import For, Kernel, Store
from texpr.ir.loop_kind import REGISTERS_SIDE_BY_SIDE, ScalableVector
from texpr.ir.traverse import rewrite, variables
from texpr.schedule.legality.independence import check_independent, own_buffers
from texpr.schedule.steps.loops.mark import in_all_lanes, marked
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, replace_loops, span_of, stores, text_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


@step(order_of_sums="kept unless lanes run over terms")
def vectorize_scalable(
    kernel: Kernel, loop: str | Var, registers: int = 1, *, reassoc: bool = False
) -> Kernel:
    """Run as many iterations in lock step as registers of the processor hold, whatever their
    length; the loop may have any extent.

    for v in 0..n: S   -- vectorize_scalable("v", 2) -->   for v in 0..n  scalable.2: S

    Legal if no iteration uses what another one writes, so for registers of every length at once:
    which iterations run together changes nothing. A reduction over the loop has a partial result
    in each lane, and the lanes are joined after the loop. Max, min and integers give the same value
    in any order; `reassoc=True` permits another order of a float sum. A temporary that
    each iteration fills before it reads has a lane for each of them, in registers where its indices
    are constants then: the sums of a loop that stands inside. Iterations past the end, and
    conditions, are masked. For targets whose registers have any length.

    Args:
        registers: how many are taken side by side, of the widest type that the loop reads and
            writes: 1, 2 or 4.
        reassoc: the terms of float sums may be added in any order.
    Raises:
        ScheduleError: another number of registers, iterations depend on each other, or the step
            needs `reassoc=True`.
    Example:
        op = tx.op("op dot(A: f32[N], B: f32[N]) -> s: f32 { s = sum(i: A[i] * B[i]) }")
        s = tx.schedule(op)
        s.vectorize_scalable("i", 2, reassoc=True)
    Refused:
        tx.schedule(op).vectorize_scalable("i", 2)
    Elsewhere: Halide none; TVM `vectorize` (of an extent with `vscale`); Exo none; MLIR
    `transform.structured.vectorize`.
    """
    found = find_loops(kernel, loop)
    if isinstance(registers, bool) or registers not in REGISTERS_SIDE_BY_SIDE:
        raise ScheduleError(
            f"{registers!r} is not 1, 2 or 4 registers", span_of(kernel, found[0]), code="vectorize"
        )
    if not isinstance(reassoc, bool):
        raise ScheduleError(
            f"`reassoc` is True or False, not {reassoc!r}", span_of(kernel, found[0]), code="vectorize"
        )
    uniform = in_all_lanes(kernel, found)
    found = find_loops(uniform, loop)
    updates = {n.var: _joined(uniform, n) for n in found}
    exact = [s for n in found for s in updates[n.var] if not poly.reassociable(s)]
    if exact and not reassoc:
        raise ScheduleError(
            f"lanes of `{found[0].var.name}` would add the terms of {exact[0].tensor.name} in another order",
            text_of(uniform, exact[0]),
            code="exact",
            help=f'vectorize_scalable("{found[0].var.name}", {registers}, reassoc=True) permits it',
        )
    permitted = (
        replace_loops(uniform, found, lambda n: _in_any_order(n, updates[n.var])) if exact else uniform
    )
    found = find_loops(permitted, loop)
    for n in found:
        check_independent(permitted, n, "vectorize_scalable", private=own_buffers(permitted, n), lanes=True)
    return marked(permitted, found, ScalableVector(registers))


def _joined(kernel: Kernel, loop: For) -> list[Store]:
    """Updates of an element that is the same in all iterations."""
    own = own_buffers(kernel, loop)
    return [
        s
        for s in stores(loop)
        if s.update is not None and s.tensor not in own and loop.var not in variables(*s.indices)
    ]


def _in_any_order(loop: For, free: list[Store]) -> For:
    def rule(node: Node) -> Node | None:
        return replace(node, reassoc=True) if isinstance(node, Store) and node in free else None

    return rewrite(loop, rule)

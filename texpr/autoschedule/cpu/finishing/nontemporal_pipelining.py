"""Rows that are written past the caches take turns with the functions of the next row.

    for row in 0..2: { e[..] = exp(..); s = sum(e); Y[..] = e[..] / s }
    ->   e of the first row; s; for j: { e of the second row; Y of the first row }; s; Y of the second row

Stores past the caches leave a core as slowly as memory takes them, and those behind them wait in
their order: of exponentials that are kept in the first cache too. One after the other, neither
arithmetic nor memory is busy all the time.
"""

from __future__ import annotations

from collections.abc import Container
from functools import partial

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost import operations
from texpr.autoschedule.core.cost_model import COSTS
from texpr.autoschedule.core.handles import LoopHandle, handle
from texpr.autoschedule.core.nest import constant_extent
from texpr.autoschedule.cpu.elementwise.nontemporal import past_caches
from texpr.autoschedule.cpu.finishing.row_pairs import ROW
from texpr.ir.expr import Tensor
from texpr.ir.loop import For, Stmt, Store
from texpr.ir.loop_kind import SERIAL, Vector
from texpr.ir.traverse import tensors
from texpr.schedule.structure.loops import all_loops


def use_nontemporal_stores(builder: ScheduleBuilder) -> None:
    """Write outputs past the caches that would not hold them, those of pairs of rows in turns
    with what they are computed from.
    """
    for name in past_caches(builder):
        builder.try_apply("nontemporal", name)
        for row in [n for n in all_loops(builder.kernel) if n.var.name == ROW]:
            last = row.body[-1]
            written = _vector(last)
            if not isinstance(last, For) or written is None or _store(written).tensor.name != name:
                continue
            made = [
                n
                for n in row.body[:-1]
                if isinstance(n, For) and _is_made_for(n, last, tensors(_store(written).value))
            ]
            if len(made) == 1:
                builder.transaction(partial(_in_turns, builder, made[0], last))


def _in_turns(builder: ScheduleBuilder, made: For, written: For) -> LoopHandle | None:
    """Compute what is made a row ahead, as much of it at a time as is written; the loop that does
    both.
    """
    vector, each, outer = _vector(made), constant_extent(made) // constant_extent(written), handle(made)
    if vector is None:
        return None
    builder.apply("pipeline", _store(vector).tensor, 2)
    if each > 1:
        outer, _ = builder.split(outer, each, tail="exact")
    builder.apply("merge", outer, written)
    return outer


def _is_made_for(made: For, written: For, read: Container[Tensor]) -> bool:
    """True if a loop computes functions that are read, one vector or several of them for each that
    is written.
    """
    vector, count = _vector(made), constant_extent(written)
    if vector is None or count <= 1 or constant_extent(made) % count:
        return False
    store = _store(vector)
    return store.tensor in read and operations(store.value, along=vector.var) >= COSTS.function


def _vector(loop: Stmt) -> For | None:
    """The loop over lanes, if a serial loop has one alone, beside hints, and that computes
    elements alone.
    """
    inside = (
        [s for s in loop.body if isinstance(s, For | Store)]
        if isinstance(loop, For) and loop.kind == SERIAL
        else []
    )
    match inside:
        case [For(_, _, (Store(update=None),), Vector()) as vector]:
            return vector
    return None


def _store(vector: For) -> Store:
    (store,) = vector.body
    assert isinstance(store, Store)
    return store

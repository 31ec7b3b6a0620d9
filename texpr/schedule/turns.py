"""Rows that are written past the caches take turns with the functions of the next row.

    for row in 0..2: { e[..] = exp(..); s = sum(e); Y[..] = e[..] / s }
    ->   e of the first row; s; for j: { e of the second row; Y of the first row }; s; Y of the second row

Stores past the caches leave a core as slowly as memory takes them, and those behind them wait in their order: of exponentials that are kept
in the first cache too. One after the other, neither arithmetic nor memory is busy all the time.
"""

from __future__ import annotations

from functools import partial

from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import For, Store
from texpr.ir.traverse import walk
from texpr.schedule.cheap import FUNCTION, operations
from texpr.schedule.loops import all_loops, qualified, stores
from texpr.schedule.nests import constant_extent
from texpr.schedule.pairs import ROW
from texpr.schedule.past import past_caches
from texpr.schedule.plan import Plan


def write_past_caches(plan: Plan) -> None:
    """Write outputs past the caches that would not hold them, those of pairs of rows in turns with what they are computed from."""
    for name in past_caches(plan):
        plan.step("stream", name)
        for row in [n for n in all_loops(plan.kernel) if n.var.name == ROW]:
            last = row.body[-1]
            found = [n for n in row.body[:-1] if isinstance(n, For) and _is_made_for(n, last, name)]
            if len(found) == 1 and isinstance(last, For):
                plan.whole(partial(_in_turns, plan, found[0], last))


def _in_turns(plan: Plan, made: For, written: For) -> list[str] | None:
    """Compute what is made a row ahead, as much of it at a time as is written; the name of the loop, None if that is not possible."""
    each = constant_extent(made) // constant_extent(written)
    if not plan.step("pipeline", stores(made)[0].tensor.name, 2):
        return None
    outer = qualified(made)
    if each > 1:
        outer, _ = plan.split(outer, each, tail="exact") or ("", "")
    return [outer] if outer and plan.step("join", outer, qualified(written)) else None


def _is_made_for(made: object, written: object, output: str) -> bool:
    """Whether a loop computes functions, a vector of them or several for each iteration of one that writes the output of them."""
    target, value = _vectors(made), _vectors(written)
    if target is None or value is None or not isinstance(made, For) or not isinstance(written, For):
        return False
    (tensor, functions), (to, _) = target, value
    reads = any(isinstance(n, Read) and n.tensor is tensor for n in walk(written))
    count = constant_extent(written)
    return functions and to.name == output and reads and count > 1 and constant_extent(made) % count == 0


def _vectors(loop: object) -> tuple[Tensor, bool] | None:
    """What a serial loop stores a vector of at a time, beside hints, and whether its elements are functions."""
    if not isinstance(loop, For) or loop.kind != "serial":
        return None
    match [s for s in loop.body if isinstance(s, For | Store)]:
        case [For(var, _, (Store(update=None) as s,), "vector")]:
            return s.tensor, operations(s.value, along=var) >= FUNCTION
    return None

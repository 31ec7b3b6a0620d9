"""`parallel` and `bind`: iterations on several cores, or on the blocks and threads of a GPU."""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.build import add, floordiv, integer, minimum, sub
from texpr.ir.expr import Var, index
from texpr.ir.loop import For, Kernel
from texpr.schedule.legality.independence import check_independent, check_moved, own_buffers
from texpr.schedule.steps.loops.mark import marked
from texpr.schedule.steps.loops.split_tiles import tiled
from texpr.schedule.structure.loops import check_new_names, find_loops, replace_loops, span_of
from texpr.support.errors import ScheduleError

MOST_AT_ONCE = 1 << 31
BINDINGS = ("block.x", "block.y", "block.z", "cluster.x", "cluster.y", "cluster.z", "thread.x", "thread.y", "thread.z")


def parallel(kernel: Kernel, loop: str | Var) -> Kernel:
    """Share the iterations among threads.

    Legal if no iteration uses what another one writes; a temporary that each iteration fills before it reads gets a copy per thread.

    Raises:
        ScheduleError: iterations depend on each other.
    """
    return _concurrent(kernel, loop, "parallel", "parallel")


def bind(kernel: Kernel, loop: str | Var, to: str, *, at_most: int | None = None, names: tuple[str, str] | None = None) -> Kernel:
    """Run the iterations on the blocks or threads of a GPU: `block.x` ... `thread.z`. Legal as `parallel` is; iterations may meet
    in updates that `atomic` has marked.

    With `at_most`, so many blocks or threads walk over all iterations. Grid-stride loop, persistent blocks elsewhere.

    for v in 0..n: S   ->   for vi in 0..min(p, n) block.x: for vo in 0..(n - vi + p-1)//p: S[v := vo*p + vi]

    Args:
        at_most: of the blocks or threads, 1 to 2^31; a loop of no more iterations is bound as it is.
        names: of the loop inside and of the one that is bound; `vo` and `vi` unless given.
    Raises:
        ScheduleError: no such place, a bad number or name, or iterations depend on each other.
    """
    if to not in BINDINGS:
        raise ScheduleError(f"a loop cannot be bound to {to!r}", code="bind", help=_places(to))
    if at_most is None:
        return _concurrent(kernel, loop, "bind", to)
    found = find_loops(kernel, loop)
    if not isinstance(at_most, int) or isinstance(at_most, bool) or not 1 <= at_most <= MOST_AT_ONCE:
        raise ScheduleError(f"{at_most!r} iterations at once are not a number from 1 to 2^31", span_of(kernel, found[0]), code="bind")
    outer, inner = names or (found[0].var.name + "o", found[0].var.name + "i")
    check_new_names(kernel, found[0], (outer, inner), "bind")
    for n in found:
        check_independent(kernel, n, "bind", private=own_buffers(kernel, n), bound=True)
    after = replace_loops(kernel, found, lambda n: _walked(n, to, at_most, outer, inner))
    check_moved(kernel, after, "bind")
    return after


def _places(wanted: object) -> str:
    """What a loop can be bound to, for somebody who asked for something else."""
    lanes = {"warp": 32, "lane": 32, "warpgroup": 128}.get(str(wanted).partition(".")[0])
    if lanes is None:
        return f"one of {', '.join(BINDINGS)}"
    whole = "warpgroup" if lanes > 32 else "warp"
    return (f"threads that follow each other along thread.x are a {whole}: bind a loop of {lanes} iterations, over its lanes, to thread.x "
            f"and the loop over {whole}s to thread.y")


def _walked(loop: For, to: str, at_most: int, outer_name: str, inner_name: str) -> For:
    """The iterations of a loop dealt to so many that run at once, in turn."""
    count = integer(loop.extent)
    if count is not None and count <= at_most:
        return replace(loop, kind=to)
    tiles = tiled(replace(loop, kind="serial"), loop.extent, at_most, outer_name, inner_name, guarded=False)
    (inner,) = tiles.body
    assert isinstance(inner, For)
    left = loop.extent if count is not None and count % at_most == 0 else add(sub(loop.extent, inner.var), index(at_most - 1))
    walk = replace(tiles, extent=floordiv(left, index(at_most)), body=inner.body)
    return replace(inner, extent=minimum(index(at_most), loop.extent), body=(walk,), kind=to)


def _concurrent(kernel: Kernel, loop: str | Var, step: str, kind: str) -> Kernel:
    found = find_loops(kernel, loop)
    for n in found:
        check_independent(kernel, n, step, private=own_buffers(kernel, n), bound=kind != "parallel")
    return marked(kernel, found, kind)

"""`bind`: iterations on the blocks or threads of a GPU."""

from __future__ import annotations

from texpr.ir.build import add, floordiv, integer, minimum, sub
from texpr.ir.expr import Var, index
from texpr.ir.loop import For, Kernel
from texpr.ir.loop_kind import BOUND_KINDS, SERIAL, LoopKind
from texpr.schedule.legality.independence import check_independent, check_moved, own_buffers
from texpr.schedule.steps.loops.mark import mark_concurrent
from texpr.schedule.steps.loops.split_tiles import tiled
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import check_new_names, find_loops, replace_loops, span_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

MOST_AT_ONCE = 1 << 31

BINDINGS = {str(kind): kind for kind in BOUND_KINDS}


@step(order_of_sums="kept", at_most="max_blocks")
def bind(
    kernel: Kernel,
    loop: str | Var,
    to: str,
    *,
    max_blocks: int | None = None,
    names: tuple[str, str] | None = None,
) -> Kernel:
    """Run the iterations on the blocks or threads of a GPU. Legal as `parallel` is; iterations may
    meet in updates that `atomic` has marked.

    With `max_blocks`, so many blocks or threads walk over all iterations. Grid-stride loop,
    persistent blocks elsewhere.

    for v in 0..n: S   ->   for vi in 0..min(p, n) block.x: for vo in 0..(n - vi + p-1)//p: S[v := vo*p + vi]

    Args:
        to: `block`, `cluster` or `thread`, and one of the directions `.x`, `.y` and `.z`.
        max_blocks: of the blocks or threads, 1 to 2^31; a loop of no more iterations is bound as it
            is.
        names: of the loop inside and of the one that is bound; `vo` and `vi` unless given.
    Raises:
        ScheduleError: no such place, a bad number or name, or iterations depend on each other.
    Example:
        op = tx.op('''op add(X: f32[M, N], Y: f32[M, N]) -> Z: f32[M, N] {
          Z[i, j] = X[i, j] + Y[i, j]
        }''')
        s = tx.schedule(op, N=256).bind("j", "thread.x")
        s.bind("i", "block.x", max_blocks=132)
    Refused:
        op = tx.op("op running(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + Y[i - 1 | 0] }")
        tx.schedule(op).bind("i", "thread.x")
    Elsewhere: Halide `gpu_blocks`, `gpu_threads`; TVM `bind`; Exo none; MLIR
    `transform.gpu.map_forall_to_blocks`, `transform.gpu.map_nested_forall_to_threads`.
    """
    if to not in BINDINGS:
        raise ScheduleError(f"a loop cannot be bound to {to!r}", code="bind", help=_places(to))
    if max_blocks is None:
        return mark_concurrent(kernel, loop, "bind", BINDINGS[to])
    found = find_loops(kernel, loop)
    if not isinstance(max_blocks, int) or isinstance(max_blocks, bool) or not 1 <= max_blocks <= MOST_AT_ONCE:
        raise ScheduleError(
            f"{max_blocks!r} iterations at once are not a number from 1 to 2^31",
            span_of(kernel, found[0]),
            code="bind",
        )
    outer, inner = names or (found[0].var.name + "o", found[0].var.name + "i")
    check_new_names(kernel, found[0], (outer, inner), "bind")
    for n in found:
        check_independent(kernel, n, "bind", private=own_buffers(kernel, n), bound=True)
    after = replace_loops(kernel, found, lambda n: _walked(n, BINDINGS[to], max_blocks, outer, inner))
    check_moved(kernel, after, "bind")
    return after


def _places(wanted: object) -> str:
    """Possible bindings of a loop, for the complaint about another one."""
    lanes = {"warp": 32, "lane": 32, "warpgroup": 128}.get(str(wanted).partition(".")[0])
    if lanes is None:
        return f"one of {', '.join(BINDINGS)}"
    whole = "warpgroup" if lanes > 32 else "warp"
    return (
        f"threads that follow each other along thread.x are a {whole}: bind a loop of {lanes} iterations, "
        f"over its lanes, to thread.x "
        f"and the loop over {whole}s to thread.y"
    )


def _walked(loop: For, to: LoopKind, max_blocks: int, outer_name: str, inner_name: str) -> For:
    """The iterations of a loop dealt to so many that run at once, in turn."""
    count = integer(loop.extent)
    if count is not None and count <= max_blocks:
        return replace(loop, kind=to)
    tiles = tiled(replace(loop, kind=SERIAL), loop.extent, max_blocks, outer_name, inner_name, guarded=False)
    (inner,) = tiles.body
    assert isinstance(inner, For)
    left = (
        loop.extent
        if count is not None and count % max_blocks == 0
        else add(sub(loop.extent, inner.var), index(max_blocks - 1))
    )
    walk = replace(tiles, extent=floordiv(left, index(max_blocks)), body=inner.body)
    return replace(inner, extent=minimum(index(max_blocks), loop.extent), body=(walk,), kind=to)

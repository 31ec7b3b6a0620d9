"""`tile`: `split` and `reorder` of nested loops, proven as one."""

from __future__ import annotations

from collections.abc import Sequence

from texpr import poly
from texpr.ir.expr import Var
from texpr.ir.loop import For, Kernel
from texpr.schedule.legality.independence import check_moved
from texpr.schedule.legality.rearrange import checked
from texpr.schedule.steps.loops.reorder import reordered
from texpr.schedule.steps.loops.split import split
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, loops_around, paths, qualified, span_of
from texpr.support.errors import ScheduleError


@step(order_of_sums="kept")
def tile(kernel: Kernel, *loops: str | Var, sizes: Sequence[int], tail: str = "guard") -> Kernel:
    """Run nested loops tile by tile: all loops over tiles, then all loops inside a tile. Blocking
    elsewhere.

    for i: for j: S   -- sizes=(4, 8) -->   for io: for jo: for ii in 0..4: for ji in 0..8: S[i := 4*io + ii, j := 8*jo + ji]

    Legal for tiles of every size if all dependences go forward in all of the loops, which is proven
    once; else if this size keeps them, as where a loop stands in several places.

    Args:
        sizes: iterations per tile, one per loop.
        tail: what becomes of the last tiles, as in `split`.
    Raises:
        ScheduleError: not one size per loop, a loop that cannot be split so, or an instance would
            run before one it needs.
    Source: Irigoin and Triolet, Supernode Partitioning, POPL 1988.
    Example:
        op = tx.op('''op flip(X: f32[M, N]) -> Y: f32[N, M] {
          Y[j, i] = X[i, j] for j in 0..N, i in 0..M
        }''')
        s = tx.schedule(op)
        s.tile("j", "i", sizes=(16, 16))
    Refused:
        op = tx.op('''op diagonal(X: f32[M, N]) -> A: f32[M, N] {
          A[i, j] = A[i - 1, j + 1 | 0] * 2 + X[i, j]
        }''')
        tx.schedule(op).tile("i", "j", sizes=(16, 16))
    Elsewhere: Halide `tile`; TVM `split` and `reorder`; Exo `tile_loops`; MLIR
    `transform.structured.tile_using_for`.
    """
    found = [find_loops(kernel, name)[0] for name in loops]
    if isinstance(sizes, str) or not isinstance(sizes, Sequence) or len(sizes) != len(found) or not found:
        raise ScheduleError(
            f"tile needs one size per loop: {len(found)} loops, sizes {sizes!r}",
            code="tile",
            help='write tile("i", "j", sizes=(32, 64))',
        )
    names = [(n.tensor, n.var.name) for n in found]
    if len(set(names)) < len(names):
        raise ScheduleError(f"tile names a loop twice: {', '.join(map(qualified, found))}", code="tile")
    band = _band(kernel, found)
    cut = kernel
    for n, size in zip(found, sizes):
        cut = split(cut, qualified(n), size, tail=tail)
    order = [f"{tensor}.{name}{part}" for part in "oi" for tensor, name in names]
    moved = reordered(cut, order)
    if band and poly.permutable(kernel, band):
        check_moved(cut, moved.kernel, "tile")
        return moved.kernel
    text = ", ".join(f'"{n.var.name}"' for n in found)
    return checked(cut, moved, "tile", f"tile({text})", "tile loops along which all dependences go forward")


def _band(kernel: Kernel, found: list[For]) -> list[list[Var]]:
    """The variables of the loops from the outside in, in all places where they stand, if they
    follow each other in each; else nothing.

    Raises:
        ScheduleError: they are not nested.
    """
    copies = {qualified(n): [m.var for m in find_loops(kernel, qualified(n))] for n in found}
    deepest = max(found, key=lambda n: len(loops_around(kernel, n)))
    chain = [n.var for n in (*loops_around(kernel, deepest), deepest)]
    outside = next((n for n in found if n.var not in chain), None)
    if outside is not None and all(len(of) == 1 for of in copies.values()):
        raise ScheduleError(
            f"`{outside.var.name}` and `{deepest.var.name}` are not nested in one another",
            span_of(kernel, outside),
            code="tile",
            help="tile takes loops that enclose one statement",
        )
    order = [qualified(n) for n in (*loops_around(kernel, deepest), deepest) if qualified(n) in copies]
    for above, _ in paths(kernel):
        names = [qualified(n) for n in above if isinstance(n, For)]
        places = [k for k, name in enumerate(names) if name in copies]
        if places and (
            [names[k] for k in places] != order[: len(places)] or places[-1] - places[0] + 1 != len(places)
        ):
            return []
    return [copies[name] for name in order]

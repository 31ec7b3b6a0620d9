"""`split`: a loop becomes tiles, with a policy for what does not fill one."""

from __future__ import annotations

from functools import partial

from texpr.ir.expr import Const, Mod, Var, index
from texpr.ir.loop import For, Kernel, Stmt
from texpr.ir.printing.expr import show
from texpr.schedule.legality.independence import check_moved
from texpr.schedule.steps.loops.mark import vectorized
from texpr.schedule.steps.loops.split_tails import check_again, padded
from texpr.schedule.steps.loops.split_tiles import cut, divides, overlapped, peeled
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import (
    check_new_names,
    find_loops,
    private_copies,
    replace_loops,
    span_of,
    with_temporaries,
)
from texpr.support.errors import ScheduleError

TAILS = ("guard", "exact", "peel", "clip", "mask", "pad", "overlap")
LARGEST_FACTOR = 1 << 31


@step(order_of_sums="kept")
def split(
    kernel: Kernel, loop: str | Var, factor: int, *, tail: str = "guard", names: tuple[str, str] | None = None
) -> Kernel:
    """Cut `loop` into tiles of `factor` iterations. Always legal: the order is unchanged.
    Strip-mining elsewhere.

    for v in 0..n: S   ->   for vo in 0..(n + factor-1)//factor: for vi in 0..factor: if vo*factor + vi < n: S[v := vo*factor + vi]

    With `tail="pad"`, a sum of products of two buffers adds `0 * 0` past its end, so that any number
    of terms fills tiles of an instruction. No bit changes: a sum that starts at +0 is never -0 in
    between, and x + 0 is x, for NaN and infinities too. Both operands must have zeros of their own,
    since 0 * inf is NaN and 0 * -1 is -0. Other sums, products and maxima are refused. Under
    `allow_fma`, a sum whose products are all too small for a float may be +0 or -0, as without
    such terms.

    Args:
        factor: iterations per tile, 1 to 2^31.
        tail: policy for iterations that do not fill a tile. It changes nothing where a constant
            extent, a requirement of the operator or a condition around the loop says that there
            are none. `guard`: under a condition. `peel`: in loops of their own. `clip`: the last
            tile is shorter (`for vi in 0..min(factor, n - vo*factor)`). `mask`: `vi` is a vector
            loop whose last lanes are off. `overlap`: the last tile begins at `n - factor`, legal
            where an element may be computed twice. `pad`: the loop runs past the end, where it
            writes buffers alone, which grow; elements that do not exist read as 0. `exact`: no
            such iterations, or the step is refused.
        names: of the outer and the inner loop; `vo` and `vi` unless given.
    Raises:
        ScheduleError: no such loop, a bad factor, names that are taken, a remainder under
            `tail="exact"`, or a tail that would change the answer.
    Source: Wolfe, More Iteration Space Tiling, Supercomputing 1989.
    Example:
        op = tx.op("op plain(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }")
        s = tx.schedule(op)
        s.split("i", 16, tail="peel")
    Refused:
        tx.schedule(op).split("i", 16, tail="exact")
    Elsewhere: Halide `split`; TVM `split`; Exo `divide_loop`; MLIR
    `transform.structured.tile_using_for`.
    """
    found = find_loops(kernel, loop)
    at = found[0]
    if not isinstance(factor, int) or isinstance(factor, bool) or not 1 <= factor <= LARGEST_FACTOR:
        raise ScheduleError(
            f"split factor {factor!r} is not an integer from 1 to 2^31", span_of(kernel, at), code="split"
        )
    if tail not in TAILS:
        raise ScheduleError(
            f"there is no tail policy {tail!r}",
            span_of(kernel, at),
            code="split",
            help=f"one of {', '.join(TAILS)}",
        )
    even = {n.var for n in found if divides(kernel, n, factor)}
    if tail == "exact" and at.var not in even:
        fixed = isinstance(at.extent, Const)
        raise ScheduleError(
            f"split factor {factor} does not divide the extent of "
            f"`{at.var.name}`{'' if fixed else ' at all sizes'}",
            span_of(kernel, at),
            code="split",
            help='pass tail="guard" to keep the remainder'
            + ("" if fixed else f", or have the operator require {show(Mod(at.extent, index(factor)))} == 0"),
        )
    if names is not None and (not isinstance(names, tuple) or len(names) != 2):
        raise ScheduleError(
            f"split makes two loops; names={names!r} is not a pair",
            span_of(kernel, at),
            code="split",
            help='names=("outer", "inner")',
        )
    outer, inner = names or (at.var.name + "o", at.var.name + "i")
    check_new_names(kernel, at, (outer, inner), "split")
    ragged = [n for n in found if n.var not in even]
    match tail:
        case "peel" | "overlap" if ragged:
            return _with_rest(kernel, found, ragged, factor, (outer, inner), tail)
        case "pad":
            return padded(kernel, found, factor, outer, inner)
    after = replace_loops(
        kernel, found, lambda n: cut(n, factor, outer, inner, even=n.var in even, clipped=tail == "clip")
    )
    return vectorized(after, f"{at.tensor}.{inner}") if tail == "mask" else after


def _with_rest(
    kernel: Kernel, found: list[For], ragged: list[For], factor: int, names: tuple[str, str], tail: str
) -> Kernel:
    """Tiles, and what is left over of some loops in loops of their own or in a tile that overlaps."""
    if tail == "overlap":
        check_again(kernel, ragged, factor)
    own = {n.var: private_copies(kernel, n, "rest") for n in ragged}
    pieces = partial(peeled, kernel) if tail == "peel" else overlapped

    def tiles(n: For) -> Stmt | tuple[Stmt, ...]:
        if n.var in own:
            return pieces(n, factor, *names, own[n.var])
        return cut(n, factor, *names, even=True, clipped=False)

    after = replace_loops(kernel, found, tiles)
    after = with_temporaries(after, [t for each in own.values() for t in each.values()])
    if tail == "overlap":  # two tiles may now run one iteration, at once if the loop runs at once
        check_moved(kernel, after, "overlap of tiles")
    return after

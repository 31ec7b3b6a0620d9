"""`fuse`: two nested loops become one."""

from __future__ import annotations

from texpr.ir.build import floordiv, integer, is_natural, maximum, mod, mul
from texpr.ir.expr import Expr, Var, index
from texpr.ir.index.uncollapse import divides_by_sizes, parted
from texpr.ir.loop import For, If, Kernel, Stmt
from texpr.ir.loop_kind import UNROLLED, VECTOR
from texpr.ir.traverse import tensors, variables
from texpr.passes.analysis.substitution import folded
from texpr.schedule.legality.independence import check_moved
from texpr.schedule.legality.rearrange import apart, checked, rearranged
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import (
    all_loops,
    check_new_names,
    find_loops,
    qualified,
    replace_loops,
    span_of,
)
from texpr.schedule.structure.statement_tree import Leaf
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

MOST_ITERATIONS = 1 << 62


@step(order_of_sums="kept")
def fuse(kernel: Kernel, outer: str | Var, inner: str | Var, *, name: str | None = None) -> Kernel:
    """Join two nested loops into one. Coalescing, collapse elsewhere. The order is unchanged, so it
    is legal for serial loops; if the outer iterations run at once, all must be independent now.

    for a in 0..m: for b in 0..n: S   ->   for ab in 0..m*n: S[a := ab // n, b := ab % n]

    Statements beside the inner loop get an outer loop of their own first, if no dependence forbids
    it.

    If n is a size, an iteration costs a division, but for addresses of whole rows, in which (ab //
    n)*n + ab % n is ab. Later steps may split the joined loop (tails guard, clip and mask), mark
    it, join it again and move it as a whole; `ir.index.uncollapse` is what proofs see.
    `peel`, `partition` and the tails `peel`, `overlap` and `pad` of such a loop are refused, and so
    is another loop between its tiles: apply such steps before. `unroll` and `unroll_and_jam` have
    the tail `peel` unless told otherwise. With whole rows,
    `fuse("i", "j").split("ij", 8).vectorize("iji")` moves whole vectors for any n.

    With constant extents, an iteration of a loop over tiles uses one run of elements, which may
    begin in one row and end in the next. Buffers of `cache_read` and `cache_write`, and sums in
    registers, then have one dimension for it: `T[ij // 8, ij % 8]` is `T_cache[iji]`.

    Raises:
        ScheduleError: `inner` does not directly follow `outer`, or its extent depends on `outer` or
            is data. The name is taken, or a loop is marked vector or unroll. An instance would run
            before one it needs, or iterations that would run at once depend on each other.
    Example:
        op = tx.op("op plain(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = X[i, j] + 1 }")
        s = tx.schedule(op)
        s.fuse("i", "j")
    Refused:
        op = tx.op("op ragged(X: f32[N, N]) -> Y: f32[N] { Y[i] = sum(j in 0..i + 1: X[i, j]) }")
        tx.schedule(op).fission("i").fuse("i", "j")
    Elsewhere: Halide `fuse`; TVM `fuse`; Exo `mult_loops`; MLIR `transform.loop.coalesce`.
    """
    names = qualified(find_loops(kernel, outer)[0]), qualified(find_loops(kernel, inner)[0])
    fused = names[0].rpartition(".")[2] + names[1].rpartition(".")[2] if name is None else name
    alone = _set_apart(kernel, *names)
    outers = [n for n in find_loops(alone, names[0]) if _directly_inside(n, names[1])]
    check_new_names(kernel, find_loops(kernel, outer)[0], (fused,), "fuse")
    for loop in outers:
        _check_pair(alone, loop)
    after = replace_loops(alone, outers, lambda n: _joined(n, fused))
    check_moved(kernel, after, "fuse")
    return after


def _check_pair(kernel: Kernel, loop: For) -> None:
    """The iterations of a loop and of the one in it are pairs of numbers that one loop can
    count.
    """
    below, _ = _below(loop)
    assert isinstance(below, For)
    if loop.var in variables(below.extent):
        raise ScheduleError(
            f"the extent of `{below.var.name}` depends on `{loop.var.name}`, so one loop does not count the "
            f"pairs of both",
            span_of(kernel, below),
            code="fuse",
            help=f"write the range as a condition: {below.var.name} where {below.var.name} < ...",
        )
    if tensors(below.extent):
        raise ScheduleError(
            f"the extent of `{below.var.name}` is data, by which the joined loop would divide",
            span_of(kernel, below),
            code="fuse",
            help="fuse other loops",
        )
    if (integer(loop.extent) or 1) * (integer(below.extent) or 1) > MOST_ITERATIONS:
        raise ScheduleError(
            f"`{loop.var.name}` and `{below.var.name}` together have more than 2^62 iterations",
            span_of(kernel, loop),
            code="fuse",
            help="leave them apart",
        )
    marked = next((n for n in (loop, below) if n.kind in (VECTOR, UNROLLED)), None)
    if marked is not None:
        raise ScheduleError(
            f"`{marked.var.name}` is marked {marked.kind}, and the joined loop would be another one",
            span_of(kernel, marked),
            code="fuse",
            help="fuse first, then mark the joined loop",
        )


_WITH_TAILS = ("split", "unroll", "unroll_and_jam", "vectorize")


def check_parted(before: Kernel, after: Kernel, step: str) -> None:
    """Refuse a step after which the provers no longer see which pairs a joined loop counts
    (`ir.index.uncollapse`).

    Raises:
        ScheduleError: all that comes later would be refused, and the certificate not be found.
    """
    joined = parted(before).loops or parted(after).loops
    if joined and divides_by_sizes(after) and not divides_by_sizes(before):
        loop = next(n for n in all_loops(before if parted(before).loops else after) if n.var in joined)
        instead = 'pass tail="guard"' if step in _WITH_TAILS else "take this step before fuse"
        raise ScheduleError(
            f"after {step} the pairs that `{loop.var.name}` counts could not be told from its tiles",
            span_of(before, loop) if loop in all_loops(before) else None,
            code=step,
            help=instead,
        )


def _directly_inside(outer: For, inner: str) -> bool:
    below, between = _below(outer)
    return isinstance(below, For) and qualified(below) == inner and not any(tensors(n.cond) for n in between)


def _below(outer: For) -> tuple[Stmt | None, list[If]]:
    """The only statement in the loop and under the conditions that it is under, and these; None
    if there are several.
    """
    body, between = outer.body, list[If]()
    while len(body) == 1 and isinstance(body[0], If):
        between.append(body[0])
        body = body[0].body
    return body[0] if len(body) == 1 else None, between


def _set_apart(kernel: Kernel, outer: str, inner: str) -> Kernel:
    """The kernel with the outer loop distributed, so that each copy that has the inner loop has
    nothing else.

    Raises:
        ScheduleError: the inner loop does not follow the outer one inwards, or an instance would
            run before one it needs.
    """
    outers = find_loops(kernel, outer)
    if all(_directly_inside(n, inner) for n in outers):
        return kernel

    def arrange(given: list[Leaf]) -> list[Leaf] | None:
        inside = [_depth(leaf, outer, inner) for leaf in given]
        if not any(d is not None for d in inside):
            return None
        parts, at = [], 0
        for k, d in enumerate(inside):
            at += int(k > 0 and d is not inside[k - 1])
            parts.append(at)
        return apart(given, parts, {n.var for n in outers})

    moved = rearranged(kernel, arrange)
    if not any(_directly_inside(n, inner) for n in all_loops(moved.kernel) if qualified(n) == outer):
        at, below = outers[0], find_loops(kernel, inner)[0]
        raise ScheduleError(
            f"`{below.var.name}` does not stand directly in `{at.var.name}`",
            span_of(kernel, at),
            code="fuse",
            help="reorder the loops so that one follows the other inwards",
        )
    return checked(
        kernel,
        moved,
        "fuse",
        f'fuse("{outers[0].var.name}", "{find_loops(kernel, inner)[0].var.name}")',
        "fuse loops that hold the same statements",
    )


def _depth(leaf: Leaf, outer: str, inner: str) -> Var | None:
    """The inner loop, if it directly follows the outer one around the leaf."""
    names = [qualified(n) for n in leaf.loops]
    return next(
        (leaf.loops[k + 1].var for k, n in enumerate(names[:-1]) if n == outer and names[k + 1] == inner),
        None,
    )


def _joined(loop: For, name: str) -> For:
    inner, between = _below(loop)
    assert isinstance(inner, For)
    both = Var(name, span=loop.var.span)
    extent = (
        inner.extent
        if is_natural(loop.extent) or is_natural(inner.extent)
        else maximum(inner.extent, index(0))
    )
    values: dict[Var, Expr] = {loop.var: floordiv(both, extent), inner.var: mod(both, extent)}
    if integer(loop.extent) == 1:
        values = {loop.var: index(0), inner.var: both}
    body = inner.body
    for each in reversed(between):
        body = (replace(each, body=body),)
    return For(both, mul(loop.extent, extent), tuple(folded(s, values) for s in body), loop.kind, loop.tensor)

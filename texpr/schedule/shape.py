"""Steps that cut and join loops. Both keep the order of execution; only a joined loop that runs at once needs a proof."""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.build import add, compare, floordiv, integer, minimum, mod, mul, sub
from texpr.ir.expr import Expr, Node, Tensor, Var, index
from texpr.ir.loop import For, If, Kernel, Stmt
from texpr.passes.renew import folded, over_tensors, with_fresh_variables
from texpr.schedule.independent import check_moved
from texpr.schedule.loops import check_new_names, find_loops, replace_loops, span_of, twins, with_temporaries
from texpr.support.errors import ScheduleError

TAILS = ("guard", "exact", "peel", "clip")
LARGEST_FACTOR = 1 << 31
MOST_ITERATIONS = 1 << 62


def split(kernel: Kernel, loop: str | Var, factor: int, *, tail: str = "guard", names: tuple[str, str] | None = None) -> Kernel:
    """Cut `loop` into tiles of `factor` iterations. Always legal: the order is unchanged. Strip-mining elsewhere.

    for v in 0..n: S   ->   for vo in 0..(n + factor-1)//factor: for vi in 0..factor: if vo*factor + vi < n: S[v := vo*factor + vi]

    Args:
        factor: iterations per tile, 1 to 2^31.
        tail: `guard` keeps the remainder under a condition, `peel` runs it in loops of its own, `clip` makes the last tile shorter
            (`for vi in 0..min(factor, n - vo*factor)`), `exact` refuses it.
        names: of the outer and the inner loop; `vo` and `vi` unless given.
    Raises:
        ScheduleError: no such loop, a bad factor, names that are taken, or a remainder under `tail="exact"`.
    Source: Wolfe, More Iteration Space Tiling, Supercomputing 1989.
    """
    found = find_loops(kernel, loop)
    at = found[0]
    if not isinstance(factor, int) or isinstance(factor, bool) or not 1 <= factor <= LARGEST_FACTOR:
        raise ScheduleError(f"split factor {factor!r} is not an integer from 1 to 2^31", span_of(kernel, at), code="split")
    if tail not in TAILS:
        raise ScheduleError(f"there is no tail policy {tail!r}", span_of(kernel, at), code="split", help=f"one of {', '.join(TAILS)}")
    extent = integer(at.extent)
    if tail == "exact" and (extent is None or extent % factor):
        raise ScheduleError(f"split factor {factor} does not divide the extent of `{at.var.name}`", span_of(kernel, at), code="split",
                            help='pass tail="guard" to keep the remainder')
    if names is not None and (not isinstance(names, tuple) or len(names) != 2):
        raise ScheduleError(f"split makes two loops; names={names!r} is not a pair", span_of(kernel, at), code="split",
                            help='names=("outer", "inner")')
    outer, inner = names or (at.var.name + "o", at.var.name + "i")
    check_new_names(kernel, at, (outer, inner), "split")
    if tail != "peel":
        return replace_loops(kernel, found, lambda n: _cut(n, factor, outer, inner, clipped=tail == "clip"))
    own = {n.var: twins(kernel, n, "rest") for n in found}
    after = replace_loops(kernel, found, lambda n: _peeled(n, factor, outer, inner, own[n.var]))
    return with_temporaries(after, [t for each in own.values() for t in each.values()])


def _cut(loop: For, factor: int, outer_name: str, inner_name: str, *, clipped: bool) -> For:
    tiles = floordiv(add(loop.extent, index(factor - 1)), index(factor))
    extent = integer(loop.extent)
    ragged = extent is None or extent % factor != 0
    if not (clipped and ragged):
        return _tiled(loop, tiles, factor, outer_name, inner_name, guarded=ragged)
    tiled = _tiled(loop, tiles, factor, outer_name, inner_name, guarded=False)
    (inner,) = tiled.body
    assert isinstance(inner, For)
    left = sub(loop.extent, mul(tiled.var, index(factor)))
    return replace(tiled, body=(replace(inner, extent=minimum(index(factor), left)),))


def _tiled(loop: For, tiles: Expr, factor: int, outer_name: str, inner_name: str, *, guarded: bool) -> For:
    """The iterations of `loop` in tiles; `guarded` where the last tile may reach past the end."""
    outer, inner = Var(outer_name), Var(inner_name)
    whole = add(mul(outer, index(factor)), inner)
    body: tuple[Stmt, ...] = tuple(folded(s, {loop.var: whole}) for s in loop.body)
    if guarded:
        body = (If(compare("<", whole, loop.extent), body),)
    return For(outer, tiles, (For(inner, index(factor), body, tensor=loop.tensor),), loop.kind, loop.tensor)


def _peeled(loop: For, factor: int, outer_name: str, inner_name: str, own: dict[Tensor, Tensor]) -> tuple[Stmt, ...]:
    extent = loop.extent
    tiles = floordiv(extent, index(factor))
    main = _tiled(loop, tiles, factor, outer_name, inner_name, guarded=False)
    if integer(left_over := mod(extent, index(factor))) == 0:
        return (main,)
    rest = Var(inner_name)
    at = add(mul(tiles, index(factor)), rest)
    left = For(rest, left_over, tuple(folded(s, {loop.var: at}) for s in loop.body), tensor=loop.tensor)
    return (main, over_tensors(with_fresh_variables(left), own))


def fuse(kernel: Kernel, outer: str | Var, inner: str | Var, *, name: str | None = None) -> Kernel:
    """Join two nested loops into one. The order is unchanged; if the outer iterations run at once, all must be independent now.

    Coalescing, collapse elsewhere.

    for a in 0..m: for b in 0..n: S   ->   for ab in 0..m*n: S[a := ab // n, b := ab % n]

    Raises:
        ScheduleError: `inner` is not the only statement in `outer`, its extent is not a constant, the name is taken, a loop is marked
            vector or unroll, or iterations that would run at once depend on each other.
    """
    outers, inners = find_loops(kernel, outer), find_loops(kernel, inner)
    fused = outers[0].var.name + inners[0].var.name if name is None else name
    for loop in outers:
        below = loop.body[0]
        if len(loop.body) != 1 or not isinstance(below, For) or all(below.var is not n.var for n in inners):
            raise ScheduleError(f"`{inners[0].var.name}` is not the only statement in `{loop.var.name}`",
                                span_of(kernel, loop), code="fuse", help="reorder the loops so that one stands directly in the other")
        if integer(below.extent) is None:
            raise ScheduleError(f"`{below.var.name}` has no constant extent, so the joined index would not be affine",
                                span_of(kernel, below), code="fuse", help=f"give the size: tx.schedule(op, {_text(below.extent)}=...)")
        if (integer(loop.extent) or 1) * (integer(below.extent) or 1) > MOST_ITERATIONS:
            raise ScheduleError(f"`{loop.var.name}` and `{below.var.name}` together have more than 2^62 iterations",
                                span_of(kernel, loop), code="fuse", help="leave them apart")
        marked = next((n for n in (loop, below) if n.kind in ("vector", "unroll")), None)
        if marked is not None:
            raise ScheduleError(f"`{marked.var.name}` is marked {marked.kind}, and the joined loop would be another one",
                                span_of(kernel, marked), code="fuse", help="fuse first, then mark the joined loop")
    check_new_names(kernel, outers[0], (fused,), "fuse")
    after = replace_loops(kernel, outers, lambda n: _joined(n, fused))
    check_moved(kernel, after, "fuse")
    return after


def _joined(loop: For, name: str) -> For:
    inner = loop.body[0]
    assert isinstance(inner, For)
    both = Var(name)
    values: dict[Var, Expr] = {loop.var: floordiv(both, inner.extent), inner.var: mod(both, inner.extent)}
    return For(both, mul(loop.extent, inner.extent), tuple(folded(s, values) for s in inner.body), loop.kind, loop.tensor)


def _text(e: Node) -> str:
    return e.name if isinstance(e, Var) else "size"

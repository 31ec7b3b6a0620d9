"""`fuse`: two nested loops become one."""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.build import floordiv, integer, mod, mul
from texpr.ir.expr import Expr, Var
from texpr.ir.loop import For, If, Kernel, Stmt
from texpr.ir.traverse import tensors
from texpr.passes.renew import folded
from texpr.schedule.independent import check_moved
from texpr.schedule.leaves import apart, checked, rearranged
from texpr.schedule.loops import all_loops, check_new_names, find_loops, qualified, replace_loops, shortest, span_of
from texpr.schedule.marks import parallel
from texpr.schedule.regroup import Leaf
from texpr.support.errors import ScheduleError

MOST_ITERATIONS = 1 << 62


def fuse(kernel: Kernel, outer: str | Var, inner: str | Var, *, name: str | None = None) -> Kernel:
    """Join two nested loops into one. The order is unchanged; if the outer iterations run at once, all must be independent now.

    Coalescing, collapse elsewhere.

    for a in 0..m: for b in 0..n: S   ->   for ab in 0..m*n: S[a := ab // n, b := ab % n]

    Statements beside the inner loop get an outer loop of their own first, if no dependence forbids it.

    Raises:
        ScheduleError: `inner` does not directly follow `outer`, its extent is not a constant, the name is taken, a loop is marked vector
            or unroll, an instance would run before one it needs, or iterations that would run at once depend on each other.
    """
    names = qualified(find_loops(kernel, outer)[0]), qualified(find_loops(kernel, inner)[0])
    fused = names[0].rpartition(".")[2] + names[1].rpartition(".")[2] if name is None else name
    alone = _set_apart(kernel, *names)
    outers = [n for n in find_loops(alone, names[0]) if _directly_inside(n, names[1])]
    check_new_names(kernel, find_loops(kernel, outer)[0], (fused,), "fuse")
    for loop in outers:
        below, _ = _below(loop)
        assert isinstance(below, For)
        if integer(below.extent) is None:
            raise ScheduleError(f"`{below.var.name}` has no constant extent, so the joined index would not be affine",
                                span_of(alone, below), code="fuse", help=_instead(alone, loop, below))
        if (integer(loop.extent) or 1) * (integer(below.extent) or 1) > MOST_ITERATIONS:
            raise ScheduleError(f"`{loop.var.name}` and `{below.var.name}` together have more than 2^62 iterations",
                                span_of(alone, loop), code="fuse", help="leave them apart")
        marked = next((n for n in (loop, below) if n.kind in ("vector", "unroll")), None)
        if marked is not None:
            raise ScheduleError(f"`{marked.var.name}` is marked {marked.kind}, and the joined loop would be another one",
                                span_of(alone, marked), code="fuse", help="fuse first, then mark the joined loop")
    after = replace_loops(alone, outers, lambda n: _joined(n, fused))
    check_moved(kernel, after, "fuse")
    return after


def _directly_inside(outer: For, inner: str) -> bool:
    below, between = _below(outer)
    return isinstance(below, For) and qualified(below) == inner and not any(tensors(n.cond) for n in between)


def _below(outer: For) -> tuple[Stmt | None, list[If]]:
    """The only statement in the loop and under the conditions that it is under, and these; None if there are several."""
    body, between = outer.body, list[If]()
    while len(body) == 1 and isinstance(body[0], If):
        between.append(body[0])
        body = body[0].body
    return body[0] if len(body) == 1 else None, between


def _set_apart(kernel: Kernel, outer: str, inner: str) -> Kernel:
    """The kernel with the outer loop distributed, so that each copy that has the inner loop has nothing else.

    Raises:
        ScheduleError: the inner loop does not follow the outer one inwards, or an instance would run before one it needs.
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
        raise ScheduleError(f"`{below.var.name}` does not stand directly in `{at.var.name}`", span_of(kernel, at), code="fuse",
                            help="reorder the loops so that one follows the other inwards")
    return checked(kernel, moved, "fuse", f'fuse("{outers[0].var.name}", "{find_loops(kernel, inner)[0].var.name}")',
                   "fuse loops that hold the same statements")


def _depth(leaf: Leaf, outer: str, inner: str) -> Var | None:
    """The inner loop, if it directly follows the outer one around the leaf."""
    names = [qualified(n) for n in leaf.loops]
    return next((leaf.loops[k + 1].var for k, n in enumerate(names[:-1]) if n == outer and names[k + 1] == inner), None)


def _joined(loop: For, name: str) -> For:
    inner, between = _below(loop)
    assert isinstance(inner, For)
    both = Var(name, span=loop.var.span)
    values: dict[Var, Expr] = {loop.var: floordiv(both, inner.extent), inner.var: mod(both, inner.extent)}
    body = inner.body
    for each in reversed(between):
        body = (replace(each, body=body),)
    return For(both, mul(loop.extent, inner.extent), tuple(folded(s, values) for s in body), loop.kind, loop.tensor)


def _instead(kernel: Kernel, outer: For, inner: For) -> str:
    """What can be done without a constant extent."""
    given = f"give the size: tx.schedule(op, {inner.extent.name if isinstance(inner.extent, Var) else 'size'}=...)"
    try:
        parallel(parallel(kernel, outer.var), inner.var)
    except ScheduleError:
        return given
    both = f'parallel("{shortest(kernel, outer)}").parallel("{shortest(kernel, inner)}")'
    return f"{both} is legal here, and threads share out the iterations of both; or {given}"

"""Copies that are begun some iterations ahead and waited for: what `pipeline` makes where
threads go on while copies are under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from texpr import poly
from texpr.ir.build import add, compare, conjunction, integer, sub
from texpr.ir.expr import Axis, Expr, Node, Tensor, Var, index
from texpr.ir.loop import Barrier, Commit, For, Kernel, Stmt, Store, Wait, copy_of, is_block
from texpr.ir.loop_kind import SERIAL
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.ir.traverse import rewrite
from texpr.passes.lowering.naive_nest import guarded
from texpr.schedule.steps.placement.producer import replaced
from texpr.schedule.structure.indices import moved_to
from texpr.schedule.structure.loops import (
    find_loops,
    loops_around,
    path_to,
    qualified,
    span_of,
    stores,
    text_of,
)
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


def check_copies(kernel: Kernel, tensors: Iterable[Tensor]) -> None:
    """Check that these tensors are copies of memory in shared memory.

    Raises:
        ScheduleError: one of them is not.
    """
    for t in tensors:
        computed = next((s for s in stores(kernel) if s.tensor is t and not _copies(s)), None)
        if computed is not None:
            raise ScheduleError(
                f"only copies are asynchronous, and `{t.name}` is computed",
                text_of(kernel, computed),
                code="pipeline",
                help="cache_read makes copies; without asynchronous=True anything is computed ahead",
            )
        if t.scope != "shared":
            raise ScheduleError(
                f"only copies to shared memory are asynchronous, and `{t.name}` lives elsewhere",
                code="pipeline",
                help=f'set_scope("{t.name}", "shared") first',
            )


def _copies(s: Store) -> bool:
    """True if a store takes an element as it is from memory, or 0 outside."""
    copy = copy_of(s)
    return (
        copy is not None
        and copy.source.tensor.scope == "global"
        and copy.source.tensor.dtype == s.tensor.dtype
    )


def running_on(kernel: Kernel, loop: For, through: str | Var, lead: int) -> list[For]:
    """The loops around a loop from that one on, if the iterations of all of them can be counted.

    Raises:
        ScheduleError: the loop does not stand in it, or how many iterations come between is not
            known.
    """
    found = find_loops(kernel, through)
    *around, _ = path_to(kernel, loop)
    start = next((k for k, n in enumerate(around) if n in found), None)
    if start is None:
        raise ScheduleError(
            f"`{qualified(loop)}` does not stand in `{qualified(found[0])}`",
            span_of(kernel, found[0]),
            code="pipeline",
            help="name a loop around it",
        )
    outer = [n for n in around[start:] if isinstance(n, For) and n.kind == SERIAL]
    if len(outer) < len(around) - start:
        raise ScheduleError(
            f"a condition, or a loop whose iterations run at once, stands between `{qualified(found[0])}` "
            f"and "
            f"`{qualified(loop)}`",
            span_of(kernel, loop),
            code="pipeline",
            help="name a loop inside it",
        )
    unknown = next((n for n in (*outer[1:], loop) if integer(n.extent) is None), None)
    if unknown is not None:
        raise ScheduleError(
            f"how many iterations `{qualified(unknown)}` has is not known, and buffers are used in turn by "
            f"all",
            span_of(kernel, unknown),
            code="pipeline",
            help="give sizes as constants, or leave `through` out",
        )
    if (integer(loop.extent) or 0) < lead:
        raise ScheduleError(
            f"copies would begin {lead} iterations ahead, and `{qualified(loop)}` has fewer",
            span_of(kernel, loop),
            code="pipeline",
            help="pass a smaller lead, or fuse it with the loop around",
        )
    return outer


def issue_ahead(kernel: Kernel, loop: For, early: Sequence[int], lead: int, depth: int = 0) -> Kernel:
    """The copies at these places in the loop's body begin `lead` iterations before the rest, which
    waits for them.

    Each iteration commits one group, and so does each of `lead` before the loop: with all but `lead
    - 1` of them those of this iteration have arrived. The barrier behind the wait also stands
    between the last reads of a buffer and the next copies to it.

    Args:
        depth: how many loops around have iterations that follow each other so.
    """
    *path, main = path_to(kernel, loop)
    around, outer = path[: len(path) - depth], [n for n in path[len(path) - depth :] if isinstance(n, For)]
    assert isinstance(main, For)
    copies = [_marked(main.body[k]) for k in early]
    rest = [s for k, s in enumerate(main.body) if k not in early]
    following = [
        s
        for condition, values in _ahead(main, lead, outer)
        for s in guarded(condition, moved_to(copies, values))
    ]
    old, new = main, replace(main, body=(Wait(lead - 1), Barrier(), *following, Commit(), *rest))
    for n in reversed(outer):
        old, new = n, replace(n, body=tuple(new if s is old else s for s in n.body))
    # An iteration of a loop around may still read what the last one copied.
    again = any(isinstance(n, For) and not is_block(n) for n in around)
    first = _filling(kernel, main, copies, lead, outer)
    return replaced(kernel, around, (old,), {id(old): ((Wait(0), Barrier()) if again else ()) + (first, new)})  # type: ignore[arg-type]


def _filling(kernel: Kernel, loop: For, copies: Sequence[Stmt], lead: int, outer: Sequence[For]) -> For:
    """The copies that begin before anything is waited for."""
    first = replace(loop.var)
    axes = [Axis(n.var, index(0), n.extent) for n in loops_around(kernel, loop) if n not in outer] + [
        Axis(first, index(0), index(lead))
    ]
    conditions = (*(compare("<", index(0), n.extent) for n in outer), compare("<", first, loop.extent))
    needed = conjunction(*(c for c in conditions if not poly.always(c, axes, kernel.requires)))
    filled = guarded(needed, moved_to(copies, {loop.var: first} | {n.var: index(0) for n in outer}))
    return For(first, index(lead), (*filled, Commit()), tensor=loop.tensor)


def _ahead(loop: For, lead: int, outer: Sequence[For]) -> Iterator[tuple[Expr, dict[Var, Expr]]]:
    """The iteration `lead` later: in this loop, or in the next iteration of one around it, each
    under the condition for that.
    """
    later = add(loop.var, index(lead))
    yield compare("<", later, loop.extent), {loop.var: later}
    past, values = [compare("<=", loop.extent, later)], {loop.var: sub(later, loop.extent)}
    for n in reversed(outer):
        following = add(n.var, index(1))
        yield conjunction(*past, compare("<", following, n.extent)), values | {n.var: following}
        past, values = [*past, compare("<=", n.extent, following)], values | {n.var: index(0)}


def _marked(s: Stmt) -> Stmt:
    def rule(node: Node) -> Node | None:
        return replace(node, mode=ASYNCHRONOUS) if isinstance(node, Store) else None

    return rewrite(s, rule)

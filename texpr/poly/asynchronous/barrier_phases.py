"""Phases of mbarriers, the counters of bulk copies in shared memory: proof that each wait is for
the phase of its group.

One thread begins the copies of a group and tells a counter how many bytes they bring; the phase of
the counter ends when these have arrived. A wait asks whether the phase of one parity has ended, so
it would go on too early two phases before, and never after the next one. Group number g has counter
g % n, in phase g // n there. What is asked, for all sizes, where c groups were committed before:

* a commit is of counter c % n and of the bytes of the copies since the last one;
* a wait for all but p groups asks counter g % n for the parity of g // n, g = c - p - 1; those
  before g were waited for by earlier iterations of its loop, so that it covers all of them;
* group c is committed where all threads have met since they waited for group c - n: the counter is
  theirs again. Where blocks of a cluster copy together, all of them have;
* no copy belongs to a group that is not waited for: none is under way when its block ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from texpr.ir.affine import linear
from texpr.ir.build import add, compare, conjunction, floordiv, integer, mod, mul, select, sub
from texpr.ir.expr import Axis, Expr, Select, index
from texpr.ir.loop import Commit, For, If, Kernel, Stmt, Store, Wait, is_bulk, shared_along
from texpr.ir.loop_kind import Thread
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.ir.traverse import equal, statements, tensors, walk
from texpr.poly.constraints.conditions import always, never

if TYPE_CHECKING:
    from texpr.poly.asynchronous.timeline import TimelinePoint

Fault = tuple[str, Stmt]


def out_of_phase(kernel: Kernel, top: Stmt, places: Sequence[TimelinePoint]) -> Fault | None:
    """The first fault of the counters of a nest, and its statement; None if all are proven, or
    no copy is a bulk copy.
    """
    boxes = [n for n in walk(top) if is_bulk(n)]
    commits = [p for p in places if isinstance(p.node, Commit)]
    waits = [p for p in places if isinstance(p.node, Wait)]
    counted = [p for p in (*commits, *waits) if p.node.slot is not None]  # type: ignore[union-attr]
    if not boxes and not counted:
        return None
    issued = {s for b in boxes for s in statements(b) if isinstance(s, Store)}
    mixed = next(
        (
            p.node
            for p in places
            if isinstance(p.node, Store)
            and p.node.update is None
            and (p.node.mode is ASYNCHRONOUS) is not (p.node in issued)
        ),
        None,
    )
    if mixed is not None:
        return "mixed", mixed
    several = next(
        (p.node for p in places if p.node in issued and any(isinstance(n.kind, Thread) for n in p.loops)),
        None,
    )
    if several is not None:
        return "place", several
    if len(counted) < len(commits) + len(waits) or len({p.node.slots for p in counted}) > 1:  # type: ignore[union-attr]
        return "counter", next(
            (p.node for p in (*commits, *waits) if p not in counted), counted[-1].node if counted else top
        )
    bytes_of_commit = {id(n): e for body in _bodies_with_commits(top) for n, e in _bytes_per_commit(body)}
    if sum(is_bulk(n) for body in _bodies_with_commits(top) for n in _issued_copies(body)) < len(boxes):
        return "bytes", boxes[0]
    together = any(map(shared_along, boxes))
    faults = [
        *(_check_commit(kernel, p, bytes_of_commit[id(p.node)], waits, together) for p in commits),
        *(_check_wait(kernel, p, waits) for p in waits),
    ]
    faults += [_unawaited(kernel, p, waits) for p in places if p.node in issued] if not any(faults) else []
    return next((f for f in faults if f is not None), None)


def _bodies_with_commits(top: Stmt) -> Iterator[tuple[Stmt, ...]]:
    """The bodies that have commits in them."""
    for n in walk(top):
        if isinstance(n, For | If) and any(isinstance(s, Commit) for s in n.body):
            yield n.body


def _issued_copies(body: Sequence[Stmt]) -> Iterator[Stmt]:
    """The bulk copies of a body that a commit follows."""
    last = max(k for k, s in enumerate(body) if isinstance(s, Commit))
    for s in body[:last]:
        yield from (n for n in (s.body if isinstance(s, If) else (s,)))


def _bytes_per_commit(body: Sequence[Stmt]) -> Iterator[tuple[Commit, Expr]]:
    """The number of bytes that the copies before each commit bring."""
    total: Expr = index(0)
    for s in body:
        match s:
            case Commit():
                yield s, total
                total = index(0)
            case If(cond, inside) if any(is_bulk(n) for n in inside):
                total = _sum(total, cond, sum(map(bytes_of, inside)))
            case For() if is_bulk(s):
                total = add(total, index(bytes_of(s)))


def _sum(total: Expr, cond: Expr, more: int) -> Expr:
    """`total`, and `more` under a condition: together where conditions are one."""
    match total:
        case Select(known, there, absent) if equal(known, cond):
            return select(cond, add(there, index(more)), absent)
    return add(total, select(cond, index(more), index(0)))


def bytes_of(s: Stmt) -> int:
    """The number of bytes that a bulk copy brings: the whole box, with zeros for elements
    outside of its source.
    """
    if not is_bulk(s):
        return 0
    size, inside = 1, s
    while isinstance(inside, For):
        size *= integer(inside.extent) or 0
        inside = inside.body[0]
    return size * inside.tensor.dtype.bytes if isinstance(inside, Store) else 0


def _check_commit(
    kernel: Kernel, p: TimelinePoint, told: Expr, waits: Sequence[TimelinePoint], together: bool
) -> Fault | None:
    node, number = p.node, p.committed.get(None)
    assert isinstance(node, Commit) and node.slot is not None and node.brings is not None
    if number is None or not _same(kernel, p, node.slot, mod(number, index(node.slots))):
        return "counter", node
    if not _same(kernel, p, node.brings, told):
        return "bytes", node
    if always(compare("<", number, index(node.slots)), _axes(p), kernel.requires):
        return None  # the first of its counter
    barrier = p.last_cluster_barrier if together else p.last_barrier
    awaited = barrier.last_wait if barrier is not None else None
    if (
        barrier is None
        or awaited is None
        or awaited not in waits
        or not p.serial_loops
        or not (p.serial_loops == awaited.serial_loops == barrier.serial_loops)
    ):
        return "turn", node
    waited = _last_awaited_group(awaited)
    free = waited is not None and always(
        compare("<=", sub(number, index(node.slots)), waited), _axes(p), kernel.requires
    )
    return None if free else ("turn", node)


def _check_wait(kernel: Kernel, p: TimelinePoint, waits: Sequence[TimelinePoint]) -> Fault | None:
    """One wait, from group 0 on: the groups before its own are those that it waited for in
    earlier iterations of the loops around.
    """
    node, waited = p.node, _last_awaited_group(p)
    assert isinstance(node, Wait) and node.slot is not None and node.phase is not None
    if waited is None or len(waits) > 1 or not p.serial_loops:
        return "counter", node
    before: Expr = index(0)
    for n in p.serial_loops:
        before = add(mul(before, n.extent), n.var)
    gap = linear(sub(waited, before))
    if gap.terms or gap.constant:
        return "counter", node
    if not _same(kernel, p, node.slot, mod(waited, index(node.slots))):
        return "counter", node
    if not _same(kernel, p, node.phase, mod(floordiv(waited, index(node.slots)), index(2))):
        return "phase", node
    return None


def _unawaited(kernel: Kernel, p: TimelinePoint, waits: Sequence[TimelinePoint]) -> Fault | None:
    """The fault of a copy whose group no iteration of the wait covers."""
    (wait,), number = waits, p.committed.get(None)
    conditions = [n.cond for n in p.enclosing if isinstance(n, If) and not tensors(n.cond)]
    count: Expr = index(1)
    for n in wait.serial_loops:
        count = mul(count, n.extent)
    waited = number is not None and never(
        conjunction(compare("<=", count, number), *conditions), _axes(p), kernel.requires
    )
    return None if waited else ("left", p.node)


def _last_awaited_group(p: TimelinePoint) -> Expr | None:
    """The number of the last group that a wait covers."""
    assert isinstance(p.node, Wait)
    number = p.committed.get(None)
    return None if number is None else sub(number, index(p.node.pending + 1))


def _same(kernel: Kernel, p: TimelinePoint, mine: Expr, theirs: Expr) -> bool:
    return equal(mine, theirs) or always(compare("==", mine, theirs), _axes(p), kernel.requires)


def _axes(p: TimelinePoint) -> list[Axis]:
    return [Axis(n.var, index(0), n.extent) for n in p.loops]

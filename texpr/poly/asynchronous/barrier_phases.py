"""Groups of bulk copies that counters in shared memory tell of: proof that each wait is for the phase of its group.

One thread begins the copies of a group and tells a counter how many bytes they bring; the phase of the counter ends when these have
arrived. A wait asks whether the phase of one parity has ended, so it would go on too early two phases before, and never after the next one.
Group number g has counter g % n, in phase g // n there. What is asked, for all sizes, where c groups were committed before:

* a commit is of counter c % n and of the bytes of the copies since the last one;
* a wait for all but p groups asks counter g % n for the parity of g // n, g = c - p - 1; those before g were waited for by earlier
  iterations of its loop, so that it covers all of them;
* group c is committed where all threads have met since they waited for group c - n: the counter is theirs again. Where blocks of a
  cluster copy together, all of them have;
* no copy belongs to a group that is not waited for: none is under way when its block ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from texpr.ir.affine import linear
from texpr.ir.build import add, compare, conjunction, floordiv, integer, mod, mul, select, sub
from texpr.ir.expr import Axis, Expr, Select, index
from texpr.ir.loop import Commit, For, If, Kernel, Stmt, Store, Wait, is_bulk, shared_along
from texpr.ir.traverse import equal, tensors, walk
from texpr.poly.constraints.conditions import always, never

if TYPE_CHECKING:
    from texpr.poly.asynchronous.timeline import Place

Fault = tuple[str, Stmt]


def out_of_phase(kernel: Kernel, top: Stmt, places: Sequence[Place]) -> Fault | None:
    """What is not proven of the counters of a nest, and of which statement; None if all is, or no copy is a bulk copy."""
    boxes = [n for n in walk(top) if is_bulk(n)]
    commits = [p for p in places if isinstance(p.node, Commit)]
    waits = [p for p in places if isinstance(p.node, Wait)]
    counted = [p for p in (*commits, *waits) if p.node.slot is not None]  # type: ignore[union-attr]
    if not boxes and not counted:
        return None
    begun = {s for b in boxes for s in walk(b) if isinstance(s, Store)}
    apart = next((p.node for p in places if isinstance(p.node, Store) and p.node.update is None
                  and p.node.asynchronous is not (p.node in begun)), None)
    if apart is not None:
        return "mixed", apart
    several = next((p.node for p in places if p.node in begun and any(n.kind.startswith("thread") for n in p.loops)), None)
    if several is not None:
        return "place", several
    if len(counted) < len(commits) + len(waits) or len({p.node.slots for p in counted}) > 1:  # type: ignore[union-attr]
        return "counter", next((p.node for p in (*commits, *waits) if p not in counted), counted[-1].node if counted else top)
    told = {id(n): e for body in _bodies(top) for n, e in _brought(body)}
    if sum(is_bulk(n) for body in _bodies(top) for n in _begun(body)) < len(boxes):
        return "bytes", boxes[0]
    together = any(map(shared_along, boxes))
    faults = [*(_commit(kernel, p, told[id(p.node)], waits, together) for p in commits), *(_wait(kernel, p, waits) for p in waits)]
    faults += [_left(kernel, p, waits) for p in places if p.node in begun] if not any(faults) else []
    return next((f for f in faults if f is not None), None)


def _bodies(top: Stmt) -> Iterator[tuple[Stmt, ...]]:
    """Those with commits in them."""
    for n in walk(top):
        if isinstance(n, For | If) and any(isinstance(s, Commit) for s in n.body):
            yield n.body


def _begun(body: Sequence[Stmt]) -> Iterator[Stmt]:
    """The bulk copies of a body that a commit follows."""
    last = max(k for k, s in enumerate(body) if isinstance(s, Commit))
    for s in body[:last]:
        yield from (n for n in (s.body if isinstance(s, If) else (s,)))


def _brought(body: Sequence[Stmt]) -> Iterator[tuple[Commit, Expr]]:
    """Each commit, and how many bytes the copies before it bring."""
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
    """How many bytes a bulk copy brings: the whole box, what lies outside of its source as zeros."""
    if not is_bulk(s):
        return 0
    size, inside = 1, s
    while isinstance(inside, For):
        size *= integer(inside.extent) or 0
        inside = inside.body[0]
    return size * inside.tensor.dtype.bytes if isinstance(inside, Store) else 0


def _commit(kernel: Kernel, p: Place, told: Expr, waits: Sequence[Place], together: bool) -> Fault | None:
    node, number = p.node, p.committed.get(None)
    assert isinstance(node, Commit) and node.slot is not None and node.brings is not None
    if number is None or not _same(kernel, p, node.slot, mod(number, index(node.slots))):
        return "counter", node
    if not _same(kernel, p, node.brings, told):
        return "bytes", node
    if always(compare("<", number, index(node.slots)), _axes(p), kernel.requires):
        return None  # the first of its counter
    meeting = p.together if together else p.meeting
    met = meeting.wait if meeting is not None else None
    if meeting is None or met is None or met not in waits or not p.steps or p.steps != met.steps or meeting.steps != met.steps:
        return "turn", node
    waited = _waited(met)
    free = waited is not None and always(compare("<=", sub(number, index(node.slots)), waited), _axes(p), kernel.requires)
    return None if free else ("turn", node)


def _wait(kernel: Kernel, p: Place, waits: Sequence[Place]) -> Fault | None:
    """One wait, from group 0 on: the groups before its own are those that it waited for in earlier iterations of the loops around."""
    node, waited = p.node, _waited(p)
    assert isinstance(node, Wait) and node.slot is not None and node.phase is not None
    if waited is None or len(waits) > 1 or not p.steps:
        return "counter", node
    before: Expr = index(0)
    for n in p.steps:
        before = add(mul(before, n.extent), n.var)
    apart = linear(sub(waited, before))
    if apart.terms or apart.constant:
        return "counter", node
    if not _same(kernel, p, node.slot, mod(waited, index(node.slots))):
        return "counter", node
    if not _same(kernel, p, node.phase, mod(floordiv(waited, index(node.slots)), index(2))):
        return "phase", node
    return None


def _left(kernel: Kernel, p: Place, waits: Sequence[Place]) -> Fault | None:
    """One copy: its group is one of those for which there is an iteration of the wait."""
    (wait,), number = waits, p.committed.get(None)
    held = [n.cond for n in p.above if isinstance(n, If) and not tensors(n.cond)]
    count: Expr = index(1)
    for n in wait.steps:
        count = mul(count, n.extent)
    waited = number is not None and never(conjunction(compare("<=", count, number), *held), _axes(p), kernel.requires)
    return None if waited else ("left", p.node)


def _waited(p: Place) -> Expr | None:
    """The number of the last group that a wait covers."""
    assert isinstance(p.node, Wait)
    number = p.committed.get(None)
    return None if number is None else sub(number, index(p.node.pending + 1))


def _same(kernel: Kernel, p: Place, mine: Expr, theirs: Expr) -> bool:
    return equal(mine, theirs) or always(compare("==", mine, theirs), _axes(p), kernel.requires)


def _axes(p: Place) -> list[Axis]:
    return [Axis(n.var, index(0), n.extent) for n in p.loops]

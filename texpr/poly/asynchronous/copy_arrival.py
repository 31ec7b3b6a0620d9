"""Asynchronous copies: proof that they arrive before they are read, and overwrite no element that
is still to be read.

An asynchronous copy may change its element from where it begins until its thread has waited for its
group; other threads see what has arrived behind a barrier after that. So of a buffer that is filled
by such copies

* a read stands behind a barrier, and that behind a wait, which covers every copy to the element
  that began before the read;
* a copy stands behind a barrier that comes after all reads of the element before it;
* what is copied to the element before has arrived at a wait in front of that barrier.

Groups have numbers: how many commits were executed since the nest began, or since a wait for all
groups, a linear form of the loops around and of sizes. A wait for all but p groups, where c are
committed, covers those below c - p, and whatever began before the wait for all. Each rule is a
question about two instances, asked for all sizes. Of waits and barriers only those count that every
thread of a block reaches: under no condition, in no loop over threads but such as all threads run
one iteration of.

Where blocks of a cluster order copies together (`multicast`), a copy is to the memory of all of
them. So what is said of barriers in front of a copy is said of barriers of the cluster there, and
the reads are those of any of its blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from texpr.ir.build import compare, conjunction, sub
from texpr.ir.expr import Axis, Expr, Read, Tensor, Var, index
from texpr.ir.loop import Commit, For, If, Kernel, Stmt, Store, Wait, WaitProducts, is_block
from texpr.ir.loop_kind import Cluster
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.ir.traverse import substitute, tensors, walk
from texpr.poly.asynchronous.barrier_phases import out_of_phase
from texpr.poly.asynchronous.multicast import uneven_multicast
from texpr.poly.asynchronous.timeline import (
    TimelineBuilder,
    TimelinePoint,
    Unproven,
    Use,
    is_copy,
    issued_use,
)
from texpr.poly.constraints.conditions import never
from texpr.poly.constraints.proof_thread import one_at_a_time


@one_at_a_time
def unproven_copy(kernel: Kernel) -> Unproven | None:
    """The first asynchronous copy that is not proven right, for all sizes; None if all are, or
    there are none.
    """
    if not any(map(is_copy, walk(kernel))):
        return None
    return next((found for top in kernel.body if (found := _check_nest(kernel, top)) is not None), None)


def _check_nest(kernel: Kernel, top: Stmt) -> Unproven | None:
    places = list(TimelineBuilder().places(top))
    copies = [p for p in places if is_copy(p.node)]
    if not copies:
        return None
    written = {p.node.tensor: p.node for p in places if isinstance(p.node, Store)}
    for p in copies:
        assert isinstance(p.node, Store)
        for n in walk(p.node.value):
            if isinstance(n, Read) and n.tensor in written:
                return Unproven("source", written[n.tensor], p.node)
    for p in places:
        if isinstance(p.node, Commit | Wait) and not p.reached:
            return Unproven("place", p.node, copies[0].node)  # type: ignore[arg-type]
    if (fault := out_of_phase(kernel, top, places) or uneven_multicast(kernel, places)) is not None:
        return Unproven(*fault, copies[0].node)  # type: ignore[arg-type]
    filled = dict.fromkeys(p.node.tensor for p in copies if isinstance(p.node, Store))
    return next((found for t in filled if (found := _check_buffer(kernel, t, places)) is not None), None)


def _check_buffer(kernel: Kernel, tensor: Tensor, places: Sequence[TimelinePoint]) -> Unproven | None:
    writes = [
        issued_use(p, p.node.indices, places)
        for p in places
        if isinstance(p.node, Store) and p.node.tensor is tensor
    ]
    reads = [Use(p, n.indices) for p in places for n in reads_at(p.node) if n.tensor is tensor]
    for write in writes:
        copy = write.place.node
        assert isinstance(copy, Store)
        for read in reads:
            if (kind := late(kernel, write, read, read.place, places)) is not None:
                return Unproven(kind, read.place.node, copy)
            if not _after_reads(kernel, read, write):
                return Unproven("overwritten", read.place.node, copy)
        for earlier in writes:
            if late(kernel, earlier, write, write.place, places) is not None:
                return Unproven("overwritten", earlier.place.node, copy)
    return None


def reads_at(s: Stmt) -> Iterator[Read]:
    """The reads of a statement itself, without those of statements in it."""
    match s:
        case For(_, head) | If(head):
            yield from (n for n in walk(head) if isinstance(n, Read))
        case Store(tensor, indices, value, update):
            yield from (n for n in walk(*indices, value) if isinstance(n, Read))
            if update is not None:
                yield Read(tensor, indices)


def late(
    kernel: Kernel, copy: Use, use: Use, at: TimelinePoint, places: Sequence[TimelinePoint]
) -> str | None:
    """The fault of a use after an asynchronous `copy`: it is not behind a wait for the copy and
    a barrier; None if it is.
    """
    pair = _UsePair(kernel, copy, use)
    before, mine, barrier = pair.earlier(), pair.renamed[use], at.required_barrier
    node = copy.place.node
    kind = (
        WaitProducts
        if isinstance(node, Store) and node.mode is ASYNCHRONOUS and node.update is not None
        else Wait
    )

    def is_covered(case: Expr, wait: TimelinePoint | None, mine: dict[Var, Expr]) -> bool:
        ways = _pending(pair, wait, mine) if wait is not None else ()
        return any(pair.impossible([conjunction(case, p) for p in pending]) for pending in ways)

    def is_awaited(case: Expr, where: TimelinePoint) -> bool:
        """True if a wait that comes before a place covers it, in the same iterations or in the
        one before.
        """
        return is_covered(case, where.last_wait, mine) or any(
            pair.impossible([conjunction(case, compare("<", mine[n.var], index(1)))])
            and is_covered(case, wait, {**mine, n.var: sub(mine[n.var], index(1))})
            for n, wait in _last_waits(where, places, kind)
        )

    if pair.impossible(before) or (barrier is not None and all(is_awaited(case, barrier) for case in before)):
        return None
    return "barrier" if all(is_awaited(case, at) for case in before) else "arrival"


def _last_waits(
    at: TimelinePoint, places: Sequence[TimelinePoint], kind: type[Wait | WaitProducts]
) -> Iterator[tuple[For, TimelinePoint]]:
    """Of loops around a statement, the last wait of their bodies, if it stands behind it: that
    of the iteration before was passed.
    """
    for n in at.serial_loops:
        behind = [p for p in places if p.order > at.order and isinstance(p.node, kind) and p.node in n.body]
        if behind and behind[-1].reached:
            yield n, behind[-1]


def _pending(pair: _UsePair, wait: TimelinePoint, mine: dict[Var, Expr]) -> Iterator[list[Expr]]:
    """The cases in which a copy may be under way behind a wait in front of its use: each list is
    all of them, told in another way.

    Args:
        mine: the variables of the instance of the wait.
    """
    copy, _ = pair.uses
    assert isinstance(wait.node, Wait | WaitProducts)
    if wait.node.pending == 0 and copy.commit is not None:
        yield _order(wait, copy.commit, mine, pair.renamed[copy])
    for since in wait.committed:
        if since not in copy.place.committed:
            continue
        arrived = sub(substitute(wait.committed[since], mine), index(wait.node.pending))
        late = compare("<=", arrived, pair.of(copy, copy.place.committed[since]))
        if since is None:
            yield [late]
            continue
        # Only in one iteration of the loops around the wait for all are both counted from it.
        other_iterations = (compare("!=", mine[n.var], pair.of(copy, n.var)) for n in since.serial_loops)
        behind = _order(since, copy.place, mine, pair.renamed[copy])
        yield [conjunction(b, c) for c in (late, *other_iterations) for b in behind]


def _after_reads(kernel: Kernel, read: Use, copy: Use) -> bool:
    """True if a barrier stands between each read and the copies to its element that come later."""
    pair = _UsePair(kernel, read, copy)
    before, barrier = pair.earlier(), copy.place.required_barrier
    if barrier is None:
        return pair.impossible(before)
    behind = _order(barrier, read.place, pair.renamed[copy], pair.renamed[read])
    return pair.impossible([conjunction(a, b) for a in before for b in behind])


class _UsePair:
    """Instances of two uses that name one element."""

    def __init__(self, kernel: Kernel, a: Use, b: Use) -> None:
        self.kernel, self.uses, self.axes = kernel, (a, b), list[Axis]()
        self.multicast_axes = a.place.multicast_axes + b.place.multicast_axes
        self.renamed = {a: self._instance(a, "a")}
        self.renamed[b] = self._instance(b, "b")
        conditions = (
            (u, n.cond)
            for u in self.uses
            for n in u.place.enclosing
            if isinstance(n, If) and not tensors(n.cond)
        )
        self.constraints = [self.of(u, cond) for u, cond in conditions]
        self.same_indices = [
            compare("==", self.of(a, i), self.of(b, j))
            for i, j in zip(a.indices, b.indices)
            if not tensors(i) and not tensors(j)
        ]

    def _instance(self, use: Use, suffix: str) -> dict[Var, Expr]:
        """Variables of its own for an instance, but for the block, which is the same for all that
        share memory; others of its cluster where these copy to it.
        """
        values: dict[Var, Expr] = {}
        for n in use.place.loops:
            if is_block(n) and not (isinstance(n.kind, Cluster) and n.kind.axis in self.multicast_axes):
                if all(a.var is not n.var for a in self.axes):
                    self.axes.append(Axis(n.var, index(0), n.extent))
                continue
            new = Var(n.var.name + suffix)
            self.axes.append(Axis(new, index(0), substitute(n.extent, values)))
            values[n.var] = new
        return values

    def of(self, use: Use, e: Expr) -> Expr:
        """An expression at the instance of a use."""
        return substitute(e, self.renamed[use])

    def earlier(self) -> list[Expr]:
        """The cases in which the first use comes before the second one."""
        a, b = self.uses
        return _order(a.place, b.place, self.renamed[a], self.renamed[b])

    def impossible(self, cases: Sequence[Expr]) -> bool:
        """True if none of the cases is possible: asked of the first index, which tells buffers
        apart, then of all.
        """
        return all(
            never(conjunction(c, *self.same_indices[:1], *self.constraints), self.axes, self.kernel.requires)
            or never(conjunction(c, *self.same_indices, *self.constraints), self.axes, self.kernel.requires)
            for c in cases
        )


def _order(a: TimelinePoint, b: TimelinePoint, mine: dict[Var, Expr], theirs: dict[Var, Expr]) -> list[Expr]:
    """The cases in which an instance of `a` comes before one of `b`."""
    cases: list[Expr] = []
    equal: list[Expr] = []
    for n, m in zip(a.serial_loops, b.serial_loops):
        if n is not m:
            break
        i, j = mine[n.var], theirs[n.var]
        cases.append(conjunction(*equal, compare("<", i, j)))
        equal.append(compare("==", i, j))
    return [*cases, conjunction(*equal)] if a.order < b.order else cases

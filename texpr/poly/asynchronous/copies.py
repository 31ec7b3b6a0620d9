"""Copies that go on while their thread does: proof that they arrive before they are read, and overwrite nothing that is still wanted.

An asynchronous copy may change its element from where it begins until its thread has waited for its group; other threads see what has
arrived behind a barrier after that. So of a buffer that is filled by such copies

* a read stands behind a barrier, and that behind a wait, which covers every copy to the element that began before the read;
* a copy stands behind a barrier that comes after all reads of the element before it;
* what is copied to the element before has arrived at a wait in front of that barrier.

Groups have numbers: how many commits were executed since the nest began, or since a wait for all groups, a linear form of the loops around
and of sizes. A wait for all but p groups, where c are committed, covers those below c - p, and whatever began before the wait for all.
Each rule is a question about two instances, asked for all sizes. Of waits and barriers only those count that every thread of a block
reaches: under no condition, in no loop over threads but such as all threads run one iteration of.

Where blocks of a cluster order copies together (`multicast`), a copy is to the memory of all of them. So what is said of barriers in front
of a copy is said of barriers of the cluster there, and the reads are those of any of its blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from texpr.ir.build import compare, conjunction, sub
from texpr.ir.expr import Axis, Expr, Read, Tensor, Var, index
from texpr.ir.loop import Commit, For, If, Kernel, Stmt, Store, Wait, WaitProducts, is_block
from texpr.ir.traverse import substitute, tensors, walk
from texpr.poly.asynchronous.barrier_phases import out_of_phase
from texpr.poly.asynchronous.multicast import apart
from texpr.poly.asynchronous.timeline import Place, Unproven, Use, Walk, begun, is_copy
from texpr.poly.constraints.conditions import never


def unarrived(kernel: Kernel) -> Unproven | None:
    """What is not proven of the asynchronous copies of a kernel, for all sizes; None if all is, or there are none."""
    if not any(map(is_copy, walk(kernel))):
        return None
    return next((found for top in kernel.body if (found := _of_nest(kernel, top)) is not None), None)


def _of_nest(kernel: Kernel, top: Stmt) -> Unproven | None:
    places = list(Walk().places(top))
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
    if (fault := out_of_phase(kernel, top, places) or apart(kernel, places)) is not None:
        return Unproven(*fault, copies[0].node)  # type: ignore[arg-type]
    filled = dict.fromkeys(p.node.tensor for p in copies if isinstance(p.node, Store))
    return next((found for t in filled if (found := _of_buffer(kernel, t, places)) is not None), None)


def _of_buffer(kernel: Kernel, tensor: Tensor, places: Sequence[Place]) -> Unproven | None:
    writes = [begun(p, p.node.indices, places) for p in places if isinstance(p.node, Store) and p.node.tensor is tensor]
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
    """What a statement itself reads, but for the statements in it."""
    match s:
        case For(_, head) | If(head):
            yield from (n for n in walk(head) if isinstance(n, Read))
        case Store(tensor, indices, value, update):
            yield from (n for n in walk(*indices, value) if isinstance(n, Read))
            if update is not None:
                yield Read(tensor, indices)


def late(kernel: Kernel, copy: Use, use: Use, at: Place, places: Sequence[Place]) -> str | None:
    """What may go wrong where `use` comes after what began at `copy`: it is not behind a wait for it and a barrier."""
    pair = _Pair(kernel, copy, use)
    before, mine, met = pair.earlier(), pair.renamed[use], at.cleared
    node = copy.place.node
    kind = WaitProducts if isinstance(node, Store) and node.asynchronous and node.update is not None else Wait

    def covered(case: Expr, wait: Place | None, mine: dict[Var, Expr]) -> bool:
        ways = _pending(pair, wait, mine) if wait is not None else ()
        return any(pair.impossible([conjunction(case, p) for p in pending]) for pending in ways)

    def waited(case: Expr, where: Place) -> bool:
        """True if a wait that comes before a place covers it, in the same iterations or in the one before."""
        return covered(case, where.wait, mine) or any(
            pair.impossible([conjunction(case, compare("<", mine[n.var], index(1)))])
            and covered(case, wait, {**mine, n.var: sub(mine[n.var], index(1))}) for n, wait in _last_waits(where, places, kind))

    if pair.impossible(before) or (met is not None and all(waited(case, met) for case in before)):
        return None
    return "barrier" if all(waited(case, at) for case in before) else "arrival"


def _last_waits(at: Place, places: Sequence[Place], kind: type[Wait | WaitProducts]) -> Iterator[tuple[For, Place]]:
    """Of loops around a statement, the last wait of their bodies, if it stands behind it: that of the iteration before was passed."""
    for n in at.steps:
        behind = [p for p in places if p.order > at.order and isinstance(p.node, kind) and p.node in n.body]
        if behind and behind[-1].reached:
            yield n, behind[-1]


def _pending(pair: _Pair, wait: Place, mine: dict[Var, Expr]) -> Iterator[list[Expr]]:
    """The cases in which a copy may be under way behind a wait in front of its use: each list is all of them, told in another way.

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
        apart = (compare("!=", mine[n.var], pair.of(copy, n.var)) for n in since.steps)
        behind = _order(since, copy.place, mine, pair.renamed[copy])
        yield [conjunction(b, c) for c in (late, *apart) for b in behind]


def _after_reads(kernel: Kernel, read: Use, copy: Use) -> bool:
    """True if a barrier stands between each read and the copies to its element that come later."""
    pair = _Pair(kernel, read, copy)
    before, meeting = pair.earlier(), copy.place.cleared
    if meeting is None:
        return pair.impossible(before)
    behind = _order(meeting, read.place, pair.renamed[copy], pair.renamed[read])
    return pair.impossible([conjunction(a, b) for a in before for b in behind])


class _Pair:
    """Instances of two uses that name one element."""

    def __init__(self, kernel: Kernel, a: Use, b: Use) -> None:
        self.kernel, self.uses, self.axes = kernel, (a, b), list[Axis]()
        self.across = a.place.across + b.place.across
        self.renamed = {a: self._instance(a, "a")}
        self.renamed[b] = self._instance(b, "b")
        held = ((u, n.cond) for u in self.uses for n in u.place.above if isinstance(n, If) and not tensors(n.cond))
        self.held = [self.of(u, cond) for u, cond in held]
        self.same = [compare("==", self.of(a, i), self.of(b, j)) for i, j in zip(a.indices, b.indices)
                     if not tensors(i) and not tensors(j)]

    def _instance(self, use: Use, suffix: str) -> dict[Var, Expr]:
        """Variables of its own for an instance, but for the block, which is the same for all that share memory; others of its cluster
        where these copy to it.
        """
        values: dict[Var, Expr] = {}
        for n in use.place.loops:
            if is_block(n) and not (n.kind.startswith("cluster") and n.kind[-1] in self.across):
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
        """True if none of the cases is possible: asked of the first index, which tells buffers apart, then of all."""
        return all(never(conjunction(c, *self.same[:1], *self.held), self.axes, self.kernel.requires)
                   or never(conjunction(c, *self.same, *self.held), self.axes, self.kernel.requires) for c in cases)


def _order(a: Place, b: Place, mine: dict[Var, Expr], theirs: dict[Var, Expr]) -> list[Expr]:
    """The cases in which an instance of `a` comes before one of `b`."""
    cases: list[Expr] = []
    equal: list[Expr] = []
    for n, m in zip(a.steps, b.steps):
        if n is not m:
            break
        i, j = mine[n.var], theirs[n.var]
        cases.append(conjunction(*equal, compare("<", i, j)))
        equal.append(compare("==", i, j))
    return [*cases, conjunction(*equal)] if a.order < b.order else cases



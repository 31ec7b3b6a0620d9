"""The timeline of asynchronous operations in a kernel: issued, committed in groups, waited for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from texpr.ir.build import add, integer, maximum, mul
from texpr.ir.expr import Expr, Node, index
from texpr.ir.loop import (
    Barrier,
    Commit,
    CommitProducts,
    For,
    If,
    Stmt,
    Store,
    Wait,
    WaitProducts,
    is_block,
    shared_along,
)
from texpr.ir.loop_kind import Block, Cluster, LoopKind, Thread
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.ir.traverse import equal, walk
from texpr.support.frozen_dataclass import frozen, frozen_by_identity


@frozen
class Unproven:
    """A fault: a rule of asynchronous copies, or of products, that is not proven.

    Attributes:
        kind: `source` (the nest writes what is copied), `place` (a wait or commit that not all
            threads reach), `arrival` (a copy may arrive after it is read), `barrier` (no barrier
            behind the wait), `overwritten` (a copy may arrive before the last read); of bulk copies
            also what `barrier_phases` asks: `mixed`, `counter`, `bytes`, `phase`, `turn`, `left`;
            of those of clusters what `multicast` asks: `apart`, `uneven`; of products what
            `products` asks: `uncounted`, `unfinished`, `operand`.
        statement: the store, wait or commit it is about.
        copy: the asynchronous copy or product.
    """

    kind: str
    statement: Stmt
    copy: Store


@frozen_by_identity
class TimelinePoint:
    """A statement with the loops and conditions around it, and its position between commits, waits
    and barriers.

    Attributes:
        enclosing: loops and conditions around it, outermost first.
        order: its number in the text.
        reached: True if all threads of a block come to it equally often: under no condition, in no
            loop over some of them.
        committed: the number of groups before it, since the nest began (`None`) and since each wait
            for all groups that its thread has passed in any case; without those for which it is not
            known.
        last_barrier: the last barrier before it that its thread passes in any case; None if there
            is none.
        last_wait: the last such wait.
        last_cluster_barrier: the last such barrier of all blocks of a cluster.
    """

    node: Stmt
    enclosing: tuple[For | If, ...]
    order: int
    reached: bool
    committed: Mapping[TimelinePoint | None, Expr]
    last_barrier: TimelinePoint | None = None
    last_wait: TimelinePoint | None = None
    last_cluster_barrier: TimelinePoint | None = None

    @property
    def loops(self) -> tuple[For, ...]:
        return tuple(n for n in self.enclosing if isinstance(n, For))

    @property
    def serial_loops(self) -> tuple[For, ...]:
        """The loops whose iterations come one after the other."""
        return tuple(n for n in self.loops if not isinstance(n.kind, Block | Cluster | Thread))

    @property
    def multicast_axes(self) -> str:
        """The axes along which all blocks of a cluster get what is copied here."""
        return next(filter(None, map(shared_along, self.loops)), "")

    @property
    def required_barrier(self) -> TimelinePoint | None:
        """The last barrier before it of all whose memory it may change."""
        return self.last_cluster_barrier if self.multicast_axes else self.last_barrier


@frozen_by_identity
class Use:
    """An access to a buffer that copies fill; of what is begun there, the commit that makes it
    part of a group in any case.
    """

    place: TimelinePoint
    indices: tuple[Expr, ...]
    commit: TimelinePoint | None = None


def issued_use(place: TimelinePoint, indices: tuple[Expr, ...], places: Sequence[TimelinePoint]) -> Use:
    """The use by an operation that is issued at a point, with the first commit behind it in the
    same loops.
    """
    own = set(place.enclosing)
    behind = (
        p
        for p in places
        if p.order > place.order
        and isinstance(p.node, Commit | CommitProducts)
        and own.issuperset(p.enclosing)
    )
    return Use(place, indices, next(behind, None))


def is_copy(n: Node) -> bool:
    """True if a copy is begun here."""
    return isinstance(n, Store) and n.mode is ASYNCHRONOUS and n.update is None


class TimelineBuilder:
    """Visits a nest in the order of its text, and counts groups of copies, or of products."""

    def __init__(
        self, commit: type[Commit | CommitProducts] = Commit, wait: type[Wait | WaitProducts] = Wait
    ) -> None:
        self.order, self.commit, self.waits = 0, commit, wait
        self.shared_out = frozenset[LoopKind]()

    def places(self, top: Stmt) -> Iterator[TimelinePoint]:
        extents: dict[LoopKind, list[Expr]] = {}
        for n in walk(top):
            if isinstance(n, For) and isinstance(n.kind, Thread):
                extents.setdefault(n.kind, []).append(n.extent)
        # A block has as many threads along an axis as the longest loop over them.
        self.shared_out = frozenset(
            kind for kind, found in extents.items() if all(equal(n, found[0]) for n in found)
        )
        yield from self._of(top, (), {None: index(0)}, (None, None, None))

    def _runs_once(self, n: Stmt) -> bool:
        """True if every thread of the grid runs one iteration of a loop, and threads of a block
        together.
        """
        return is_block(n) or isinstance(n, For) and n.kind in self.shared_out

    def _of(
        self,
        s: Stmt,
        above: tuple[For | If, ...],
        committed: Mapping[TimelinePoint | None, Expr],
        passed: tuple[TimelinePoint | None, TimelinePoint | None, TimelinePoint | None],
    ) -> Iterator[TimelinePoint]:
        """Args:
        passed: the last barrier, wait and barrier of a cluster.
        """
        self.order += 1
        reached = all(
            isinstance(n, For) and (not isinstance(n.kind, Thread) or self._runs_once(n)) for n in above
        )
        here = TimelinePoint(s, above, self.order, reached, committed, *passed)
        yield here
        if not isinstance(s, For | If):
            return
        inside = (*above, s)
        if isinstance(s, For) and not self._runs_once(s):
            each = self._total(s.body)
            committed = {} if each is None else _advance(committed, mul(s.var, index(each)))
        meeting, wait, together = passed
        for n in s.body:
            before, committed = committed, self._after(n, committed)
            for place in self._of(n, inside, before, (meeting, wait, together)):
                yield place
                if place.node is n and isinstance(n, self.waits) and place.reached:
                    wait = place
                    committed = {**committed, place: index(0)} if n.pending == 0 else committed
                elif place.node is n and isinstance(n, Barrier) and place.reached:
                    meeting, together = place, place if n.cluster else together

    def _after(
        self, s: Stmt, committed: Mapping[TimelinePoint | None, Expr]
    ) -> Mapping[TimelinePoint | None, Expr]:
        """The numbers of groups after a statement, from those before it."""
        known = self._commits(s)
        if known is not None:
            return _advance(committed, index(known))
        each = self._total(s.body) if isinstance(s, For) else None
        return {} if each is None else _advance(committed, mul(maximum(index(0), s.extent), index(each)))  # type: ignore[union-attr]

    def _commits(self, s: Stmt) -> int | None:
        """The number of groups that a statement commits; None if it is not known. Of loops over
        blocks and threads each runs one.
        """
        if isinstance(s, self.commit):
            return 1
        if not isinstance(s, For | If):
            return 0
        inside = self._total(s.body)
        times = 1 if self._runs_once(s) else integer(s.extent) if isinstance(s, For) else None
        return 0 if inside == 0 else None if times is None or inside is None else times * inside

    def _total(self, body: Iterable[Stmt]) -> int | None:
        total = 0
        for n in map(self._commits, body):
            if n is None:
                return None
            total += n
        return total


def _advance(
    committed: Mapping[TimelinePoint | None, Expr], count: Expr
) -> Mapping[TimelinePoint | None, Expr]:
    return {since: add(n, count) for since, n in committed.items()}

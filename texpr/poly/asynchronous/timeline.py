"""Asynchronous copies on their way through a kernel: begun, committed in groups, waited for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from texpr.ir.build import add, integer, maximum, mul
from texpr.ir.expr import Expr, Node, index
from texpr.ir.loop import Barrier, Commit, CommitProducts, For, If, Stmt, Store, Wait, WaitProducts, is_block, shared_along
from texpr.ir.traverse import equal, walk


@dataclass(frozen=True, slots=True)
class Unproven:
    """What is not proven of asynchronous copies.

    Attributes:
        kind: `source` (the nest writes what is copied), `place` (a wait or commit that not all threads reach), `arrival` (a copy may arrive
            after it is read), `barrier` (no barrier behind the wait), `overwritten` (a copy may arrive before the last read); of bulk
            copies also what `barrier_phases` asks: `mixed`, `counter`, `bytes`, `phase`, `turn`, `left`; of those of clusters what
            `multicast` asks: `apart`, `uneven`.
        statement: the store, wait or commit it is about.
        copy: the asynchronous copy.
    """

    kind: str
    statement: Stmt
    copy: Store


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A statement with what stands around it and where.

    Attributes:
        above: loops and conditions around it, outermost first.
        order: its number in the text.
        reached: whether all threads of a block come to it equally often: under no condition, in no loop over some of them.
        committed: how many groups there are before it, since the nest began (`None`) and since each wait for all groups that its thread has
            passed in any case; without those of which that is not known.
        meeting: the last barrier before it that its thread passes in any case; None if there is none.
        wait: the last such wait.
        together: the last such barrier of all blocks of a cluster.
    """

    node: Stmt
    above: tuple[For | If, ...]
    order: int
    reached: bool
    committed: Mapping[Place | None, Expr]
    meeting: Place | None = None
    wait: Place | None = None
    together: Place | None = None

    @property
    def loops(self) -> tuple[For, ...]:
        return tuple(n for n in self.above if isinstance(n, For))

    @property
    def steps(self) -> tuple[For, ...]:
        """The loops whose iterations come one after the other."""
        return tuple(n for n in self.loops if not n.kind.startswith(("block", "cluster", "thread")))

    @property
    def across(self) -> str:
        """The axes along which all blocks of a cluster get what is copied here."""
        return next(filter(None, map(shared_along, self.loops)), "")

    @property
    def cleared(self) -> Place | None:
        """The last barrier before it of all whose memory it may change."""
        return self.together if self.across else self.meeting


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """An access to a buffer that copies fill; of what is begun there, the commit that makes it part of a group in any case."""

    place: Place
    indices: tuple[Expr, ...]
    commit: Place | None = None


def begun(place: Place, indices: tuple[Expr, ...], places: Sequence[Place]) -> Use:
    """The use by what begins at a place, with the first commit behind it in the same loops."""
    own = set(place.above)
    behind = (p for p in places if p.order > place.order and isinstance(p.node, Commit | CommitProducts) and own.issuperset(p.above))
    return Use(place, indices, next(behind, None))


def is_copy(n: Node) -> bool:
    """True if a copy is begun here."""
    return isinstance(n, Store) and n.asynchronous and n.update is None


class Walk:
    """Goes through a nest in the order of its text, and counts groups of copies, or of products."""

    def __init__(self, commit: type[Commit | CommitProducts] = Commit, wait: type[Wait | WaitProducts] = Wait) -> None:
        self.order, self.commit, self.waits = 0, commit, wait
        self.shared_out = frozenset[str]()

    def places(self, top: Stmt) -> Iterator[Place]:
        extents: dict[str, list[Expr]] = {}
        for n in walk(top):
            if isinstance(n, For) and n.kind.startswith("thread"):
                extents.setdefault(n.kind, []).append(n.extent)
        # A block has as many threads along an axis as the longest loop over them.
        self.shared_out = frozenset(kind for kind, found in extents.items() if all(equal(n, found[0]) for n in found))
        yield from self._of(top, (), {None: index(0)}, (None, None, None))

    def _once(self, n: Stmt) -> bool:
        """True if every thread of the grid runs one iteration of a loop, and threads of a block together."""
        return is_block(n) or isinstance(n, For) and n.kind in self.shared_out

    def _of(self, s: Stmt, above: tuple[For | If, ...], committed: Mapping[Place | None, Expr],
            passed: tuple[Place | None, Place | None, Place | None]) -> Iterator[Place]:
        """Args:
            passed: the last barrier, wait and barrier of a cluster.
        """
        self.order += 1
        reached = all(isinstance(n, For) and (not n.kind.startswith("thread") or self._once(n)) for n in above)
        here = Place(s, above, self.order, reached, committed, *passed)
        yield here
        if not isinstance(s, For | If):
            return
        inside = (*above, s)
        if isinstance(s, For) and not self._once(s):
            each = self._total(s.body)
            committed = {} if each is None else _more(committed, mul(s.var, index(each)))
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

    def _after(self, s: Stmt, committed: Mapping[Place | None, Expr]) -> Mapping[Place | None, Expr]:
        """How many groups there are after a statement, from how many there are before it."""
        known = self._commits(s)
        if known is not None:
            return _more(committed, index(known))
        each = self._total(s.body) if isinstance(s, For) else None
        return {} if each is None else _more(committed, mul(maximum(index(0), s.extent), index(each)))  # type: ignore[union-attr]

    def _commits(self, s: Stmt) -> int | None:
        """How many groups a statement commits; None if that is no known number. Of loops over blocks and threads each runs one."""
        if isinstance(s, self.commit):
            return 1
        if not isinstance(s, For | If):
            return 0
        inside = self._total(s.body)
        times = 1 if self._once(s) else integer(s.extent) if isinstance(s, For) else None
        return 0 if inside == 0 else None if times is None or inside is None else times * inside

    def _total(self, body: Iterable[Stmt]) -> int | None:
        total = 0
        for n in map(self._commits, body):
            if n is None:
                return None
            total += n
        return total


def _more(committed: Mapping[Place | None, Expr], count: Expr) -> Mapping[Place | None, Expr]:
    return {since: add(n, count) for since, n in committed.items()}

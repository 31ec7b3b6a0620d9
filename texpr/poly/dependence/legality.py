"""Legality of orders of execution: dependences between the statements of a kernel, as
satisfiability questions.

Two accesses to one element, at least one of them a write, must keep their order. The question for a
pair of statements is a conjunction over the sizes, the iterations of both and the element; "source
first" is a disjunction over the loops that both share, asked one by one. A solution is a conflict,
and its lexicographic minimum the example shown to the user.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from texpr.ir.affine import Linear, linear
from texpr.ir.expr import Cast, Expr, Read, Tensor, Var
from texpr.ir.loop import For, Kernel, Store
from texpr.poly.constraints.congruence import distinct_arguments, distinct_row_facts
from texpr.poly.constraints.distances import distances, order, runs_first
from texpr.poly.constraints.linear_forms import Form, Unknown, fresh, variable
from texpr.poly.constraints.proof_thread import one_at_a_time
from texpr.poly.constraints.solver import OutOfQuota, Question, run_within_quota
from texpr.poly.dependence.collapsed_tiles import in_earlier_tile, is_tile_digit
from texpr.poly.dependence.execution_order import at_level, in_order
from texpr.poly.dependence.instance_maps import Image, images, require_instance, same_instances
from texpr.poly.dependence.kernel_model import (
    Access,
    Nest,
    Statement,
    contains_loop,
    model,
    shared_by,
    subkernel,
    without_equal_ends,
)
from texpr.poly.dependence.reversed_pairs import ReversedPairs
from texpr.poly.dependence.value_flow import mentions
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen, frozen_by_identity, replace
from texpr.support.unread import is_unread

SOURCE, SINK, NEW_SOURCE, NEW_SINK = 1, 2, 3, 4
"""The copies of variables in a question: instances before the step and, for
`reversed_dependence`, after it.
"""


@frozen
class Conflict:
    """Two instances that use one element, the source first, and that must not change places: the
    smallest example.

    Attributes:
        kind: `value_flow` (a read of what was written), `anti` (a write over what was read),
            `output` (a write over what was written).
        sizes: the smallest sizes, by name.
        source: a store and the values of its loop variables, by name.
        sink: the same, for the instance that runs later.
    """

    kind: str
    tensor: Tensor
    element: tuple[int, ...]
    sizes: dict[str, int]
    source: tuple[Store, dict[str, int]]
    sink: tuple[Store, dict[str, int]]


@frozen_by_identity
class AccessPair:
    """Two accesses to one tensor; a dependence where they meet and the source runs first."""

    source: Statement
    sink: Statement
    first: Access
    second: Access

    @property
    def kind(self) -> str:
        if self.first.kind == "read":
            return "anti"
        return "output" if self.second.kind == "write" else "flow"


@one_at_a_time
def carried_dependence(
    kernel: Kernel,
    loop: For,
    *,
    free: Callable[[Store], bool] | None = None,
    private: Collection[Tensor] = (),
) -> Conflict | None:
    """A dependence between two iterations of `loop` that are equal in the loops around it; None if
    there is none.

    Args:
        free: tells the updates whose order among themselves does not matter (see `reassociable`);
            none unless given.
        private: tensors of which each iteration has its own.
    Raises:
        ScheduleError: the question takes too long.
    """

    def search() -> Conflict | None:
        top = next(s for s in kernel.body if contains_loop(s, loop.var))
        nest = model(subkernel(kernel, (top,)))
        counted = nest.parted.loops_of(loop.var)
        inside = [s for s in nest.statements if any(n.var is counted[0] for n in s.loops)]
        pairs = list(access_pairs(inside, free or (lambda _: False), private))
        found = _smallest_conflict(
            nest, (w for pair in pairs for var in counted for w in _between_iterations(nest, pair, var))
        )
        if found is None or not is_tile_digit(nest, loop.var):
            return found
        real = _smallest_conflict(nest, (w for pair in pairs for w in _between_digits(nest, pair, loop.var)))
        if real is None:
            raise ScheduleError(
                f"running the iterations of `{loop.var.name}`, tiles of joined loops, in another order is "
                f"not proven legal",
                code="order",
                help="take this step before fuse, or give the sizes: tx.schedule(op, N=...)",
            )
        return real

    return _within_quota(search, f"running the iterations of `{loop.var.name}` in another order")


@one_at_a_time
def reversed_dependence(
    before: Kernel,
    after: Kernel,
    origin: Mapping[Store, Store],
    instance: Mapping[Store, Mapping[Var, Expr]],
    private: Mapping[Tensor, tuple[Var, ...]] | None = None,
) -> Conflict | None:
    """A dependence of `before` that `after` turns around; None if it keeps them all.

    Args:
        origin: the store of `before` that each store of `after` comes from.
        instance: for each store of `after`, the loop variables of its origin in terms of its own; a
            variable left out stays.
        private: tensors whose values stay within an iteration of these loops, in both kernels.
    Raises:
        ScheduleError: the question takes too long, or the ranges of the loops are not linear.
        AssertionError: `after` does not run exactly the instances of `before`.
    """

    def search() -> Conflict | None:
        old, new = map(model, without_equal_ends(before, after))
        old = replace(
            old, private={**old.private, **{t: old.parted.loops_of(*of) for t, of in (private or {}).items()}}
        )
        found = images(old, new, origin, instance)
        if not same_instances(old, new, found):
            exact = all(s.exact for s in (*old.statements, *new.statements)) and all(
                i.exact for of in found.values() for i in of
            )
            assert not exact, "the step loses or repeats instances"
            before_what = "fuse" if old.parted.loops else "the loops are split"
            raise ScheduleError(
                "which iterations run in the new order cannot be proven",
                code="order",
                help=f"their ranges are not linear in the loops around; take this step before {before_what}",
            )
        free = {s for s, of in found.items() for i in of if reassociable(i.statement.store)}
        pairs = access_pairs(old.statements, free.__contains__, ())
        reversed_pairs = ReversedPairs(old, new)
        return _smallest_conflict(old, (w for pair in pairs for w in _reversed(reversed_pairs, pair, found)))

    return _within_quota(search, "the new order")


@one_at_a_time
def runs_in_order(
    kernel: Kernel,
    reference: Kernel,
    tensors: Collection[Tensor],
    origin: Mapping[Store, Store],
    instance: Mapping[Store, Mapping[Var, Expr]],
) -> bool:
    """True if a kernel computes the tensors as equations say, whose nests, in the order of the
    text, are the reference.

    It runs every instance of the reference once; it reads no element before the last write and
    update of it; it folds values that may not be folded in another order in the order of the
    reference.

    Args:
        origin: as for `reversed_dependence`.
        instance: as for `reversed_dependence`.
    """

    def search() -> bool:
        old, new = model(reference), model(kernel)
        found = images(old, new, origin, instance)
        if any(True for _ in _premature_accesses(new, tensors)) or not same_instances(old, new, found):
            return False
        pairs = (
            p
            for p in access_pairs(old.statements, reassociable, ())
            if p.first.kind == p.second.kind == "update"
            and p.first.tensor in tensors
            and not reassociable(p.source.store)
        )
        reversed_pairs = ReversedPairs(old, new)
        return not any(True for pair in pairs for _ in _reversed(reversed_pairs, pair, found))

    try:
        return run_within_quota(search)
    except OutOfQuota:
        return False


@one_at_a_time
def reads_after_writes(kernel: Kernel, tensors: Collection[Tensor]) -> bool:
    """True if a kernel reads no element of the tensors before the last write and update of it,
    and updates none before a write.
    """
    try:
        return run_within_quota(lambda: not any(True for _ in _premature_accesses(model(kernel), tensors)))
    except OutOfQuota:
        return False


@one_at_a_time
def written_once(kernel: Kernel, tensor: Tensor) -> bool:
    """True if it is proven that no element of a tensor is written twice."""

    def search() -> bool:
        nest = model(kernel)
        uses = [
            (s, a) for s in nest.statements for a in s.accesses if a.tensor is tensor and a.kind != "read"
        ]
        pairs = (AccessPair(s, t, first, second) for s, first in uses for t, second in uses)
        return all(a.kind == "write" for _, a in uses) and not any(
            True for pair in pairs for _ in _before(nest, pair)
        )

    try:
        return run_within_quota(search)
    except OutOfQuota:
        return False


@one_at_a_time
def later_read(kernel: Kernel, store: Store) -> Conflict | None:
    """A read or an update, after a store, of an element that it writes, whether another write comes
    between or not; None if there is none.

    Raises:
        ScheduleError: the question takes too long.
    """

    def search() -> Conflict | None:
        nest = model(subkernel(kernel, [s for s in kernel.body if mentions(s, store.tensor)]))
        uses = [(s, a) for s in nest.statements for a in s.accesses if a.tensor is store.tensor]
        pairs = [
            AccessPair(s, t, first, second)
            for s, first in uses
            for t, second in uses
            if s.store is store and first.kind != "read" and second.kind != "write"
        ]
        return _smallest_conflict(nest, (w for pair in pairs for w in _before(nest, pair)))

    return _within_quota(search, f"leaving out {store.tensor.name}")


@one_at_a_time
def dependence_on(
    kernel: Kernel,
    sinks: Collection[Store],
    sources: Collection[Store],
    depth: int,
    distance: int,
    private: Collection[Tensor] = (),
) -> Conflict | None:
    """A dependence of one of `sinks` on one of `sources`, in the same iteration of the `depth`
    outermost loops, on one of at most `distance` iterations before of the loop inside; None if
    there is none.

    Args:
        private: tensors that do not count.
    Raises:
        ScheduleError: the question takes too long.
    """

    def search() -> Conflict | None:
        nest = model(kernel)
        pairs = [
            AccessPair(s, t, first, second)
            for s in nest.statements
            if s.store in sources
            for t in nest.statements
            if t.store in sinks
            for first in s.accesses
            for second in t.accesses
            if first.tensor is second.tensor
            and first.tensor not in private
            and not first.kind == second.kind == "read"
        ]
        return _smallest_conflict(nest, (w for pair in pairs for w in _before(nest, pair, depth, distance)))

    return _within_quota(search, "another order of these statements")


@one_at_a_time
def runs_same_instances(
    before: Kernel, after: Kernel, origin: Mapping[Store, Store], instance: Mapping[Store, Mapping[Var, Expr]]
) -> bool:
    """True if `after` is proven to run every instance of `before` exactly once. Arguments as for
    `reversed_dependence`.
    """

    def proven() -> bool:
        old, new = map(model, without_equal_ends(before, after))
        return same_instances(old, new, images(old, new, origin, instance))

    try:
        return run_within_quota(proven)
    except OutOfQuota:
        return False


_WRONG_ORDER = {("read", "write"), ("read", "update"), ("update", "write")}


def _premature_accesses(nest: Nest, tensors: Collection[Tensor]) -> Iterator[_Witness]:
    """Reads of elements of the tensors before a write or an update of them, and updates before a
    write.
    """
    for pair in access_pairs(nest.statements, lambda _: False, ()):
        if pair.first.tensor in tensors and (pair.first.kind, pair.second.kind) in _WRONG_ORDER:
            yield from _before(nest, pair)


@one_at_a_time
def anti_dependence(kernel: Kernel, readers: Collection[Store], depth: int) -> Conflict | None:
    """A write over an element that one of `readers` read before, in the same iteration of the
    `depth` outermost loops around both; None if there is none. Writes by the readers themselves do
    not count.

    Raises:
        ScheduleError: the question takes too long.
    """

    def search() -> Conflict | None:
        nest = model(kernel)
        reads = [
            (s, a) for s in nest.statements if s.store in readers for a in s.accesses if a.kind == "read"
        ]
        writes = [
            (s, a) for s in nest.statements if s.store not in readers for a in s.accesses if a.kind != "read"
        ]
        pairs = [
            AccessPair(s, t, first, second)
            for s, first in reads
            for t, second in writes
            if first.tensor is second.tensor and s.common(t) >= nest.within(s, depth)
        ]
        return _smallest_conflict(nest, (w for pair in pairs for w in _before(nest, pair, depth)))

    return _within_quota(search, "that what is read keeps its values")


@one_at_a_time
def read_after_write(kernel: Kernel, tensor: Tensor, loops: Sequence[For]) -> Conflict | None:
    """A read of an element of `tensor` after a write of it in the same iteration of nested `loops`;
    None if there is none.

    Raises:
        ScheduleError: the question takes too long.
    """

    def search() -> Conflict | None:
        nest = model(subkernel(kernel, [s for s in kernel.body if contains_loop(s, loops[0].var)]))
        last = nest.parted.loops_of(loops[-1].var)[-1]
        inside = [s for s in nest.statements if any(n.var is last for n in s.loops)]
        uses = [(s, a) for s in inside for a in s.accesses if a.tensor is tensor]
        pairs = [
            AccessPair(s, t, first, second)
            for s, first in uses
            for t, second in uses
            if first.kind != "read" == second.kind
        ]
        return _smallest_conflict(nest, (w for pair in pairs for w in _before(nest, pair, len(loops))))

    return _within_quota(search, f"reading {tensor.name} at once")


def _before(nest: Nest, pair: AccessPair, depth: int = 0, distance: int | None = None) -> Iterator[_Witness]:
    """Solutions with the source before the sink, in the same iteration of the `depth` outermost
    loops; in the next one inside, at most `distance` iterations before. Of joined loops, any number
    of iterations before.
    """
    same = nest.within(pair.source, depth)
    common = pair.source.loops[: pair.source.common(pair.sink)]

    def first(at: Sequence[Form], to: Sequence[Form]) -> bool:
        """True if distances leave it open that the source runs first."""
        equal = (*nest.private.get(pair.first.tensor, ()), *(n.var for n in common[:same]))
        known = distances(at, to, common, nest.converter.is_shared, equal)
        return (
            known is not None
            and runs_first(order((n.var for n in common), known), pair.source.order < pair.sink.order)
            is not False
        )

    for question, shown in conflict_questions(nest, nest, pair, wanted=first):
        if distance is not None and nest.within(pair.source, depth + 1) == same + 1:
            inner = variable(pair.source.loops[same].var)
            question.add(question.compare(inner, SOURCE, inner, SINK, gap=-distance))
        question.equate((n.var for n in pair.source.loops[:same]), SOURCE, SINK)
        for ordered in in_order(question.system(), question, pair.source, pair.sink, SOURCE, SINK):
            yield from ((pair, allowed.smallest(shown)) for allowed in question.cases(ordered))


def reassociable(store: Store) -> bool:
    """Updates whose order does not change the result, or was given up: integers wrap, max and
    min have one answer.
    """
    return store.update is not None and (
        store.reassoc or store.update in ("max", "min") or not store.tensor.dtype.is_float
    )


def _within_quota(search: Callable[[], Conflict | None], what: str) -> Conflict | None:
    try:
        return run_within_quota(search)
    except OutOfQuota:
        raise ScheduleError(
            f"{what} cannot be proven legal within the quota",
            code="order",
            help="give the sizes as constants, or take this step before the loops are split",
        ) from None


def access_pairs(
    statements: Sequence[Statement], ignored: Callable[[Store], bool], private: Collection[Tensor]
) -> Iterator[AccessPair]:
    """The pairs of accesses that may conflict, in both orders."""
    by_tensor: dict[Tensor, list[tuple[Statement, Access]]] = {}
    for s in statements:
        for access in s.accesses:
            if access.tensor not in private:
                by_tensor.setdefault(access.tensor, []).append((s, access))
    for accesses in by_tensor.values():
        for (s, first), (t, second) in product(accesses, accesses):
            # Statements that differ in their place alone share their accesses.
            alone = s is t and first is second
            if first.kind == second.kind == "read" or alone and (ignored(s.store) or _rewrites_same_value(s)):
                continue
            yield AccessPair(s, t, first, second)


def _rewrites_same_value(s: Statement) -> bool:
    """True if instances that write one element are one instance of the equation, run twice: they
    write one value, in any order. Of updates this is not known: partial results are joined in
    instances that the equation does not count.
    """
    return s.store.update is None and bool(s.store.at) and _is_of(s.store, frozenset(n.var for n in s.loops))


@lru_cache(maxsize=4096)  # most stores stay what they are from step to step
def _is_of(store: Store, moving: Collection[Var]) -> bool:
    """True if the element of a store says of which instance of the equation it is."""
    return all(any(_determines(i, at, moving) for i in store.indices) for at in store.at)


def _determines(i: Expr, at: Expr, moving: Collection[Var]) -> bool:
    """True if equal values of an index are of equal values of `at`: the index is a multiple of it,
    or a distinct value that is read there.

    Args:
        moving: the loops; all other variables are sizes.
    """
    match i:
        case Cast(inside) if inside.dtype.is_int and inside.dtype.bits <= i.dtype.bits:
            return _determines(inside, at, moving)
        case Read(tensor, (place,)) if tensor.distinct:
            return _determines(place, at, moving)
    mine, theirs = linear(i), linear(at)
    term, d = next(((t, c) for t, c in theirs.terms if t in moving), (None, 1))
    if term is None:
        return not theirs.terms
    c = next((c for t, c in mine.terms if t is term), 0)
    if c == 0:  # as for most indices and most dimensions of an instance
        return False
    times = Linear(tuple([(t, d * k) for t, k in mine.terms]), d * mine.constant)
    return all(isinstance(t, Var) and t not in moving for t, _ in times.plus(theirs, -c).terms)


_Witness = tuple[AccessPair, tuple[int, ...]]


def _between_iterations(nest: Nest, pair: AccessPair, var: Var) -> Iterator[_Witness]:
    """Solutions with the source in an earlier iteration of the loop, the loops around it being
    equal.
    """
    depth = next(k for k, n in enumerate(pair.source.loops) if n.var is var)
    loops = pair.source.loops[: depth + 1]

    def later(at: Sequence[Form], to: Sequence[Form]) -> bool:
        """True if distances leave it open that the sink runs in a later one."""
        equal = {*nest.private.get(pair.first.tensor, ()), *(n.var for n in loops[:-1])}
        data = {k for i in at for k, _ in i.terms if nest.converter.is_decided(k, equal)}
        known = distances(at, to, loops, nest.converter.is_shared, equal | data)
        return known is not None and known.get(var, 1) > 0

    for question, shown in conflict_questions(nest, nest, pair, wanted=later):
        ordered = at_level(question.system(), question, pair.source, depth, SOURCE, SINK)
        yield from ((pair, allowed.smallest(shown)) for allowed in question.cases(ordered))


def _between_digits(nest: Nest, pair: AccessPair, var: Var) -> Iterator[_Witness]:
    """The same of a loop that counts tiles of joined loops, or what is in them; some, as far as
    they are seen.
    """
    for question, shown in conflict_questions(nest, nest, pair):
        for ordered in in_earlier_tile(nest, pair.source, var, question, SOURCE, SINK):
            yield from ((pair, allowed.smallest(shown)) for allowed in question.cases(ordered))


def _reversed(
    reversed_pairs: ReversedPairs, pair: AccessPair, of: Mapping[Store, Sequence[Image]]
) -> Iterator[_Witness]:
    """Solutions with the source first before the step and the sink first after it."""
    old = reversed_pairs.old
    for source, sink in product(of[pair.source.store], of[pair.sink.store]):
        if _same_order(pair, source, sink) or reversed_pairs.is_empty_for(
            pair.first.tensor, source, pair.first.cases, sink, pair.second.cases
        ):
            continue
        for question, shown in conflict_questions(old, reversed_pairs.new, pair):
            for given in product(source.cases(), sink.cases()):
                both = question.copy()
                require_instance(both, pair.source, given[0], SOURCE, NEW_SOURCE)
                require_instance(both, pair.sink, given[1], SINK, NEW_SINK)
                found = (
                    s
                    for ordered in in_order(both.system(), both, pair.source, pair.sink, SOURCE, SINK)
                    for reversed_order in in_order(
                        ordered, both, sink.statement, source.statement, NEW_SINK, NEW_SOURCE
                    )
                    for s in both.cases(reversed_order)
                )
                yield from ((pair, system.smallest(shown)) for system in found)


def _same_order(pair: AccessPair, source: Image, sink: Image) -> bool:
    """The loops that the two share, and their order, are what they were."""
    common = pair.source.common(pair.sink)
    if common != source.statement.common(sink.statement):
        return False
    if (pair.source.order < pair.sink.order) != (source.statement.order < sink.statement.order):
        return False
    return common <= source.kept and common <= sink.kept


def conflict_questions(
    old: Nest,
    new: Nest,
    pair: AccessPair,
    *,
    shown: bool = True,
    wanted: Callable[[Sequence[Form], Sequence[Form]], bool] = lambda at, to: True,
) -> Iterator[tuple[Question, int]]:
    """Questions, one per case: both statements run, their accesses meet in one element. With the
    number of columns an example shows, which are there where one is to be `shown`.

    Args:
        wanted: tells by the indices of both accesses whether a case is asked about.
    """
    for (p, at), (q, to) in product(pair.first.cases, pair.second.cases):
        if not wanted(at, to):
            continue
        question = Question(shared_by(old, new))
        elements = _example_columns(question, old, pair) if shown else []
        width = question.width
        question.require(old.facts)
        for pieces in old.choices:
            question.add_disjunction([[question.row(c) for c in piece] for piece in pieces])
        question.require(p, SOURCE)
        question.require(q, SINK)
        question.equate(old.private.get(pair.first.tensor, ()), SOURCE, SINK)
        question.add_all([question.compare(i, SOURCE, j, SINK) for i, j in zip(at, to)])
        question.add_all([question.compare(variable(e), 0, i, SOURCE) for e, i in zip(elements, at)])
        question.add_all(
            [question.compare(i, SOURCE, j, SINK) for i, j in distinct_arguments(old.converter, at, to)]
        )
        for choice in distinct_row_facts(old.converter, question, SOURCE, SINK):
            question.add_disjunction(choice)
        yield question, width


def _example_columns(question: Question, nest: Nest, pair: AccessPair) -> list[Unknown]:
    """The columns of an example: sizes, the iterations of both statements and the element, which
    is given back.
    """
    for size in nest.kernel.sizes:
        question.column(size)
    for statement, copy in ((pair.source, SOURCE), (pair.sink, SINK)):
        for n in statement.loops:
            question.column(n.var, copy)
    elements = fresh(pair.first.tensor.rank)
    for e in elements:
        question.column(e)
    return elements


def _smallest_conflict(nest: Nest, found: Iterator[_Witness]) -> Conflict | None:
    sizes = len(nest.kernel.sizes)
    if is_unread():
        best = next(found, None)
    else:
        best = min(found, key=lambda w: (w[1][:sizes], w[1][sizes:], w[0].kind != "flow"), default=None)
    if best is None:
        return None
    pair, values = best
    numbers = iter(values)
    at_sizes = {v.name: next(numbers) for v in nest.kernel.sizes}
    source = pair.source.store, nest.instance(pair.source, numbers, at_sizes)
    sink = pair.sink.store, nest.instance(pair.sink, numbers, at_sizes)
    return Conflict(pair.kind, pair.first.tensor, tuple(numbers), at_sizes, source, sink)

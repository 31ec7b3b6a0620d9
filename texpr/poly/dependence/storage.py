"""Storage folding: how few elements along a dimension hold a tensor, each for several values one
after the other?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeVar

from texpr.ir.expr import Tensor
from texpr.ir.loop import Kernel, Store
from texpr.poly.constraints.elimination import Row
from texpr.poly.constraints.linear_forms import Conjunction, Constraint, Form, Key, Unknown, fresh, variable
from texpr.poly.constraints.proof_thread import one_at_a_time
from texpr.poly.constraints.solver import OutOfQuota, Question, Region, System, run_within_quota
from texpr.poly.dependence.execution_order import in_order, in_order_at_times
from texpr.poly.dependence.kernel_model import Access, Nest, Statement, model, subkernel
from texpr.poly.dependence.last_writer import writer_instance
from texpr.poly.dependence.merged_copies import merge_copies
from texpr.poly.dependence.value_flow import mentions, parameters
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen, frozen_by_identity, replace

READ, CLOBBER, WRITE = 1, 2, 3

T = TypeVar("T")


@frozen
class Overwrite:
    """An element that is still needed when another one takes its place: the smallest example.

    Attributes:
        element: what is read.
        other: what was written over it.
        sizes: the smallest sizes, by name.
        writer: the store of the other element and the values of its loop variables, by name.
        reader: the same of the statement that reads.
    """

    tensor: Tensor
    element: tuple[int, ...]
    other: tuple[int, ...]
    sizes: dict[str, int]
    writer: tuple[Store, dict[str, int]]
    reader: tuple[Store, dict[str, int]]


@frozen_by_identity
class _LivePair:
    """Instances of a read and of a write between the last write of the element that is read and the
    read.

    Columns of the region: parameters, loops of both, the element, the other's index, by how much it
    is further, and a free one.
    """

    reader: Statement
    writer: Statement
    keys: tuple[Key, ...]
    region: Region


class Storage:
    """The elements of `tensor` along dimension `d` that are live at the same time.

    Raises:
        ScheduleError: the question takes too long.
    """

    @one_at_a_time
    def __init__(self, kernel: Kernel, tensor: Tensor, d: int) -> None:
        self.kernel, self.tensor, self.d = kernel, tensor, d
        self._nest = model(subkernel(kernel, [s for s in kernel.body if mentions(s, tensor)]))
        self._merged = self._within_quota(lambda: merge_copies(self._nest))
        self._live_pairs = self._within_quota(lambda: list(_live_pairs(self._merged, tensor, d)))

    def overwrite(self, depth: int) -> Overwrite | None:
        """An element that is lost if elements `depth` apart share a place; None if none is."""
        return self._within_quota(
            lambda: self._example(depth) if any(_colliding(self._live_pairs, depth)) else None
        )

    def depth(self, most: int) -> int | None:
        """The smallest depth, at most `most`, with which no element is lost."""
        return self._within_quota(
            lambda: next((n for n in range(1, most + 1) if not any(_colliding(self._live_pairs, n))), None)
        )

    def _example(self, depth: int) -> Overwrite:
        """In terms of the loops as they stand."""
        found = (
            self._live_pairs if self._merged is self._nest else _live_pairs(self._nest, self.tensor, self.d)
        )
        needed = next(_colliding(found, depth))
        numbers = iter(needed.region.smallest())
        given = {k: next(numbers) for k in needed.keys}
        sizes = {v.name: given[v] for v in self.kernel.sizes}
        reader = self._nest.instance(needed.reader, numbers, sizes)
        writer = self._nest.instance(needed.writer, numbers, sizes)
        element = tuple(next(numbers) for _ in range(self.tensor.rank))
        other = (*element[: self.d], next(numbers), *element[self.d + 1 :])
        return Overwrite(
            self.tensor, element, other, sizes, (needed.writer.store, writer), (needed.reader.store, reader)
        )

    def _within_quota(self, question: Callable[[], T]) -> T:
        try:
            return run_within_quota(question)
        except OutOfQuota:
            raise ScheduleError(
                f"how many elements of `{self.tensor.name}` are needed at once cannot be proven within the "
                f"quota",
                code="fold_storage",
                help="give the sizes as constants, or fold_storage before the loops are split",
            ) from None


def _colliding(needed: Iterable[_LivePair], depth: int) -> Iterator[_LivePair]:
    """The pairs in which elements `depth` apart, or a multiple of it, share a place."""
    for n in needed:
        last = n.region.count - 1
        region = n.region.also(([(last - 1, 1), (last, -depth)], 0, True))
        if not region.is_empty:
            yield replace(n, region=region)


def _live_pairs(nest: Nest, tensor: Tensor, d: int) -> Iterator[_LivePair]:
    uses = [(s, a) for s in nest.statements for a in s.accesses if a.tensor is tensor]
    writes = [(s, a) for s, a in uses if a.kind == "write" and a.exact]
    for (reader, read), (writer, over) in product(
        *([u for u in uses if u[1].kind != kind] for kind in ("write", "read"))
    ):
        keys = tuple(parameters(nest, [read, *(a for _, a in writes)]))
        count = len(keys) + len(reader.loops) + len(writer.loops) + tensor.rank + 3
        for clash in _overwritten(nest, keys, reader, read, writer, over, d):
            base = clash.question.system()
            before = list(_ordered(clash.question, base, ((writer, reader, CLOBBER, READ),)))
            live = [
                (direction, Region(count, found))
                for direction in clash.directions
                if (
                    found := [
                        both
                        for s in before
                        if not (both := s.also([direction])).is_empty
                        and not any(_is_written_since(clash, both, reader, writer, w, a) for w, a in writes)
                    ]
                )
            ]
            for w, a in writes:
                if live and (rewrites := list(_rewritten(clash, base, reader, writer, w, a))):
                    shrunk = [
                        (direction, region.minus(Region(count, (s.also([direction]) for s in rewrites))))
                        for direction, region in live
                    ]
                    live = [(direction, region) for direction, region in shrunk if not region.is_empty]
            yield from (_LivePair(reader, writer, keys, region) for _, region in live)


@frozen_by_identity
class _Clash:
    """A read of one element and a write of another one.

    Attributes:
        at: the index that is read.
        element: the columns of it.
        directions: the rows that put the other one after it along the dimension, and before it.
    """

    question: Question
    at: Sequence[Form]
    element: list[Unknown]
    directions: list[Row]


def _overwritten(
    nest: Nest, keys: Sequence[Key], reader: Statement, read: Access, writer: Statement, over: Access, d: int
) -> Iterator[_Clash]:
    for (p, at), (q, to) in product(read.cases, over.cases):
        question = Question(nest.converter.is_shared)
        for key in keys:
            question.column(key)
        for statement, copy in ((reader, READ), (writer, CLOBBER)):
            for n in statement.loops:
                question.column(n.var, copy)
        element = fresh(read.tensor.rank)
        other, distance, free = fresh(3)
        for key in (*element, other, distance, free):
            question.column(key)
        question.require(nest.facts)
        _at(question, p, at, element, READ)
        _at(question, q, to, [other if k == d else e for k, e in enumerate(element)], CLOBBER)
        question.add(question.compare(Form(((other, 1), (element[d], -1))), 0, variable(distance), 0))
        question.equate(nest.private.get(read.tensor, ()), READ, CLOBBER)
        directions = [
            question.compare(variable(distance).times(sign), 0, Form((), 1), 0, gap=0) for sign in (1, -1)
        ]
        yield _Clash(question, at, element, directions)


def _at(
    question: Question, piece: Conjunction, at: Sequence[Form], element: Sequence[Unknown], copy: int
) -> None:
    question.require(piece, copy)
    question.add_all([question.compare(variable(e), 0, i, copy) for e, i in zip(element, at)])


def _is_written_since(
    clash: _Clash, system: System, reader: Statement, clobber: Statement, writer: Statement, write: Access
) -> bool:
    """True if it is seen which instance writes the element, and that it always does so between the
    other write and the read.

    Most clashes end here; what is left is cut, which takes longer.
    """
    question = clash.question
    same: dict[Key, Form] = {n.var: variable(n.var) for n in reader.loops[: reader.common(writer)]}
    for piece, to in write.cases:
        if any(
            isinstance(k, Unknown) and not k.shared
            for f in (*to, *(c.form for c in piece))
            for k, _ in f.terms
        ):
            continue
        values = writer_instance(clash.at, writer, to, {}, same)
        if values is None:
            continue
        runs = (Constraint(c.form.over(values), c.equality) for c in piece)
        outside = _outside(question, system, reader, clobber, writer, values)
        if all(wrong.is_empty for wrong in outside) and all(_implied(question, system, c) for c in runs):
            return True
    return False


def _implied(question: Question, system: System, c: Constraint) -> bool:
    return system.implies(question.row(c, READ)) or all(
        system.also([question.row(no, READ)]).is_empty for no in c.opposites()
    )


def _outside(
    question: Question,
    system: System,
    reader: Statement,
    clobber: Statement,
    writer: Statement,
    values: Mapping[Key, Form],
) -> Iterator[System]:
    """The cases in which an instance of the writer, given in terms of the reader, is not between
    the other write and the read.
    """
    since = [(values[n.var], variable(n.var)) for n in writer.loops[: writer.common(clobber)]]
    yield from in_order_at_times(system, question, since, writer.order <= clobber.order, READ, CLOBBER)
    until = [(variable(n.var), values[n.var]) for n in writer.loops[: writer.common(reader)]]
    yield from in_order_at_times(system, question, until, reader.order <= writer.order, READ, READ)


def _rewritten(
    clash: _Clash, base: System, reader: Statement, clobber: Statement, writer: Statement, write: Access
) -> Iterator[System]:
    """The cases of the clash where the element is written between the other write and the read."""
    for piece, at in write.cases:
        both = clash.question.copy()
        _at(both, piece, at, clash.element, WRITE)
        yield from _ordered(
            both,
            both.extended_system(clash.question, base),
            ((clobber, writer, CLOBBER, WRITE), (writer, reader, WRITE, READ)),
        )


def _ordered(
    question: Question, base: System, pairs: Sequence[tuple[Statement, Statement, int, int]]
) -> Iterator[System]:
    """The systems in which the first of each pair runs before the second."""
    systems = [base]
    for first, second, a, b in pairs:
        systems = [both for system in systems for both in in_order(system, question, first, second, a, b)]
    yield from (system for system in systems if not system.is_empty)

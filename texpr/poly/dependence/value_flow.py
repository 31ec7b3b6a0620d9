"""Value-based dataflow of temporaries: which write does each read find?"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache

from texpr.ir.expr import Tensor, Var
from texpr.ir.loop import For, Kernel, Stmt
from texpr.ir.traverse import tensors
from texpr.poly.constraints.linear_forms import Key, Unknown, fresh, is_parameter, variable
from texpr.poly.constraints.proof_thread import one_at_a_time
from texpr.poly.constraints.solver import OutOfQuota, Question, Region, System, run_within_quota
from texpr.poly.dependence.execution_order import in_order
from texpr.poly.dependence.kernel_model import Access, Nest, Statement, model, placed_stores, subkernel
from texpr.poly.dependence.last_writer import is_written_before

READ, WRITE = 1, 2
MANY = 4
"""Writes of one tensor: of more, none alone is likely to write what a read finds."""


@one_at_a_time
def flow_stays_within(kernel: Kernel, tensor: Tensor, loops: Sequence[For]) -> bool:
    """True if every read of `tensor` sees a value written in the same iteration of `loops`, which
    enclose all its uses.

    That is: before each read, in the same iteration, some write to the element certainly happens;
    the last of them is what is read. False where this is not so or cannot be proven.
    """
    using = subkernel(kernel, [s for s in kernel.body if mentions(s, tensor)])
    key = tensor, tuple(n.var for n in loops), _order(using)
    if key not in _MEMO:
        try:
            found = run_within_quota(lambda: _stays_within(using, tensor, [n.var for n in loops]))
        except OutOfQuota:
            found = False
        _MEMO[key] = using, found
        while len(_MEMO) > _MEMO_SIZE:
            _MEMO.popitem(last=False)
    return _MEMO[key][1]


Order = tuple[Hashable, ...]
"""Stores with their loops and conditions, in the order of the text; kinds of loops are left out."""


def _order(kernel: Kernel) -> Order:
    """The order in which a kernel runs its stores, by their identity, with all else that its model
    is made of.
    """
    return (
        id(kernel.inputs),
        id(kernel.sizes),
        id(kernel.requires),
        *(
            (id(store), tuple((n.var, id(n.extent)) for n in loops), tuple(map(id, conditions)))
            for store, loops, conditions in placed_stores(kernel)
        ),
    )


_MEMO: OrderedDict[tuple[Tensor, tuple[Var, ...], Order], tuple[Kernel, bool]] = OrderedDict()
"""Proofs of the last kernels, by tensor, loops and order: a step asks again for the proofs of the
step before it, and so does the placement of buffers, for loops that have threads or lanes since.
"""
_MEMO_SIZE = 256


def _stays_within(kernel: Kernel, tensor: Tensor, loops: list[Var]) -> bool:
    nest = model(kernel)
    loops = list(nest.parted.loops_of(*loops))
    uses = [(s, a) for s in nest.statements for a in s.accesses if a.tensor is tensor]
    if any([n.var for n in s.loops[: len(loops)]] != loops for s, _ in uses):
        return False
    writes = [(s, a) for s, a in uses if a.kind == "write"] + [(s, a) for s, a in uses if a.kind == "update"]
    written = WrittenElements(nest, tensor, writes, len(loops))

    def by_one(reader: Statement, access: Access) -> bool:
        return any(is_written_before(nest, reader, access, writer, write) for writer, write in writes)

    proofs = (written.precede, by_one) if len(writes) > MANY else (by_one, written.precede)
    return all(
        any(proof(reader, access) for proof in proofs) or is_covered(nest, reader, access, writes, len(loops))
        for reader, access in uses
        if access.kind != "write"
    )


def mentions(s: Stmt, tensor: Tensor) -> bool:
    """True if the statement reads or writes the tensor, or declares it."""
    return tensor in _mentioned(s)


@lru_cache(maxsize=1024)  # asked of every tensor, and of most statements again after a step
def _mentioned(s: Stmt) -> frozenset[Tensor]:
    return frozenset(tensors(s))


class WrittenElements:
    """The elements of a tensor that each statement writes in an iteration of the outermost `depth`
    loops: made once for all that read them.
    """

    def __init__(
        self, nest: Nest, tensor: Tensor, writes: Sequence[tuple[Statement, Access]], depth: int
    ) -> None:
        self.nest, self.writes, self.depth = nest, writes, depth
        self._elements = fresh(tensor.rank)
        self._keys = parameters(nest, [a for s in nest.statements for a in s.accesses if a.tensor is tensor])
        self._count = len(self._keys) + depth + tensor.rank
        self._regions: dict[int, Region] = {}
        self._joined: dict[tuple[int, ...], Region] = {}

    def precede(self, reader: Statement, access: Access) -> bool:
        """True if every element that is read is written, in the same iteration of the outermost
        loops, by statements that all stand before the reader there.
        """
        earlier = tuple(
            k
            for k, (writer, write) in enumerate(self.writes)
            if write.exact and writer.order < reader.order and writer.common(reader) == self.depth
        )
        return bool(earlier) and self._region(reader, access).is_within(self._of(earlier))

    def _of(self, writes: tuple[int, ...]) -> Region:
        """The elements that some of the statements write."""
        if writes not in self._joined:
            for k in writes:
                if k not in self._regions:
                    self._regions[k] = self._region(*self.writes[k])
            first, *others = (self._regions[k] for k in writes)
            self._joined[writes] = first.joined(others)
        return self._joined[writes]

    def _region(self, statement: Statement, access: Access) -> Region:
        """The values of the outermost loops, and the elements of the access in their iteration."""
        cases = _accessed(self.nest, self._keys, self._elements, statement, access, self.depth)
        return Region(self._count, [question.system() for question in cases])


def is_covered(
    nest: Nest, reader: Statement, access: Access, writes: Sequence[tuple[Statement, Access]], depth: int
) -> bool:
    """True if each instance of a read comes after a write to its element, in its iteration of the
    outermost `depth` loops.
    """
    keys = parameters(nest, [access, *(a for _, a in writes)])
    elements = fresh(access.tensor.rank)
    count = len(keys) + len(reader.loops) + len(elements)
    reads = [(q, q.system()) for q in _accessed(nest, keys, elements, reader, access, len(reader.loops))]
    uncovered = Region(count, [system for _, system in reads])
    for writer, write in writes:
        if uncovered.is_empty:
            return True
        if write.exact:
            systems = [
                s for q, base in reads for s in _written(q, base, elements, reader, writer, write, depth)
            ]
            uncovered = uncovered.minus(Region(count, systems))
    return uncovered.is_empty


def parameters(nest: Nest, accesses: Iterable[Access]) -> list[Key]:
    """The columns that stand for sizes in a region: what accesses say of values that are the
    same in all instances, whatever they are.
    """
    forms = (f for a in accesses for piece, at in a.cases for f in (*(c.form for c in piece), *at))
    used = (k for f in forms for k, _ in f.terms if nest.converter.is_shared(k) and is_parameter(k))
    return list(dict.fromkeys((*nest.kernel.sizes, *used)))


def _accessed(
    nest: Nest,
    keys: Sequence[Key],
    elements: Sequence[Unknown],
    statement: Statement,
    access: Access,
    depth: int,
) -> Iterator[Question]:
    """The cases of an access. Their columns begin with keys, the outermost `depth` loops, and the
    element.
    """
    for piece, at in access.cases:
        question = Question(nest.converter.is_shared)
        for key in keys:
            question.column(key)
        for n in statement.loops[:depth]:
            question.column(n.var, READ)
        for e in elements:
            question.column(e)
        question.require(nest.facts)
        question.require(piece, READ)
        question.add_all([question.compare(variable(e), 0, i, READ) for e, i in zip(elements, at)])
        yield question


def _written(
    question: Question,
    base: System,
    elements: Sequence[Unknown],
    reader: Statement,
    writer: Statement,
    write: Access,
    depth: int,
) -> Iterator[System]:
    """The reads of the question before which the write happens, in the same iteration of the
    outermost `depth` loops.
    """
    for piece, at in write.cases:
        both = question.copy()
        both.require(piece, WRITE)
        both.add_all([both.compare(variable(e), 0, i, WRITE) for e, i in zip(elements, at)])
        both.equate((n.var for n in reader.loops[:depth]), READ, WRITE)
        yield from in_order(both.extended_system(question, base), both, writer, reader, WRITE, READ)

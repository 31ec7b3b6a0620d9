"""Value-based dataflow of temporaries: which write does each read find?"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from texpr.ir.expr import Tensor, Var
from texpr.ir.loop import For, Kernel, Stmt
from texpr.ir.traverse import tensors
from texpr.poly.constraints.linear_forms import Key, Unknown, fresh, is_parameter, variable
from texpr.poly.constraints.solver import OutOfQuota, Question, Region, System, run_within_quota
from texpr.poly.dependence.execution_order import in_order
from texpr.poly.dependence.kernel_model import Access, Nest, Statement, model, subkernel
from texpr.poly.dependence.last_writer import is_written_before

READ, WRITE = 1, 2


def flow_stays_within(kernel: Kernel, tensor: Tensor, loops: Sequence[For]) -> bool:
    """True if every read of `tensor` sees a value written in the same iteration of `loops`, which
    enclose all its uses.

    That is: before each read, in the same iteration, some write to the element certainly happens;
    the last of them is what is read. False where this is not so or cannot be proven.
    """
    using = subkernel(kernel, [s for s in kernel.body if mentions(s, tensor)])
    key = id(using), tensor, tuple(n.var for n in loops)
    if key not in _MEMO:
        try:
            _MEMO[key] = using, run_within_quota(lambda: _stays_within(using, tensor, [n.var for n in loops]))
        except OutOfQuota:
            _MEMO[key] = using, False
        while len(_MEMO) > _MEMO_SIZE:
            _MEMO.popitem(last=False)
    return _MEMO[key][1]


_MEMO: OrderedDict[tuple[int, Tensor, tuple[Var, ...]], tuple[Kernel, bool]] = OrderedDict()
"""Proofs of the last kernels, by kernel, tensor and loops: a step asks again for the proofs of the
step before it.
"""
_MEMO_SIZE = 256


def _stays_within(kernel: Kernel, tensor: Tensor, loops: list[Var]) -> bool:
    nest = model(kernel)
    loops = list(nest.parted.loops_of(*loops))
    uses = [(s, a) for s in nest.statements for a in s.accesses if a.tensor is tensor]
    if any([n.var for n in s.loops[: len(loops)]] != loops for s, _ in uses):
        return False
    writes = [(s, a) for s, a in uses if a.kind == "write"] + [(s, a) for s, a in uses if a.kind == "update"]
    return all(
        _is_written_before(nest, reader, access, writes, len(loops))
        for reader, access in uses
        if access.kind != "write"
    )


def mentions(s: Stmt, tensor: Tensor) -> bool:
    """True if the statement reads or writes the tensor, or declares it."""
    return tensor in _mentioned(s)


@lru_cache(maxsize=1024)  # asked of every tensor, and of most statements again after a step
def _mentioned(s: Stmt) -> frozenset[Tensor]:
    return frozenset(tensors(s))


def _is_written_before(
    nest: Nest, reader: Statement, access: Access, writes: Sequence[tuple[Statement, Access]], depth: int
) -> bool:
    """Each instance of the read comes after a write to its element in its iteration of the
    outermost `depth` loops.
    """
    return any(is_written_before(nest, reader, access, writer, write) for writer, write in writes) or (
        is_covered(nest, reader, access, writes, depth)
    )


def is_covered(
    nest: Nest, reader: Statement, access: Access, writes: Sequence[tuple[Statement, Access]], depth: int
) -> bool:
    """As `_is_written_before`, by the union of all writes."""
    keys = parameters(nest, [access, *(a for _, a in writes)])
    elements = fresh(access.tensor.rank)
    count = len(keys) + len(reader.loops) + len(elements)
    reads = [(q, q.system()) for q in _reads(nest, keys, elements, reader, access)]
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


def _reads(
    nest: Nest, keys: Sequence[Key], elements: Sequence[Unknown], reader: Statement, access: Access
) -> Iterator[Question]:
    for piece, at in access.cases:
        question = Question(nest.converter.is_shared)
        for key in keys:
            question.column(key)
        for n in reader.loops:
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

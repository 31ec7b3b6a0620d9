"""Elements that are fetched, changed and put back: the same as changing them where they are.

    let T;  T[d] = A[f(d)];  ... T[d] += v ...;  A[f(d)] = T[d]   ->   ... A[f(d)] += v ...
    let T;  T[d] = v;  A[f(d)] = T[d]   ->   A[f(d)] = v
    let T;  T[d] = A[f(d)];  ... T[d] += v ...   ->   ... A[f(d)] += v ...

This is so if nothing else uses A meanwhile, different elements of T are different elements of A, and what is changed was fetched
before, where anything is fetched at all, and is put back after, or nothing uses that element of A again. The second form is only asked for
where A is updated elsewhere, and what puts back is no instance of an equation: else a copy is looked through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product, takewhile

import islpy as isl

from texpr.ir.build import conjunction
from texpr.ir.expr import Expr, Node, Read, Tensor, Var
from texpr.ir.loop import For, If, Kernel, Store
from texpr.ir.traverse import rewrite, variables, walk
from texpr.poly.certificate.engine.coverage import covered
from texpr.poly.certificate.engine.instance_pairs import Access, Joint, meeting, met
from texpr.poly.certificate.engine.isl_frame import Parameters, alike
from texpr.poly.certificate.engine.program_semantics import within
from texpr.poly.certificate.engine.statements import Buffer, Nest, Statement, as_written, reads
from texpr.poly.certificate.engine.value_tracing import Fixed, access, carried_over, evaluated, rejoined

Uses = dict[Tensor, list[tuple[Statement, Read]]]


@dataclass(frozen=True, slots=True, eq=False)
class _Loan:
    """A buffer whose elements belong to another one in each iteration of the loops around all its uses.

    Attributes:
        buffer: of the iterations of these loops, wherever it is allocated: it has to be filled there, then.
        places: indices of the lender, over the variables `cell` for the indices of the buffer.
        fetches: the definitions that copy elements of the lender.
        computed: the other ones.
        readers: what reads the buffer.
        returns: those of them that put its elements back.
    """

    buffer: Buffer
    lender: Tensor
    cell: tuple[Var, ...]
    places: tuple[Expr, ...]
    fetches: Sequence[Statement]
    computed: Sequence[Statement]
    readers: Sequence[Statement]
    returns: Sequence[Statement]

    @property
    def copies(self) -> list[Statement]:
        """What is left out where elements are changed in the lender."""
        return [*self.fetches, *self.returns]

    @property
    def changes(self) -> list[Statement]:
        """What is done in the lender then."""
        return [*self.computed, *self.buffer.updates]


def put_back(kernel: Kernel, parameters: Parameters, facts: isl.Set) -> tuple[Kernel, dict[Store, Store]]:
    """The kernel with such buffers replaced by what they stand for, and which store each of its stores was."""
    origin: dict[Store, Store] = {}
    while (loan := _first(kernel, parameters, facts)) is not None:
        gone = {id(s.node) for s in loan.copies}
        before = [n for n in walk(kernel) if isinstance(n, Store) and id(n) not in gone]
        kernel = _without(kernel, loan, gone)
        after = [n for n in walk(kernel) if isinstance(n, Store)]
        origin = {new: origin.get(old, old) for new, old in zip(after, before)}
    return kernel, origin


def _first(kernel: Kernel, parameters: Parameters, facts: isl.Set) -> _Loan | None:
    nest, found = as_written(kernel, parameters)
    uses: Uses = {}
    for s, read in found:
        uses.setdefault(read.tensor, []).append((s, read))
    for buffer in nest.buffers.values():
        if buffer.tensor in kernel.outputs:
            continue  # Callers see its elements.
        for lender in _lenders(nest, uses, buffer):
            loan = _lent(nest, uses, buffer, lender)
            if loan is not None and _is_returned(nest, uses, loan, facts):
                return loan
    return None


def _lenders(nest: Nest, uses: Uses, buffer: Buffer) -> list[Tensor]:
    """The tensors that a buffer may stand for: it is copied to them, or is changed after it was copied from them."""
    passed = {t for call, _ in nest.calls for t in (*call.inputs, *call.outputs)}
    copied = dict.fromkeys(s.store.tensor for s, _ in uses.get(buffer.tensor, ()) if _copies(s, buffer.tensor))
    if buffer.updates:
        copied |= dict.fromkeys(c.tensor for d in buffer.definitions if (c := _copied(d)) is not None and _is_private(nest, c.tensor))
    return [] if buffer.tensor in passed else [t for t in copied if t not in passed and t is not buffer.tensor]


def _lent(nest: Nest, uses: Uses, whole: Buffer, lender: Tensor) -> _Loan | None:
    """The loan that a buffer looks like."""
    fetches = [d for d in whole.definitions if _copies(d, lender)]
    readers = [s for s, _ in uses.get(whole.tensor, ())]
    returns = [s for s in readers if s.store.tensor is lender and _copies(s, whole.tensor)]
    if not fetches and (not nest.buffers[lender].updates or any(s.store.equation >= 0 for s in returns)):
        return None
    around = [s.loops for s in (*whole.definitions, *whole.updates, *readers)]
    buffer = replace(whole, home=tuple(same[0] for same in takewhile(lambda at: all(n.var is at[0].var for n in at), zip(*around))))
    cell = tuple(Var(f"c{k}") for k in range(whole.tensor.rank))
    stays: Fixed = buffer.private | set(nest.parameters.variables) | _kept(nest, buffer)
    pairs = [(_source(d).indices, d.indices) for d in fetches] + [(s.indices, _source(s).indices) for s in returns]
    places = [tuple(p for i in indices if (p := carried_over(i, at, stays, cell)) is not None) for indices, at in pairs]
    if not all(len(p) == lender.rank and all(map(alike, p, places[0])) for p in places):
        return None
    computed = [d for d in whole.definitions if d not in fetches]
    return _Loan(buffer, lender, cell, places[0], fetches, computed, readers, returns)


def _copies(s: Statement, tensor: Tensor) -> bool:
    """Whether a store copies elements of a tensor."""
    found = _copied(s)
    return found is not None and found.tensor is tensor


def _copied(s: Statement) -> Read | None:
    """What a store copies as it is; None if it computes."""
    return s.store.value if s.store.update is None and isinstance(s.store.value, Read) else None


def _source(copy: Statement) -> Read:
    found = _copied(copy)
    assert found is not None, "a copy"
    return found


def _is_returned(nest: Nest, uses: Uses, loan: _Loan, facts: isl.Set) -> bool:
    """Whether the buffer may stand for the elements it was filled with."""
    buffer, lender, depth = loan.buffer, nest.buffers[loan.lender], len(loan.buffer.home)
    copies = {id(s.node) for s in loan.copies}
    others = [s for s in (*lender.definitions, *lender.updates, *(s for s, _ in uses.get(loan.lender, ()))) if id(s.node) not in copies]
    if any([n.var for n in s.loops[:depth]] == [n.var for n in buffer.home] for s in others) or _asks_data(nest, loan):
        return False
    fetched = [access(buffer, d, d.indices, writes=True) for d in loan.fetches]
    belongs = [access(buffer, d, _source(d).indices, writes=True) for d in loan.fetches] or [
        access(buffer, r, r.indices, writes=True) for r in loan.returns]
    # Whether it is read there does not depend on the data that says where the value goes.
    used = [access(buffer, replace(s, indices=(), _domain=None), read.indices, when=when)
            for s, read in uses.get(buffer.tensor, ()) for when in evaluated(s, read)]
    returned = [u for u in used if id(u.statement.node) in copies]
    changes = [access(buffer, c, c.indices) for c in loan.changes]
    # So an element is fetched before any use, then changed, then put back: reads may stand anywhere between.
    apart = all(meeting(*pair, facts) is None for pair in product(belongs, belongs))
    filled = all(covered(u, fetched, facts).is_empty() for u in used) if fetched else _is_computed(loan, used, facts)
    kept = all(meeting(u, f, facts) is None for u in changes for f in fetched)
    last = all(meeting(r, u, facts) is None for r in returned for u in changes)
    in_bounds = all(_exist(s, facts) for s in loan.copies)
    ends = all(_followed(u, returned, facts) for u in changes) if returned else _is_unwanted(nest, uses, loan, facts)
    return in_bounds and apart and filled and kept and last and ends


def _is_computed(loan: _Loan, used: Sequence[Access], facts: isl.Set) -> bool:
    """Whether every element that is read was computed before."""
    sources = [access(loan.buffer, c, c.indices, writes=True) for c in loan.computed]
    return not any(c.data() for c in loan.computed) and all(covered(u, sources, facts).is_empty() for u in used)


def _asks_data(nest: Nest, loan: _Loan) -> bool:
    """Whether data says which elements are copied, other than data that says so of all uses of the buffer at once."""
    places = [at for d in loan.fetches for at in (d.indices, _source(d).indices)]
    places += [at for s in loan.returns for at in (s.indices, _source(s).indices)]
    if any(reads(i) and not _is_one(nest, loan.buffer, i) for at in places for i in at):
        return True
    uses = [_asked(s) for s in (*loan.changes, *loan.readers)]
    return any(reads(e) and not all(_is_among(nest, loan.buffer, e, asked) for asked in uses) for s in loan.copies for e in _asked(s))


def _is_one(nest: Nest, buffer: Buffer, e: Expr) -> bool:
    """Whether data in an expression is the same in the whole life of a buffer: loops around tell the elements, which nothing writes."""
    around = buffer.private | nest.parameters.position.keys()
    return all(n.tensor in _kept(nest, buffer) and variables(*n.indices) <= around for n in walk(e) if isinstance(n, Read))


def _kept(nest: Nest, buffer: Buffer) -> set[Tensor]:
    """What is not written in the whole life of a buffer."""
    others = (b for b in nest.buffers.values() if buffer.home) if not nest.calls else ()
    outer = {n.var for n in buffer.home[:1]}
    return nest.parameters.inputs | {b.tensor for b in others
                                     if not any(n.var in outer for s in (*b.definitions, *b.updates) for n in s.loops)}


def _is_among(nest: Nest, buffer: Buffer, e: Expr, asked: Sequence[Expr]) -> bool:
    """Whether a condition is one of those asked, or says what one of them says."""
    return any(e is other or alike(e, other) and _is_one(nest, buffer, e) for other in asked)


def _asked(s: Statement) -> tuple[Expr, ...]:
    return (*s.conditions, *(n.extent for n in s.loops))


def _exist(s: Statement, facts: isl.Set) -> bool:
    """Whether all elements that a copy uses surely exist: nobody asks for them once it is gone."""
    parts = [(s.indices, s.store.tensor), *((n.indices, n.tensor) for n in walk(*s.indices, s.store.value) if isinstance(n, Read))]
    inside = s.frame.plain(conjunction(*(within(indices, tensor.shape) for indices, tensor in parts)))
    return (s.domain(facts) & s.frame.holds(s.frame.bounds())).is_subset(s.frame.holds(inside))


def _followed(update: Access, returned: Sequence[Access], facts: isl.Set) -> bool:
    """Every element that is updated is put back: afterwards, since no update comes after that."""
    left = update.domain(facts)
    for r in returned:
        joint = Joint(update, r, 0, facts)
        left = left - joint.of_first(joint.also(met(joint, update, r)))
    return left.is_empty()


def _is_unwanted(nest: Nest, uses: Uses, loan: _Loan, facts: isl.Set) -> bool:
    """Whether nothing uses an element of the lender once it is changed, what fetches it for another life of the buffer included."""
    lender = nest.buffers[loan.lender]
    if not _is_private(nest, loan.lender):
        return False
    changes = [access(lender, c, _place(loan, c.indices)) for c in loan.changes]
    wanted = [access(lender, s, read.indices) for s, read in uses[loan.lender]]
    wanted += [access(lender, u, u.indices) for u in lender.updates]
    return all(meeting(c, w, facts) is None for c, w in product(changes, wanted))


def _is_private(nest: Nest, tensor: Tensor) -> bool:
    """Whether the caller neither gives nor gets a tensor."""
    return tensor not in (*nest.kernel.inputs, *nest.kernel.outputs)


def _place(loan: _Loan, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Where the lender has what the buffer has there."""
    values = dict(zip(loan.cell, indices))
    return tuple(rejoined(rewrite(p, lambda n: values.get(n) if isinstance(n, Var) else None)) for p in loan.places)  # type: ignore[arg-type]


def _without(kernel: Kernel, loan: _Loan, gone: set[int]) -> Kernel:
    def shortened(node: Node) -> Node | None:
        return replace(node, body=tuple(s for s in node.body if id(s) not in gone)) if isinstance(node, For | If | Kernel) else None

    def moved(node: Node) -> Node | None:
        match node:
            case Read(tensor, indices) | Store(tensor, indices) if tensor is loan.buffer.tensor:
                return replace(node, tensor=loan.lender, indices=_place(loan, indices))
        return None

    return rewrite(rewrite(kernel, shortened), moved)

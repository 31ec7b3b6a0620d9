"""Accumulators that are fetched, updated and put back: the same as updating them where they are.

    let T;  T[d] = A[f(d)];  ... T[d] += v ...;  A[f(d)] = T[d]   ->   ... A[f(d)] += v ...

This is so if nothing else uses A meanwhile, different elements of T are different elements of A, and what is updated was fetched
before and is put back after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product, takewhile

import islpy as isl

from texpr.ir.build import conjunction
from texpr.ir.expr import Expr, Node, Read, Tensor, Var
from texpr.ir.loop import For, If, Kernel, Store
from texpr.ir.traverse import rewrite, walk
from texpr.poly.certify.frame import Parameters, alike
from texpr.poly.certify.meaning import within
from texpr.poly.certify.pairs import Access, Joint, covered, meeting, met
from texpr.poly.certify.statements import Buffer, Nest, Statement, as_written, reads
from texpr.poly.certify.trace import Fixed, access, carried_over

Uses = dict[Tensor, list[tuple[Statement, tuple[Expr, ...]]]]


@dataclass(frozen=True, slots=True, eq=False)
class _Loan:
    """A buffer whose elements belong to another one in each iteration of the loops around all its uses.

    Attributes:
        buffer: of the iterations of these loops, wherever it is allocated: it has to be filled there, then.
        places: indices of the lender, over the variables `cell` for the indices of the buffer.
        readers: what reads the buffer.
        returns: those of them that put its elements back.
    """

    buffer: Buffer
    lender: Tensor
    cell: tuple[Var, ...]
    places: tuple[Expr, ...]
    readers: Sequence[Statement]
    returns: Sequence[Statement]

    @property
    def copies(self) -> list[Statement]:
        """What is left out where updates are made in the lender."""
        return [*self.buffer.definitions, *self.returns]


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
    for tensor, s, indices in found:
        uses.setdefault(tensor, []).append((s, indices))
    for buffer in nest.buffers.values():
        loan = _lent(nest, uses, buffer)
        if loan is not None and _is_returned(nest, uses, loan, facts):
            return loan
    return None


def _lent(nest: Nest, uses: Uses, whole: Buffer) -> _Loan | None:
    """The loan that a buffer looks like."""
    fetched = [_copied(d) for d in whole.definitions]
    lender = next((r.tensor for r in fetched if r is not None), None)
    readers = [s for s, _ in uses.get(whole.tensor, ())]
    returns = [s for s in readers if s.store.tensor is lender and (r := _copied(s)) is not None and r.tensor is whole.tensor]
    if not returns:
        return None
    assert lender is not None, "what they store to"
    around = [s.loops for s in (*whole.definitions, *whole.updates, *readers)]
    buffer = replace(whole, home=tuple(same[0] for same in takewhile(lambda at: all(n.var is at[0].var for n in at), zip(*around))))
    cell = tuple(Var(f"c{k}") for k in range(whole.tensor.rank))
    stays: Fixed = buffer.private | set(nest.parameters.variables) | nest.parameters.inputs
    pairs = [(r.indices, d.indices) for r, d in zip(fetched, whole.definitions) if r is not None and r.tensor is lender]
    pairs += [(s.indices, _source(s).indices) for s in returns]
    places = [tuple(p for i in indices if (p := carried_over(i, at, stays, cell)) is not None) for indices, at in pairs]
    told = all(len(p) == lender.rank and all(map(alike, p, places[0])) for p in places)
    if not told or len(pairs) < len(whole.definitions) + len(returns):
        return None
    return _Loan(buffer, lender, cell, places[0], readers, returns)


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
    others = [s for s in (*lender.definitions, *lender.updates, *(s for s, _ in uses[loan.lender])) if id(s.node) not in copies]
    if any([n.var for n in s.loops[:depth]] == [n.var for n in buffer.home] for s in others) or _asks_data(loan):
        return False
    fetched = [access(buffer, d, d.indices, writes=True) for d in buffer.definitions]
    belongs = [access(buffer, d, _source(d).indices, writes=True) for d in buffer.definitions]
    # Whether it is read there does not depend on the data that says where the value goes.
    used = [access(buffer, replace(s, indices=(), _domain=None), indices) for s, indices in uses[buffer.tensor]]
    returned = [u for u in used if id(u.statement.node) in copies]
    updates = [access(buffer, u, u.indices) for u in buffer.updates]
    # So an element is fetched before any use, then updated, then put back: reads may stand anywhere between.
    apart = all(meeting(*pair, facts) is None for pair in product(belongs, belongs))
    filled = all(covered(u, fetched, facts).is_empty() for u in used)
    kept = all(meeting(u, f, facts) is None for u in updates for f in fetched)
    last = all(meeting(r, u, facts) is None for r in returned for u in updates)
    in_bounds = all(_exist(s, facts) for s in loan.copies)
    return in_bounds and apart and filled and kept and last and all(_followed(u, returned, facts) for u in updates)


def _asks_data(loan: _Loan) -> bool:
    """Whether data says which elements are copied, other than data that says so of all uses of the buffer at once."""
    there = set.intersection(*({id(e) for e in _asked(s)} for s in (*loan.buffer.updates, *loan.readers)))
    places = [d.indices for d in loan.buffer.definitions] + [_source(s).indices for s in loan.returns]
    return any(reads(i) for at in places for i in at) or any(reads(e) and id(e) not in there for s in loan.copies for e in _asked(s))


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


def _without(kernel: Kernel, loan: _Loan, gone: set[int]) -> Kernel:
    def there(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        values = dict(zip(loan.cell, indices))
        return tuple(rewrite(p, lambda n: values.get(n) if isinstance(n, Var) else None) for p in loan.places)  # type: ignore[arg-type]

    def shortened(node: Node) -> Node | None:
        return replace(node, body=tuple(s for s in node.body if id(s) not in gone)) if isinstance(node, For | If | Kernel) else None

    def moved(node: Node) -> Node | None:
        match node:
            case Read(tensor, indices) | Store(tensor, indices) if tensor is loan.buffer.tensor:
                return replace(node, tensor=loan.lender, indices=there(indices))
        return None

    return rewrite(rewrite(kernel, shortened), moved)

"""Accumulators that are fetched, updated and put back: the same as updating them where they are.

    let T;  T[d] = A[f(d)];  ... T[d] += v ...;  A[f(d)] = T[d]   ->   ... A[f(d)] += v ...

This is so if nothing else uses A meanwhile, different elements of T are different elements of A, and what is updated was fetched
before and is put back after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import islpy as isl

from texpr.ir.build import conjunction
from texpr.ir.expr import Expr, Node, Read, Tensor, Var
from texpr.ir.loop import Alloc, For, If, Kernel, Stmt, Store
from texpr.ir.traverse import rewrite, walk
from texpr.poly.certify.frame import Parameters, alike
from texpr.poly.certify.meaning import within
from texpr.poly.certify.pairs import Access, Joint, covered, meeting, met
from texpr.poly.certify.proof import conjuncts, decided
from texpr.poly.certify.statements import Buffer, Nest, Statement, as_written, reads
from texpr.poly.certify.trace import Fixed, access, carried_over

Uses = dict[Tensor, list[tuple[Statement, tuple[Expr, ...]]]]


@dataclass(frozen=True, slots=True, eq=False)
class _Loan:
    """A buffer whose elements belong to another one while it lives.

    Attributes:
        places: indices of the lender, over the variables `cell` for the indices of the buffer.
    """

    buffer: Buffer
    lender: Tensor
    cell: tuple[Var, ...]
    places: tuple[Expr, ...]
    copies: frozenset[int]


def put_back(kernel: Kernel, parameters: Parameters, facts: isl.Set) -> tuple[Kernel, dict[Store, Store]]:
    """The kernel with such buffers replaced by what they stand for, and which store each of its stores was."""
    origin: dict[Store, Store] = {}
    while (loan := _first(kernel, parameters, facts)) is not None:
        before = [n for n in walk(kernel) if isinstance(n, Store) and id(n) not in loan.copies]
        kernel = _without(kernel, loan)
        after = [n for n in walk(kernel) if isinstance(n, Store)]
        origin = {new: origin.get(old, old) for new, old in zip(after, before)}
    return kernel, origin


def _first(kernel: Kernel, parameters: Parameters, facts: isl.Set) -> _Loan | None:
    if not any(isinstance(n, Store) and n.equation < 0 for n in walk(kernel)):
        return None
    nest, found = as_written(kernel, parameters)
    uses: Uses = {}
    for tensor, s, indices in found:
        uses.setdefault(tensor, []).append((s, indices))
    for buffer in nest.buffers.values():
        for life in _lives(uses, buffer):
            loan = _lent(nest, uses, life)
            if loan is not None and _is_returned(nest, uses, loan, facts):
                return loan
    return None


def _lives(uses: Uses, buffer: Buffer) -> Iterator[Buffer]:
    """The buffer as it is allocated, and as one that each iteration around all uses has for itself: it has to be filled there, then."""
    if buffer.home:
        yield buffer
    around = [s.loops for s in (*buffer.definitions, *buffer.updates, *(s for s, _ in uses.get(buffer.tensor, ())))]
    common = tuple(same[0] for same in takewhile(lambda at: all(n.var is at[0].var for n in at), zip(*around)))
    if len(common) > len(buffer.home):
        yield replace(buffer, home=common)


def _lent(nest: Nest, uses: Uses, buffer: Buffer) -> _Loan | None:
    """The loan that a buffer, which is of an iteration of the loops around it, looks like."""
    sources = [d.store.value for d in buffer.definitions if d.store.equation < 0 and isinstance(d.store.value, Read)]
    if not (buffer.updates and sources) or len(sources) != len(buffer.definitions):
        return None
    lender = sources[0].tensor
    if lender not in nest.buffers or any(r.tensor is not lender for r in sources):
        return None
    returns = [s for s, _ in uses.get(buffer.tensor, ()) if s.store.tensor is lender and s.store.equation < 0]
    cell = tuple(Var(f"c{k}") for k in range(buffer.tensor.rank))
    stays: Fixed = buffer.private | set(nest.parameters.variables) | nest.parameters.inputs
    places: list[Expr | None] = [carried_over(r, d.indices, stays, cell) for r, d in zip(sources, buffer.definitions)]
    for s in returns:
        back = s.store.value
        places.append(carried_over(Read(lender, s.indices), back.indices, stays, cell) if isinstance(back, Read) else None)
    first = places[0]
    if any(s.store.update is not None for s in (*buffer.definitions, *returns)):
        return None  # no copy
    if not returns or not isinstance(first, Read) or any(p is None or not alike(p, first) for p in places):
        return None
    copies = frozenset(id(s.node) for s in (*buffer.definitions, *returns))
    return _Loan(buffer, lender, cell, first.indices, copies)


def _is_returned(nest: Nest, uses: Uses, loan: _Loan, facts: isl.Set) -> bool:
    """Whether the buffer may stand for the elements it was filled with."""
    buffer, depth = loan.buffer, len(loan.buffer.home)
    lender = nest.buffers[loan.lender]
    around = [n.var for n in buffer.home]
    of_lender = [*lender.definitions, *lender.updates, *(s for s, _ in uses.get(loan.lender, ()))]
    meanwhile = (s for s in of_lender if [n.var for n in s.loops[:depth]] == around)
    if any(id(s.node) not in loan.copies for s in meanwhile) or _asks_data(loan, uses):
        return False
    fetched = [access(buffer, d, d.indices, writes=True) for d in buffer.definitions]
    belongs = [access(buffer, d, _indices(d), writes=True) for d in buffer.definitions]
    # Whether it is read there does not depend on the data that says where the value goes.
    used = [access(buffer, replace(s, indices=(), _domain=None), indices) for s, indices in uses[buffer.tensor]]
    returned = [u for u in used if id(u.statement.node) in loan.copies]
    updates = [access(buffer, u, u.indices) for u in buffer.updates]
    apart = all(meeting(a, b, facts) is None for a in belongs for b in belongs)
    filled = all(covered(u, fetched, facts).is_empty() for u in (*used, *updates))
    first = all(meeting(u, f, facts) is None for u in (*used, *updates) for f in fetched)
    last = all(meeting(r, u, facts) is None for r in returned for u in updates)
    in_bounds = all(_exists(s, indices, tensor, facts) for s, indices, tensor in _places(loan, uses))
    return in_bounds and apart and filled and first and last and all(_followed(u, returned, facts) for u in updates)


def _places(loan: _Loan, uses: Uses) -> Iterator[tuple[Statement, tuple[Expr, ...], Tensor]]:
    """The elements that are used, of the buffer and by the copies: nobody asks for them once these are gone."""
    buffer = loan.buffer
    for s in (*buffer.definitions, *buffer.updates):
        yield s, s.indices, buffer.tensor
    for s, indices in uses[buffer.tensor]:
        yield s, indices, buffer.tensor
    lent = [(d, _indices(d)) for d in buffer.definitions]
    lent += [(s, s.indices) for s, _ in uses[buffer.tensor] if id(s.node) in loan.copies]
    for s, indices in lent:
        yield s, indices, loan.lender
        yield from ((s, n.indices, n.tensor) for n in walk(*indices) if isinstance(n, Read))


def _asks_data(loan: _Loan, uses: Uses) -> bool:
    """Whether data says if something is copied that does not say it of the updates, too."""
    stay = {id(e) for u in loan.buffer.updates for e in (*u.conditions, *(n.extent for n in u.loops))}
    copies = (*loan.buffer.definitions, *(s for s, _ in uses[loan.buffer.tensor] if id(s.node) in loan.copies))
    asked = [e for s in copies for e in (*s.conditions, *(n.extent for n in s.loops))]
    return any(reads(e) and id(e) not in stay for e in asked)


def _exists(s: Statement, indices: tuple[Expr, ...], tensor: Tensor, facts: isl.Set) -> bool:
    """Whether a tensor surely has these elements."""
    left = [c for c in map(s.frame.plain, conjuncts(within(indices, tensor.shape))) if decided(c, s.frame) is not True]
    inside = conjunction(*left)
    return not left or (s.domain(facts) & s.frame.holds(s.frame.bounds())).is_subset(s.frame.holds(inside))


def _indices(d: Statement) -> tuple[Expr, ...]:
    assert isinstance(d.store.value, Read), "a copy"
    return d.store.value.indices


def _followed(update: Access, returned: Sequence[Access], facts: isl.Set) -> bool:
    """Every instance of an update has one that puts its element back, in the loops that both share."""
    left = update.domain(facts)
    for r in returned:
        if r.statement.order > update.statement.order:
            joint = Joint(update, r, update.statement.common(r.statement), facts)
            left = left - joint.of_first(joint.also(met(joint, update, r)))
    return left.is_empty()


def _without(kernel: Kernel, loan: _Loan) -> Kernel:
    borrowed = loan.buffer.tensor

    def there(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        values = dict(zip(loan.cell, indices))
        return tuple(rewrite(p, lambda n: values.get(n) if isinstance(n, Var) else None) for p in loan.places)  # type: ignore[arg-type]

    def is_gone(s: Stmt) -> bool:
        return id(s) in loan.copies or isinstance(s, Alloc) and s.tensor is borrowed

    def shortened(node: Node) -> Node | None:
        if isinstance(node, For | If | Kernel) and any(map(is_gone, node.body)):
            return replace(node, body=tuple(s for s in node.body if not is_gone(s)))
        return None

    def moved(node: Node) -> Node | None:
        match node:
            case Read(tensor, indices) | Store(tensor, indices) if tensor is borrowed:
                return replace(node, tensor=loan.lender, indices=there(indices))
        return None

    kernel = replace(kernel, temporaries=tuple(t for t in kernel.temporaries if t is not borrowed))
    return rewrite(rewrite(kernel, shortened), moved)

"""Accesses to elements of buffers, and the instances that evaluate a read."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from texpr.ir.build import conjunction, negation
from texpr.ir.expr import Expr, Read, index
from texpr.ir.traverse import variables
from texpr.poly.certificate.engine.in_bounds import contexts_of, integral_part
from texpr.poly.certificate.engine.instance_pairs import Access
from texpr.poly.certificate.engine.obligations import Proof
from texpr.poly.certificate.engine.statement_extraction import Buffer, Statement, expressions


def access(
    buffer: Buffer,
    s: Statement,
    indices: Sequence[Expr],
    *,
    writes: bool = False,
    when: isl.Set | None = None,
) -> Access:
    """The access to a buffer's element: the iteration in which the buffer is allocated, then the
    indices.
    """
    place = (*(n.var for n in buffer.allocation_loops), *(s.frame.abstract(i) for i in indices))
    return Access(s, place, writes, when)


def definition_accesses(buffer: Buffer) -> list[Access]:
    """The definitions of a buffer's elements."""
    return [access(buffer, d, d.indices, writes=True) for d in buffer.definitions]


def defining_writes(buffer: Buffer) -> list[Access]:
    """The definitions of a buffer's elements, to be told from each other. Where data says which
    element it is, two instances of an equation are of two elements, as was proven of the program.
    """
    if not any(d.data() for d in buffer.definitions):
        return definition_accesses(buffer)
    return [
        Access(d, (index(d.store.equation), *(d.frame.abstract(i) for i in d.at)), True)
        for d in buffer.definitions
    ]


def update_accesses(buffer: Buffer) -> list[Access]:
    """The updates of a buffer's elements."""
    return [access(buffer, u, u.indices, writes=True) for u in buffer.updates]


def evaluation_domain(
    s: Statement, conditions: list[tuple[Expr, bool]], indices: Sequence[Expr] = ()
) -> isl.Set | None:
    """The instances that evaluate a part of a statement, with the facts about data in it and in
    indices; None for all.
    """
    shared = variables(*map(s.frame.abstract, indices)) & {v for _, v in s.frame.parameters.terms}
    if not conditions and not s.frame.atoms and not shared:
        return None
    plain = [s.frame.abstract(c if holds else negation(c)) for c, holds in conditions]
    return s.frame.holds(conjunction(*plain, s.frame.bounds()))


def read_domains(s: Statement, read: Read) -> list[isl.Set | None]:
    """The instances that evaluate a read, for every path to it; None for all."""
    contexts = [c for e in expressions(s) for c in contexts_of(e).get(id(read), ())]
    return [
        evaluation_domain(s, [part for pair in context for part in integral_part(*pair)], read.indices)
        for context in contexts
    ]


def gets_updates(proof: Proof, buffer: Buffer) -> bool:
    """True if the elements get their values by updates."""
    if buffer.updates:
        return True
    equations = (proof.semantics.definitions.get(d.store.equation) for d in buffer.definitions)
    targets = [d.equation.target for d in equations if d is not None]
    return any(d.store.is_start for d in buffer.definitions) or any(
        d.is_fold for t in targets for d in proof.semantics.by_target[t]
    )

"""Reads of what was never written that do no harm: nobody uses what is made of it.

A store past the end of its equation, as in a tile that is filled, is of no element of the program:
what it stores is taken for none. A copy of such an element is as if it did not run, if no use finds
what it wrote: packed copies of a triangle take whole rows.
"""

from __future__ import annotations

import islpy as isl

from texpr.ir.expr import And, Expr, Or, Read, Select
from texpr.ir.loop import Store
from texpr.ir.traverse import walk
from texpr.poly.certificate.engine.obligations import Proof, outside_domain
from texpr.poly.certificate.engine.statement_extraction import Statement


def is_part_of_value(s: Statement, e: Expr, read: Read) -> bool:
    """True if a read is part of the value that is stored, and decides neither another read nor a
    place.
    """
    if not isinstance(s.node, Store) or e is not s.node.value:
        return False
    deciding: list[Expr] = []
    for n in walk(e):
        match n:
            case Read(_, indices):
                deciding += indices
            case Select(cond):
                deciding.append(cond)
            case And(lhs) | Or(lhs):
                deciding.append(lhs)
    return not any(n is read for d in deciding for n in walk(d))


def instances_outside_domain(proof: Proof, s: Statement) -> isl.Set | None:
    """The instances of a store, or of a term of a sum, that its equation does not have: they
    make a total that it does not have either.
    """
    d = None if s.call is not None else proof.semantics.definitions.get(s.store.equation)
    if d is None or s.store.update is not None and d.is_fold:
        return None
    complete = len(s.at) == len(d.axes) + (0 if s.store.update is None else len(d.binders))
    return outside_domain(proof, s, d) if complete else None


def may_copy_undefined(proof: Proof, s: Statement) -> bool:
    """True if a copy may have undefined instances, and data does not decide which elements it
    fills.
    """
    if s.node not in proof.undefined_copies:
        return False
    target = proof.nest.buffers[s.store.tensor]
    return not target.updates and not any(d.data() for d in target.definitions)


def is_copy(s: Statement) -> bool:
    """True if a statement stores an element unchanged."""
    if not isinstance(s.node, Store) or s.call is not None:
        return False
    return s.node.equation < 0 and s.node.update is None and isinstance(s.node.value, Read)

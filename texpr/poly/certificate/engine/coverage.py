"""Which uses of an element nothing comes before that writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from texpr.ir.affine import same_value
from texpr.ir.build import compare
from texpr.ir.traverse import variables
from texpr.poly.certificate.engine.collapsed_loops import unwritten
from texpr.poly.certificate.engine.instance_pairs import Access, Joint, apart, later, met
from texpr.poly.certificate.engine.isl_frame import alike
from texpr.poly.certificate.engine.obligations import conjuncts
from texpr.poly.certificate.engine.statements import Statement


def covered(a: Access, sources: Sequence[Access], facts: isl.Set) -> isl.Set:
    """The instances of `a` before which no source has used their element."""
    candidates = sorted(sources, key=lambda s: s.statement.order, reverse=True)
    if any(_plainly_before(s, a) for s in candidates):
        return isl.Set.empty(a.domain(facts).get_space())
    left = a.domain(facts)
    if left.is_empty():
        return left
    orders = [(s, o) for s in candidates for o in later(s.statement, a.statement)]
    for source, order in sorted(orders, key=lambda so: so[1].sign is not None):
        if order.sign is not None and apart(source, a, order):
            continue
        guessed = unwritten(left, a, source) if order.sign is None else None
        if guessed is not None and (left := guessed).is_empty():
            break
        joint = Joint(a, source, order.equal, facts)
        left = a.statement.frame.up(left)  # the guess may have added columns
        turned = [] if order.sign is None else [compare("<", joint.there(v := a.statement.loops[order.equal].var), v)]
        left = left - joint.of_first(joint.also(met(joint, a, source), *turned))
        if left.is_empty():
            break
    return left


def uncovered_in_iteration(left: isl.Set, a: Access, source: Access, facts: isl.Set) -> isl.Set:
    """Those of some instances of `a` before which the source has not used their element in the same iteration of the loops they share."""
    if source.statement.order > a.statement.order:
        return left
    joint = Joint(a, source, source.statement.common(a.statement), facts)
    return a.statement.frame.up(left) - joint.of_first(joint.also(met(joint, a, source)))


def under_conditions_of(source: Statement, s: Statement) -> Statement | None:
    """A statement without the conditions on data that hold of another one in the same iteration of the loops they share; None if data
    still says whether, or where, it stores.
    """
    shared = {n.var for n in source.loops[: source.common(s)]} | set(source.frame.parameters.variables)
    known = [c for held in s.held for c in conjuncts(held)]
    left = [c for held in source.held for c in conjuncts(held)
            if not (variables(c) <= shared and any(alike(c, k) for k in known))]
    alone = replace(source, held=left, facts=[], proven=[])
    alone.renew()
    return None if alone.data() else alone


def _plainly_before(source: Access, a: Access) -> bool:
    """The source stands before, in loops and under conditions that are also around `a`, and uses the same element there."""
    s, t = source.statement, a.statement
    if not (s.order < t.order and s.common(t) == len(s.loops)) or source.when is not None or s.frame.atoms:
        return False
    around = {id(c) for c in t.conditions}
    return all(id(c) in around for c in s.conditions) and all(same_value(x, y) for x, y in zip(source.place, a.place))

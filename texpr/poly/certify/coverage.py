"""Which uses of an element nothing comes before that writes it."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from texpr.ir.affine import same_value
from texpr.ir.build import compare
from texpr.poly.certify.digits import unwritten
from texpr.poly.certify.pairs import Access, Joint, apart, later, met


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


def _plainly_before(source: Access, a: Access) -> bool:
    """The source stands before, in loops and under conditions that are also around `a`, and uses the same element there."""
    s, t = source.statement, a.statement
    if not (s.order < t.order and s.common(t) == len(s.loops)) or source.when is not None or s.frame.atoms:
        return False
    around = {id(c) for c in t.conditions}
    return all(id(c) in around for c in s.conditions) and all(same_value(x, y) for x, y in zip(source.place, a.place))

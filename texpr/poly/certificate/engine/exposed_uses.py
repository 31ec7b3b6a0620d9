"""Upward-exposed uses: those that no write of their element precedes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl

from texpr.ir.affine import same_value
from texpr.ir.build import add, compare, conjunction
from texpr.ir.expr import Var, index
from texpr.ir.traverse import variables
from texpr.poly.certificate.engine.collapsed_loops import unwritten
from texpr.poly.certificate.engine.instance_pairs import (
    Access,
    InstancePair,
    disjoint_by_intervals,
    possible_orders,
    same_element,
)
from texpr.poly.certificate.engine.isl_frame import Frame, structurally_equal
from texpr.poly.certificate.engine.obligations import conjuncts
from texpr.poly.certificate.engine.statement_extraction import Statement, reads
from texpr.support.frozen_dataclass import replace

_SET = isl.dim_type.set


class UsedAbove:
    """Elements that sources use in an iteration of loops which they share with what stands below.

    The copies that fill a buffer in pieces stand above its many readers. Their elements are
    computed once for all of these, which then ask one question each, not one for each piece.
    """

    def __init__(self, facts: isl.Set) -> None:
        self._facts = facts
        self._kept: dict[tuple[object, ...], tuple[object, isl.Set | None]] = {}

    def covers(self, a: Access, sources: Sequence[Access]) -> bool:
        """True if each element that `a` uses was used above, in the same iteration of the loops that
        are shared, as far as no data says which element it is.
        """
        groups: dict[int, list[Access]] = {}
        for s in sources:
            if s.statement.order < a.statement.order and s.when is None:
                groups.setdefault(s.statement.common_depth(a.statement), []).append(s)
        return any(len(group) > 1 and self._covers(a, group, depth) for depth, group in groups.items())

    def _covers(self, a: Access, group: Sequence[Access], depth: int) -> bool:
        above = self._elements(group, depth)
        used = None if above is None else elements(a, depth, self._facts)
        return used is not None and above is not None and used.is_subset(above)

    def _elements(self, group: Sequence[Access], depth: int) -> isl.Set | None:
        """The elements of several accesses, kept while their instances stay what they are."""
        domains = [s.statement.domain(self._facts) for s in group]
        key = (depth, *(id(s.statement) for s in group), *map(id, domains))
        if key not in self._kept:
            found = [elements(s, depth, self._facts) for s in group]
            known = [each for each in found if each is not None]
            whole = reduce(isl.Set.union, known).coalesce() if known else None
            self._kept[key] = (group, domains), whole  # what a key names by identity stays alive
        return self._kept[key][1]


def elements(a: Access, depth: int, facts: isl.Set) -> isl.Set | None:
    """The elements that an access uses in each iteration of the first `depth` loops around it, as
    those loops and the place; None where data is among what decides.
    """
    s, inside = a.statement, a.domain(facts)
    places = [Var(f"e{k}") for k in range(len(a.place))]
    frame = Frame(s.frame.parameters, [*s.frame.variables, *places], s.frame.ranges)
    equal = conjunction(*(compare("==", e, x) for e, x in zip(places, a.place)))
    if s.frame.atoms or not variables(equal) <= {*frame.position, *frame.parameters.position}:
        return None
    here = inside.add_dims(_SET, len(places)) & frame.holds(equal)
    return here.project_out(_SET, depth, len(s.frame.variables) - depth)


def uncovered(
    a: Access, sources: Sequence[Access], facts: isl.Set, above: UsedAbove | None = None
) -> isl.Set:
    """The instances of `a` that no source precedes: none has used their element before.

    Args:
        above: kept from use to use.
    """
    candidates = sorted(sources, key=lambda s: s.statement.order, reverse=True)
    if any(_obviously_before(s, a) for s in candidates):
        return isl.Set.empty(a.domain(facts).get_space())
    remaining = a.domain(facts)
    if remaining.is_empty():
        return remaining
    if above is not None and above.covers(a, candidates):
        return isl.Set.empty(remaining.get_space())
    orders = [(s, o) for s in candidates for o in possible_orders(s.statement, a.statement)]
    for source, order in sorted(orders, key=lambda so: so[1].sign is not None):
        if order.sign is not None and disjoint_by_intervals(source, a, order):
            continue
        unwritten_instances = unwritten(remaining, a, source) if order.sign is None else None
        if unwritten_instances is not None and (remaining := unwritten_instances).is_empty():
            break
        pair = InstancePair(a, source, order.equal, facts)
        remaining = a.statement.frame.lift(remaining)  # the guess may have added columns
        earlier = (
            []
            if order.sign is None
            else [compare("<", pair.second(v := a.statement.loops[order.equal].var), v)]
        )
        remaining = remaining - pair.project_to_first(pair.also(same_element(pair, a, source), *earlier))
        if remaining.is_empty():
            break
    return remaining


def uncovered_in_iteration(remaining: isl.Set, a: Access, source: Access, facts: isl.Set) -> isl.Set:
    """Instances of `remaining` that the source does not precede in the same iteration of the loops
    around both.
    """
    if source.statement.order > a.statement.order:
        return remaining
    pair = InstancePair(a, source, source.statement.common_depth(a.statement), facts)
    return a.statement.frame.lift(remaining) - pair.project_to_first(pair.also(same_element(pair, a, source)))


def without_shared_conditions(source: Statement, s: Statement) -> Statement | None:
    """A statement without the conditions on data, and without the lengths of loops, that hold of
    another one in the same iteration of the loops they share; None if data still says whether, or
    where, it stores.
    """
    depth = source.common_depth(s)
    shared = {n.var for n in source.loops[:depth]} | set(source.frame.parameters.variables)
    known = [c for held in s.traced_conditions for c in conjuncts(held)]
    conditions = [
        c
        for held in source.traced_conditions
        for c in conjuncts(held)
        if not (variables(c) <= shared and any(structurally_equal(c, k) for k in known))
    ]
    open_ends = tuple(
        add(n.var, index(1)) if k < depth and reads(e) else e
        for k, (n, e) in enumerate(zip(source.loops, source.extents))
    )
    reduced = replace(source, extents=open_ends, traced_conditions=conditions, facts=[], proven=[])
    reduced.invalidate()
    return None if reduced.data() else reduced


def _obviously_before(source: Access, a: Access) -> bool:
    """True if the source stands before, in loops and under conditions that are also around `a`,
    and uses the same element.
    """
    s, t = source.statement, a.statement
    if (
        not (s.order < t.order and s.common_depth(t) == len(s.loops))
        or source.when is not None
        or s.frame.atoms
    ):
        return False
    around = {id(c) for c in t.conditions}
    return all(id(c) in around for c in s.conditions) and all(
        same_value(x, y) for x, y in zip(source.place, a.place)
    )

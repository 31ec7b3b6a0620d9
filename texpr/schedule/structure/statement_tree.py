"""Statements put under loops and conditions again, once a step has said which loops each of them
stands in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import takewhile

from texpr.ir.build import integer
from texpr.ir.expr import Expr, FloorDiv, Mod, Read, Var
from texpr.ir.loop import For, If, Stmt, Store
from texpr.ir.traverse import equal, substitute, tensors, variables, walk
from texpr.passes.analysis.substitution import folded
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class Leaf:
    """A statement with the loops around it, and its conditions.

    Attributes:
        origin: the loops that were around it before the step.
        values: the variables of those in terms of the loops now; one left out stays.
        guards: further conditions, in terms of the loops now.
    """

    loops: tuple[For, ...]
    conditions: tuple[If, ...]
    statement: Stmt
    origin: tuple[For, ...]
    values: Mapping[Var, Expr] = field(default_factory=dict)
    guards: tuple[Expr, ...] = ()


Regrouped = tuple[tuple[Stmt, ...], dict[Store, Store], dict[Store, Mapping[Var, Expr]]]
"""Statements; the store that each of theirs was before the step; the variables of the loops it
stood in, in terms of those now.
"""


def regrouped(given: Sequence[Leaf]) -> Regrouped:
    """Loops around leaves again: neighbours share the loops they have in common from the outside
    in.

    A condition on index arithmetic stands around the loops that it says nothing of, as far as all
    that they hold is under it. The deepest leaf of each loop keeps its variable (it is the handle);
    copies get fresh ones.
    """
    keeper = _keepers(given)
    origin: dict[Store, Store] = {}
    instance: dict[Store, Mapping[Var, Expr]] = {}

    def build(items: Sequence[_Item], names: dict[Var, Expr]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for item in items:
            new = (
                placed(given[item.what], names)
                if isinstance(item.what, int)
                else around(item.what, item, names)
            )
            for condition in reversed(item.conditions):
                new = If(substitute(condition, names) if names else condition, (new,))
            result.append(new)
        return _joined_conditions(tuple(result))

    def around(loop: For, item: _Item, names: dict[Var, Expr]) -> Stmt:
        var = loop.var if keeper[loop.var] in item.leaves else replace(loop.var)
        below = build(item.inside, names if var is loop.var else {**names, loop.var: var})
        return replace(loop, var=var, extent=substitute(loop.extent, names), body=below)

    def placed(leaf: Leaf, names: dict[Var, Expr]) -> Stmt:
        values = {**names, **{v: folded(e, names) for v, e in leaf.values.items()}}
        new = folded(leaf.statement, values) if leaf.values else substitute(leaf.statement, names)
        if isinstance(new, Store):
            new = replace(new) if new is leaf.statement else new
            assert isinstance(leaf.statement, Store)
            origin[new] = leaf.statement
            instance[new] = {n.var: values.get(n.var, n.var) for n in leaf.origin}
        return new

    items = _grouped(given, 0, [_Member(k, _conditions(leaf)) for k, leaf in enumerate(given)])
    return build(items, {}), origin, instance


def _keepers(given: Sequence[Leaf]) -> dict[Var, int]:
    """For each loop the first of the deepest leaves in it."""
    depth: dict[Var, int] = {}
    keeper: dict[Var, int] = {}
    for k, leaf in enumerate(given):
        for n in leaf.loops:
            if len(leaf.loops) > depth.get(n.var, 0):
                depth[n.var], keeper[n.var] = len(leaf.loops), k
    return keeper


@frozen
class _Condition:
    """A condition of a leaf.

    Attributes:
        free: it can be asked wherever its variables are known: it reads no tensor and divides by
            constants.
    """

    asked: Expr
    variables: frozenset[Var]
    free: bool

    def same(self, other: _Condition) -> bool:
        return self.asked is other.asked or self.free and other.free and equal(self.asked, other.asked)


@frozen
class _Member:
    """A leaf, by number, and those of its conditions that stand nowhere yet."""

    leaf: int
    conditions: tuple[_Condition, ...]


@frozen
class _Item:
    """A leaf or a loop in a body, under conditions."""

    what: int | For
    conditions: tuple[Expr, ...]
    leaves: frozenset[int] = frozenset()
    inside: tuple[_Item, ...] = ()


def _conditions(leaf: Leaf) -> tuple[_Condition, ...]:
    """Conditions around the statement, outermost first, in terms of the loops now."""
    old = (folded(n.cond, leaf.values) if leaf.values else n.cond for n in leaf.conditions)
    return tuple(_Condition(e, frozenset(variables(e)), _is_free(e)) for e in (*leaf.guards, *old))


def _is_free(e: Expr) -> bool:
    return not any(
        isinstance(n, Read) or isinstance(n, FloorDiv | Mod) and not integer(n.rhs) for n in walk(e)
    )


def _grouped(given: Sequence[Leaf], depth: int, members: Sequence[_Member]) -> tuple[_Item, ...]:
    """The body in which these leaves stand, inside `depth` loops. Depth is that of the loop
    nest.
    """
    result: list[_Item] = []
    while members:
        loop = _loop(given, depth, members[0])
        if loop is None:
            result.append(_Item(members[0].leaf, tuple(c.asked for c in members[0].conditions)))
            members = members[1:]
            continue
        inside = _run(given, depth, members, loop)
        members = members[len(inside) :]
        out = _leaving(inside, frozenset(n.var for m in inside for n in given[m.leaf].loops[depth:]))
        rest = [
            replace(m, conditions=tuple(c for c in m.conditions if not any(map(c.same, out)))) for m in inside
        ]
        result.append(
            _Item(
                loop,
                tuple(c.asked for c in out),
                frozenset(m.leaf for m in inside),
                _grouped(given, depth + 1, rest),
            )
        )
    return tuple(result)


def _loop(given: Sequence[Leaf], depth: int, member: _Member) -> For | None:
    loops = given[member.leaf].loops
    return loops[depth] if len(loops) > depth else None


def _run(given: Sequence[Leaf], depth: int, members: Sequence[_Member], loop: For) -> list[_Member]:
    """The first of the members, as far as they stand in the loop."""
    return list(
        takewhile(lambda m: (own := _loop(given, depth, m)) is not None and own.var is loop.var, members)
    )


def _leaving(inside: Sequence[_Member], loops: frozenset[Var]) -> list[_Condition]:
    """The conditions that hold for all that stands in a loop and speak neither of it nor of the
    loops inside.
    """
    first, *others = inside
    return [
        c
        for c in first.conditions
        if c.free and not c.variables & loops and all(any(map(c.same, m.conditions)) for m in others)
    ]


def _joined_conditions(statements: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Neighbours under the very same condition go under one `if`."""
    result: list[Stmt] = []
    for s in statements:
        last = result[-1] if result else None
        if (
            isinstance(s, If)
            and isinstance(last, If)
            and (s.cond is last.cond or not tensors(s.cond) and equal(s.cond, last.cond))
        ):
            result[-1] = replace(last, body=_joined_conditions((*last.body, *s.body)))
        else:
            result.append(s)
    return tuple(result)

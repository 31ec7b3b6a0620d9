"""`reorder`: loops change places, statements that stand between them get loops of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from texpr import poly
from texpr.ir.expr import Expr, Var
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.traverse import substitute, variables
from texpr.schedule.independent import check_moved
from texpr.schedule.loops import find_loops, paths, qualified, span_of, stores
from texpr.schedule.refuse import refused
from texpr.support.errors import ScheduleError


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A statement with the loops around it in their new order, and its conditions."""

    loops: tuple[For, ...]
    conditions: tuple[If, ...]
    statement: Stmt


def reorder(kernel: Kernel, names: Sequence[str | Var]) -> Kernel:
    """Put the named loops in the given order, outermost first; they take each other's places. Interchange, permutation elsewhere.

    for i: { s = 0; for k: s += f }   -- reorder("k", "i") -->   for i: s = 0;  for k: for i: s += f

    A statement that is inside some of the loops only gets its own copy of those. Legal if every dependence keeps its direction.

    Raises:
        ScheduleError: a loop is missing, named twice, or not nested with the others; or an instance would run before one it needs.
    Source: Allen and Kennedy, Automatic Translation of Fortran Programs to Vector Form, TOPLAS 1987.
    """
    families = [find_loops(kernel, n) for n in names]
    order = [qualified(f[0]) for f in families]
    if len(set(order)) != len(order):
        raise ScheduleError(f"reorder names a loop twice: {', '.join(order)}", code="reorder")
    _nested(kernel, families, order)
    body: list[Stmt] = []
    origin: dict[Store, Store] = {}
    instance: dict[Store, dict[Var, Expr]] = {}
    for top in kernel.body:
        leaves = [_rearranged(above, leaf, order) for above, leaf in paths(replace(kernel, body=(top,)))]
        if not any(qualified(n) in order for leaf in leaves for n in leaf.loops):
            body.append(top)
            origin |= {n: n for n in stores(top)}
            instance |= {leaf.statement: {n.var: n.var for n in leaf.loops} for leaf in leaves if isinstance(leaf.statement, Store)}
            continue
        _extents_in_scope(kernel, leaves)
        statements, new_origin, renamed = _rebuilt(leaves)
        body += statements
        origin |= new_origin
        instance |= renamed
    after = replace(kernel, body=tuple(body))
    conflict = poly.reordered(kernel, after, origin, instance)
    if conflict is not None:
        text = ", ".join(f'"{f.var.name}"' for f, *_ in families)
        raise refused(kernel, f"reorder({text}) reverses a dependence", conflict, "the new order runs the second first",
                      help="keep the order of these loops, or reorder others", after=after)
    check_moved(kernel, after, "reorder")
    return after


def _nested(kernel: Kernel, families: list[list[For]], order: list[str]) -> None:
    """The loops must stand on one path somewhere."""
    for above, _ in paths(kernel):
        here = {qualified(n) for n in above if isinstance(n, For)}
        if here >= set(order):
            return
    raise ScheduleError(f"the loops {', '.join(order)} are not nested in one another", span_of(kernel, families[0][0]), code="reorder",
                        help="reorder takes loops that enclose one statement")


def _extents_in_scope(kernel: Kernel, leaves: list[_Leaf]) -> None:
    """A loop whose extent depends on another one must stay inside it."""
    for leaf in leaves:
        inside = {n.var for n in leaf.loops}
        for n in leaf.loops:
            inside.discard(n.var)
            needed = next((v for v in variables(n.extent) if v in inside), None)
            if needed is not None:
                raise ScheduleError(f"the extent of `{n.var.name}` depends on `{needed.name}`, so it cannot stand outside",
                                    span_of(kernel, n), code="reorder",
                                    help=f"write the range as a condition: {n.var.name} where {n.var.name} < ...")


def _rearranged(above: tuple[For | If, ...], statement: Stmt, order: list[str]) -> _Leaf:
    loops = [n for n in above if isinstance(n, For)]
    places = [k for k, n in enumerate(loops) if qualified(n) in order]
    moved = sorted((loops[k] for k in places), key=lambda n: order.index(qualified(n)))
    for k, n in zip(places, moved):
        loops[k] = n
    return _Leaf(tuple(loops), tuple(n for n in above if isinstance(n, If)), statement)


def _rebuilt(leaves: list[_Leaf]) -> tuple[tuple[Stmt, ...], dict[Store, Store], dict[Store, dict[Var, Expr]]]:
    """Loops around leaves again: neighbours share the loops they have in common from the outside in.

    The deepest leaf of each loop keeps its variable (it is the handle); copies get fresh ones.
    """
    groups = _grouped(leaves, 0)
    depth: dict[Var, int] = {}
    keeper: dict[Var, int] = {}
    for k, leaf in enumerate(leaves):
        for n in leaf.loops:
            if len(leaf.loops) > depth.get(n.var, 0):
                depth[n.var], keeper[n.var] = len(leaf.loops), k
    origin: dict[Store, Store] = {}
    renamed: dict[Store, dict[Var, Expr]] = {}

    def build(group: _Group, values: dict[Var, Expr]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for item in group:
            if isinstance(item, int):
                leaf = leaves[item]
                new = substitute(leaf.statement, values)
                if isinstance(new, Store):
                    new = replace(new) if new is leaf.statement else new
                    assert isinstance(leaf.statement, Store)
                    origin[new] = leaf.statement
                    renamed[new] = {n.var: values.get(n.var, n.var) for n in leaf.loops}
                for condition in reversed(leaf.conditions):
                    new = If(substitute(condition.cond, values), (new,))
                result.append(new)
                continue
            loop, members, inner = item
            var = loop.var if keeper[loop.var] in members else replace(loop.var)
            below = build(inner, values if var is loop.var else {**values, loop.var: var})
            result.append(For(var, substitute(loop.extent, values), below, loop.kind, loop.tensor))
        return _joined_conditions(tuple(result))

    return build(groups, {}), origin, renamed


_Group = list  # of leaf numbers and (loop, leaf numbers inside, _Group)


def _grouped(leaves: list[_Leaf], depth: int, members: list[int] | None = None) -> _Group:
    members = list(range(len(leaves))) if members is None else members
    result: _Group = []
    k = 0
    while k < len(members):
        leaf = leaves[members[k]]
        if len(leaf.loops) <= depth:
            result.append(members[k])
            k += 1
            continue
        loop = leaf.loops[depth]
        same = k
        while same < len(members) and len(leaves[members[same]].loops) > depth and leaves[members[same]].loops[depth].var is loop.var:
            same += 1
        inside = members[k:same]
        result.append((loop, inside, _grouped(leaves, depth + 1, inside)))
        k = same
    return result


def _joined_conditions(statements: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Neighbours under the very same condition go under one `if`."""
    result: list[Stmt] = []
    for s in statements:
        last = result[-1] if result else None
        if isinstance(s, If) and isinstance(last, If) and s.cond is last.cond:
            result[-1] = replace(last, body=(*last.body, *s.body))
        else:
            result.append(s)
    return tuple(result)

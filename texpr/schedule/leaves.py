"""A kernel as its statements with the loops around each: what every step that moves statements works on, and how it becomes a kernel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from texpr import poly
from texpr.ir.expr import Expr, Tensor, Var
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.traverse import equal, substitute, tensors
from texpr.passes.renew import folded
from texpr.schedule.independent import check_moved
from texpr.schedule.loops import paths, stores
from texpr.schedule.refuse import refused


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Moved:
    """A kernel over the same statements, and where each of its stores comes from.

    Attributes:
        origin: the store of the old kernel that each new one is.
        instance: for each new store, the loop variables of its origin in terms of its own.
    """

    kernel: Kernel
    origin: Mapping[Store, Store]
    instance: Mapping[Store, Mapping[Var, Expr]]


def leaves(kernel: Kernel, top: Stmt) -> list[Leaf]:
    """The statements below `top`, in textual order."""
    found = []
    for above, s in paths(replace(kernel, body=(top,))):
        loops = tuple(n for n in above if isinstance(n, For))
        found.append(Leaf(loops, tuple(n for n in above if isinstance(n, If)), s, loops))
    return found


def rearranged(kernel: Kernel, arrange: Callable[[list[Leaf]], Sequence[Leaf] | None]) -> Moved:
    """The kernel with the statements of each nest under other loops; `arrange` gives None for a nest that stays."""
    body: list[Stmt] = []
    origin: dict[Store, Store] = {}
    instance: dict[Store, Mapping[Var, Expr]] = {}
    for top in kernel.body:
        old = leaves(kernel, top)
        new = arrange(old)
        if new is None:
            body.append(top)
            origin |= {n: n for n in stores(top)}
            instance |= {leaf.statement: {n.var: n.var for n in leaf.loops} for leaf in old if isinstance(leaf.statement, Store)}
            continue
        statements, new_origin, values = _rebuilt(new)
        body += statements
        origin |= new_origin
        instance |= values
    return Moved(replace(kernel, body=tuple(body)), origin, instance)


def checked(kernel: Kernel, moved: Moved, step: str, text: str, help: str) -> Kernel:
    """The new kernel, if every dependence keeps its direction and what runs at once still may.

    Args:
        text: the step as the user wrote it.
    Raises:
        ScheduleError: an instance would run before one it needs.
    """
    conflict = poly.reordered(kernel, moved.kernel, moved.origin, moved.instance)
    if conflict is not None and conflict.tensor in kernel.temporaries:
        private = {t: of for t in kernel.temporaries if (of := _private(kernel, moved.kernel, t))}
        conflict = poly.reordered(kernel, moved.kernel, moved.origin, moved.instance, private) if private else conflict
    if conflict is not None:
        raise refused(kernel, f"{text} reverses a dependence", conflict, "the new order runs the second first", help=help,
                      after=moved.kernel)
    check_moved(kernel, moved.kernel, step)
    return moved.kernel


def _private(before: Kernel, after: Kernel, tensor: Tensor) -> tuple[Var, ...]:
    """The most loops, the same in both kernels, within an iteration of which the values of a temporary stay."""
    old, new = _loops_of(before, tensor), _loops_of(after, tensor)
    for k in range(min(len(old), len(new)), 0, -1):
        if {n.var for n in old[:k]} == {n.var for n in new[:k]}:
            both = poly.flow_stays_within(before, tensor, old[:k]) and poly.flow_stays_within(after, tensor, new[:k])
            return tuple(n.var for n in old[:k]) if both else ()
    return ()


def _loops_of(kernel: Kernel, tensor: Tensor) -> tuple[For, ...]:
    """The loops around all uses of a tensor."""
    chains = [tuple(n for n in above if isinstance(n, For)) for above, s in paths(kernel)
              if tensor in tensors(s, *(n.cond if isinstance(n, If) else n.extent for n in above))]
    shared = zip(*chains) if chains else ()
    return tuple(level[0] for level in takewhile(lambda level: all(n is level[0] for n in level), shared))


def apart(given: Sequence[Leaf], parts: Sequence[int], found: Collection[Var]) -> list[Leaf]:
    """The leaves with a copy per part of every loop in `found`, and inside, that several parts have.

    The part of the deepest leaf keeps the handles.
    """
    users: dict[Var, set[int]] = {}
    for leaf, p in zip(given, parts):
        first = next((k for k, n in enumerate(leaf.loops) if n.var in found), len(leaf.loops))
        for n in leaf.loops[first:]:
            users.setdefault(n.var, set()).add(p)
    keeps = parts[max(range(len(given)), key=lambda k: len(given[k].loops))]
    copies: dict[tuple[int, Var], Expr] = {(p, v): replace(v) for v, of in users.items() if len(of) > 1 for p in of - {keeps}}
    return [_renamed(leaf, {v: e for (q, v), e in copies.items() if p == q}) for leaf, p in zip(given, parts)]


def _renamed(leaf: Leaf, copies: dict[Var, Expr]) -> Leaf:
    loops = tuple(replace(n, var=copies.get(n.var, n.var), extent=folded(n.extent, copies)) for n in leaf.loops)
    return replace(leaf, loops=loops, values=copies)


def _rebuilt(given: Sequence[Leaf]) -> tuple[tuple[Stmt, ...], dict[Store, Store], dict[Store, Mapping[Var, Expr]]]:
    """Loops around leaves again: neighbours share the loops they have in common from the outside in.

    The deepest leaf of each loop keeps its variable (it is the handle); copies get fresh ones.
    """
    groups = _grouped(given, 0, list(range(len(given))))
    depth: dict[Var, int] = {}
    keeper: dict[Var, int] = {}
    for k, leaf in enumerate(given):
        for n in leaf.loops:
            if len(leaf.loops) > depth.get(n.var, 0):
                depth[n.var], keeper[n.var] = len(leaf.loops), k
    origin: dict[Store, Store] = {}
    instance: dict[Store, Mapping[Var, Expr]] = {}

    def build(group: _Group, names: dict[Var, Expr]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for item in group:
            if isinstance(item, int):
                leaf = given[item]
                values = {**names, **{v: folded(e, names) for v, e in leaf.values.items()}}
                new = folded(leaf.statement, values) if leaf.values else substitute(leaf.statement, names)
                if isinstance(new, Store):
                    new = replace(new) if new is leaf.statement else new
                    assert isinstance(leaf.statement, Store)
                    origin[new] = leaf.statement
                    instance[new] = {n.var: values.get(n.var, n.var) for n in leaf.origin}
                for condition in reversed(leaf.conditions):
                    new = If(folded(condition.cond, values) if values else condition.cond, (new,))
                for guard in reversed(leaf.guards):
                    new = If(substitute(guard, names), (new,))
                result.append(new)
                continue
            loop, members, inner = item
            var = loop.var if keeper[loop.var] in members else replace(loop.var)
            below = build(inner, names if var is loop.var else {**names, loop.var: var})
            result.append(For(var, substitute(loop.extent, names), below, loop.kind, loop.tensor))
        return _joined_conditions(tuple(result))

    return build(groups, {}), origin, instance


_Group = list  # of leaf numbers and (loop, leaf numbers inside, _Group)


def _grouped(given: Sequence[Leaf], depth: int, members: list[int]) -> _Group:
    result: _Group = []
    k = 0
    while k < len(members):
        leaf = given[members[k]]
        if len(leaf.loops) <= depth:
            result.append(members[k])
            k += 1
            continue
        loop = leaf.loops[depth]
        same = k
        while same < len(members) and len(given[members[same]].loops) > depth and given[members[same]].loops[depth].var is loop.var:
            same += 1
        inside = members[k:same]
        result.append((loop, inside, _grouped(given, depth + 1, inside)))
        k = same
    return result


def _joined_conditions(statements: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Neighbours under the very same condition go under one `if`."""
    result: list[Stmt] = []
    for s in statements:
        last = result[-1] if result else None
        if isinstance(s, If) and isinstance(last, If) and (s.cond is last.cond or not tensors(s.cond) and equal(s.cond, last.cond)):
            result[-1] = replace(last, body=_joined_conditions((*last.body, *s.body)))
        else:
            result.append(s)
    return tuple(result)

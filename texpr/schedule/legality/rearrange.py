"""A kernel as its statements with the loops around each: what every step that moves statements
works on, and how it becomes a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import takewhile

from texpr import poly
from texpr.ir.expr import Expr, Tensor, Var
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.traverse import tensors
from texpr.passes.analysis.substitution import folded
from texpr.schedule.legality.independence import check_moved
from texpr.schedule.legality.presumption import conflict_of
from texpr.schedule.legality.refusal import refused
from texpr.schedule.structure.loops import paths, stores
from texpr.schedule.structure.statement_tree import Leaf, regrouped
from texpr.support.frozen_dataclass import frozen, replace


@frozen
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


def rearranged(
    kernel: Kernel,
    arrange: Callable[[list[Leaf]], Sequence[Leaf] | None],
    together: Sequence[Sequence[Stmt]] | None = None,
) -> Moved:
    """The kernel with the statements of each nest under other loops; `arrange` gives None for a
    nest that stays.

    Args:
        together: the nests, in their order, that are arranged at a time; one unless given.
    """
    body: list[Stmt] = []
    origin: dict[Store, Store] = {}
    instance: dict[Store, Mapping[Var, Expr]] = {}
    for tops in together or [(top,) for top in kernel.body]:
        old = [leaf for top in tops for leaf in leaves(kernel, top)]
        new = arrange(old)
        if new is None:
            body += tops
            origin |= {n: n for top in tops for n in stores(top)}
            instance |= {
                leaf.statement: {n.var: n.var for n in leaf.loops}
                for leaf in old
                if isinstance(leaf.statement, Store)
            }
            continue
        statements, new_origin, values = regrouped(new)
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

    def found() -> poly.Conflict | None:
        return poly.reversed_dependence(kernel, moved.kernel, moved.origin, moved.instance)

    conflict = conflict_of(found)
    if conflict is not None and conflict.tensor in kernel.temporaries:
        private = {t: of for t in kernel.temporaries if (of := _private(kernel, moved.kernel, t))}
        conflict = (
            poly.reversed_dependence(kernel, moved.kernel, moved.origin, moved.instance, private)
            if private
            else conflict
        )
    if conflict is not None:
        raise refused(
            kernel,
            f"{text} reverses a dependence",
            conflict,
            "the new order runs the second first",
            help=help,
            after=moved.kernel,
        )
    check_moved(kernel, moved.kernel, step)
    return moved.kernel


def _private(before: Kernel, after: Kernel, tensor: Tensor) -> tuple[Var, ...]:
    """The most loops, the same in both kernels, within an iteration of which the values of a
    temporary stay.
    """
    old, new = _loops_of(before, tensor), _loops_of(after, tensor)
    for k in range(min(len(old), len(new)), 0, -1):
        if {n.var for n in old[:k]} == {n.var for n in new[:k]}:
            both = poly.flow_stays_within(before, tensor, old[:k]) and poly.flow_stays_within(
                after, tensor, new[:k]
            )
            return tuple(n.var for n in old[:k]) if both else ()
    return ()


def _loops_of(kernel: Kernel, tensor: Tensor) -> tuple[For, ...]:
    """The loops around all uses of a tensor."""
    chains = [
        tuple(n for n in above if isinstance(n, For))
        for above, s in paths(kernel)
        if tensor in tensors(s, *(n.cond if isinstance(n, If) else n.extent for n in above))
    ]
    shared = zip(*chains) if chains else ()
    return tuple(level[0] for level in takewhile(lambda level: all(n is level[0] for n in level), shared))


def apart(
    given: Sequence[Leaf], parts: Sequence[int | None], found: Collection[Var], name: str | None = None
) -> list[Leaf]:
    """The leaves with a copy per part of every loop in `found`, and inside, that several parts
    have.

    The part of the deepest leaf in such a loop keeps the handles.

    Args:
        name: of the copies of `found` in part 1; as they are called unless given.
    """
    users: dict[Var, set[int | None]] = {}
    for leaf, p in zip(given, parts):
        first = next((k for k, n in enumerate(leaf.loops) if n.var in found), len(leaf.loops))
        for n in leaf.loops[first:]:
            users.setdefault(n.var, set()).add(p)
    inside = [k for k, leaf in enumerate(given) if any(n.var in found for n in leaf.loops)]
    keeps = parts[max(inside, key=lambda k: len(given[k].loops))]
    copies: dict[tuple[int | None, Var], Expr] = {
        (p, v): replace(v) for v, of in users.items() if len(of) > 1 for p in of - {keeps}
    }
    if name is not None:
        copies |= {(1, v): replace(v, name=name) for v, of in users.items() if v in found and 1 in of}
    return [_renamed(leaf, {v: e for (q, v), e in copies.items() if p == q}) for leaf, p in zip(given, parts)]


def _renamed(leaf: Leaf, copies: dict[Var, Expr]) -> Leaf:
    loops = tuple(
        replace(n, var=copies.get(n.var, n.var), extent=folded(n.extent, copies)) for n in leaf.loops
    )
    return replace(leaf, loops=loops, values=copies)

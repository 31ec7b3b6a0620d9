"""Multicast copies within a cluster: proof that all its blocks issue the same copy.

Each block orders a part of a copy, for itself and the others along some axes of the cluster, in its
turn of the loops around. So for all sizes, blocks along these axes have the same copy there: its
elements, their places in memory, what leaves elements out, and whether it is made at all. Blocks
that wait for each other, and whose counters count what others order, come to each barrier of the
cluster, commit and wait equally often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from texpr.ir.build import compare, conjunction, negation
from texpr.ir.dtypes import BOOL
from texpr.ir.expr import Axis, Expr, Read, Var, index
from texpr.ir.loop import Barrier, Commit, If, Kernel, Stmt, Store, Wait, copy_of
from texpr.ir.loop_kind import Cluster
from texpr.ir.traverse import substitute, variables, walk
from texpr.poly.constraints.conditions import always, never

if TYPE_CHECKING:
    from texpr.poly.asynchronous.timeline import TimelinePoint


def uneven_multicast(kernel: Kernel, places: Sequence[TimelinePoint]) -> tuple[str, Stmt] | None:
    """The first multicast copy that is not proven to agree in all blocks of a cluster, with the
    kind of the fault; None if all do.
    """
    copies = [p for p in places if isinstance(p.node, Store) and p.multicast_axes]
    if not copies and not any(isinstance(p.node, Barrier) and p.node.cluster for p in places):
        return None
    counted = [
        p
        for p in places
        if isinstance(p.node, Commit | Wait) or isinstance(p.node, Barrier) and p.node.cluster
    ]
    uneven = next(
        (
            p.node
            for p in counted
            if not p.reached or not _same(kernel, p, "xyz", [n.extent for n in p.loops])
        ),
        None,
    )
    if uneven is not None:
        return "uneven", uneven
    return next((("apart", p.node) for p in copies if not _agreed(kernel, p)), None)


def _agreed(kernel: Kernel, p: TimelinePoint) -> bool:
    """True if all blocks along the axes of a copy make the same one."""
    assert isinstance(p.node, Store)
    copy = copy_of(p.node)
    if copy is None or not set(p.multicast_axes) <= {
        n.kind.axis for n in p.loops if isinstance(n.kind, Cluster)
    }:
        return False
    heads = [n.cond if isinstance(n, If) else n.extent for n in p.enclosing]
    return _same(kernel, p, p.multicast_axes, [*heads, *copy.source.indices, copy.within, *p.node.indices])


def _same(kernel: Kernel, p: TimelinePoint, along: str, values: Sequence[Expr]) -> bool:
    """True if each value is one for all blocks of a cluster along some axes."""
    others = {
        n.var: Var(n.var.name + "2") for n in p.loops if isinstance(n.kind, Cluster) and n.kind.axis in along
    }
    axes = [Axis(n.var, index(0), n.extent) for n in p.loops]
    axes += [Axis(others[n.var], index(0), n.extent) for n in p.loops if n.var in others]
    return all(
        _equal(kernel, e, substitute(e, others), axes) for e in values if _may_differ(kernel, e, others)
    )


def _may_differ(kernel: Kernel, e: Expr, others: dict[Var, Var]) -> bool:
    """True if this is asked at all: what names no block of a cluster is the same, unless it is
    read from memory that may differ.
    """
    return bool(variables(e) & others.keys()) or any(
        isinstance(n, Read) and n.tensor not in kernel.inputs for n in walk(e)
    )


def _equal(kernel: Kernel, e: Expr, other: Expr, axes: Sequence[Axis]) -> bool:
    if any(isinstance(n, Read) for n in walk(e)):
        return False
    if e.dtype == BOOL:
        return never(conjunction(e, negation(other)), axes, kernel.requires)
    return always(compare("==", e, other), axes, kernel.requires)

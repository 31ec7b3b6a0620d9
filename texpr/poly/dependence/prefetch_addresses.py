"""Addresses of prefetches: a hint has no effect on values, but the data that they depend on is
read.
"""

from __future__ import annotations

from collections.abc import Iterator

from texpr.ir.build import compare, conjunction
from texpr.ir.expr import Axis, Expr, Read, index
from texpr.ir.guarded import guarded_reads
from texpr.ir.loop import For, If, Kernel, Prefetch, Stmt
from texpr.ir.traverse import statements
from texpr.poly.constraints.conditions import always


def unproven_prefetches(kernel: Kernel) -> Iterator[tuple[Prefetch, Read]]:
    """Prefetches, each with an element that its address depends on and that is not proven to
    exist.
    """
    if not any(isinstance(s, Prefetch) for s in statements(kernel)):
        return
    stack: list[tuple[Stmt, tuple[Axis, ...], tuple[Expr, ...]]] = [
        (s, (), kernel.requires) for s in reversed(kernel.body)
    ]
    while stack:
        s, axes, known = stack.pop()
        match s:
            case For(var, extent, body):
                stack += [(each, (*axes, Axis(var, index(0), extent)), known) for each in reversed(body)]
            case If(cond, body):
                stack += [(each, axes, (*known, cond)) for each in reversed(body)]
            case Prefetch():
                outside = next(
                    (
                        read
                        for read, facts in guarded_reads(s.indices)
                        if not _exists(read, axes, (*known, *facts))
                    ),
                    None,
                )
                if outside is not None:
                    yield s, outside


def _exists(read: Read, axes: tuple[Axis, ...], known: tuple[Expr, ...]) -> bool:
    inside = (
        c
        for i, n in zip(read.indices, read.tensor.shape)
        for c in (compare("<=", index(0), i), compare("<", i, n))
    )
    return always(conjunction(*inside), axes, known)

"""Prepacking: what a kernel computes of constant inputs alone is computed once and kept.

A constant input has the same values from call to call, such as the weights of a network. Where the
schedule copies it in front of all loops, in the order in which the loops read it, the caller keeps
the copy, and later calls leave its loops out.
"""

from __future__ import annotations

from collections.abc import Set

from texpr.ir.dtypes import U8
from texpr.ir.expr import Compare, Const, Read, Tensor, index, plain
from texpr.ir.loop import If, Kernel, Store
from texpr.ir.traverse import walk
from texpr.passes.loop.place_buffers import stride_of
from texpr.schedule.analysis.constant_nests import constant_nests, written
from texpr.support.frozen_dataclass import replace

DONE = Tensor("prepacked", U8, plain(index(1)))
"""1 once the copies are there."""


def with_prepacking(final: Kernel, constants: Set[str]) -> Kernel:
    """A kernel as it is emitted, which computes temporaries of constant inputs alone where callers
    have no values of them yet.

    Args:
        constants: names of inputs.
    """
    first = constant_nests(final, constants)
    if not first:
        return final
    kept = sorted({t for s in first for t in written(s)}, key=lambda t: t.name)
    zero, one = Const(0, dtype=U8), Const(1, dtype=U8)
    missing = Compare("==", Read(DONE, (index(0),)), zero)
    guarded = If(missing, (*first, Store(DONE, (index(0),), one, equation=-1)))
    rest = [s for s in final.body if not any(s is each for each in first)]
    return replace(final, body=(guarded, *rest), prepacked=(*kept, DONE))


def packed_inputs(final: Kernel) -> tuple[int, ...]:
    """Positions of inputs that a kernel reads for its copies alone: once these are there, anything may
    lie in the place of such an input.
    """
    if not final.prepacked:
        return ()
    _, *rest = final.body  # behind the loops that copy
    read = {n.tensor for s in rest for n in walk(s) if isinstance(n, Read)}
    return tuple(k for k, t in enumerate(final.inputs) if t not in read)


def prepacked_bytes(final: Kernel) -> tuple[int, ...]:
    """Bytes of each buffer that the caller keeps, the last of which says whether they are there."""
    return tuple(map(stride_of, final.prepacked))

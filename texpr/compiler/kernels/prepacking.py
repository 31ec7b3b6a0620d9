"""Prepacking: what a kernel computes of constant inputs alone is computed once and kept.

A constant input has the same values from call to call, such as the weights of a network. Where the
schedule copies it in front of all loops, in the order in which the loops read it, the caller keeps
the copy, and later calls leave its loops out.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from texpr.ir.build import integer, product
from texpr.ir.dtypes import U8
from texpr.ir.expr import Compare, Const, Read, Tensor, index, plain
from texpr.ir.loop import Alloc, If, Kernel, Stmt, Store
from texpr.ir.traverse import statements, walk
from texpr.passes.loop.place_buffers import stride_of

DONE = Tensor("prepacked", U8, plain(index(1)))
"""1 once the copies are there."""


def with_prepacking(final: Kernel, constants: Set[str]) -> Kernel:
    """A kernel as it is emitted, which computes temporaries of constant inputs alone where callers
    have no values of them yet.

    Args:
        constants: names of inputs.
    """
    known = {t for t in final.inputs if t.name in constants}
    kept: list[Tensor] = []
    first: list[Stmt] = []
    for s in final.body if known else ():
        written = _written(s)
        if written and written <= _private(final, s) and _read(s) <= known | {*kept} | written:
            kept += sorted(written, key=lambda t: t.name)
            first.append(s)
    if not kept:
        return final
    zero, one = Const(0, dtype=U8), Const(1, dtype=U8)
    missing = Compare("==", Read(DONE, (index(0),)), zero)
    guarded = If(missing, (*first, Store(DONE, (index(0),), one, equation=-1)))
    rest = [s for s in final.body if not any(s is each for each in first)]
    return replace(final, body=(guarded, *rest), prepacked=(*kept, DONE))


def prepacked_bytes(final: Kernel) -> tuple[int, ...]:
    """Bytes of each buffer that the caller keeps, the last of which says whether they are there."""
    return tuple(map(stride_of, final.prepacked))


def _private(final: Kernel, nest: Stmt) -> set[Tensor]:
    """The temporaries of known size that nothing but a nest of loops writes."""
    others = {t for s in final.body if s is not nest for t in _written(s)}
    return {t for t in final.temporaries if t not in others and integer(product(t.shape)) is not None}


def _written(s: Stmt) -> set[Tensor]:
    """The tensors that a nest writes, buffers of its own aside."""
    below = list(statements(s))
    own = {n.tensor for n in below if isinstance(n, Alloc)}
    return {n.tensor for n in below if isinstance(n, Store)} - own


def _read(s: Stmt) -> set[Tensor]:
    own = {n.tensor for n in statements(s) if isinstance(n, Alloc)}
    return {n.tensor for n in walk(s) if isinstance(n, Read)} - own

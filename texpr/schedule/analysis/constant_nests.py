"""Nests that compute the same values in every call: those that read constant inputs alone."""

from __future__ import annotations

from collections.abc import Set

from texpr.ir.build import integer, product
from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import Alloc, Kernel, Stmt, Store
from texpr.ir.traverse import statements, walk


def constant_nests(kernel: Kernel, constants: Set[str]) -> list[Stmt]:
    """The outermost nests that compute temporaries of known size from constant inputs, and from each
    other.

    Args:
        constants: names of inputs that have the same values from call to call.
    """
    known = {t for t in kernel.inputs if t.name in constants}
    nests = list(kernel.body) if known else []
    while nests:
        others = {t for s in kernel.body if not any(s is n for n in nests) for t in written(s)}
        own = {t for s in nests for t in written(s)} & {*kernel.temporaries} - others
        kept = {t for t in own if integer(product(t.shape)) is not None}
        left = [s for s in nests if written(s) and written(s) <= kept and _read(s) <= known | kept]
        if len(left) == len(nests):
            break
        nests = left
    return nests


def written(s: Stmt) -> set[Tensor]:
    """The tensors that a nest writes, buffers of its own aside."""
    below = list(statements(s))
    own = {n.tensor for n in below if isinstance(n, Alloc)}
    return {n.tensor for n in below if isinstance(n, Store)} - own


def _read(s: Stmt) -> set[Tensor]:
    own = {n.tensor for n in statements(s) if isinstance(n, Alloc)}
    return {n.tensor for n in walk(s) if isinstance(n, Read)} - own

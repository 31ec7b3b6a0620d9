"""Outputs of a kernel that may lie in the memory of its inputs."""

from __future__ import annotations

from texpr import poly
from texpr.ir.expr import Expr, Read, Tensor
from texpr.ir.loop import Alloc, ExternCall, Kernel, Prefetch, Store
from texpr.ir.traverse import children, equal, statements, walk


def overwritten(kernel: Kernel) -> tuple[tuple[int, int], ...]:
    """Positions of inputs, and of outputs that may lie in their memory.

    Where all reads of an input stand in stores to one output, each of the element that is written
    then, and no element is written twice, every element has been read when it is gone: in whatever
    order, on whatever thread the iterations run.
    """
    if any(isinstance(s, ExternCall) for s in statements(kernel)):
        return ()
    found = []
    for k, source in enumerate(kernel.inputs):
        for j, target in enumerate(kernel.outputs):
            if (
                _same_memory(source, target)
                and _in_place(kernel, source, target)
                and poly.written_once(kernel, target)
            ):
                found.append((k, j))
    return tuple(found)


def _same_memory(source: Tensor, target: Tensor) -> bool:
    return bool(source.dims) and source.dtype == target.dtype and equal(source.shape, target.shape)


def _in_place(kernel: Kernel, source: Tensor, target: Tensor) -> bool:
    """True if the input is read only by stores of the output, at the element that they write."""
    here = 0
    for s in statements(kernel):
        writes = isinstance(s, Store) and s.tensor is target
        for root in () if isinstance(s, Alloc | Prefetch) else children(s):
            for n in walk(root) if isinstance(root, Expr) else ():
                if isinstance(n, Read) and n.tensor is source:
                    if not (writes and root is s.value and equal(n.indices, s.indices)):  # type: ignore[attr-defined]
                        return False
                    here += 1
    return here > 0

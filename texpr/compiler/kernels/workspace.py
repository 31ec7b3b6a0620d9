"""Needs of kernels besides their arrays: memory on the heap, which callers may give, and functions
of others.

A buffer of a loop that threads share is one for each range of iterations, which is what a thread
takes: callers give as many as ranges may run at once. A range takes one while it runs, the first
that is free: so they are few, and near again for the next range.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from texpr.ir.build import integer, product
from texpr.ir.expr import Tensor
from texpr.ir.loop import Alloc, ExternCall, For, If, Kernel, Stmt
from texpr.ir.loop_kind import PARALLEL, ScalableVector
from texpr.ir.traverse import statements
from texpr.passes.loop.place_buffers import PARTS, fits_stack, stride_of
from texpr.support.frozen_dataclass import replace


def with_scratch(final: Kernel) -> Kernel:
    """A kernel as it is emitted, for callers who give it memory for buffers that are too large for
    the stack and whose size is known.

    Buffers of loops that threads share are among them where they take no more, all together, than
    inputs and outputs do.
    """
    most = sum(_bytes(t) or 0 for t in (*final.inputs, *final.outputs))
    found = [
        t
        for t, times in _large(final).items()
        if (size := _bytes(t)) is not None and (times == 1 or times * size <= most)
    ]
    return replace(final, scratch=tuple(found))


def scratch_bytes(final: Kernel) -> tuple[int, ...]:
    """Bytes of each buffer that the caller gives."""
    return tuple(times * stride_of(t) for t, times in _large(final).items() if t in final.scratch)


def is_self_contained(final: Kernel) -> bool:
    """True if a kernel as it is emitted asks neither for memory nor for functions of others, so
    that it cannot fail.
    """
    own = {*final.temporaries, *(s.tensor for s in statements(final) if isinstance(s, Alloc))}
    given = {*final.scratch, *final.prepacked}
    return (
        not any(isinstance(s, ExternCall) for s in statements(final))
        and not _is_scalable(final)
        and not any(_is_large(t) for t in own - given)
    )


def _large(final: Kernel) -> Mapping[Tensor, int]:
    """The buffers on the heap of which it is known how many there are, and how many: of one that
    several loops make, as many as most.
    """
    if _is_scalable(final):  # each lane has buffers, of a length that the processor decides
        return {}
    found = dict.fromkeys((t for t in final.temporaries if _is_large(t) and t not in final.prepacked), 1)
    for tensor, times in _allocated(final.body, 1):
        found[tensor] = max(times, found.get(tensor, 0))
    return found


def _allocated(body: tuple[Stmt, ...], times: int) -> Iterator[tuple[Tensor, int]]:
    for s in body:
        if isinstance(s, Alloc) and _is_large(s.tensor):
            yield s.tensor, times
        elif isinstance(s, For) and s.kind == PARALLEL:
            extent = integer(s.extent) if times == 1 else None
            yield from () if extent is None else _allocated(s.body, min(extent, PARTS))
        elif isinstance(s, For | If):
            yield from _allocated(s.body, times)


def _bytes(tensor: Tensor) -> int | None:
    count = integer(product(tensor.shape))
    return None if count is None else count * tensor.dtype.bytes


def _is_large(tensor: Tensor) -> bool:
    return tensor.scope == "heap" or tensor.scope != "tile" and not fits_stack(tensor)


def _is_scalable(kernel: Kernel) -> bool:
    return any(isinstance(s, For) and isinstance(s.kind, ScalableVector) for s in statements(kernel))

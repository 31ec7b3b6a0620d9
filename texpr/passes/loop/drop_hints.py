"""Hints that are no longer what they were: about tensors that are gone, or at addresses that
cannot be computed.
"""

from __future__ import annotations

from collections.abc import Collection

from texpr import poly
from texpr.ir.expr import Tensor
from texpr.ir.loop import Alloc, For, If, Kernel, Prefetch, Stmt
from texpr.ir.traverse import kept_statements
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


def drop_hints(kernel: Kernel) -> Kernel:
    """The kernel without prefetches of tensors that it does not have where they stand, and without
    those whose address depends on data that is not proven to exist.

    A step may replace a tensor, or give each iteration of a loop one of its own, or add iterations.
    Nobody waits for what a hint asks for, so it goes.
    """
    if not any(isinstance(s, Prefetch) for s in kept_statements(kernel)):
        return kernel
    gone = {s for s, _ in poly.unproven_prefetches(kernel)}
    return replace(
        kernel, body=_kept(kernel.body, {*kernel.inputs, *kernel.outputs, *kernel.temporaries}, gone)
    )


def check_hints(kernel: Kernel) -> Kernel:
    """The kernel itself, once the addresses of its prefetches are proven to be computed from
    elements that exist.

    Raises:
        ScheduleError: one is not, with the tensor that is read.
    """
    for hint, read in poly.unproven_prefetches(kernel):
        raise ScheduleError(
            f"a prefetch of {hint.tensor.name} reads {read.tensor.name} where it may have no element",
            code="certificate",
        )
    return kernel


def _kept(body: tuple[Stmt, ...], known: Collection[Tensor], gone: Collection[Stmt]) -> tuple[Stmt, ...]:
    """The statements without such hints. Depth is that of the loop nest."""
    known = {*known, *(s.tensor for s in body if isinstance(s, Alloc))}
    kept = (s for s in body if not isinstance(s, Prefetch) or s.tensor in known and s not in gone)
    return tuple(_with(s, _kept(s.body, known, gone)) if isinstance(s, For | If) else s for s in kept)


def _with(s: For | If, body: tuple[Stmt, ...]) -> Stmt:
    """The statement around this body; itself if that is its body."""
    same = len(body) == len(s.body) and all(a is b for a, b in zip(body, s.body))
    return s if same else replace(s, body=body)

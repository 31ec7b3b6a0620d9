"""`nontemporal`: non-temporal stores, which do not stay in the caches."""

from __future__ import annotations

from texpr.ir.expr import Node, Read
from texpr.ir.loop import Kernel, Store
from texpr.ir.store_kind import NONTEMPORAL
from texpr.ir.traverse import rewrite, walk
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import stores
from texpr.schedule.structure.tensors import find_tensor
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


@step("stream", order_of_sums="kept")
def nontemporal(kernel: Kernel, tensor: str) -> Kernel:
    """Write an output past the caches, whole vectors at a time. A hint: always legal. Non-temporal
    stores elsewhere.

    for j in 0..16 vector: Y[j] = f   ->   for j in 0..16 vector: Y[j] = f  nontemporal

    Memory is written once and not read for it, and what the caches hold stays there: worth it for
    outputs that the caches would not hold anyway, a loss for others. It concerns vectors that begin
    at multiples of their length, in rows of whole lines of 64 bytes, of arrays that stand at a
    multiple of a vector; others are written as before.

    Raises:
        ScheduleError: it is no output, or the kernel reads it, in updates too.
    Example:
        op = tx.op("op plain(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }")
        s = tx.schedule(op).vectorize("i", 16)
        s.nontemporal("Y")
    Refused:
        op = tx.op("op running(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + Y[i - 1 | 0] }")
        tx.schedule(op).nontemporal("Y")
    Elsewhere: Halide `stream_stores` (after release 21); TVM none; Exo none; MLIR `nontemporal` (an
    attribute of `memref.store`).
    """
    t = find_tensor(kernel, tensor)
    if t not in kernel.outputs:
        raise ScheduleError(
            f"`{tensor}` is no output: what the kernel itself uses should stay near",
            code="nontemporal",
            help="name an output",
        )
    if any(isinstance(n, Read) and n.tensor is t for n in walk(kernel)):
        raise ScheduleError(
            f"`{tensor}` is read again, and would come back from memory",
            code="nontemporal",
            help="name an output that is only written",
        )
    if any(s.tensor is t and s.update is not None for s in stores(kernel)):
        raise ScheduleError(
            f"`{tensor}` is written by updates, which read it",
            code="nontemporal",
            help=f'cache_write("{tensor}", ...) collects them in a buffer',
        )

    def rule(node: Node) -> Node | None:
        return replace(node, mode=NONTEMPORAL) if isinstance(node, Store) and node.tensor is t else None

    return rewrite(kernel, rule)

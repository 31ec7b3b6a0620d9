"""`multicast`: what all blocks of a cluster copy, each copies a part of, to the memory of all of
them.
"""

from __future__ import annotations

from texpr.ir.expr import Node, Tensor, Var
from texpr.ir.loop import Barrier, For, If, Kernel, Stmt, Store, is_bulk
from texpr.ir.loop_kind import BulkCopy, Cluster
from texpr.ir.traverse import rewrite, statements, walk
from texpr.passes.loop.check_async import check_arrivals
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, qualified, span_of
from texpr.schedule.structure.tensors import find_temporary
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

STEP = "multicast"


@step(order_of_sums="kept")
def multicast(kernel: Kernel, tensor: str, *loops: str | Var) -> Kernel:
    """Let the blocks along loops of a cluster order together the bulk copies that fill a buffer.

    for u in 0..2 cluster.x: for i in 0..n: { wait ...; barrier; for a bulk_copy, b: T[(i+2) % 3, a, b] =
    X[...]; commit ...; ... }
    ->   for u in 0..2 cluster.x: for i in 0..n: { wait ...; barrier cluster; for a multicast.x, b: T[(i+2) % 3, a, b] = X[...]; ... }

    Each block has the buffer as before, and waits for all of it; it orders one part of each copy,
    for all of them, so that memory is read once. The barrier between the last reads of a buffer and
    the next copies to it is one of all threads of the cluster then. Legal if it is there, if blocks
    along the loops copy the same at the same time, and if no copy reaches a block that has ended.
    This is proven of the result for all sizes. Values and order stay as they are.

    Args:
        tensor: the buffer.
        loops: bound to `cluster.x`, `cluster.y` or `cluster.z`.
    Raises:
        ScheduleError: no such buffer or loop, no bulk copies, or it is not proven that all blocks
            copy the same.
    Example:
        op = tx.op('''op weighted(X: f32[T, 64], w: f32[H]) -> Y: f32[H, 64] {
          Y[h, i] = sum(t: X[t, 63 - i] * w[h])
        }''')
        s = tx.schedule(op, H=8, T=16).split("h", 2).bind("ho", "block.x").bind("hi", "cluster.x")
        s.reorder("t", "i").set_scope("Y_acc", "register")
        s.cache_read("X", "t").set_scope("X_cache", "shared")
        s.bind("i", "thread.x").pipeline("t", 3, asynchronous=True).bulk_copy("t")
        s.multicast("X_cache", "hi")
    Refused:
        s.multicast("X_cache", "ho")
    Elsewhere: Halide none; TVM none; Exo none; MLIR none.
    """
    buffer, axes = find_temporary(kernel, tensor, STEP), sorted({_axis(kernel, v) for v in loops})
    copies = [
        n
        for n in walk(kernel)
        if is_bulk(n) and any(isinstance(s, Store) and s.tensor is buffer for s in statements(n))
    ]
    if not copies or not axes:
        what = (
            f"no bulk copies fill {tensor}"
            if axes
            else f"along which blocks of a cluster {tensor} is the same is not said"
        )
        raise ScheduleError(
            what,
            code=STEP,
            help="pipeline(..., asynchronous=True) and bulk_copy make copies; then name a loop that is bound "
            "to cluster.x",
        )
    marked = set(copies)

    def rule(node: Node) -> Node | None:
        if isinstance(node, For) and node in marked:
            return replace(node, kind=BulkCopy("".join(axes)))
        if isinstance(node, For) and _fills(node, buffer):
            return replace(
                node, body=tuple(replace(s, cluster=True) if isinstance(s, Barrier) else s for s in node.body)
            )
        return None

    return check_arrivals(rewrite(kernel, rule))


def _axis(kernel: Kernel, name: str | Var) -> str:
    (loop, *_) = find_loops(kernel, name)
    if not isinstance(loop.kind, Cluster):
        raise ScheduleError(
            f"`{qualified(loop)}` is no loop over the blocks of a cluster",
            span_of(kernel, loop),
            code=STEP,
            help=f'bind("{qualified(loop)}", "cluster.x")',
        )
    return loop.kind.axis


def _fills(loop: For, buffer: Tensor) -> bool:
    """True if bulk copies to a buffer stand in the body of a loop, under conditions or not."""
    inside: list[Stmt] = [n for s in loop.body for n in (s.body if isinstance(s, If) else (s,))]
    return any(
        is_bulk(n) and any(isinstance(s, Store) and s.tensor is buffer for s in statements(n)) for n in inside
    )

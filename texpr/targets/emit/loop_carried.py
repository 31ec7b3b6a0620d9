"""Values that loops leave in memory for their next iterations."""

from __future__ import annotations

from texpr.ir.affine import linear
from texpr.ir.build import sub
from texpr.ir.expr import Expr, Read
from texpr.ir.loop import For, Kernel, Store
from texpr.ir.loop_kind import SERIAL
from texpr.ir.traverse import identical, statements, walk
from texpr.passes.analysis.row_major import flat_index


def carries(kernel: Kernel) -> bool:
    """True if an innermost loop reads, at a fixed distance, an element that another iteration of it
    stored: such values could stay in registers.
    """
    return any(_carries(loop) for loop in statements(kernel) if isinstance(loop, For) and loop.kind == SERIAL)


def _carries(loop: For) -> bool:
    inside = list(statements(*loop.body))
    if any(isinstance(s, For) and s.kind == SERIAL for s in inside):
        return False
    stored = [s for s in inside if isinstance(s, Store)]
    targets = {s.tensor for s in stored}
    reads = [n for s in stored for n in walk(s.value) if isinstance(n, Read) and n.tensor in targets]
    return any(r.tensor is s.tensor and _apart(r, s) for r in reads for s in stored)


def _apart(read: Read, store: Store) -> bool:
    if all(identical(a, b) for a, b in zip(read.indices, store.indices)):
        return False
    distance = linear(sub(_position(read), _position(store)))
    return not distance.terms and distance.constant != 0


def _position(at: Read | Store) -> Expr:
    return flat_index(at.tensor, at.indices).expr()

"""Rows that come from memory are asked for while functions of the row before are computed.

Of nests that are joined by row the first one waits for memory, and the others for arithmetic: hardware foresees lines while it misses
some, not while it computes from the first cache.
"""

from __future__ import annotations

from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import For, Store
from texpr.ir.traverse import walk
from texpr.schedule.cheap import FUNCTION, operations
from texpr.schedule.loops import all_loops, qualified
from texpr.schedule.plan import Plan
from texpr.schedule.tensors import bytes_of

SHARE = 8
"""Of the second cache, which a row and the next one may fill beside all else."""


def ask_ahead(plan: Plan) -> None:
    """Prefetch rows of inputs in the loops of expensive elements, one row early."""
    caches = plan.machine.caches[:2]
    for row in all_loops(plan.kernel) if caches else ():
        for tensor in plan.kernel.inputs:
            nests = [n for n in row.body if isinstance(n, For) and _reads_row(n, tensor, row)]
            busy = next((n for n in nests[1:] if _is_busy(n, tensor)), None)
            if busy is not None and bytes_of(tensor) > caches[-1] >= SHARE * bytes_of(tensor, tensor.shape[1:]):
                plan.step("prefetch", tensor.name, qualified(row), 1, at=qualified(busy))


def _reads_row(nest: For, tensor: Tensor, row: For) -> bool:
    """Whether a nest reads what the first index of a tensor gives for an iteration of the loop around it."""
    return any(isinstance(n, Read) and n.tensor is tensor and n.indices[:1] == (row.var,) for n in walk(nest))


def _is_busy(nest: For, tensor: Tensor) -> bool:
    """Whether what is computed of each element of the tensor takes longer than to fetch it."""
    inner = [n for n in walk(nest) if isinstance(n, For) and any(isinstance(s, Store) for s in n.body)]
    return any(operations(s.value, along=n.var) >= FUNCTION for n in inner for s in n.body if isinstance(s, Store)
               and any(isinstance(r, Read) and r.tensor is tensor for r in walk(s.value)))

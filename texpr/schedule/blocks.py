"""Default schedules for GPUs: which nests share a kernel, what blocks and threads of each do.

Contractions have tiles (`gemm`), those over windows too (`convolve`). Rows of sums have a warp or a block each (`rows`); sums of columns
have threads along the columns and the terms; long sums of few elements are cut into parts, a launch of their own; updates
that meet keep their order (`meeting`), but for those whose elements data chooses: they are atomic, and a thread has one of them; all else
has one thread for each vector of the target.
"""

from __future__ import annotations

from functools import partial
from math import prod

from texpr.ir.build import integer
from texpr.schedule.convolve import convolved
from texpr.schedule.gemm import contracted
from texpr.schedule.loops import qualified
from texpr.schedule.meeting import bound_apart
from texpr.schedule.nests import Nest, extent, free_nests
from texpr.schedule.plan import Plan
from texpr.schedule.rows import LANES, VECTOR_BYTES, fused, summed_rows

FEW = 64
"""Elements whose sums leave most of the processors idle."""
PART = 1 << 13
"""Terms of a part of a long sum."""
MOST_PARTS = 1 << 9
LONG = 256
"""Terms of a column from which on several threads share it."""


def on_gpu(plan: Plan) -> None:
    """Choose the steps for all nests of a kernel."""
    for nest in filter(None, map(plan.current, free_nests(plan.kernel))):
        plan.attempt(nest.label, partial(_summed, plan, nest), None)
    plan.attempt("", partial(summed_rows, plan), None)
    for nest in filter(None, map(plan.current, free_nests(plan.kernel))):
        plan.attempt(nest.label, partial(_bound, plan, nest), None)


def _summed(plan: Plan, nest: Nest) -> None:
    """Schedule a nest as a contraction or a convolution, or cut its sums in parts."""
    if not (nest.reduction and (contracted(plan, nest) or convolved(plan, nest))):
        _in_parts(plan, nest)


def _in_parts(plan: Plan, nest: Nest) -> None:
    """Long sums of few elements: parts of them are computed each on its own, by a launch before."""
    rows = prod(map(extent, nest.spatial))
    if not nest.reduction or rows > FEW or nest.recurrent or nest.again:
        return
    longest = max(nest.reduction, key=extent)
    n = integer(longest.extent)
    if n is None or n < 4 * PART or len(nest.spatial) > 1:
        return
    cut = plan.split(qualified(longest), max(PART, -(-n // MOST_PARTS)))
    if cut is not None and plan.step("rfactor", cut[0], reassoc=True) and nest.spatial:
        plan.step("fission", qualified(nest.spatial[0]))


def _bound(plan: Plan, nest: Nest) -> None:
    loops = nest.spatial
    if not loops or all(integer(loop.extent) == 1 for loop in loops):
        return  # a single thread: a loop of one iteration may be over a sum, and cannot be shared
    if nest.reduction and _columns(plan, nest):
        return
    if bound_apart(plan, nest):
        return
    vector, names = ("", [qualified(n) for n in nest.spatial]) if _made_atomic(plan, nest) else _vector(plan, nest)
    name = fused(plan, names)
    if (cut := plan.split(name, plan.machine.gpu_threads)) is not None:
        if not nest.again:  # blocks do not wait for each other: what a recurrence repeats is one block's
            plan.step("bind", cut[0], "block.x")
        plan.step("bind", cut[1], "thread.x")
    if vector:
        plan.step("vectorize", vector)


def _made_atomic(plan: Plan, nest: Nest) -> bool:
    """Whether threads may meet in the updates of a nest from now on, which they could not before: each has one then, so that those of a
    warp have neighbours.
    """
    updated = nest.main.update is not None and not nest.reduction and not nest.again
    return updated and plan.step("atomic", nest.main.tensor.name, reassoc=True)


def _vector(plan: Plan, nest: Nest) -> tuple[str, list[str]]:
    """The loop over a thread's neighbours (empty if it has one element), and the loops around it."""
    names, last = [qualified(n) for n in nest.spatial], nest.spatial[-1]
    lanes = VECTOR_BYTES // max(a.tensor.dtype.bytes for a in nest.accesses)
    n = integer(last.extent)
    plain = all(a.stride(last.var) in (0, 1) for a in nest.accesses) and nest.accesses[0].stride(last.var) == 1
    if nest.reduction or nest.again or not plain or lanes < 2 or (n is None or n % lanes) and len(names) > 1:
        return "", names
    if n is not None and n < lanes:
        return "", names
    cut = plan.split(names[-1], lanes)
    return ("", names) if cut is None else (cut[1], [*names[:-1], cut[0]])


def _columns(plan: Plan, nest: Nest) -> bool:
    """Sums of columns: neighbouring threads have neighbouring columns, and several threads share the terms of each."""
    last, term = nest.spatial[-1], nest.reduction[0]
    if nest.recurrent or nest.again or extent(term) < LONG or len(nest.reduction) > 1 or nest.main.update not in ("add", "max", "min"):
        return False
    moving = [a for a in nest.accesses[1:] if a.stride(term.var) != 0]
    if nest.accesses[0].stride(last.var) != 1 or any(a.stride(last.var) != 1 for a in moving):
        return False
    groups = LANES if extent(term) >= 4 * LONG else LANES // 4
    terms = plan.split(qualified(term), groups)
    if terms is None or not plan.step("rfactor", terms[1], reassoc=True):
        return False
    columns = plan.split(qualified(last), LANES)
    if columns is None:
        return False
    plan.step("bind", terms[1], "thread.y")
    plan.step("bind", columns[1], "thread.x")
    plan.step("bind", fused(plan, [*(qualified(n) for n in nest.spatial[:-1]), columns[0]]), "block.x")
    return True

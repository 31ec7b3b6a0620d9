"""Default schedules for GPUs: which nests share a kernel, what blocks and threads of each do.

Contractions have tiles (`gemm`), those over windows too (`direct_convolution`). Rows of sums have a
warp or a block each (`row_reduction`); sums of columns have threads along the columns and the
terms; long sums of few elements are cut into parts, a launch of their own (`sums`); updates that
meet keep their order (`colliding_updates`), but for those whose elements data chooses: they are
atomic, and a thread has one of them; all else has one thread for each vector of the target
(`elements`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import find_nests, unmarked_nests
from texpr.autoschedule.core.template import Among, Stage, Template, apply_first, of_stage
from texpr.autoschedule.gpu.row_reduction import prepare_rows
from texpr.ir.build import integer
from texpr.schedule.structure.loops import all_loops


def schedule_equations(builder: ScheduleBuilder, templates: Sequence[Template]) -> bool:
    """Schedule the nests around the first one that a template for whole equations takes; whether
    one did.
    """
    if any(integer(n.extent) == 0 for n in all_loops(builder.kernel)):
        return False  # Nests without iterations are no longer there.
    known, nests = of_stage(templates, Stage.EQUATIONS), find_nests(builder.kernel)
    return any(apply_first(builder, known, Among(n, nests), n.label) is not None for n in nests)


def schedule_gpu(builder: ScheduleBuilder, templates: Sequence[Template]) -> None:
    """Choose the steps for all nests of a kernel."""
    _one_by_one(builder, of_stage(templates, Stage.SUMS))
    builder.attempt(None, partial(prepare_rows, builder), None)
    for template in of_stage(templates, Stage.GROUPS):
        builder.attempt(None, partial(_in_groups, builder, template), None)
    _one_by_one(builder, of_stage(templates, Stage.NESTS))


def _one_by_one(builder: ScheduleBuilder, templates: Sequence[Template]) -> None:
    """Schedule each nest that no thread shares yet by itself."""
    for nest in filter(None, map(builder.current, unmarked_nests(builder.kernel))):
        builder.attempt(nest.label, partial(apply_first, builder, templates, nest, nest.label), None)


def _in_groups(builder: ScheduleBuilder, template: Template) -> None:
    """Schedule nests together with those before them that they take values from, the last ones
    first.
    """
    nests, taken = unmarked_nests(builder.kernel), set[int]()
    for nest in reversed(nests):
        if id(nest) not in taken:
            found = apply_first(builder, [template], Among(nest, nests, frozenset(taken)), nest.label)
            taken.update(map(id, () if found is None else found.members))

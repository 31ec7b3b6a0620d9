"""Scheduling steps: checked rewrites of a kernel.

Each step is a function from a kernel to a kernel that computes the same values, or it raises
`ScheduleError` with the smallest example of what would go wrong. Steps that keep the order of
execution (`split`, `fuse`, `unroll`) need no proof; `reorder` asks isl whether every dependence
keeps its direction, and so do `tile`, `unroll_and_jam`, `fission`, `merge` and `reverse`, which
move statements as it does (`legality.rearrange`); `skew` makes them legal where they are not.
`vectorize`, `parallel` and `bind` ask whether iterations are independent, but for what is `atomic`;
`rfactor` changes the order of a sum and says so. `cache_read` and `cache_write` put a buffer
between a tensor and the loops that use it, of the size of the box an iteration touches; `layout`
and `pad` say how it lies in memory, `set_scope` where. `tensorize` runs a nest as one instruction
whose meaning is that nest. The steps in `steps.algebra` alone rewrite equations. A step's file has
its name, in the folder of its kind; `steps.registry` knows all of them.

A loop is named by its variable. Where a reduction's start value or final store had to leave a loop
(`reorder` distributes loops over statements), the copies keep the name and belong together: a step
by name takes all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.schedule.analysis.annotations import explain

__all__ = ["explain"]

offer_late(__name__)

"""A schedule while it is chosen: steps that are legal are taken, others left out, and so is a
part of the schedule that fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import TypeVar

from texpr.autoschedule.core.decision import Decision
from texpr.autoschedule.core.nest import Nest, constant_extent, find_nests
from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.ir.loop import For, Kernel
from texpr.ir.machine import Machine
from texpr.schedule.analysis.access import Access
from texpr.schedule.analysis.annotations import UNSCHEDULED
from texpr.schedule.script.script import Step
from texpr.schedule.structure.loops import all_loops, find_loops, free_name, qualified
from texpr.support.errors import Error, ResourceError, ScheduleError
from texpr.support.options import current
from texpr.support.unread import unread

LONG = 1 << 40
T = TypeVar("T")


class ScheduleBuilder:
    """The steps so far and the kernel they give.

    Attributes:
        decisions: which template scheduled which nest.
        refused: the step that was refused last.
    """

    def __init__(self, kernel: Kernel, machine: Machine) -> None:
        self.kernel, self.machine = kernel, machine
        self.steps: list[Step] = []
        self.decisions: list[Decision] = []
        self.refused: Step | None = None

    def try_apply(self, name: str, /, *args: object, **options: object) -> bool:
        """Apply a step if it is legal; whether it was."""
        step = Step(name, args, tuple(options.items()))
        try:
            with unread():
                self.kernel = step.apply(self.kernel)
        except (ScheduleError, ResourceError):
            self.refused = step
            return False
        self.steps.append(step)
        return True

    def new_buffer(self, name: str, /, *args: object, **options: object) -> Tensor | None:
        """Apply a step that makes a buffer (`cache_read`, `rfactor`) if it is legal; the buffer,
        None where it is not.
        """
        return self.kernel.temporaries[-1] if self.try_apply(name, *args, **options) else None

    def can_apply(self, name: str, /, *args: object, **options: object) -> bool:
        """Whether a step is legal here; it is not taken."""
        before = self.checkpoint()
        found = self.try_apply(name, *args, **options)
        self.rollback(before)
        return found

    def loop(self, name: str) -> For:
        """The first loop of a name."""
        return find_loops(self.kernel, name)[0]

    def surviving_loops(self, names: list[str]) -> list[str]:
        """The names that loops still have: those of one iteration go when another nest is
        peeled.
        """
        return [name for name in names if self._has(name)]

    def _has(self, name: str) -> bool:
        try:
            return bool(find_loops(self.kernel, name))
        except ScheduleError:
            return False

    def extents(self, name: str) -> list[int | None]:
        """The extents of the loops of a name, None where one is no constant. A loop that is
        gone, or was never made, had one iteration.
        """
        return [integer(n.extent) for n in find_loops(self.kernel, name)] if self._has(name) else [1]

    def exceeds_l2(self, nest: Nest, access: Access) -> bool:
        """What a nest reads there does not stay in the second cache."""
        used = prod(constant_extent(n) for n in nest.loops if access.stride(n.var) != 0)
        return bool(self.machine.caches) and used * access.tensor.dtype.bytes > self.machine.caches[:2][-1]

    def checkpoint(self) -> tuple[Kernel, int, int]:
        """The state now, for `rollback`."""
        return self.kernel, len(self.steps), len(self.decisions)

    def rollback(self, checkpoint: tuple[Kernel, int, int]) -> None:
        """Leave out the steps since then, and the decisions that they follow from."""
        self.kernel, steps, decisions = checkpoint
        del self.steps[steps:], self.decisions[decisions:]

    def transaction(self, work: Callable[[], T | None]) -> T | None:
        """All the steps of a piece of work, or none of them if it gives nothing."""
        before = self.checkpoint()
        found = work()
        if found is None:
            self.rollback(before)
        return found

    def attempt(self, label: str, work: Callable[[], T], otherwise: T) -> T:
        """The result of a part of the schedule. Where it raises, its steps are left out, and a mark
        says so: a kernel without them is slow, a call that raises is worse. Under the option
        `verify` it raises.

        Args:
            label: names the loops whose innermost carries the mark; the first loop of the kernel
                where none has it.
            otherwise: the result where the part raises.
        """
        before = self.checkpoint()
        try:
            return work()
        except Exception as error:  # of any class: it says that the part assumes what does not hold
            if current().verify:
                raise
            self.rollback(before)
            if label:
                self.decisions.append(Decision(label, ""))
            loops = all_loops(self.kernel)
            for loop in ([n for n in loops if n.tensor == label] or loops[:1])[
                -1:
            ]:  # steps on users keep inner loops
                self.try_apply("annotate", qualified(loop), **{UNSCHEDULED: _plain(error)})
            return otherwise

    def current(self, nest: Nest) -> Nest | None:
        """The nest as it is now: steps on other nests fold extents and conditions, and with them
        loops go; None where all of them did.
        """
        there = {qualified(n) for n in all_loops(self.kernel)}
        if all(qualified(n) in there for n in nest.loops):
            return nest
        now = (
            n
            for n in find_nests(self.kernel)
            if n.label == nest.label and n.main.equation == nest.main.equation
        )
        return next(now, None)

    def split_if_longer(self, name: str, factor: int, tail: str = "peel") -> tuple[str, str]:
        """Split a loop, if it is longer than `factor`; names of the outer (empty if there is
        none) and the inner loop.
        """
        n = max(LONG if each is None else each for each in self.extents(name))
        if n <= factor:
            return "", name
        return (n != LONG and self.split(name, factor, tail=tail)) or self.split(name, factor) or ("", name)

    def split(self, name: str, factor: int, **options: object) -> tuple[str, str] | None:
        """Split a loop; names of the outer and the inner loop, or None where that is not
        possible.
        """
        owner, dot, plain = name.rpartition(".")
        names = free_name(self.kernel, owner, plain + "o"), free_name(self.kernel, owner, plain + "i")
        if names != (plain + "o", plain + "i"):
            options["names"] = names
        return (
            (owner + dot + names[0], owner + dot + names[1])
            if self.try_apply("split", name, factor, **options)
            else None
        )

    @property
    def l2_budget(self) -> int:
        """Bytes that stay in the second cache while others pass through."""
        return self.machine.caches[:2][-1] // 2 if self.machine.caches else 0

    def vector_lanes(self, nest: Nest) -> int:
        """Elements of a vector register for the widest type in the main statement."""
        return max(1, self.machine.vector_bytes // max(a.tensor.dtype.bytes for a in nest.accesses))


def _plain(error: Exception) -> str:
    """An exception as the text of a mark."""
    text = error.message if isinstance(error, Error) else str(error)
    return re.sub(r"[^A-Za-z0-9_.,:/+*-]+", " ", f"{type(error).__name__}: {text}")[:80].strip()

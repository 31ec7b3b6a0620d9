"""A schedule while it is chosen: steps that are legal are taken, others left out, and so is a
part of the schedule that fails.

Steps come in two forms. `try_split` and its like say whether a step was legal, for those that a
template can do without. `split` and its like end the template (`Refused`) where it was not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set
from math import prod
from typing import TypeVar

from texpr.autoschedule.core.decision import Decision
from texpr.autoschedule.core.handles import LoopHandle, handle
from texpr.autoschedule.core.nest import Nest, constant_extent, find_nests
from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.ir.loop import For, Kernel
from texpr.ir.machine import Machine
from texpr.schedule.analysis.access import Access
from texpr.schedule.analysis.annotations import UNSCHEDULED
from texpr.schedule.analysis.constant_nests import constant_nests, written
from texpr.schedule.legality.presumption import presumed
from texpr.schedule.script.script import Step
from texpr.schedule.structure.loops import all_loops, find_loops, free_name
from texpr.support.errors import Error, ResourceError, ScheduleError
from texpr.support.options import current
from texpr.support.unread import unread

UNBOUNDED = 1 << 40
"""Iterations that a loop of symbolic extent counts as: more than any factor of a split."""
T = TypeVar("T")


class Refused(Exception):
    """A step that a template cannot do without is not legal: the template does not go through."""

    def __init__(self, step: Step) -> None:
        super().__init__(f"the step {step.name} was refused")


class ScheduleBuilder:
    """The steps so far and the kernel they give.

    Attributes:
        constants: names of inputs that have the same values from call to call.
        decisions: which template scheduled which nest.
        refused: the step that was refused last.
    """

    def __init__(self, kernel: Kernel, machine: Machine, constants: Set[str] = frozenset()) -> None:
        self.kernel, self.machine, self.constants = kernel, machine, constants
        self.steps: list[Step] = []
        self.decisions: list[Decision] = []
        self.refused: Step | None = None

    def is_constant(self, tensor: Tensor) -> bool:
        """True if an input has the same values from call to call: it is packed once."""
        return tensor.name in self.constants

    def is_kept(self, tensor: Tensor) -> bool:
        """True if a temporary is computed of constant inputs alone: callers keep it from call to
        call, if its loops stay outermost.
        """
        return any(tensor in written(nest) for nest in constant_nests(self.kernel, self.constants))

    def try_apply(self, name: str, /, *args: object, **options: object) -> bool:
        """Apply a step if it is legal; True if it was.

        Args:
            args: loops and buffers as handles (`LoopHandle`, `For`, `Tensor`), all else as the step
                takes it. So are options.
        """
        step = Step(name, tuple(map(_named, args)), tuple((k, _named(v)) for k, v in options.items()))
        try:
            with unread():
                self.kernel = step.apply(self.kernel)
        except (ScheduleError, ResourceError):
            self.refused = step
            return False
        self.steps.append(step)
        return True

    def apply(self, name: str, /, *args: object, **options: object) -> None:
        """Apply a step, as `try_apply`.

        Raises:
            Refused: it is not legal.
        """
        if not self.try_apply(name, *args, **options):
            raise self._refusal()

    def _refusal(self) -> Refused:
        """The error of the step that was refused last."""
        assert self.refused is not None
        return Refused(self.refused)

    def try_new_buffer(self, name: str, /, *args: object, **options: object) -> Tensor | None:
        """Apply a step that makes a buffer (`cache_read`, `rfactor`) if it is legal; the buffer,
        None where it is not.
        """
        return self.kernel.temporaries[-1] if self.try_apply(name, *args, **options) else None

    def try_copy(self, tensor: Tensor, at: LoopHandle, **options: object) -> Tensor | None:
        """A copy of what an iteration of a loop reads of a tensor, of a constant input in front of
        all loops, if it is legal; the buffer, None where it is not.
        """
        places = ((), (at,)) if self.is_constant(tensor) else ((at,),)
        return next(
            (
                made
                for place in places
                if (made := self.try_new_buffer("cache_read", tensor, *place, **options))
            ),
            None,
        )

    def new_buffer(self, name: str, /, *args: object, **options: object) -> Tensor:
        """Apply a step that makes a buffer; the buffer.

        Raises:
            Refused: it is not legal.
        """
        self.apply(name, *args, **options)
        return self.kernel.temporaries[-1]

    def current_buffer(self, buffer: Tensor) -> Tensor:
        """A buffer as it is now: steps that change its shape or place replace it."""
        return next(t for t in self.kernel.temporaries if t.name == buffer.name)

    def can_apply(self, name: str, /, *args: object, **options: object) -> bool:
        """True if a step is legal here; it is not taken."""
        before = self.checkpoint()
        with presumed(False):  # it is asked for a choice
            found = self.try_apply(name, *args, **options)
        self.rollback(before)
        return found

    def loop(self, loop: LoopHandle) -> For:
        """The first loop of a handle.

        Raises:
            ScheduleError: there is none any more.
        """
        return find_loops(self.kernel, str(loop))[0]

    def loops(self, loop: LoopHandle) -> list[For]:
        """All loops of a handle; none where they are gone: loops of one iteration go when another
        nest is peeled.
        """
        try:
            return find_loops(self.kernel, str(loop))
        except ScheduleError:
            return []

    def surviving_loops(self, loops: Iterable[LoopHandle]) -> list[LoopHandle]:
        """The handles that still have loops."""
        return [loop for loop in loops if self.loops(loop)]

    def extents(self, loop: LoopHandle) -> list[int | None]:
        """The extents of the loops of a handle, None where one is no constant. A loop that is
        gone, or was never made, had one iteration.
        """
        return [integer(n.extent) for n in self.loops(loop)] or [1]

    def exceeds_l2(self, nest: Nest, access: Access) -> bool:
        """True if the part of a tensor that a nest reads does not stay in the second cache."""
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
        try:
            found = work()
        except Refused:
            found = None
        if found is None:
            self.rollback(before)
        return found

    def attempt(self, label: str | None, work: Callable[[], T], otherwise: T) -> T:
        """The result of a part of the schedule. Where it raises, its steps are left out, and a mark
        says so: a kernel without them is slow, a call that raises is worse. Under the option
        `verify` it raises.

        Args:
            label: of the nest whose innermost loop carries the mark; the first loop of the kernel
                where no loop has it, or the part is about no nest.
            otherwise: the result where the part raises.
        """
        before = self.checkpoint()
        try:
            return work()
        except Exception as error:  # of any class: it says that the part assumes what does not hold
            if current().verify:
                raise
            self.rollback(before)
            if label is not None:
                self.decisions.append(Decision(label, None))
            loops = all_loops(self.kernel)
            for loop in ([n for n in loops if n.tensor == label] or loops[:1])[
                -1:
            ]:  # steps on users keep inner loops
                self.try_apply("annotate", loop, **{UNSCHEDULED: _plain(error)})
            return otherwise

    def current(self, nest: Nest) -> Nest | None:
        """The nest as it is now: steps on other nests fold extents and conditions, and with them
        loops go; None where all of them did.
        """
        there = {handle(n) for n in all_loops(self.kernel)}
        if all(handle(n) in there for n in nest.loops):
            return nest
        now = (
            n
            for n in find_nests(self.kernel)
            if n.label == nest.label and n.main.equation == nest.main.equation
        )
        return next(now, None)

    def split_if_longer(
        self, loop: LoopHandle | For, factor: int, tail: str = "peel"
    ) -> tuple[LoopHandle | None, LoopHandle]:
        """Split a loop, if it is longer than `factor`; the outer loop, None where the loop was not
        split, and the inner one.
        """
        loop = _handle(loop)
        n = max(UNBOUNDED if each is None else each for each in self.extents(loop))
        if n <= factor:
            return None, loop
        found = self.try_split(loop, factor, tail=tail) if n != UNBOUNDED else None
        return found or self.try_split(loop, factor) or (None, loop)

    def split_longer(
        self, loop: LoopHandle | For, factor: int, tail: str = "peel"
    ) -> tuple[LoopHandle, LoopHandle]:
        """Split a loop that is longer than `factor`, as `split_if_longer`.

        Raises:
            Refused: that is not legal, or the loop is not longer.
        """
        outer, inner = self.split_if_longer(loop, factor, tail)
        if outer is None:
            raise Refused(Step("split", (str(inner), factor)))
        return outer, inner

    def names_of_parts(self, loop: LoopHandle) -> tuple[LoopHandle, LoopHandle, dict[str, object]]:
        """The outer and the inner loop that a step will make of a loop, and the option that names them
        so, where the step would not.
        """
        default = f"{loop.name}o", f"{loop.name}i"
        outer, inner = (free_name(self.kernel, loop.tensor, name) for name in default)
        names: dict[str, object] = {} if (outer, inner) == default else {"names": (outer, inner)}
        return loop.named(outer), loop.named(inner), names

    def try_split(
        self, loop: LoopHandle | For, factor: int, **options: object
    ) -> tuple[LoopHandle, LoopHandle] | None:
        """Split a loop if that is legal; the outer and the inner loop, None where it is not."""
        loop = _handle(loop)
        outer, inner, names = self.names_of_parts(loop)
        options |= names
        if not self.try_apply("split", loop, factor, **options):
            return None
        return outer, inner

    def split(self, loop: LoopHandle | For, factor: int, **options: object) -> tuple[LoopHandle, LoopHandle]:
        """Split a loop; the outer and the inner loop.

        Raises:
            Refused: that is not legal.
        """
        found = self.try_split(loop, factor, **options)
        if found is None:
            raise self._refusal()
        return found

    def try_fuse(self, outer: LoopHandle | For, inner: LoopHandle | For, name: str) -> LoopHandle | None:
        """Make one loop of two nested ones if that is legal; the loop, None where it is not."""
        return _handle(outer).named(name) if self.try_apply("fuse", outer, inner, name=name) else None

    def fuse(self, outer: LoopHandle | For, inner: LoopHandle | For, name: str) -> LoopHandle:
        """Make one loop of two nested ones; the loop.

        Raises:
            Refused: that is not legal.
        """
        self.apply("fuse", outer, inner, name=name)
        return _handle(outer).named(name)

    @property
    def l2_budget(self) -> int:
        """Bytes that stay in the second cache while others pass through."""
        return self.machine.caches[:2][-1] // 2 if self.machine.caches else 0

    def vector_lanes(self, nest: Nest) -> int:
        """Elements of a vector register for the widest type in the main statement."""
        return max(1, self.machine.vector_bytes // max(a.tensor.dtype.bytes for a in nest.accesses))


def _handle(loop: LoopHandle | For) -> LoopHandle:
    return handle(loop) if isinstance(loop, For) else loop


def _named(argument: object) -> object:
    """An argument as steps record it: handles by their names."""
    if isinstance(argument, For | LoopHandle):
        return str(_handle(argument))
    return argument.name if isinstance(argument, Tensor) else argument


def _plain(error: Exception) -> str:
    """An exception as the text of a mark."""
    text = error.message if isinstance(error, Error) else str(error)
    return re.sub(r"[^A-Za-z0-9_.,:/+*-]+", " ", f"{type(error).__name__}: {text}")[:80].strip()

"""A kernel and the steps that made it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np

from texpr.ir.expr import Var
from texpr.ir.loop import For, Kernel
from texpr.ir.tensor import Program
from texpr.schedule.script.script import Step, called
from texpr.schedule.script.step_methods import StepMethods
from texpr.schedule.script.suggestions import explained
from texpr.schedule.steps.registry import Rule
from texpr.schedule.structure.loops import all_loops, find_loops, loop_names
from texpr.support.elsewhere import SCHEDULE
from texpr.support.errors import ResourceError, ScheduleError
from texpr.support.suggest import suggests

_HERE = str(Path(__file__).parents[1])


class Loops(tuple[Var, ...]):
    """Handles of loops, printed as the names that steps take."""

    def __new__(cls, kernel: Kernel) -> Self:
        """The loops of a kernel, outermost first."""
        return super().__new__(cls, (n.var for n in all_loops(kernel)))

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def __repr__(self) -> str:
        return f"loops({', '.join(loop_names(self._kernel))})"

    def __reduce__(self) -> tuple[type[Loops], tuple[Kernel]]:
        return Loops, (self._kernel,)


@suggests(SCHEDULE)
class Steps(StepMethods):
    """A kernel and the steps that made it. Every step returns the schedule, so steps chain; a
    refused step changes nothing.

    Attributes:
        program: what is scheduled, sizes symbolic.
    """

    def __init__(self, program: Program, lower: Callable[[], Kernel]) -> None:
        """`lower` gives the naive loop nest, when it is needed."""
        self.program = program
        self._lowered = cache(lower)
        self._first: Callable[[], tuple[list[Step], Kernel]] = cache(lambda: ([], self._lowered()))
        self._now: tuple[list[Step], Kernel] | None = None
        self._replaced = False

    @property
    def naive(self) -> Kernel:
        """The loop nest before any step."""
        return self._lowered()

    @property
    def kernel(self) -> Kernel:
        """The loop nest as it is now."""
        return self._state()[1]

    @kernel.setter
    def kernel(self, kernel: Kernel) -> None:
        self._now, self._replaced = (self.steps, kernel), True

    @property
    def steps(self) -> list[Step]:
        """The steps so far."""
        return self._state()[0]

    def _state(self) -> tuple[list[Step], Kernel]:
        if self._now is None:
            steps, kernel = self._first()
            self._now = list(steps), kernel
        return self._now

    @property
    def loops(self) -> Loops:
        """Handles of all loops, outermost first; printed, their names."""
        return Loops(self.kernel)

    def apply(self, step: Step, script: str = "") -> Self:
        """Apply a step.

        Args:
            script: the name of the script that it is from, if any.
        Raises:
            ScheduleError: it does not apply, or would change the answer.
        """
        try:
            kernel = step.apply(self.kernel)
        except (ScheduleError, ResourceError) as error:
            number = len(self.steps) + 1
            place = f", {script}:{step.line}" if script and step.line else _caller()
            raise explained(error, self.kernel, step, self.program, f"step {number}{place}: {step}") from None
        self._now = [*self.steps, step], kernel
        return self

    def _call(self, rule: Rule, args: Sequence[object], options: Mapping[str, object]) -> Self:
        # Handles become names, NumPy's integers numbers: a script must read the same in another
        # process.
        return self.apply(
            called(
                rule, [self._plain(a) for a in args], {name: self._plain(v) for name, v in options.items()}
            )
        )

    def _plain(self, value: object) -> object:
        if isinstance(value, tuple | list):
            return tuple(map(self._plain, value))
        return (
            self._name(value)
            if isinstance(value, Var)
            else int(value)
            if isinstance(value, np.integer)
            else value
        )

    def _name(self, handle: Var) -> str:
        loop: For = next(
            (n for n in find_loops(self.kernel, handle) if n.var is handle),
            find_loops(self.kernel, handle)[0],
        )
        return handle.name if handle.name in loop_names(self.kernel) else f"{loop.tensor}.{handle.name}"


def _caller() -> str:
    """Place of the user's call, as `, file.py:12`: the innermost frame that is not ours."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    if frame is None:
        return ""
    path = Path(frame.f_code.co_filename)
    if path.parent.name.startswith("ipykernel_"):  # a cell of a notebook: its file has a random name
        return f", line {frame.f_lineno} of the cell"
    return f", {path.name}:{frame.f_lineno}"

"""A schedule to try, as a value and as text: a block of a `.litmus` file, which says what must
hold of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from texpr import ops
from texpr.ir.loop import Kernel
from texpr.ir.printing.tensor import show_program
from texpr.schedule.script.script import Step, parse_script
from texpr.schedule.steps.registry import aliases, rules
from texpr.support.frozen_dataclass import frozen
from texpr.tools.bench.certificates import small
from texpr.tools.fuzz.programs import program_text
from texpr.tools.fuzz.random_operators import operator_text
from texpr.tools.fuzz.random_steps import steps_for

MOST_STEPS = 7
_STEP = re.compile(r"^({})\(.*\)$".format("|".join((*rules(), *aliases()))))
Choose = Callable[[Kernel], Step | None]
"""The next step for a kernel; None at the end."""


@frozen
class Case:
    """An operator, sizes that are constants, and steps; those that are refused are left out."""

    text: str
    sizes: tuple[tuple[str, int], ...] = ()
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        lines = self.text.strip().splitlines()
        given = [f"sizes {', '.join(f'{n}={v}' for n, v in self.sizes)}"] if self.sizes else []
        return "\n".join([*lines, *given, *map(str, self.steps)])

    def chooser(self) -> Choose:
        """Gives the steps one by one."""
        rest = iter(self.steps)
        return lambda kernel: next(rest, None)


def parse_case(text: str) -> Case:
    """The case that a text shows; lines before the operator that begin with `#` or `legal` and
    `illegal` are skipped.

    Raises:
        ScheduleError: a line that looks like a step is none.
    """
    lines = [line.strip() for line in text.splitlines() if not re.match(r"\s*#|legal |illegal ", line)]
    steps = [line for line in lines if _STEP.match(line)]
    given = [line for line in lines if line.startswith("sizes ")]
    operator = "\n".join(line for line in lines if line not in steps and line not in given)
    sizes = tuple((n, int(v)) for line in given for n, v in re.findall(r"(\w+)=(-?\d+)", line))
    return Case(operator, sizes, tuple(parse_script("\n".join(steps))))


LIBRARY = 0.1
"""The share of operators that are those of the library."""


def drawn_operator(rng: Random) -> Case:
    """A random operator, some of its sizes constant."""
    if rng.random() < LIBRARY:
        return Case(library_text(rng))
    text = operator_text(rng) if rng.random() < 0.85 else program_text(rng)
    names = [n for n in ("M", "N", "K") if re.search(rf"\b{n}\b", text)]
    chosen = [n for n in names if rng.random() < 0.4] if rng.random() < 0.6 else []
    return Case(text, tuple((n, rng.choice((0, 1, 2, 3, 4, 5, 6, 7, 8))) for n in chosen))


def library_text(rng: Random) -> str:
    """An operator of the library with usual dtypes and small constants, with the functions and
    operators that it calls.
    """
    program, _ = small(getattr(ops, rng.choice(ops.names())))
    return show_program(program, with_callees=True)


def drawn_steps(rng: Random, most: int = MOST_STEPS) -> Choose:
    """Gives up to `most` random steps, or idioms of several, for the kernel as it is."""
    left = rng.randint(1, most)
    waiting: list[Step] = []

    def choose(kernel: Kernel) -> Step | None:
        nonlocal left
        if not waiting:
            if left <= 0:
                return None
            waiting.extend(reversed(steps_for(rng, kernel)))
            left -= 1
        return waiting.pop()

    return choose

"""`tx.schedule`: an operator's loop nest, changed step by step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from texpr.compiler.kernel import CompiledKernel
from texpr.compiler.pipeline import lowered
from texpr.compiler.signature import split_options
from texpr.ir.expr import Var
from texpr.ir.loop import For, Kernel
from texpr.ir.show_loop import show_kernel
from texpr.ir.tensor import Program
from texpr.passes import specialize
from texpr.schedule import auto as default_schedule
from texpr.schedule import find_loops, loop_names
from texpr.schedule.loops import all_loops
from texpr.schedule.script import Step, parse_script
from texpr.support.errors import CallError, ScheduleError
from texpr.targets import find_target


def schedule(op, **options: object) -> Schedule:
    """The naive loop nest of `op`, to be scheduled.

    Args:
        options: sizes (the others stay symbolic), constants of the operator, and dtype variables (`T="f64"`; f32 or i32 otherwise).
    Raises:
        CallError: not an operator, or a name that it does not have.
    """
    if not hasattr(op, "signature"):
        raise CallError(f"schedule takes an operator, not {type(op).__name__}", code="arguments", help='tx.op("...") makes one from text')
    dtypes, constants, sizes = split_options(op, options)
    program = op.program(dtypes, constants)
    named = {v.name: v for v in program.sizes}
    return Schedule(program, {named[n]: value for n, value in sizes.items()})


class Schedule:
    """A kernel and the steps that made it. Every step returns the schedule, so steps chain; a refused step changes nothing.

    Attributes:
        program: what is scheduled, sizes symbolic.
        sizes: those that are constants of the kernel.
        kernel: the loop nest as it is now.
        steps: the steps so far.
    """

    def __init__(self, program: Program, sizes: Mapping[Var, int] | None = None) -> None:
        self.program, self.sizes = program, dict(sizes or {})
        self.naive = lowered(specialize(program, self.sizes))
        self.kernel: Kernel = self.naive
        self.steps: list[Step] = []

    @property
    def loops(self) -> tuple[Var, ...]:
        """Handles of all loops, outermost first."""
        return tuple(n.var for n in all_loops(self.kernel))

    def apply(self, step: Step) -> Schedule:
        """Apply a step.

        Raises:
            ScheduleError: it does not apply, or would change the answer.
        """
        self.kernel = step.apply(self.kernel)
        self.steps.append(step)
        return self

    def _step(self, name: str, /, *args: object, **options: object) -> Schedule:
        # Handles become names, NumPy's integers numbers: a script must read the same in another process.
        named = tuple(self._name(a) if isinstance(a, Var) else int(a) if isinstance(a, np.integer) else a for a in args)
        return self.apply(Step(name, named, tuple(options.items())))

    def _name(self, handle: Var) -> str:
        loop: For = next((n for n in find_loops(self.kernel, handle) if n.var is handle), find_loops(self.kernel, handle)[0])
        return handle.name if handle.name in loop_names(self.kernel) else f"{loop.tensor}.{handle.name}"

    def split(self, loop: str | Var, factor: int, *, tail: str = "guard", names: tuple[str, str] | None = None) -> Schedule:
        """Cut a loop into tiles; see `texpr.schedule.split`."""
        options = {"tail": tail} if tail != "guard" else {}
        return self._step("split", loop, factor, **options, **({} if names is None else {"names": names}))

    def fuse(self, outer: str | Var, inner: str | Var, *, name: str | None = None) -> Schedule:
        """Join two nested loops; see `texpr.schedule.fuse`."""
        return self._step("fuse", outer, inner, **({} if name is None else {"name": name}))

    def reorder(self, *loops: str | Var) -> Schedule:
        """Put loops in the given order, outermost first; see `texpr.schedule.reorder`."""
        return self._step("reorder", *loops)

    def unroll(self, loop: str | Var) -> Schedule:
        """Write the iterations out; see `texpr.schedule.unroll`."""
        return self._step("unroll", loop)

    def vectorize(self, loop: str | Var) -> Schedule:
        """One iteration per vector lane; see `texpr.schedule.vectorize`."""
        return self._step("vectorize", loop)

    def parallel(self, loop: str | Var) -> Schedule:
        """Share iterations among threads; see `texpr.schedule.parallel`."""
        return self._step("parallel", loop)

    def bind(self, loop: str | Var, to: str) -> Schedule:
        """Run iterations on the blocks or threads of a GPU; see `texpr.schedule.bind`."""
        return self._step("bind", loop, to)

    def rfactor(self, loop: str | Var, *, reassoc: bool = False) -> Schedule:
        """A partial result per iteration of a reduction loop; see `texpr.schedule.rfactor`."""
        return self._step("rfactor", loop, **({"reassoc": True} if reassoc else {}))

    def compute_at(self, tensor: str, loop: str | Var) -> Schedule:
        """Produce a tensor under a loop that uses it; see `texpr.schedule.compute_at`."""
        return self._step("compute_at", tensor, loop)

    def peel(self, loop: str | Var, first: int, last: int) -> Schedule:
        """Loops of their own for the first and last iterations; see `texpr.schedule.peel`."""
        return self._step("peel", loop, first, last)

    def contract(self) -> Schedule:
        """Let a * b + c be rounded once; see `texpr.schedule.contract`."""
        return self._step("contract")

    def auto(self, target: str = "native") -> Schedule:
        """Apply the default steps for a target, chosen from the structure of the nests; `script()` shows them.

        Raises:
            ScheduleError: steps were applied already.
        """
        if self.steps:
            raise ScheduleError("auto() chooses the whole schedule, and steps were applied already", code="auto",
                                help="call auto() on a fresh schedule; edit its script() to change it")
        self.steps, self.kernel = default_schedule(self.naive, find_target(target).machine)
        return self

    def script(self) -> str:
        """The steps as text, one per line; `replay` applies them again."""
        return "".join(f"{step}\n" for step in self.steps)

    def replay(self, text: str) -> Schedule:
        """Apply the steps of a script.

        Raises:
            ScheduleError: a line is not a step, or a step is refused; the steps before it stay applied.
        """
        for step in parse_script(text):
            self.apply(step)
        return self

    def compile(self, target: str = "native") -> CompiledKernel:
        """The kernel for a target: `native`, or a name from `python -m texpr doctor`.

        Raises:
            CompileError: no such target, or it cannot express the kernel.
        """
        return CompiledKernel(self.kernel, find_target(target), self.program, self.sizes)

    def __str__(self) -> str:
        return show_kernel(self.kernel, _notes(self.kernel))

    def __repr__(self) -> str:
        return f"<schedule of {self.program.name}, {len(self.steps)} steps>"


_WHY = {"parallel": "proven independent", "vector": "proven independent"}


def _notes(kernel: Kernel) -> Mapping[Var, str]:
    return {n.var: _WHY[n.kind] for n in all_loops(kernel) if n.kind in _WHY}

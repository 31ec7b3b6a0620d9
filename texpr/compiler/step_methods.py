"""The steps of a schedule as methods: one per name in `texpr.schedule.script.script.STEPS`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np

from texpr.ir.expr import Var
from texpr.ir.loop import For, Kernel
from texpr.ir.tensor import Program
from texpr.schedule import find_loops, loop_names
from texpr.schedule.script.script import Step
from texpr.schedule.script.suggestions import explained
from texpr.schedule.structure.loops import all_loops
from texpr.support.elsewhere import SCHEDULE
from texpr.support.errors import ResourceError, ScheduleError
from texpr.support.suggest import suggests

_HERE = str(Path(__file__).parents[1])


@suggests(SCHEDULE)
class Steps:
    """A kernel and the steps that made it. Every step returns the schedule, so steps chain; a refused step changes nothing.

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
    def loops(self) -> tuple[Var, ...]:
        """Handles of all loops, outermost first."""
        return tuple(n.var for n in all_loops(self.kernel))

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

    def _step(self, name: str, /, *args: object, **options: object) -> Self:
        # Handles become names, NumPy's integers numbers: a script must read the same in another process.
        return self.apply(Step(name, tuple(map(self._plain, args)), tuple((k, self._plain(v)) for k, v in options.items())))

    def _plain(self, value: object) -> object:
        if isinstance(value, tuple | list):
            return tuple(map(self._plain, value))
        return self._name(value) if isinstance(value, Var) else int(value) if isinstance(value, np.integer) else value

    def _name(self, handle: Var) -> str:
        loop: For = next((n for n in find_loops(self.kernel, handle) if n.var is handle), find_loops(self.kernel, handle)[0])
        return handle.name if handle.name in loop_names(self.kernel) else f"{loop.tensor}.{handle.name}"

    def split(self, loop: str | Var, factor: int, *, tail: str = "guard", names: tuple[str, str] | None = None) -> Self:
        """Cut a loop into tiles; see `texpr.schedule.split`."""
        options = {"tail": tail} if tail != "guard" else {}
        return self._step("split", loop, factor, **options, **({} if names is None else {"names": names}))

    def fuse(self, outer: str | Var, inner: str | Var, *, name: str | None = None) -> Self:
        """Join two nested loops; see `texpr.schedule.steps.loops.fuse`."""
        return self._step("fuse", outer, inner, **({} if name is None else {"name": name}))

    def reorder(self, *loops: str | Var, reassoc: bool = False) -> Self:
        """Put loops in the given order, outermost first; see `texpr.schedule.reorder`."""
        return self._step("reorder", *loops, **({"reassoc": reassoc} if reassoc is not False else {}))

    def unroll(self, loop: str | Var, factor: int | None = None, *, tail: str = "peel") -> Self:
        """Write the iterations out; see `texpr.schedule.unroll`."""
        return self._step("unroll", loop, *(() if factor is None else (factor,)), **({"tail": tail} if tail != "peel" else {}))

    def vectorize(self, loop: str | Var, lanes: int | None = None, *, tail: str = "mask") -> Self:
        """One iteration per vector lane; see `texpr.schedule.vectorize`."""
        return self._step("vectorize", loop, *(() if lanes is None else (lanes,)), **({"tail": tail} if tail != "mask" else {}))

    def vectorize_scalable(self, loop: str | Var, registers: int = 1, *, reassoc: bool = False) -> Self:
        """Lanes of registers of any length; see `texpr.schedule.vectorize_scalable`."""
        options = {"reassoc": reassoc} if reassoc else {}
        return self._step("vectorize_scalable", loop, *(() if registers == 1 else (registers,)), **options)

    def parallel(self, loop: str | Var) -> Self:
        """Share iterations among threads; see `texpr.schedule.parallel`."""
        return self._step("parallel", loop)

    def bind(self, loop: str | Var, to: str, *, at_most: int | None = None, names: tuple[str, str] | None = None) -> Self:
        """Run iterations on the blocks or threads of a GPU; see `texpr.schedule.bind`."""
        given: dict[str, object] = {"at_most": at_most, "names": names}
        options = {k: v for k, v in given.items() if v is not None}
        return self._step("bind", loop, to, **options)

    def rfactor(self, loop: str | Var, *, reassoc: bool = False) -> Self:
        """A partial result per iteration of a reduction loop; see `texpr.schedule.steps.reductions.rfactor`."""
        return self._step("rfactor", loop, **({"reassoc": reassoc} if reassoc else {}))

    def online(self, maximum: str, factor: int, *, rows: int | None = None, reassoc: bool = False) -> Self:
        """Sum exponentials in blocks with the maximum so far; see `texpr.schedule.steps.algebra.online_softmax`."""
        options = ({} if rows is None else {"rows": rows}) | ({"reassoc": reassoc} if reassoc else {})
        return self._step("online", maximum, factor, **options)

    def trim(self, loop: str | Var, *, finite: bool = False) -> Self:
        """Leave out the terms of a sum with a factor outside its tensor, which is 0 (`texpr.schedule.steps.algebra.drop_padding`)."""
        return self._step("trim", loop, **({"finite": finite} if finite else {}))

    def factor_out(self, *loops: str | Var, reassoc: bool = False, finite: bool = False) -> Self:
        """Take factors that do not depend on loops over terms out of the sum over these; see `texpr.schedule.steps.algebra.factor_out`."""
        options = {name: value for name, value in (("reassoc", reassoc), ("finite", finite)) if value is not False}
        return self._step("factor_out", *loops, **options)

    def premultiply(self, loop: str | Var, first: int, second: int, *, reassoc: bool = False) -> Self:
        """Multiply two factors of the terms along a loop beforehand; see `texpr.schedule.steps.algebra.premultiply`."""
        return self._step("premultiply", loop, first, second, **({"reassoc": reassoc} if reassoc is not False else {}))

    def reciprocal(self, tensor: str) -> Self:
        """Multiply by reciprocals of divisors that are the same along an axis; see `texpr.schedule.steps.algebra.reciprocal`."""
        return self._step("reciprocal", tensor)

    def logistic(self, tensor: str) -> Self:
        """Compute 1 + tanh(u) as a quotient with one exponential; see `texpr.schedule.steps.algebra.tanh_to_sigmoid`."""
        return self._step("logistic", tensor)

    def widen(self, tensor: str, *, finite: bool = False) -> Self:
        """Let sums take all terms of a factor that is defined under a condition; see `texpr.schedule.steps.algebra.mask_to_zero`."""
        return self._step("widen", tensor, **({"finite": True} if finite else {}))

    def base2(self, tensor: str) -> Self:
        """Compute exponentials of f32 as powers of 2; see `texpr.schedule.steps.algebra.exp_to_exp2`."""
        return self._step("base2", tensor)

    def tf32(self, loop: str | Var) -> Self:
        """Round the factors of a sum of products of f32 for tensor cores; see `texpr.schedule.steps.algebra.round_to_tf32`."""
        return self._step("tf32", loop)

    def compute_at(self, tensor: str, loop: str | Var, *, recompute: bool | None = None, slide: bool = False) -> Self:
        """Produce a tensor under a loop that uses it; see `texpr.schedule.compute_at`."""
        options = ({} if recompute is None else {"recompute": recompute}) | ({"slide": True} if slide else {})
        return self._step("compute_at", tensor, loop, **options)

    def reverse_compute_at(self, tensor: str, loop: str | Var) -> Self:
        """Move what reads a tensor to where that is computed; see `texpr.schedule.reverse_compute_at`."""
        return self._step("reverse_compute_at", tensor, loop)

    def fold(self, tensor: str, dim: int | str | Var, size: int | None = None) -> Self:
        """Keep only what is still needed of a temporary; see `texpr.schedule.steps.placement.fold_storage`."""
        return self._step("fold", tensor, dim, *(() if size is None else (size,)))

    def pipeline(self, what: str | Var, depth: int = 2, *, asynchronous: bool = False, lead: int = 0,
                 through: str | Var | None = None) -> Self:
        """Compute a tensor some iterations ahead of its use; see `texpr.schedule.steps.placement.pipeline`."""
        given: dict[str, object] = {"asynchronous": asynchronous or None, "lead": lead or None, "through": through}
        options = {k: v for k, v in given.items() if v is not None}
        return self._step("pipeline", what, *(() if depth == 2 else (depth,)), **options)

    def in_flight(self, loop: str | Var, groups: int = 0) -> Self:
        """Products of an iteration go on while the next ones begin; see `texpr.schedule.steps.hardware.async_mma`."""
        return self._step("in_flight", loop, *((groups,) if groups else ()))

    def together(self, loop: str | Var) -> Self:
        """Products of all iterations are begun together and waited for behind the loop; see `texpr.schedule.steps.hardware.async_mma`."""
        return self._step("together", loop)

    def bulk(self, loop: str | Var) -> Self:
        """Let copies that a loop begins ahead be boxes, each moved as a whole; see `texpr.schedule.steps.hardware.bulk_copy`."""
        return self._step("bulk", loop)

    def multicast(self, tensor: str, *loops: str | Var) -> Self:
        """Let blocks of a cluster order copies together that all of them want; see `texpr.schedule.steps.hardware.multicast`."""
        return self._step("multicast", tensor, *loops)

    def inline(self, tensor: str) -> Self:
        """Compute a tensor where it is read; see `texpr.schedule.steps.placement.inline`."""
        return self._step("inline", tensor)

    def peel(self, loop: str | Var, first: int, last: int) -> Self:
        """Loops of their own for the first and last iterations; see `texpr.schedule.steps.loops.peel`."""
        return self._step("peel", loop, first, last)

    def separate(self, loop: str | Var) -> Self:
        """Cut a loop where the conditions inside begin and cease to hold; see `texpr.schedule.steps.loops.partition`."""
        return self._step("separate", loop)

    def tile(self, *loops: str | Var, sizes: Sequence[int], tail: str = "guard") -> Self:
        """Run nested loops tile by tile; see `texpr.schedule.steps.loops.tile`."""
        return self._step("tile", *loops, sizes=sizes, **({"tail": tail} if tail != "guard" else {}))

    def jam(self, loop: str | Var, factor: int, *, tail: str = "peel") -> Self:
        """Run iterations of an outer loop together in the loops inside; see `texpr.schedule.jam`."""
        return self._step("jam", loop, factor, **({"tail": tail} if tail != "peel" else {}))

    def fission(self, loop: str | Var, after: str | None = None, *, name: str | None = None) -> Self:
        """Give the statements of a loop loops of their own; see `texpr.schedule.steps.loops.fission`."""
        return self._step("fission", loop, *(() if after is None else (after,)), **({} if name is None else {"name": name}))

    def join(self, first: str | Var, second: str | Var) -> Self:
        """Run the iterations of two loops of the same body in turns; see `texpr.schedule.steps.loops.merge`."""
        return self._step("join", first, second)

    def expand(self, tensor: str, loop: str | Var) -> Self:
        """Give each iteration of a loop an element of its own of a temporary; see `texpr.schedule.steps.placement.expand_dim`."""
        return self._step("expand", tensor, loop)

    def skew(self, loop: str | Var, by: str | Var, factor: int = 1) -> Self:
        """Shift a loop per iteration of one around it; see `texpr.schedule.steps.loops.skew`."""
        return self._step("skew", loop, by, factor)

    def reverse(self, loop: str | Var) -> Self:
        """Run the iterations from the last to the first; see `texpr.schedule.reverse`."""
        return self._step("reverse", loop)

    def specialize(self, *loops: str | Var, **sizes: int) -> Self:
        """Run a copy of the nests where sizes have certain values or conditions on them hold; see `texpr.schedule.specialize`."""
        return self._step("specialize", *loops, **sizes)

    def annotate(self, loop: str | Var, **notes: str | int | float | bool) -> Self:
        """Put free marks on a loop; see `texpr.schedule.annotate`."""
        return self._step("annotate", loop, **notes)

    def atomic(self, tensor: str, *, reassoc: bool = False) -> Self:
        """Update a tensor so that threads of a GPU may meet in its elements; see `texpr.schedule.steps.reductions.atomic`."""
        return self._step("atomic", tensor, **({"reassoc": reassoc} if reassoc is not False else {}))

    def stream(self, tensor: str) -> Self:
        """Write an output past the caches; see `texpr.schedule.stream`."""
        return self._step("stream", tensor)

    def prefetch(self, tensor: str, loop: str | Var, distance: int, *, at: str | Var | None = None) -> Self:
        """Ask for a tensor's elements some iterations early; see `texpr.schedule.prefetch`."""
        return self._step("prefetch", tensor, loop, distance, **({} if at is None else {"at": at}))

    def allow_fma(self, of: str = "all") -> Self:
        """Let a * b + c be rounded once, everywhere or in sums; see `texpr.schedule.allow_fma`."""
        return self._step("allow_fma", *(() if of == "all" else (of,)))

    def contract(self, of: str = "all") -> Self:
        """The same as `allow_fma`."""
        return self.allow_fma(of)

    def cache_read(self, tensor: str, loop: str | Var, *, name: str | None = None, dtype: str | None = None,
                   along: str | Var | None = None) -> Self:
        """Copy what an iteration of a loop reads to a buffer in front of it; see `texpr.schedule.cache_read`."""
        given: dict[str, object] = {"name": name, "dtype": dtype, "along": along}
        return self._step("cache_read", tensor, loop, **{k: v for k, v in given.items() if v is not None})

    def cache_write(self, tensor: str, loop: str | Var, *, name: str | None = None, out: bool = True) -> Self:
        """Collect what an iteration of a loop writes in a buffer; see `texpr.schedule.cache_write`."""
        return self._step("cache_write", tensor, loop, **({} if name is None else {"name": name}), **({} if out is True else {"out": out}))

    def layout(self, tensor: str, form: str) -> Self:
        """Change how a buffer lies in memory; see `texpr.schedule.steps.buffers.layout`."""
        return self._step("layout", tensor, form)

    def pad(self, tensor: str, dimension: int, multiple: int, *, extra: int = 0) -> Self:
        """Make a dimension of a buffer longer; see `texpr.schedule.pad`."""
        return self._step("pad", tensor, dimension, multiple, **({"extra": extra} if extra else {}))

    def swizzle(self, tensor: str, unit: int, count: int, row: int) -> Self:
        """Exchange units of a shared buffer, so that columns use different banks; see `texpr.schedule.steps.buffers.swizzle`."""
        return self._step("swizzle", tensor, unit, count, row)

    def scope(self, tensor: str, where: str) -> Self:
        """Say where a buffer lives: stack, heap, register or shared; see `texpr.schedule.steps.buffers.scope`."""
        return self._step("scope", tensor, where)

    def tensorize(self, loop: str | Var, instruction: str, *, reassoc: bool = False) -> Self:
        """Run the nest of a loop as one instruction; see `texpr.schedule.steps.hardware.tensorize`."""
        return self._step("tensorize", loop, instruction, **({"reassoc": reassoc} if reassoc else {}))


def _caller() -> str:
    """Where the user called, as `, file.py:12`: the innermost frame that is not ours."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return "" if frame is None else f", {Path(frame.f_code.co_filename).name}:{frame.f_lineno}"

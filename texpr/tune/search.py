"""`tx.tune`: a measured search around the default schedule, or over the parameters of one's own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import field
from math import inf, isfinite, prod
from pathlib import Path

from texpr.compiler import CompiledKernel, Op, Schedule, tuning_records
from texpr.compiler.kernel_cache import machine_text, program_text
from texpr.compiler.schedule import schedule as start
from texpr.compiler.scheduled_kernels import scripted
from texpr.ir.expr import Var
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Program
from texpr.runtime import host
from texpr.support.errors import CallError, Error, ResourceError, ScheduleError
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import current
from texpr.support.progress import bar
from texpr.support.tracebacks import boundary
from texpr.targets import find_target
from texpr.tune.features import describe
from texpr.tune.learned_model import Model
from texpr.tune.measurement import Case, Measured, compare, measure
from texpr.tune.space import Point, space_of_function, space_of_script
from texpr.tune.strategies import Genetic, RandomSearch, Strategy

STRATEGIES: dict[str, Callable[..., Strategy]] = {"model": Model, "genetic": Genetic, "random": RandomSearch}
BATCH = 8
"""Points proposed at once, however many are measured at once: the search depends on the seed
alone.
"""
FINALISTS = 3
GAIN = 0.98
"""A schedule replaces the default one if it takes at most this share of its time, measured in
turns.
"""


@frozen
class Trial:
    """A schedule that was measured.

    Attributes:
        seconds: of a call; infinite where it does not count, which `error` explains.
    """

    values: Mapping[str, object]
    script: str
    seconds: float
    error: str = ""


@frozen
class Tuned:
    """Result of a search.

    Attributes:
        script: the steps of the chosen schedule, those of the default one where nothing was faster.
        seconds, default_seconds: of a call with the chosen and with the default schedule, measured
        in turns.
        trials: all that was measured, in order.
        path: the file of the records, if any are kept.
    """

    program: Program
    sizes: Mapping[Var, int]
    script: str
    seconds: float
    default_seconds: float
    trials: tuple[Trial, ...] = field(repr=False)
    path: Path | None = None

    @property
    def kernel(self) -> CompiledKernel:
        """The kernel of the chosen schedule."""
        return scripted(self.program, self.sizes, self.script)

    def schedule(self) -> Schedule:
        """The chosen schedule, to print and to edit."""
        return Schedule(self.program, self.sizes).replay(self.script)

    def curve(self) -> list[float]:
        """The fastest time after each trial, in seconds."""
        best, found = inf, []
        for trial in self.trials:
            best = min(best, trial.seconds)
            found.append(best)
        return found


@boundary
def tune(
    op: Op,
    *,
    trials: int = 64,
    strategy: str = "model",
    schedule: Callable[..., object] | None = None,
    space: Mapping[str, Sequence[object]] | None = None,
    seed: int = 0,
    timeout: float = 20.0,
    executor: Executor | None = None,
    progress: bool | None = None,
    keep: bool = True,
    **options: object,
) -> Tuned:
    """Search for a faster schedule, by measuring. Later calls of `op` with these sizes use what was
    found (`tx.options(tuned=False)`: not).

    Candidates run in child processes, are proven as a whole, and must give the results of the
    default schedule; one that is refused, crashes, hangs or is wrong does not count. In the end the
    best are measured once more in turns with the default schedule, which stays unless one of them
    is faster.

    Args:
        trials: the number of schedules to measure.
        strategy: `model` (fits times to what is known of the loops), `genetic` or `random`.
        schedule, space: a function `schedule(s, **parameters)` that applies steps, and per
            parameter the values to try. Without them, the default schedule is tried with other tile
            sizes, and with some steps left out.
        seed: the same seed tries the same schedules, as far as their times agree.
        timeout: seconds that one trial may take.
        executor: runs trials, several at once; any `concurrent.futures.Executor`, such as
            `MPIPoolExecutor` of mpi4py or `get_executor()` of a Dask client. On each machine as many
            run at once as its cores have threads for. Those of machines of another kind are
            recorded for these, and do not count here.
        progress: show it; on a terminal unless given.
        keep: record trials on disk. Those of earlier searches are not measured again.
        options: all sizes, constants and dtype variables of the operator.
    Raises:
        CallError: a size is missing, the space makes no sense, or nothing in it is legal.
        KeyboardInterrupt: Ctrl-C; what was measured until then is recorded.
    Example:
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> tuned = tx.tune(dot, N=512, trials=2, keep=False, progress=False)
        >>> len(tuned.trials) <= 2, tuned.seconds > 0
        (True, True)
    """
    search = _Search(op, options, schedule, space, seed, keep)
    if strategy not in STRATEGIES:
        raise CallError(
            f"there is no strategy {strategy!r}", code="tune", help=f"one of {', '.join(STRATEGIES)}"
        )
    for name, value in (("trials", trials), ("timeout", timeout)):
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise CallError(f"{name} is {value!r}, expected a number above 0", code="tune")
    is_class = isinstance(executor, type)
    if executor is not None and (is_class or not callable(getattr(executor, "submit", None))):
        raise CallError(
            f"executor is {executor!r:.40}, expected a concurrent.futures.Executor",
            code="tune",
            help="tune closes none: use it in a `with`",
        )
    chosen = STRATEGIES[strategy](search.space, seed, *([search.described] if strategy == "model" else []))
    with _shown(trials, progress) as advance:
        search.run(chosen, int(trials), timeout, executor, advance)
    return search.result(timeout)


def _refuse_too_much(program: Program, sizes: Mapping[Var, int]) -> None:
    """Raise ResourceError for arrays that a trial has no memory for."""
    needed = sum(
        prod(evaluate_size(e, sizes) for e in t.shape) * t.dtype.bytes
        for t in (*program.inputs, *program.outputs)
    )
    have = host.memory_bytes()
    if needed > have:
        raise ResourceError(
            f"the arrays of {program.name} need {needed / 2**30:.1f} GiB; this machine has {have / 2**30:.1f}"
        )


class _Search:
    """The points of a space, and what is known of them."""

    def __init__(
        self, op: Op, options: Mapping[str, object], function: object, choices: object, seed: int, keep: bool
    ) -> None:
        fresh = start(op, **options)
        self.program, self.sizes = fresh.program, fresh.sizes
        missing = [v.name for v in self.program.sizes if v not in self.sizes]
        if missing:
            raise CallError(
                f"tune needs all sizes of {self.program.name}; missing: {', '.join(missing)}", code="tune"
            )
        if function is None and choices is not None:
            raise CallError(
                "a space needs the function that makes schedules of it",
                code="space",
                help="schedule=lambda s, tile: ...",
            )
        if any(n == 0 for n in self.sizes.values()):
            raise CallError(f"{self.program.name} has nothing to measure: a size is 0", code="tune")
        _refuse_too_much(self.program, self.sizes)
        default = fresh.auto()
        self.default = default.script()
        self.space = (
            space_of_script(default.steps) if function is None else space_of_function(function, choices)
        )
        self.path = tuning_records.path_of(self.program, self.sizes) if keep else None
        self._machine = machine_text(find_target("native"))
        cache = current().cache_dir
        numbers = tuple((v.name, n) for v, n in self.sizes.items())
        self.case = Case(
            program_text(self.program), numbers, seed, current().threads, str(cache) if cache else ""
        )
        self.seen: dict[Point, float] = {}
        self.trials: list[Trial] = []
        self._schedules: dict[Point, Schedule | str] = {}
        self._known = (
            {r.script: r for r in tuning_records.read(self.path) if not r.chosen} if self.path else {}
        )

    def _scheduled(self, point: Point) -> Schedule | str:
        """The schedule of a point, or why there is none."""
        if point not in self._schedules:
            s = Schedule(self.program, self.sizes)
            try:
                self.space.apply(s, self.space.values(point))
                self._schedules[point] = s
            except (ScheduleError, ResourceError, CallError) as error:
                self._schedules[point] = error.message
        return self._schedules[point]

    def described(self, point: Point) -> Sequence[float] | None:
        """Features of the loops of a point."""
        found = self._scheduled(point)
        return None if isinstance(found, str) else describe(found.kernel, find_target("native").machine)

    def run(
        self,
        strategy: Strategy,
        trials: int,
        timeout: float,
        executor: Executor | None,
        advance: Callable[[float], None],
    ) -> None:
        """Measure points until there are so many trials, or nothing is left. Refused schedules
        cost no trial.
        """
        wanted: Sequence[Point] = [self.space.default]
        while wanted and len(self.trials) < trials:
            scripts = {p: s.script() for p in wanted if not isinstance(s := self._scheduled(p), str)}
            self.seen |= dict.fromkeys([p for p in wanted if p not in scripts], inf)
            scripts = dict(list(scripts.items())[: trials - len(self.trials)])
            for point, (seconds, error) in zip(
                scripts, self._measured(list(scripts.values()), timeout, executor)
            ):
                self.seen[point] = seconds
                self.trials.append(Trial(self.space.values(point), scripts[point], seconds, error))
                advance(min(self.seen.values()))
            wanted = strategy.propose(self.seen, BATCH)

    def _measured(
        self, scripts: Sequence[str], timeout: float, executor: Executor | None
    ) -> Iterator[tuple[float, str]]:
        new = [s for s in dict.fromkeys(scripts) if s not in self._known]
        if executor is None:
            running = ((s, measure(self.case, s, timeout)) for s in new)
        else:
            futures = [(s, executor.submit(measure, self.case, s, timeout)) for s in new]
            running = ((s, f.result()) for s, f in futures)
        for script in scripts:
            while script not in self._known:
                self._note(*next(running))
            record = self._known[script]
            yield inf if record.seconds is None else record.seconds, record.error

    def _note(self, script: str, found: Measured) -> None:
        """Record a trial, with the machine that measured it."""
        seconds = found.seconds if isfinite(found.seconds) else None
        record = tuning_records.Record(script, seconds, found.error)
        path, here = self.path, found.machine == self._machine
        if path is not None and not here:
            path = tuning_records.path_of(self.program, self.sizes, machine=found.machine)
        if path is not None:
            tuning_records.append(path, record)
        if not here:
            record = tuning_records.Record(script, None, "it was measured on a machine of another kind")
        self._known[script] = record

    def result(self, timeout: float) -> Tuned:
        """The fastest schedule, measured once more beside the default one."""
        best = sorted((t for t in self.trials if isfinite(t.seconds)), key=lambda t: t.seconds)
        finalists = [s for s in dict.fromkeys(t.script for t in best) if s != self.default][:FINALISTS]
        if not best:
            reasons = {t.error for t in self.trials} | {
                s for s in self._schedules.values() if isinstance(s, str)
            }
            raise CallError("nothing in the space counts", code="space", notes=sorted(reasons)[:4])
        default, *times = self._compared(finalists, timeout)
        seconds, script = min(
            [(t, s) for t, s in zip(times, finalists) if t <= GAIN * default], default=(default, self.default)
        )
        if self.path is not None:
            tuning_records.append(self.path, tuning_records.Record(script, seconds, chosen=True))
        return Tuned(self.program, self.sizes, script, seconds, default, tuple(self.trials), self.path)

    def _compared(self, finalists: Sequence[str], timeout: float) -> list[float]:
        """Times of the default schedule and the finalists; without those that fail now."""
        try:
            return compare(self.case, finalists, (1 + len(finalists)) * timeout)
        except Error:
            if not finalists:
                raise
            return self._compared(finalists[:-1], timeout)


@contextmanager
def _shown(trials: int, progress: bool | None) -> Iterator[Callable[[float], None]]:
    """A function to call after each trial with the fastest time, in seconds."""
    if progress is None:
        progress = sys.stderr.isatty()
    shown = bar(total=trials, unit="trial") if progress else None
    count = 0

    def advance(best: float) -> None:
        nonlocal count
        count += 1
        if shown is not None:
            shown.set_postfix_str(f"best {best * 1e6:.1f} us", refresh=False)
            shown.update()
        elif progress and (count % 8 == 0 or count == trials):
            print(f"{count:>4}/{trials} trials, best {best * 1e6:.1f} us", file=sys.stderr, flush=True)

    try:
        yield advance
    finally:
        if shown is not None:
            shown.close()

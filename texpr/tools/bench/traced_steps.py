"""Steps of data-parallel training, measured: of one rank with the moments at which its buckets are
complete and waited for; of the ranks of a world.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Protocol

import numpy as np

from texpr.distributed import Communicator
from texpr.distributed.step_simulator import Message, Moment, Trace
from texpr.nn.core.inputs import as_input
from texpr.nn.core.module import dtype_of, structure
from texpr.nn.data.checks import as_target
from texpr.nn.training.data_parallel.parallel_step import ParallelStep
from texpr.tools.bench.scaling_networks import Parts

WARM = 3
"""Rounds before those that count: they compile and fill caches."""


class Network(Protocol):
    """Makes what a step needs."""

    def parts(self) -> Parts:
        """Model, loss, optimizer, data and targets, the same each time."""
        ...


class _Clock(Communicator):
    """World of one that writes down when reductions begin and are waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.heard: list[tuple[int, bool, float]] = []

    @property
    def thread(self) -> _Clock:  # type: ignore[override]
        """The communicator itself, which reduces nothing."""
        return self

    def drain(self) -> None:
        """There is nothing to be waited for."""

    def submit(self, buffer: np.ndarray, op: str = "sum", reduction: str = "fast") -> _Ticket:
        """Note that a reduction begins."""
        self.sizes.append(buffer.nbytes)
        number = len(self.sizes) - 1
        self.heard.append((number, False, time.perf_counter()))
        return _Ticket(self, number)

    def forget(self) -> None:
        """Begin another step."""
        self.sizes, self.heard = [], []


class _Ticket:
    """A reduction that was begun."""

    def __init__(self, clock: _Clock, number: int) -> None:
        self._clock, self._number = clock, number

    def wait(self) -> None:
        """Note that the result is needed."""
        self._clock.heard.append((self._number, True, time.perf_counter()))


def step_on(network: Network, comm: Communicator, cap_mb: float) -> Callable[[], object]:
    """A training step on the network's batch."""
    model, loss, optimizer, x, y = network.parts()
    return on_batch(ParallelStep(model, loss, optimizer, comm, bucket_cap_mb=cap_mb), x, y)


def on_batch(step: ParallelStep, x: object, y: object) -> Callable[[], object]:
    """A training step on one batch, as `Trainer` makes it."""
    dtype = dtype_of(structure(step.model))
    given = as_input(x, dtype), as_target(y, bool(getattr(step.loss, "labels", False)), dtype)
    specs = given[0].spec, given[1].spec

    def run() -> None:
        step.open(specs)
        plan = step.plan(*specs)
        for k, each in enumerate(given):
            plan.fill(k, each.array)
        step.commit_round(plan, step.measure(plan))

    return run


def traced(network: Network, cap_mb: float, rounds: int) -> Trace:
    """The step of one rank: medians over rounds."""
    alone = Alone(network, cap_mb)
    return alone.trace(np.array([alone.round() for _ in range(WARM + rounds)])[WARM:])


def compared(network: Network, cap_mb: float, rounds: int, comm: Communicator) -> tuple[Trace, float]:
    """The step of each rank for itself, all at the same time, and the seconds of the step of all
    ranks together: medians over rounds in turns. A step is as slow as its slowest rank.
    """
    alone, together = Alone(network, cap_mb), step_on(network, comm, cap_mb)
    rows, taken = [], []
    for _ in range(WARM + rounds):
        _meet(comm)
        rows.append(alone.round())
        _meet(comm)
        taken.append(_seconds(together))
    every = comm.allgather(np.array(rows[WARM:])[np.newaxis])
    slowest = every.sum(axis=2).argmax(axis=0)
    return alone.trace(every[slowest, np.arange(rounds)]), median(taken[WARM:])


class Alone:
    """A step of one rank that waits for nobody."""

    def __init__(self, network: Network, cap_mb: float) -> None:
        self._clock = _Clock()
        self._run = step_on(network, self._clock, cap_mb)

    def round(self) -> np.ndarray:
        """Make a step; the seconds between its moments."""
        self._clock.forget()
        start = time.perf_counter()
        self._run()
        return np.diff([start, *(at for _, _, at in self._clock.heard), time.perf_counter()])

    def trace(self, rows: np.ndarray) -> Trace:
        """The trace of several rounds, of which the last one is known."""
        *parts, rest = np.median(rows, axis=0).tolist()
        # The first message has a row of each rank, the others are buckets.
        first, *buckets = self._clock.sizes
        messages = [Message("losses and states", 0, first)]
        messages += [Message(f"bucket {k}", size) for k, size in enumerate(buckets)]
        moments = [Moment(n, waits, part) for (n, waits, _), part in zip(self._clock.heard, parts)]
        return Trace(tuple(messages), tuple(moments), rest)


def timed(run: Callable[[], object], comm: Communicator, rounds: int) -> float:
    """Median seconds; all ranks make equally many rounds."""
    times = []
    for _ in range(WARM + rounds):
        _meet(comm)
        times.append(_seconds(run))
    return median(times[WARM:])


def _meet(comm: Communicator) -> None:
    """Let all ranks go on at the same time; `barrier` may end some microseconds apart."""
    comm.reduce_into(np.zeros(1))


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start

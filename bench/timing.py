"""Timing of functions that are compared: in turns, medians, disturbed samples taken again.

Kept by hand: pyperf times one function in processes of its own, and cannot let several take turns.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

FOREIGN_SHARE, FOREIGN_SECONDS = 0.04, 0.012
"""A sample is clean if other processes took no more than this share of it, and these seconds,
which the clock of the system resolves.
"""
SETTLING = 0.02
"""Seconds for the waiting threads of another runtime to fall asleep."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement.

    Attributes:
        seconds: what one run took.
        clean: nothing else ran meanwhile.
    """

    seconds: float
    clean: bool = True


def busy_seconds() -> float:
    """Processor time that all processes of the machine have used; 0 where the system does not
    say.
    """
    try:
        ticks = list(map(int, Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]))
    except OSError:
        return 0.0
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def measure(run: Callable[[], object], repeats: int = 1) -> Sample:
    """Wall time of one run, as the mean of `repeats`."""
    busy, own, start = busy_seconds(), time.process_time(), time.perf_counter()
    for _ in range(repeats):
        run()
    wall = time.perf_counter() - start
    foreign = (busy_seconds() - busy) - (time.process_time() - own)
    return Sample(wall / repeats, foreign <= FOREIGN_SECONDS + FOREIGN_SHARE * wall)


def measure_processor(run: Callable[[], object], repeats: int = 1) -> Sample:
    """Processor time of one run in all threads of this process: other work on the machine
    matters little, shared caches aside.
    """
    start = time.process_time()
    for _ in range(repeats):
        run()
    return Sample((time.process_time() - start) / repeats)


def in_turns(
    sample: Mapping[str, Callable[[], Sample]], least: int = 7, most: int = 101, budget: float = 3.0
) -> dict[str, list[Sample]]:
    """Samples of several candidates, each in its turn.

    At least `least` rounds; then more while clean samples lack or the `budget` in seconds lasts,
    and no more than `most`, or than thrice the budget.
    """
    found: dict[str, list[Sample]] = {name: [] for name in sample}
    start = time.perf_counter()
    for round_ in range(most):
        spent = time.perf_counter() - start
        clean = min((sum(s.clean for s in samples) for samples in found.values()), default=0)
        if round_ >= least and spent > (budget if clean >= least else 3 * budget):
            break
        for name in _rotated(list(sample), round_):
            found[name].append(sample[name]())
    return found


def _rotated(names: list[str], by: int) -> list[str]:
    k = by % len(names) if names else 0
    return names[k:] + names[:k]


def undisturbed(samples: list[Sample], least: int = 3) -> bool:
    """Whether `typical` is of clean samples."""
    return sum(s.clean for s in samples) >= min(least, len(samples))


def typical(samples: list[Sample], least: int = 3) -> float:
    """The median of the clean samples, or of all where fewer than `least` are clean."""
    clean = [s.seconds for s in samples if s.clean]
    return median(clean if len(clean) >= least else [s.seconds for s in samples])

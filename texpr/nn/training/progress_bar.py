"""Progress of `fit`: a bar per epoch on a terminal with tqdm, else a line per epoch."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import TypeVar

from texpr.support.progress import progress

T = TypeVar("T")


class Progress:
    """Shows epochs.

    Args:
        epochs: how many there are.
        shown: False shows nothing.
    Attributes:
        examples: of the epoch that runs, so far.
    """

    def __init__(self, epochs: int, shown: bool) -> None:
        self._epochs, self._shown = epochs, shown
        self._start = self._seconds = 0.0
        self._whole: list[float] = []
        self.examples = 0

    def batches(self, epoch: int, items: Iterable[T], count: int | None) -> Iterator[T]:
        """The items, shown as they are taken."""
        self._start, self.examples = time.perf_counter(), 0
        yield from progress(items, "batch", count, self._label(epoch)) if self._shown else items

    def trained(self) -> None:
        """The batches of an epoch are done; validation follows."""
        self._seconds = time.perf_counter() - self._start

    @property
    def took(self) -> tuple[float, int]:
        """The seconds in which an epoch was trained, and its examples."""
        return self._seconds, self.examples

    def epoch(self, epoch: int, values: Mapping[str, float]) -> None:
        """An epoch is done."""
        self._whole.append(time.perf_counter() - self._start)
        if self._shown:
            measured = [f"{n} {_number(n, v)}" for n, v in values.items()]
            print("  ".join([self._label(epoch), *measured, *self._times(epoch)]), flush=True)

    def _times(self, epoch: int) -> list[str]:
        """The time of the epoch, its rate, and the time that is left."""
        rate = self.examples / self._seconds if self._seconds > 0 else 0.0
        found = [duration(self._whole[-1]), f"{rate:,.0f} samples/s"]
        left = self._epochs - epoch - 1
        # The first epoch compiles: later ones say how long the rest takes.
        usual = self._whole[1:] or self._whole
        return found + ([f"ETA {duration(left * sum(usual) / len(usual))}"] if left else [])

    def _label(self, epoch: int) -> str:
        return f"epoch {epoch + 1:>{len(str(self._epochs))}}/{self._epochs}"


def duration(seconds: float) -> str:
    """A time in the unit that fits: milliseconds, seconds, or hours, minutes and seconds."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def _number(name: str, value: float) -> str:
    """Four decimals; three digits of learning rates and of what would read as 0."""
    small = name == "lr" or (isfinite(value) and 0 < abs(value) < 5e-4)
    return f"{value:.3g}" if small else f"{value:.4f}"

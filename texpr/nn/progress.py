"""What `fit` shows while it runs: a bar per epoch on a terminal with tqdm, else a line per epoch."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


class Progress:
    """Shows epochs.

    Args:
        shown: False shows nothing.
    """

    def __init__(self, epochs: int, shown: bool) -> None:
        self._epochs, self._shown = epochs, shown
        self._start = 0.0

    def batches(self, epoch: int, items: Iterable[T], count: int | None) -> Iterator[T]:
        """The items, shown as they are taken."""
        self._start = time.perf_counter()
        bar = _bar() if self._shown else None
        if bar is None:
            yield from items
        else:
            yield from bar(items, total=count, desc=self._label(epoch), unit="batch", leave=False)

    def epoch(self, epoch: int, values: Mapping[str, float]) -> None:
        """An epoch is done."""
        if self._shown:
            seconds = time.perf_counter() - self._start
            print("  ".join([self._label(epoch), *(f"{n} {v:.4f}" for n, v in values.items()), f"{seconds:.1f} s"]), flush=True)

    def _label(self, epoch: int) -> str:
        return f"epoch {epoch + 1:>{len(str(self._epochs))}}/{self._epochs}"


def _bar():
    """tqdm, where it is installed and someone watches."""
    if not sys.stderr.isatty():
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm

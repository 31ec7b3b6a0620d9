"""Progress of `fit`: a bar per epoch on a terminal with tqdm, else a line per epoch."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from texpr.support.progress import progress

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
        yield from progress(items, "batch", count, self._label(epoch)) if self._shown else items

    def epoch(self, epoch: int, values: Mapping[str, float]) -> None:
        """An epoch is done."""
        if self._shown:
            seconds = time.perf_counter() - self._start
            print(
                "  ".join(
                    [self._label(epoch), *(f"{n} {v:.4f}" for n, v in values.items()), f"{seconds:.1f} s"]
                ),
                flush=True,
            )

    def _label(self, epoch: int) -> str:
        return f"epoch {epoch + 1:>{len(str(self._epochs))}}/{self._epochs}"

"""Batches of sequences padded to few lengths, so that few shapes are compiled."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np

from texpr.nn.core.argument_checks import whole
from texpr.nn.data.data_loader import default_collate
from texpr.support.errors import CallError
from texpr.support.suggest import KnowsArguments


class PadToBuckets(KnowsArguments):
    """Batches of sequences whose lengths are padded to one of few: the `collate_fn` of a loader.

    An example is a pair of a sequence (length, ...) and its target. The sequences of a batch get
    the least bound that all of them fit in, so there are as many shapes as bounds, and as many
    compilations. A target that is as long as its sequence is padded too.

    With `batch_size`, a smaller batch is filled up, and batches are triples with weights of
    examples: 0 for those that were added, which then count for nothing in losses and gradients.
    Statistics of batch normalization see them.

    Args:
        bounds: the lengths, such as those of `bucket_bounds`.
        value: pads sequences.
        target_value: pads targets; the `ignore_index` of losses.
        batch_size: fill batches up to so many examples.
    Raises:
        CallError: no bounds; a sequence that is longer than all of them.
    Example:
        >>> pad = nn.data.PadToBuckets([4, 8])
        >>> x, y = pad([(np.array([1, 2, 3]), 0), (np.array([1]), 1)])
        >>> x.tolist(), y.tolist()
        ([[1, 2, 3, 0], [1, 0, 0, 0]], [0, 1])
    """

    def __init__(
        self,
        bounds: Sequence[int],
        value: float = 0,
        target_value: float = -100,
        *,
        batch_size: int | None = None,
    ) -> None:
        self.bounds = sorted({whole("PadToBuckets", "a bound", b) for b in bounds})
        if not self.bounds:
            raise CallError("PadToBuckets: there are no bounds", code="arguments")
        self.value, self.target_value = value, target_value
        self.batch_size = None if batch_size is None else whole("PadToBuckets", "batch_size", batch_size)

    def __call__(self, examples: list[Any]) -> tuple[Any, ...]:
        pairs = [(np.asarray(x), np.asarray(y)) for x, y in examples]
        longest = max(len(x) for x, _ in pairs)
        place = bisect_left(self.bounds, longest)
        if place == len(self.bounds):
            raise CallError(
                f"PadToBuckets: a sequence has length {longest}, the last bound is {self.bounds[-1]}",
                code="data",
                help="bounds=nn.data.bucket_bounds(lengths, 3) fit all sequences",
            )
        length = self.bounds[place]
        long = all(y.ndim and len(y) == len(x) for x, y in pairs)
        x = [padded(x, length, self.value) for x, _ in pairs]
        y = [padded(y, length, self.target_value) if long else y for _, y in pairs]
        if self.batch_size is None:
            return default_collate(x), default_collate(y)
        more = self.batch_size - len(pairs)
        weight = np.repeat([1.0, 0.0], [len(pairs), max(more, 0)])
        return default_collate(x + x[:1] * more), default_collate(y + y[:1] * more), weight


def padded(array: np.ndarray, length: int, value: float) -> np.ndarray:
    """An array whose first axis is made this long."""
    found = np.full((length, *array.shape[1:]), value, array.dtype)
    found[: len(array)] = array
    return found


def bucket_bounds(lengths: Sequence[int] | np.ndarray, count: int) -> list[int]:
    """The lengths, at most `count` of them, to which sequences are padded with the least padding
    in all.

    Args:
        lengths: of the sequences.
        count: how many bounds there may be.
    Raises:
        CallError: no lengths, or a length below 1.
    Example:
        >>> nn.data.bucket_bounds([1, 1, 1, 2, 9, 10], 2)
        [2, 10]
    """
    known, numbers = np.unique(np.asarray(lengths, np.int64), return_counts=True)
    if not len(known) or known[0] < 1:
        raise CallError("bucket_bounds: expected lengths of at least 1", code="data")
    count = min(whole("bucket_bounds", "count", count), len(known))
    upto, ends = np.concatenate([[0], np.cumsum(numbers)]), len(known)
    # cost[k]: the least number of elements of the first k lengths in the bounds so far.
    cost = np.concatenate([[0.0], np.full(ends, np.inf)])
    choices = []
    for _ in range(count):
        total = cost[None, :ends] + known[:, None] * (upto[1:, None] - upto[None, :ends])
        total[np.triu_indices(ends, 1)] = np.inf  # a bucket begins before it ends
        choices.append(total.argmin(1))
        cost = np.concatenate([[0.0], total.min(1)])
    found, end = [], ends
    for choice in reversed(choices):
        if end:
            found.append(int(known[end - 1]))
            end = int(choice[end - 1])
    return found[::-1]

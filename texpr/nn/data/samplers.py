"""Orders of examples: the numbers of the examples of an epoch, one by one or by batches. Each is a
function of a seed and the epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from texpr.nn.core.argument_checks import whole
from texpr.support.errors import CallError
from texpr.support.suggest import KnowsArguments, suggests


@suggests({})
class Sampler(KnowsArguments):
    """Base of samplers: `order(epoch)` are the numbers of the examples of an epoch.

    Iterated over, a sampler gives one epoch after the other.

    Raises: nothing of its own.
    Example:
        >>> class Backwards(nn.data.Sampler):
        ...     def __len__(self):
        ...         return 4
        ...
        ...     def order(self, epoch):
        ...         return np.arange(4)[::-1]
        >>> data = nn.data.TensorDataset(np.arange(4))
        >>> [x.tolist() for (x,) in nn.data.DataLoader(data, 2, sampler=Backwards())]
        [[3, 2], [1, 0]]
    """

    epoch = 0

    def order(self, epoch: int) -> np.ndarray:
        """The numbers of the examples in the order of an epoch."""
        raise NotImplementedError(f"{type(self).__name__} has no `order`")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__")

    def __iter__(self) -> Iterator[int]:
        self.epoch += 1
        return iter(self.order(self.epoch - 1).tolist())


class WeightedRandomSampler(Sampler):
    """Examples drawn with probabilities in proportion to weights.

    Args:
        weights: of each example, at least 0.
        num_samples: examples of an epoch.
        replacement: an example may come several times in an epoch.
        seed: of the drawing.
    Raises:
        CallError: a weight below 0, no weight above 0, or fewer such examples than are drawn
            without replacement.
    Example:
        >>> sampler = nn.data.WeightedRandomSampler([0.0, 1.0, 1.0], 100)
        >>> sorted(set(sampler))
        [1, 2]
    """

    def __init__(
        self,
        weights: Sequence[float] | np.ndarray,
        num_samples: int,
        replacement: bool = True,
        *,
        seed: int = 0,
    ) -> None:
        self.weights = np.asarray(weights, np.float64)
        self.num_samples = whole("WeightedRandomSampler", "num_samples", num_samples)
        self.replacement, self.seed = bool(replacement), whole("WeightedRandomSampler", "seed", seed, 0)
        good = self.weights.ndim == 1 and np.isfinite(self.weights).all() and (self.weights >= 0).all()
        if not good or not self.weights.sum() > 0:
            raise CallError(
                "WeightedRandomSampler: expected a number of at least 0 for each example, one of them above 0",
                code="arguments",
            )
        there = int(np.count_nonzero(self.weights))
        if not self.replacement and self.num_samples > there:
            raise CallError(
                f"WeightedRandomSampler: {self.num_samples} of {there} examples with a weight above 0 cannot be "
                f"drawn without replacement",
                code="arguments",
            )

    def __len__(self) -> int:
        return self.num_samples

    def order(self, epoch: int) -> np.ndarray:
        random = np.random.default_rng((self.seed, epoch))
        shares = self.weights / self.weights.sum()
        return random.choice(len(shares), self.num_samples, self.replacement, shares)


class SubsetRandomSampler(Sampler):
    """Some examples, in another order in every epoch.

    Args:
        indices: the numbers of the examples.
        seed: of the order.
    Raises: nothing of its own.
    Example:
        >>> sorted(nn.data.SubsetRandomSampler([1, 5, 7]))
        [1, 5, 7]
    """

    def __init__(self, indices: Sequence[int] | np.ndarray, *, seed: int = 0) -> None:
        self.indices, self.seed = np.asarray(indices, np.int64), whole("SubsetRandomSampler", "seed", seed, 0)

    def __len__(self) -> int:
        return len(self.indices)

    def order(self, epoch: int) -> np.ndarray:
        return np.random.default_rng((self.seed, epoch)).permutation(self.indices)


class BatchSampler(KnowsArguments):
    """Base of samplers of batches: `batches(epoch)` are arrays of numbers of examples.

    Made of a sampler, its batches are pieces of its order.

    Args:
        sampler: gives the order.
        batch_size: examples per batch.
        drop_last: leave out a last batch that is smaller.
    Raises:
        CallError: `batch_size` is no integer of at least 1.
    Example:
        >>> sampler = nn.data.BatchSampler(nn.data.SubsetRandomSampler(range(5)), 2)
        >>> [len(batch) for batch in sampler]
        [2, 2, 1]
    """

    epoch = 0

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool = False) -> None:
        self.sampler, self.drop_last = sampler, bool(drop_last)
        self.batch_size = whole(type(self).__name__, "batch_size", batch_size)

    def __len__(self) -> int:
        return len(_pieces(len(self.sampler), self.batch_size, self.drop_last))

    def batches(self, epoch: int) -> list[np.ndarray]:
        """The numbers of the examples of each batch of an epoch."""
        order = order_of(self.sampler, epoch)
        return [order[piece] for piece in _pieces(len(order), self.batch_size, self.drop_last)]

    def __iter__(self) -> Iterator[list[int]]:
        self.epoch += 1
        return (batch.tolist() for batch in self.batches(self.epoch - 1))


class GroupedBatchSampler(BatchSampler):
    """Batches whose examples are all of one group, such as images of one shape.

    Args:
        groups: the group of each example: numbers or texts.
        batch_size: examples per batch; the last batch of each group takes what is left.
        drop_last: leave these out where they are smaller.
        shuffle: another order of examples and batches in every epoch.
        seed: of the order.
    Raises:
        CallError: `batch_size` is no integer of at least 1.
    Example:
        >>> sampler = nn.data.GroupedBatchSampler([0, 1, 0, 1, 0], 2, shuffle=False)
        >>> list(sampler)
        [[0, 2], [4], [1, 3]]
    """

    def __init__(
        self,
        groups: Sequence[Any] | np.ndarray,
        batch_size: int,
        drop_last: bool = False,
        *,
        shuffle: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__((), batch_size, drop_last)
        _, found, counts = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
        order = np.argsort(found.reshape(-1), kind="stable")
        self.members, self.shuffle = np.split(order, np.cumsum(counts)[:-1]), bool(shuffle)
        self.seed = whole(type(self).__name__, "seed", seed, 0)

    def __len__(self) -> int:
        return sum(len(_pieces(len(m), self.batch_size, self.drop_last)) for m in self.members)

    def batches(self, epoch: int) -> list[np.ndarray]:
        random = np.random.default_rng((self.seed, epoch)) if self.shuffle else None
        found = []
        for members in self.members:
            members = members if random is None else random.permutation(members)
            found += [members[piece] for piece in _pieces(len(members), self.batch_size, self.drop_last)]
        return found if random is None else [found[k] for k in random.permutation(len(found))]


class LengthBatchSampler(BatchSampler):
    """Batches of examples whose lengths are close, so that padding is little.

    Examples are shuffled, sorted by their lengths within pools of several batches, and the batches
    of the epoch shuffled.

    Args:
        lengths: of each example.
        batch_size: examples per batch.
        drop_last: leave out batches that are smaller.
        shuffle: another order in every epoch; without it all examples are sorted, the shortest
            first.
        pool: batches whose examples are sorted together: more of them need less padding, and mix
            the examples less.
        seed: of the order.
    Raises:
        CallError: `batch_size` or `pool` is no integer of at least 1.
    Example:
        >>> sampler = nn.data.LengthBatchSampler([5, 1, 4, 2], 2, shuffle=False)
        >>> list(sampler)
        [[1, 3], [2, 0]]
    """

    def __init__(
        self,
        lengths: Sequence[int] | np.ndarray,
        batch_size: int,
        drop_last: bool = False,
        *,
        shuffle: bool = True,
        pool: int = 100,
        seed: int = 0,
    ) -> None:
        super().__init__((), batch_size, drop_last)
        self.lengths, self.shuffle = np.asarray(lengths), bool(shuffle)
        self.pool = whole(type(self).__name__, "pool", pool)
        self.seed = whole(type(self).__name__, "seed", seed, 0)

    def __len__(self) -> int:
        return len(_pieces(len(self.lengths), self.batch_size, self.drop_last))

    def batches(self, epoch: int) -> list[np.ndarray]:
        count = len(self.lengths)
        random = np.random.default_rng((self.seed, epoch))
        order = random.permutation(count) if self.shuffle else np.arange(count)
        pools = _pieces(count, self.batch_size * self.pool, False) if self.shuffle else [slice(None)]
        for pool in pools:
            order[pool] = order[pool][np.argsort(self.lengths[order[pool]], kind="stable")]
        found = [order[piece] for piece in _pieces(count, self.batch_size, self.drop_last)]
        return [found[k] for k in random.permutation(len(found))] if self.shuffle else found


def order_of(sampler: Any, epoch: int) -> np.ndarray:
    """The order of an epoch: by its number, or of a sampler of another library, its next one."""
    if isinstance(sampler, Sampler):
        return sampler.order(epoch)
    return np.fromiter(iter(sampler), np.int64)


def batches_of(sampler: Any, epoch: int) -> list[np.ndarray]:
    """The batches of an epoch, as for `order_of`."""
    if isinstance(sampler, BatchSampler):
        return sampler.batches(epoch)
    return [np.asarray(batch, np.int64) for batch in sampler]


def _pieces(count: int, size: int, drop_last: bool) -> list[slice]:
    end = count - count % size if drop_last else count
    return [slice(start, min(start + size, count)) for start in range(0, end, size)]

"""Data sets: what has a length and gives an example by its number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from texpr.graph.lazy import Tensor, as_tensor
from texpr.support.errors import CallError
from texpr.support.tracebacks import boundary


class Dataset:
    """Base of data sets: `len(d)` examples, of which `d[k]` is one.

    Raises: nothing of its own.
    Example:
        >>> class Squares(nn.data.Dataset):
        ...     def __len__(self):
        ...         return 4
        ...
        ...     def __getitem__(self, k):
        ...         return k, k * k
        >>> [y.tolist() for x, y in nn.data.DataLoader(Squares(), batch_size=2)]
        [[0, 1], [4, 9]]
    """

    @boundary
    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__")


class IterableDataset:
    """Base of data sets that give examples one after the other, such as lines of files or a stream.

    A loader takes batches as they come: it has no order of its own (`shuffle`, `sampler`), and goes on
    from a saved state by reading what it had read. Ranks and threads read no parts of it.

    Raises: nothing of its own.
    Example:
        >>> class Count(nn.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(5))
        >>> [batch.tolist() for batch in nn.data.DataLoader(Count(), batch_size=2)]
        [[0, 1], [2, 3], [4]]
    """

    @boundary
    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")


class TensorDataset(Dataset):
    """Arrays whose first axes count the examples: an example is a tuple of their rows. Rows and
    batches of tensors are tensors, those of arrays are arrays.

    Args:
        tensors: arrays or tensors of equal extents of axis 0.
    Raises:
        CallError: no arrays, or of different lengths.
    Example:
        >>> data = nn.data.TensorDataset(np.arange(10), np.arange(10) % 2)
        >>> len(data), len(data[3])
        (10, 2)
    """

    @boundary
    def __init__(self, *tensors: Any) -> None:
        self.tensors = tuple(np.asarray(t) for t in tensors)
        self._dtypes = tuple(t.dtype if isinstance(t, Tensor) else None for t in tensors)
        lengths = [len(t) if t.ndim else None for t in self.tensors]
        if not lengths or None in lengths or len(set(lengths)) > 1:
            shapes = ", ".join(str(list(t.shape)) for t in self.tensors) or "none"
            raise CallError(
                f"TensorDataset: the arrays have shapes {shapes}, expected equal lengths of axis 0",
                code="data",
            )

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return tuple(self._wrapped(t[index] for t in self.tensors))

    def __len__(self) -> int:
        return len(self.tensors[0])

    def rows(self, indices: np.ndarray) -> tuple[Any, ...]:
        """Several examples at once: a batch."""
        return tuple(self._wrapped(np.take(t, indices, axis=0) for t in self.tensors))

    def _wrapped(self, rows: Iterable[Any]) -> Iterator[Any]:
        return (row if t is None else as_tensor(row, dtype=t) for row, t in zip(rows, self._dtypes))


class Subset(Dataset):
    """Some examples of a data set, in the order of `indices`.

    Raises:
        CallError: an index is outside of the data set.
    Example:
        >>> data = nn.data.TensorDataset(np.arange(10), np.arange(10) % 2)
        >>> len(nn.data.Subset(data, [1, 5]))
        2
    """

    def __init__(self, dataset: Any, indices: Sequence[int] | np.ndarray) -> None:
        self.dataset, self.indices = dataset, np.asarray(indices, np.int64)
        if self.indices.ndim != 1 or (
            self.indices.size and not (0 <= self.indices.min() and self.indices.max() < len(dataset))
        ):
            raise CallError(f"Subset: an index is outside of 0 to {len(dataset) - 1}", code="data")

    def __getitem__(self, index: int) -> Any:
        return self.dataset[int(self.indices[index])]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """Data sets one after the other.

    Raises:
        CallError: there are no data sets.
    Example:
        >>> data = nn.data.TensorDataset(np.arange(10), np.arange(10) % 2)
        >>> len(nn.data.ConcatDataset([data, data]))
        20
    """

    def __init__(self, datasets: Sequence[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise CallError("ConcatDataset: there are no data sets", code="data")
        self.ends = list(accumulate(map(len, self.datasets)))

    def __getitem__(self, index: int) -> Any:
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"there is no example {index} of {len(self)}")
        which = bisect_right(self.ends, place)
        return self.datasets[which][place - (self.ends[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.ends[-1]


@boundary
def random_split(dataset: Any, lengths: Sequence[float], seed: int = 0) -> list[Subset]:
    """Parts of a data set, drawn at random.

    Args:
        lengths: numbers of examples that add up to all, or shares that add up to 1; what rounding
            leaves goes to the first parts.
        seed: of the drawing.
    Raises:
        CallError: lengths that do not add up.
    Example:
        >>> data = nn.data.TensorDataset(np.arange(10), np.arange(10) % 2)
        >>> [len(part) for part in nn.data.random_split(data, [0.8, 0.2])]
        [8, 2]
    """
    count = len(dataset)
    counts = [int(n) for n in lengths]
    if lengths and abs(sum(lengths) - 1) < 1e-9 and all(0 <= n <= 1 for n in lengths):
        counts = [int(n * count) for n in lengths]
        for k in range(count - sum(counts)):
            counts[k % len(counts)] += 1
    if sum(counts) != count or any(n < 0 for n in counts):
        raise CallError(
            f"random_split: lengths {list(lengths)} do not add up to {count}, or to 1", code="data"
        )
    order = np.random.default_rng(seed).permutation(count)
    ends = list(accumulate(counts))
    return [Subset(dataset, order[end - n : end]) for end, n in zip(ends, counts)]

"""Batches as a training takes them: of arrays, of a loader, of anything that gives pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from texpr.ir.dtypes import DType
from texpr.nn.core.inputs import NetworkInput
from texpr.nn.data import DataLoader, TensorDataset
from texpr.nn.data.checks import checked_inputs, checked_targets
from texpr.support.errors import CallError


class Batch(NamedTuple):
    """Examples and targets; `labels` is what messages about labels count in: the whole array
    where there is one.
    """

    x: NetworkInput
    y: NetworkInput
    labels: np.ndarray


class Batches:
    """Batches of one epoch, whenever it is iterated over.

    Attributes:
        left: how many batches the next iteration gives; None where nobody knows.
    """

    left: int | None

    @staticmethod
    def of(
        x: Any, y: Any, dtype: DType | None, labels: bool, batch_size: int, shuffle: bool, seed: int
    ) -> Batches:
        """Batches of arrays, or of the loader `x` where there is no y.

        Raises:
            CallError: data that do not fit each other.
        """
        if y is not None:
            given = checked_inputs(x, dtype)
            return _OfArrays(
                given, checked_targets(y, len(given.array), labels, dtype), batch_size, shuffle, seed
            )
        if not isinstance(x, Iterable) or isinstance(x, np.ndarray | dict | str) or iter(x) is x:
            raise CallError(
                f"there are no targets, and x is a {type(x).__name__}, expected a loader",
                code="data",
                help="pass x and y, or nn.data.DataLoader(...), which can be iterated over once per epoch",
            )
        return _OfLoader(x, dtype, labels)

    def __iter__(self) -> Iterator[Batch]:
        raise NotImplementedError

    def go_to(self, epoch: int, position: int) -> None:
        """Let the next iteration be this epoch, from this batch on."""
        raise NotImplementedError

    def about(self) -> dict[str, int]:
        """The choices that decide the batches, as far as they are known."""
        raise NotImplementedError


class _OfArrays(Batches):
    def __init__(self, x: NetworkInput, y: NetworkInput, batch_size: int, shuffle: bool, seed: int) -> None:
        self._x, self._y = x, y
        self._loader = DataLoader(TensorDataset(x.array, y.array), batch_size, shuffle, seed=seed)

    def __iter__(self) -> Iterator[Batch]:
        for x, y in self._loader:
            yield Batch(NetworkInput(x, self._x.dtype), NetworkInput(y, self._y.dtype), self._y.array)

    @property
    def left(self) -> int:  # type: ignore[override]
        return len(self._loader) - self._loader.position

    def go_to(self, epoch: int, position: int) -> None:
        self._loader.load_state_dict({**self._loader.state_dict(), "epoch": epoch, "position": position})

    def about(self) -> dict[str, int]:
        return _about(self._loader)


class _OfLoader(Batches):
    def __init__(self, loader: Iterable[Any], dtype: DType | None, labels: bool) -> None:
        self._loader, self._dtype, self._labels = loader, dtype, labels
        self._skipped = 0

    def __iter__(self) -> Iterator[Batch]:
        skipped, self._skipped = self._skipped, 0
        for pair in islice(iter(self._loader), skipped, None):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise CallError(
                    f"a batch is a {type(pair).__name__}, expected a pair of examples and targets",
                    code="data",
                )
            x = checked_inputs(pair[0], self._dtype)
            y = checked_targets(pair[1], len(x.array), self._labels, self._dtype)
            yield Batch(x, y, y.array)

    @property
    def left(self) -> int | None:  # type: ignore[override]
        length = getattr(self._loader, "__len__", None)
        try:
            count = None if length is None else length()
        except TypeError:
            return None
        done = self._loader.position if isinstance(self._loader, DataLoader) else self._skipped
        return None if count is None else max(0, count - done)

    def go_to(self, epoch: int, position: int) -> None:
        """A loader of texpr knows its order; of others, batches are left out, which is the same
        where their order is.
        """
        if isinstance(self._loader, DataLoader):
            self._loader.load_state_dict({**self._loader.state_dict(), "epoch": epoch, "position": position})
        else:
            self._skipped = position

    def about(self) -> dict[str, int]:
        return _about(self._loader) if isinstance(self._loader, DataLoader) else {}


def _about(loader: DataLoader) -> dict[str, int]:
    return {
        "examples": len(loader.dataset),
        "batch_size": loader.batch_size,
        "shuffle": int(loader.shuffle),
        "seed": loader.seed,
        "drop_last": int(loader.drop_last),
    }

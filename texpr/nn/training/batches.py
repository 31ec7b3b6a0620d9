"""Batches as a training takes them: of arrays, of a loader, of anything that gives pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from texpr.ir.dtypes import DType, readable
from texpr.nn.core.inputs import NetworkInput
from texpr.nn.data import DataLoader, TensorDataset
from texpr.nn.data.checks import checked_inputs, checked_targets
from texpr.nn.training.example_weights import Weights, checked_weights, weights_of
from texpr.support.errors import CallError

_SAMPLED = 16
"""Examples that tell whether ranks have the same arrays."""


class Batch(NamedTuple):
    """Examples, targets and their weights; `labels` is what messages about labels count in: the
    whole array where there is one.
    """

    x: NetworkInput
    y: NetworkInput
    labels: np.ndarray
    weight: NetworkInput | None = None

    @property
    def specs(self) -> tuple[tuple[tuple[int, ...], DType], ...]:
        """The shapes and dtypes that a program is captured for."""
        return (self.x.spec, self.y.spec, *([] if self.weight is None else [self.weight.spec]))


class Batches:
    """Batches of one epoch, whenever it is iterated over.

    Attributes:
        left: how many batches the next iteration gives; None where nobody knows.
    """

    left: int | None

    @staticmethod
    def of(
        x: Any,
        y: Any,
        dtype: DType | None,
        labels: bool,
        batch_size: int,
        shuffle: bool,
        seed: int,
        weight: object = None,
        shard: tuple[int, int] = (0, 1),
    ) -> Batches:
        """Batches of arrays, or of the loader `x` where there is no y.

        Args:
            shard: the number of this rank, and how many there are, which take batches in turn;
                what is iterated over and is no `DataLoader` gives each rank its own.
        Raises:
            CallError: data that do not fit each other.
        """
        if y is not None:
            given = checked_inputs(x, dtype)
            count = len(given.array)
            targets = checked_targets(y, count, labels, dtype)
            weights = None if weight is None else checked_weights(weight, count, dtype)
            return _OfArrays(given, targets, weights, batch_size, shuffle, seed, shard)
        if weight is not None:
            raise CallError(
                "weights of examples want arrays as x and y",
                code="arguments",
                help="let the loader give triples of examples, targets and weights",
            )
        if not isinstance(x, Iterable) or isinstance(x, np.ndarray | dict | str) or iter(x) is x:
            raise CallError(
                f"there are no targets, and x is a {type(x).__name__}, expected a loader",
                code="data",
                help="pass x and y, or nn.data.DataLoader(...), which can be iterated over once per epoch",
            )
        if shard[1] > 1 and isinstance(x, DataLoader) and x.shard[:2] != shard:
            raise CallError(
                f"the loader gives rank {shard[0]} of {shard[1]} all batches, which each rank would train on",
                code="data",
                help="nn.data.DataLoader(..., shard=comm); ranks with data of their own may give batches by "
                "any other object that is iterated over",
            )
        return _OfLoader(x, dtype, labels, shard)

    def __iter__(self) -> Iterator[Batch]:
        raise NotImplementedError

    def go_to(self, epoch: int, position: int) -> None:
        """Let the next iteration be this epoch, from this batch on."""
        raise NotImplementedError

    def about(self) -> dict[str, int]:
        """The choices that decide the batches, as far as they are known."""
        raise NotImplementedError

    def sample(self) -> int | None:
        """A number of a few examples, the same for the same arrays; None where they are not known yet."""
        return None

    def weighed(self, class_weight: Weights, loss: object) -> Batches:
        """The same batches with weights of classes beside those of examples."""
        raise NotImplementedError

    def split(self, share: float) -> tuple[Batches, Batches]:
        """The batches of some examples, and of a share that is left for validation.

        Raises:
            CallError: examples that come from a loader, or one of both parts is empty.
        """
        raise CallError(
            "validation_split wants arrays as x and y",
            code="arguments",
            help="split the data set, by nn.data.random_split, and pass validation_data=loader",
        )


class _OfArrays(Batches):
    def __init__(
        self,
        x: NetworkInput,
        y: NetworkInput,
        weight: NetworkInput | None,
        batch_size: int,
        shuffle: bool,
        seed: int,
        shard: tuple[int, int] = (0, 1),
    ) -> None:
        self._parts = (x, y) if weight is None else (x, y, weight)
        self._choices = batch_size, shuffle, seed
        self._shard = shard
        arrays = (part.array for part in self._parts)
        self._loader = DataLoader(TensorDataset(*arrays), batch_size, shuffle, seed=seed, shard=shard)

    def weighed(self, class_weight: Weights, loss: object) -> Batches:
        x, y, *weight = self._parts
        known = readable(*weight[0]) if weight else None
        found = weights_of(readable(*y), known, class_weight, loss)
        return _OfArrays(x, y, checked_weights(found, len(x.array), x.dtype), *self._choices, self._shard)

    def sample(self) -> int:
        found, count = 0, len(self._parts[0].array)
        for part in self._parts:
            rows = part.array[np.linspace(0, count - 1, _SAMPLED).astype(np.int64)]
            found = crc32(np.ascontiguousarray(rows).tobytes(), found)
        return found

    def split(self, share: float) -> tuple[Batches, Batches]:
        count, (_, shuffle, seed) = len(self._parts[0].array), self._choices
        held = round(count * share)
        if not 0 < held < count:
            raise CallError(
                f"validation_split={share:g} of {count} examples leaves {held} for validation",
                code="arguments",
                help="both parts need an example",
            )
        order = np.random.default_rng((seed, count)).permutation(count)
        rows = np.sort(order[held:]), np.sort(order[:held])
        return self._only(rows[0], shuffle), self._only(rows[1], False)

    def _only(self, rows: np.ndarray, shuffle: bool) -> Batches:
        """Batches of these examples alone."""
        x, y, *weight = (p._replace(array=p.array[rows]) for p in self._parts)
        batch_size, _, seed = self._choices
        return _OfArrays(x, y, weight[0] if weight else None, batch_size, shuffle, seed, self._shard)

    def __iter__(self) -> Iterator[Batch]:
        dtypes, labels = [part.dtype for part in self._parts], self._parts[1].array
        for arrays in _not_padding(self._loader):
            x, y, *weight = map(NetworkInput, arrays, dtypes)
            yield Batch(x, y, labels, *weight)

    @property
    def left(self) -> int:  # type: ignore[override]
        return _left(self._loader)

    def go_to(self, epoch: int, position: int) -> None:
        self._loader.load_state_dict({**self._loader.state_dict(), "epoch": epoch, "position": position})

    def about(self) -> dict[str, int]:
        return _about(self._loader)


class _OfLoader(Batches):
    def __init__(
        self, loader: Iterable[Any], dtype: DType | None, labels: bool, shard: tuple[int, int]
    ) -> None:
        self._loader, self._dtype, self._labels, self._shard = loader, dtype, labels, shard
        self._skipped = 0
        self._class_weight: tuple[Weights, object] | None = None

    def weighed(self, class_weight: Weights, loss: object) -> Batches:
        if isinstance(class_weight, str):
            raise CallError(
                f"class_weight={class_weight!r} wants arrays as x and y",
                code="arguments",
                help="pass the weight of each class: class_weight={0: 1.0, 1: 2.0}",
            )
        self._class_weight = class_weight, loss
        return self

    def _weights(self, y: NetworkInput, given: Sequence[object], count: int) -> list[NetworkInput]:
        if self._class_weight is None:
            return [checked_weights(w, count, self._dtype) for w in given]
        found = weights_of(readable(*y), given[0] if given else None, *self._class_weight)
        return [checked_weights(found, count, self._dtype)]

    def __iter__(self) -> Iterator[Batch]:
        skipped, self._skipped = self._skipped, 0
        loader = self._loader
        pairs = _not_padding(loader) if isinstance(loader, DataLoader) else iter(loader)
        for pair in islice(pairs, skipped, None):
            if not isinstance(pair, tuple | list) or len(pair) not in (2, 3):
                parts = f" of {len(pair)}" if isinstance(pair, tuple | list) else ""
                raise CallError(
                    f"a batch is a {type(pair).__name__}{parts}, expected a pair of examples and targets",
                    code="data",
                    help="give (x, y), or (x, y, weights of the examples)",
                )
            x = checked_inputs(pair[0], self._dtype)
            y = checked_targets(pair[1], len(x.array), self._labels, self._dtype)
            yield Batch(x, y, y.array, *self._weights(y, pair[2:], len(x.array)))

    @property
    def left(self) -> int | None:  # type: ignore[override]
        length = getattr(self._loader, "__len__", None)
        try:
            count = None if length is None else length()
        except TypeError:
            return None
        if count is None:
            return None
        if isinstance(self._loader, DataLoader):
            return _left(self._loader)
        return max(0, count - self._skipped)

    def go_to(self, epoch: int, position: int) -> None:
        """A loader of texpr knows its order; of others, batches are left out, which is the same
        where their order is.
        """
        if isinstance(self._loader, DataLoader):
            self._loader.load_state_dict({**self._loader.state_dict(), "epoch": epoch, "position": position})
        else:
            rank, size = self._shard
            self._skipped = max(0, -(-(position - rank) // size))

    def about(self) -> dict[str, int]:
        return _about(self._loader) if isinstance(self._loader, DataLoader) else {}


def _about(loader: DataLoader) -> dict[str, int]:
    return {
        "examples": loader.state_dict()["count"],  # -1 where a stream does not say
        "batch_size": loader.batch_size,
        "shuffle": int(loader.shuffle),
        "seed": loader.seed,
        "drop_last": int(loader.drop_last),
    }


def _not_padding(loader: DataLoader) -> Iterator[Any]:
    """The batches of a loader that count."""
    return (batch for batch in loader if not loader.padding)


def _left(loader: DataLoader) -> int:
    """Batches of this rank that come yet."""
    return loader.shard.rounds(loader.count() - loader.position)

"""Batches of a data set, in an order that is a function of a seed and the epoch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from texpr.graph.lazy import Tensor, as_tensor
from texpr.nn.core.argument_checks import whole
from texpr.nn.data.datasets import IterableDataset, TensorDataset
from texpr.nn.data.samplers import batches_of, order_of
from texpr.nn.data.sharding import Shard
from texpr.support.errors import CallError, CheckpointError
from texpr.support.late import late
from texpr.support.suggest import suggests
from texpr.support.tracebacks import boundary, forwards, hide_frames

if TYPE_CHECKING:
    from texpr.distributed import gathered_metrics
else:
    gathered_metrics = late("texpr.distributed.gathered_metrics")


@suggests({})
class DataLoader:
    """Batches of a data set: every iteration is one epoch.

    The order of epoch e is a function of (seed, e), and `state_dict()` says which batch comes next:
    a loader that takes it goes on there, with the same batches.

    A sharded loader gives each rank its part: ranks take the batches of one process in turn, so that
    each example comes once. Where batches are fewer in the last round than ranks, the others get
    one that is all `padding`: all ranks make equally many steps. The state is that of one process:
    a loader may go on with another number of ranks.

    Args:
        dataset: has a length and gives examples by their numbers, or an `nn.data.IterableDataset`; an
            example is an array, a number, or a tuple, list or dict of them.
        batch_size: examples per batch.
        shuffle: another order in every epoch, or that of the data set.
        num_workers: threads that fetch batches ahead; 0 fetches each when it is asked for.
        collate_fn: makes a batch of a list of examples; `default_collate` unless given.
        drop_last: leave out a last batch that is smaller.
        prefetch_factor: batches that each thread may be ahead.
        sampler: the order of the examples, in place of `shuffle`: an `nn.data.Sampler`, or anything
            that has a length and gives numbers of examples whenever it is iterated over.
        batch_sampler: the examples of each batch, in place of `batch_size` and `drop_last` too: an
            `nn.data.BatchSampler`, or anything that gives lists of numbers.
        shard: a communicator (`texpr.distributed`), whose ranks compare their orders at the
            beginning of each epoch; or (rank, size). `batch_size` is that of a rank.
    Attributes:
        epoch: which epoch is, or will be, iterated over; from 0.
        position: how many of its batches were handed out, on all ranks.
        padding: examples of the last batch that count for nothing: 0, or all of them.
    Raises:
        CallError: a data set without a length or examples, or an argument out of its range.
    Example:
        >>> data = nn.data.TensorDataset(np.arange(10), np.arange(10) % 2)
        >>> loader = nn.data.DataLoader(data, batch_size=4, shuffle=True)
        >>> [len(x) for x, y in loader]
        [4, 4, 2]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        drop_last: bool = False,
        prefetch_factor: int = 2,
        seed: int = 0,
        sampler: Any = None,
        batch_sampler: Any = None,
        shard: Any = None,
    ) -> None:
        self._is_stream = isinstance(dataset, IterableDataset)
        if self._is_stream and (shuffle or num_workers or sampler or batch_sampler or shard is not None):
            raise CallError(
                f"DataLoader: {type(dataset).__name__} gives examples one after the other",
                code="data",
                help="leave out shuffle, sampler, num_workers and shard: the data set decides, and may mix",
            )
        if not self._is_stream and not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")):
            raise CallError(
                f"DataLoader: {type(dataset).__name__} has no length or no examples by number",
                code="data",
                help="wrap arrays in nn.data.TensorDataset(x, y), or derive from nn.data.IterableDataset",
            )
        self.dataset, self.batch_size = dataset, whole("DataLoader", "batch_size", batch_size)
        self.shuffle, self.drop_last = bool(shuffle), bool(drop_last)
        self.num_workers = whole("DataLoader", "num_workers", num_workers, 0)
        self.prefetch_factor = whole("DataLoader", "prefetch_factor", prefetch_factor)
        self.seed = whole("DataLoader", "seed", seed, 0)
        self.collate_fn = collate_fn
        self.sampler, self.batch_sampler = sampler, batch_sampler
        if sampler is not None and (shuffle or batch_sampler is not None):
            other = "shuffle" if shuffle else "batch_sampler"
            raise CallError(f"DataLoader: sampler and {other} exclude each other", code="arguments")
        if batch_sampler is not None and (shuffle or drop_last or batch_size != 1):
            raise CallError(
                "DataLoader: batch_sampler decides batch_size, shuffle and drop_last", code="arguments"
            )
        if batch_sampler is not None:
            self.batch_size = whole("DataLoader", "batch_size", getattr(batch_sampler, "batch_size", 1) or 1)
        self.shard = Shard.of("DataLoader", shard)
        self.epoch = self.position = self.padding = 0
        self._goes_on = False

    @boundary
    def __len__(self) -> int:
        return self.shard.rounds(self.count())

    def count(self) -> int:
        """Number of batches of an epoch, on all ranks.

        Raises:
            TypeError: a data set without a length.
        """
        if self._is_stream and not hasattr(self.dataset, "__len__"):
            raise TypeError(f"{type(self.dataset).__name__} has no length, and so the loader has none")
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        count = len(self.dataset if self.sampler is None else self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    @boundary
    def __iter__(self) -> Iterator[Any]:
        """One epoch, from the state that was loaded last, else from its beginning."""
        if not self._goes_on and self.position:
            self.epoch, self.position = self.epoch + 1, 0
        self._goes_on = False
        return self._stream() if self._is_stream else self._epoch()

    def _stream(self) -> Iterator[Any]:
        """Batches of examples as they come, behind those that were handed out before."""
        try:
            examples = islice(iter(self.dataset), self.position * self.batch_size, None)
            collate = self.collate_fn or default_collate
            while batch := list(islice(examples, self.batch_size)):
                if len(batch) < self.batch_size and self.drop_last:
                    break
                self.position += 1
                yield collate(batch)
        except Exception as error:
            hide_frames(error)
            raise
        self.epoch, self.position = self.epoch + 1, 0

    def _epoch(self) -> Iterator[Any]:
        batches, start = self._batches(), self.position
        try:
            self.shard.check(batches, self.epoch, start)
            shares = self.shard.shares(batches, start)
            fetched = self._fetched_in_order([share.indices for share in shares])
            for k, (share, batch) in enumerate(zip(shares, fetched), 1):
                self.position = min(start + k * self.shard.size, len(batches))
                self._hand_out(share.padding)
                yield batch
        except Exception as error:
            hide_frames(error)
            raise
        finally:
            if self.shard.size > 1:
                gathered_metrics.no_longer_from(self)
            self.padding = 0
        self.epoch, self.position = self.epoch + 1, 0

    def _hand_out(self, padding: int) -> None:
        """Say what the next batch is; `gather_for_metrics` asks for it."""
        self.padding = padding
        if self.shard.size > 1:
            gathered_metrics.now_from(self)

    def _fetched_in_order(self, batches: Sequence[np.ndarray]) -> Iterator[Any]:
        wanted = iter(batches)
        return self._ahead(wanted) if self.num_workers else map(self._fetched, wanted)

    def _batches(self) -> Sequence[np.ndarray]:
        """The numbers of the examples of each batch of this epoch."""
        if self.batch_sampler is not None:
            found = batches_of(self.batch_sampler, self.epoch)
            for batch in found:
                self._check(batch)
            return found
        order = self.order(self.epoch)
        starts = range(0, self.count() * self.batch_size, self.batch_size)
        return [order[start : start + self.batch_size] for start in starts]

    def _check(self, indices: np.ndarray) -> np.ndarray:
        count = len(self.dataset)
        beyond = indices[(indices < 0) | (indices >= count)]
        if len(beyond):
            raise CallError(
                f"DataLoader: the sampler asks for example {beyond[0]} of {count}",
                code="data",
                help="give it as many weights, groups or lengths as there are examples",
            )
        return indices

    def order(self, epoch: int) -> np.ndarray:
        """The numbers of the examples in the order of an epoch."""
        if self.sampler is not None:
            return self._check(order_of(self.sampler, epoch))
        count = len(self.dataset)
        return (
            np.random.default_rng((self.seed, epoch)).permutation(count) if self.shuffle else np.arange(count)
        )

    @forwards
    def _fetched(self, indices: np.ndarray) -> Any:
        if self.collate_fn is None and isinstance(self.dataset, TensorDataset):
            return self.dataset.rows(indices)
        return (self.collate_fn or default_collate)([self.dataset[int(k)] for k in indices])

    def _ahead(self, wanted: Iterator[np.ndarray]) -> Iterator[Any]:
        """Batches in order, fetched by threads; what a thread raises is raised here, with its
        trace.
        """
        pool = ThreadPoolExecutor(self.num_workers, "texpr-loader")
        waiting: deque[Future[Any]] = deque()
        try:
            for indices in wanted:
                waiting.append(pool.submit(self._fetched, indices))
                if len(waiting) > self.num_workers * self.prefetch_factor:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def state_dict(self) -> dict[str, int]:
        """The position of the next batch."""
        return {
            "seed": self.seed,
            "epoch": self.epoch,
            "position": self.position,
            "count": len(self.dataset) if hasattr(self.dataset, "__len__") else -1,
            "batch_size": self.batch_size,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where another loader was.

        Raises:
            CheckpointError: it had other data, another batch size, or was further than there are
                batches.
        """
        own = self.state_dict()
        if not set(own) <= set(state_dict):
            raise CheckpointError("the state of the loader is incomplete", code="checkpoint")
        for name in ("count", "batch_size"):
            if state_dict[name] != own[name]:
                raise CheckpointError(
                    f"the loader was saved with {name} {state_dict[name]}, and has {own[name]}",
                    code="checkpoint",
                )
        self.seed, self.epoch = (
            whole("DataLoader", "seed", state_dict["seed"], 0),
            whole("DataLoader", "epoch", state_dict["epoch"], 0),
        )
        self.position = whole("DataLoader", "position", state_dict["position"], 0)
        if own["count"] >= 0 and self.position > self.count():
            raise CheckpointError(
                f"the loader was at batch {self.position}, and has {self.count()}", code="checkpoint"
            )
        self._goes_on = True


@boundary
def default_collate(examples: list[Any]) -> Any:
    """Batch of a list of examples: arrays and numbers are stacked to arrays, tensors to tensors;
    tuples, lists and dicts keep their structure.

    Raises:
        CallError: arrays of different shapes, or what cannot be stacked.
    Example:
        >>> x, y = nn.data.default_collate([(np.zeros(3), 0), (np.ones(3), 1)])
        >>> x.shape, y.tolist()
        ((2, 3), [0, 1])
    """
    first = examples[0]
    if isinstance(first, dict):
        return {name: default_collate([e[name] for e in examples]) for name in first}
    if isinstance(first, tuple | list):
        parts = [default_collate(list(each)) for each in zip(*examples, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    arrays = [np.asarray(e) for e in examples]
    tensors = isinstance(first, Tensor)
    if any(a.shape != arrays[0].shape for a in arrays) or not tensors and arrays[0].dtype.kind not in "fiub":
        found = sorted({f"{a.dtype}{list(a.shape)}" for a in arrays})
        raise CallError(
            f"examples cannot be stacked: {', '.join(found[:3])}",
            code="data",
            help="give collate_fn, or pad them",
        )
    stacked = np.stack(arrays)
    return as_tensor(stacked, dtype=first.dtype) if tensors else stacked

"""Values of all ranks for metrics, without what was counted twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Protocol

from texpr.distributed.communicator import Communicator
from texpr.distributed.start import communicator
from texpr.support.errors import CallError
from texpr.support.tracebacks import boundary


class Sharded(Protocol):
    """A loader whose batches may have padding."""

    padding: int


class _Loops(threading.local):
    """Loaders of the thread that are iterated over, the innermost last."""

    def __init__(self) -> None:
        self.loaders: list[Sharded] = []


_loops = _Loops()


def now_from(loader: Sharded) -> None:
    """Said by a loader that hands out a batch: values are of this one from now on."""
    no_longer_from(loader)
    _loops.loaders.append(loader)


def no_longer_from(loader: Sharded) -> None:
    """Said by a loader whose loop has ended."""
    _loops.loaders = [each for each in _loops.loaders if each is not loader]


@boundary
def gather_for_metrics(values: Any, comm: Communicator | None = None, *, loader: Any = None) -> Any:
    """The values of a batch on all ranks, one after the other, in the order of one process.

    Called in a loop over a sharded loader, it leaves out the padding of ranks that had no batch
    left, so that each example counts once. All ranks must call it for each batch.

    Args:
        values: arrays or tensors whose axis 0 counts examples, or tuples, lists and dicts of them.
        comm: that of the program unless given.
        loader: that the batch came from; that of the innermost loop unless given.
    Returns:
        the same structure, on every rank.
    Raises:
        CallError: values that are fewer than the padding; `loader` is none.
        DistributedError: structures, dtypes or extents other than the first differ, or ranks do not
            come.
    Example:
        >>> from texpr import distributed as dist
        >>> loader = nn.data.DataLoader(nn.data.TensorDataset(np.arange(5)), 2, shard=dist.init())
        >>> [dist.gather_for_metrics(x).tolist() for (x,) in loader]
        [[0, 1], [2, 3], [4]]
    """
    if loader is not None and not hasattr(loader, "padding"):
        raise CallError(
            f"gather_for_metrics: loader is of type {type(loader).__name__}, expected a DataLoader",
            code="arguments",
        )
    known = [loader] if loader is not None else _loops.loaders[-1:]
    comm = communicator(comm)
    if isinstance(values, dict | tuple | list):  # else values of other names would be one array
        comm.compare("the values of gather_for_metrics", "\n".join(_lines(values, "values")))
    return _gathered(comm, values, known[0].padding if known else 0)


def _lines(values: Any, name: str) -> Iterator[str]:
    """A line for each part of a structure."""
    if isinstance(values, dict):
        for key in _in_order(values):
            yield from _lines(values[key], f"{name}[{key!r}]")
    elif isinstance(values, tuple | list):
        for k, each in enumerate(values):
            yield from _lines(each, f"{name}[{k}]")
    if isinstance(values, dict | tuple | list) and not values:
        yield f"{name} is empty"
    elif not isinstance(values, dict | tuple | list):
        yield name


def _in_order(values: dict[Any, Any]) -> list[Any]:
    """Keys in an order that is the same on all ranks, whatever was added first."""
    return sorted(values, key=repr)


def _gathered(comm: Communicator, values: Any, padding: int) -> Any:
    if isinstance(values, dict):
        found = {key: _gathered(comm, values[key], padding) for key in _in_order(values)}
        return {key: found[key] for key in values}
    if isinstance(values, tuple | list):
        parts = [_gathered(comm, each, padding) for each in values]
        return type(values)(*parts) if hasattr(values, "_fields") else type(values)(parts)
    if not padding:
        return comm.allgather(values)
    shape = getattr(values, "shape", None)
    if not shape or shape[0] < padding:
        found = f"the shape {list(shape)}" if shape is not None else f"the type {type(values).__name__}"
        raise CallError(
            f"gather_for_metrics: a batch has {padding} examples of padding, and values have {found}",
            code="shape",
            help="give values of each example, along axis 0",
        )
    return comm.allgather(values[: shape[0] - padding])

"""Communicators: what the ranks of a program do together. Arguments are checked and compared here;
how bytes move stands in subclasses.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np

from texpr.distributed.communication_thread import CommunicationThread
from texpr.distributed.elsewhere_names import COMMUNICATOR
from texpr.distributed.flat_arrays import check_reduction, computed, given, in_order, rounded_back
from texpr.distributed.pickled_objects import check_pickled, length_of, pickled, unpickled
from texpr.distributed.rank_checks import (
    DistributedError,
    agreed,
    compared,
    digest,
    ended,
    first_difference,
    header_of,
    left_early,
    stopped,
)
from texpr.distributed.rank_processes import RankProcess, Watch, beside, own_process
from texpr.support.errors import CallError
from texpr.support.suggest import suggests
from texpr.support.tracebacks import boundary, forwards

P = ParamSpec("P")
R = TypeVar("R")
HALF_AN_HOUR = 1800.0
"""Seconds that ranks wait for each other, unless it is said."""
_LONGEST = 1e9
"""Seconds, 31 years: clocks of Python and torch do not count to infinity."""


def collective(
    method: Callable[Concatenate[Communicator, P], R],
) -> Callable[Concatenate[Communicator, P], R]:
    """A call that all ranks make, of one thread at a time: those of several have no order."""

    @boundary
    @forwards
    @wraps(method)
    def call(self: Communicator, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.size == 1:
            return method(self, *args, **kwargs)
        self._check_process(method.__name__)
        if not self._calling.acquire(blocking=False):
            raise DistributedError(
                f"{method.__name__}: another thread of rank {self.rank} is in a call of this communicator",
                code="ranks",
                help="let one thread make the calls, or give each thread a communicator of its own: "
                "dist.MPICommunicator()",
            )
        try:
            return method(self, *args, **kwargs)
        finally:
            self._calling.release()

    return call


@suggests(COMMUNICATOR)
class Communicator:
    """Base of communicators: `size` processes, of which this one is number `rank`.

    Every rank must make the same calls in the same order. Each call compares a header first, so
    that calls, shapes or dtypes that differ are an error on all ranks. A communicator of one's own
    defines `exchange_headers`, `reduce_buffer`, `broadcast_buffer` and `gather_buffers`. Used by
    itself, the class is a world of one.

    Args:
        timeout: seconds that a call waits for ranks that do not come.
    Attributes:
        rank, size: the number of this process, and how many there are.
        local_rank, local_size: the same among the processes of this machine.
        is_concurrent: headers may be exchanged while another thread is in a collective.
        timeout: as above.
    Raises:
        CallError: `timeout` is no number above 0.
    Example:
        >>> from texpr import distributed as dist
        >>> comm = dist.Communicator()
        >>> comm.rank, comm.size, comm.is_main
        (0, 1, True)
        >>> comm.allreduce(np.float32([1.0, 2.0]), op="sum")
        array([1., 2.], dtype=float32)
    """

    rank, size, local_rank, local_size = 0, 1, 0, 1
    is_concurrent = True

    def __init__(self, timeout: float = 1800.0) -> None:
        self.timeout = seconds("Communicator", timeout)
        self._thread: CommunicationThread | None = None
        self._making, self._calling = threading.Lock(), threading.RLock()
        self._process, self._left = os.getpid(), ""
        self._beside: Mapping[int, RankProcess] = {}

    def __copy__(self) -> Self:
        """The same: copies of a layer or of a trainer are of the same ranks."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> Any:
        """A refusal: what another process would make of it is no rank."""
        raise CallError(
            f"a {type(self).__name__} belongs to the process of its rank, and cannot be pickled",
            code="type",
            help="call dist.init() in the other process",
        )

    @property
    def is_main(self) -> bool:
        """True on rank 0, which writes files and logs."""
        return self.rank == 0

    @collective
    def allreduce(self, a: Any, op: str = "mean", reduction: str = "fast") -> Any:
        """One array of all ranks', element by element; the same bits on every rank.

        Floats of less than 32 bits are added in f32 and rounded once. The minimum and the maximum
        are NaN where one rank has NaN.

        Args:
            a: an array, a tensor or a number; of one shape and dtype on all ranks.
            op: "mean", "sum", "min", "max" or "prod".
            reduction: "fast", in the order that the communicator likes best; or "ordered", rank 0
                and rank 1, then rank 2, and so on: what one process gives that adds up the same
                arrays.
        Returns:
            a new array, or a tensor for a tensor.
        Raises:
            CallError: no such operation, or not of this dtype.
            DistributedError: shapes or dtypes differ, or ranks do not come.
        Example:
            >>> from texpr import distributed as dist
            >>> comm = dist.init()
            >>> float(comm.allreduce(2.0, op="max"))
            2.0
        """
        taken = given("allreduce", a)
        check_reduction("allreduce", taken.dtype, op, reduction)
        self.agree(f'allreduce(op="{op}", reduction="{reduction}") of {taken.said}')
        flat = computed(taken.array, taken.dtype)
        self._called("an allreduce", lambda: self.reduce_into(flat, op, reduction))
        return taken.back(rounded_back(flat, taken.dtype, taken.array.shape))

    def reduce_into(self, buffer: np.ndarray, op: str = "sum", reduction: str = "fast") -> None:
        """Replace the values of a flat buffer by those of all ranks together, without any check:
        what `comm.thread` does with the buckets of gradients, whose sizes were compared before.

        Args:
            buffer: contiguous, of rank 1, f32, f64 or integers.
        """
        if not buffer.size or self.size == 1:
            return
        folding = "sum" if op == "mean" else op
        # Of min and max, MPI leaves open what NaN gives.
        if reduction == "ordered" or (folding in ("min", "max") and buffer.dtype.kind == "f"):
            self._reduce_in_order(buffer, folding)
        else:
            self.reduce_buffer(buffer, folding)
        if op == "mean":
            buffer /= self.size

    def _reduce_in_order(self, buffer: np.ndarray, op: str) -> None:
        """Each rank reduces one piece of the buffer, rank by rank, and all gather the pieces."""
        counts = shares(buffer.size, self.size)
        mine = in_order(self.exchange_pieces(buffer, counts), op)
        buffer[:] = self.gather_buffers(mine, counts)

    @collective
    def reduce_scatter(self, a: Any, op: str = "mean", reduction: str = "fast") -> Any:
        """This rank's part, along axis 0, of the reduction of all ranks' arrays.

        Parts are as `np.array_split` makes them: where `size` does not divide the first extent, the
        first ranks get one row more.

        Args:
            a: an array or a tensor of rank 1 at least; of one shape and dtype on all ranks.
            op, reduction: as for `allreduce`.
        Raises:
            CallError: an array of rank 0; no such operation, or not of this dtype.
            DistributedError: shapes or dtypes differ, or ranks do not come.
        Example:
            >>> from texpr import distributed as dist
            >>> dist.init().reduce_scatter(np.float32([1.0, 2.0]))
            array([1., 2.], dtype=float32)
        """
        taken = given("reduce_scatter", a)
        check_reduction("reduce_scatter", taken.dtype, op, reduction)
        if not taken.array.ndim:
            raise CallError("reduce_scatter: the array has no axis to be split", code="rank")
        self.agree(f'reduce_scatter(op="{op}", reduction="{reduction}") of {taken.said}')
        rows = shares(taken.array.shape[0], self.size)
        width = int(np.prod(taken.array.shape[1:], dtype=np.int64))
        flat = computed(taken.array, taken.dtype)
        counts = [n * width for n in rows]
        found = self._called("a reduce_scatter", lambda: self._reduced_part(flat, counts, op, reduction))
        return taken.back(rounded_back(found, taken.dtype, (rows[self.rank], *taken.array.shape[1:])))

    def _reduced_part(self, flat: np.ndarray, counts: Sequence[int], op: str, reduction: str) -> np.ndarray:
        start = sum(counts[: self.rank])
        if reduction == "fast" or self.size == 1 or not flat.size:
            self.reduce_into(flat, op)
            return flat[start : start + counts[self.rank]].copy()
        found = in_order(self.exchange_pieces(flat, counts), "sum" if op == "mean" else op)
        if op == "mean":
            found /= self.size
        return found

    @collective
    def broadcast(self, a: Any, root: int = 0) -> Any:
        """The array of rank `root`, on every rank.

        Args:
            a: an array, a tensor or a number; of one shape and dtype on all ranks.
            root: a rank.
        Returns:
            a new array, or a tensor for a tensor.
        Raises:
            CallError: there is no such rank.
            DistributedError: shapes or dtypes differ, or ranks do not come.
        Example:
            >>> from texpr import distributed as dist
            >>> int(dist.init().broadcast(7))
            7
        """
        taken = given("broadcast", a)
        self._check_root("broadcast", root)
        self.agree(f"broadcast(root={root}) of {taken.said}")
        found = taken.array.copy()
        if found.size and self.size > 1:
            flat = found.reshape(-1).view(np.uint8)
            self._called("a broadcast", lambda: self.broadcast_buffer(flat, root))
        return taken.back(found)

    @collective
    def allgather(self, a: Any) -> Any:
        """The arrays of all ranks one after the other along axis 0, on every rank.

        Args:
            a: an array or a tensor, whose first extents may differ between ranks; numbers make an
                array of rank 1.
        Returns:
            a new array, or a tensor for a tensor.
        Raises:
            DistributedError: dtypes or other extents differ, or ranks do not come.
        Example:
            >>> from texpr import distributed as dist
            >>> dist.init().allgather(3.0)
            array([3.])
        """
        taken = given("allgather", a)
        array = taken.array if taken.array.ndim else taken.array.reshape(1)
        form = ", ".join(["*", *map(str, array.shape[1:])]) if taken.array.ndim else ""
        rows = self.agree(f"allgather of {taken.dtype}[{form}]", len(array))
        width = int(np.prod(array.shape[1:], dtype=np.int64)) * array.itemsize
        counts = [n * width for n in rows]
        if self.size == 1 or not sum(counts):
            found = array.copy() if self.size == 1 else np.empty((sum(rows), *array.shape[1:]), array.dtype)
        else:
            mine = array.reshape(-1).view(np.uint8)
            flat = self._called("an allgather", lambda: self.gather_buffers(mine, counts))
            found = flat.view(array.dtype).reshape(sum(rows), *array.shape[1:])
        return taken.back(found)

    @collective
    def barrier(self, timeout: float | None = None) -> None:
        """Wait until all ranks are here.

        Args:
            timeout: seconds, those of the communicator unless given.
        Raises:
            DistributedError: some ranks did not come in time; it names them. The communicator is of
                no use then.
        Example:
            >>> from texpr import distributed as dist
            >>> dist.init().barrier(timeout=60)
        """
        self.agree("barrier()", 0, None if timeout is None else seconds("barrier", timeout))

    @collective
    def broadcast_object(self, o: Any = None, root: int = 0) -> Any:
        """The object of rank `root`, on every rank; it is pickled.

        Args:
            o: the object; what other ranks give is not used.
            root: a rank.
        Raises:
            CallError: there is no such rank.
            DistributedError: the object cannot be pickled, on all ranks; or ranks do not come.
        Example:
            >>> from texpr import distributed as dist
            >>> dist.init().broadcast_object({"lr": 0.1})
            {'lr': 0.1}
        """
        self._check_root("broadcast_object", root)
        if self.size == 1:
            return o
        data, reason = pickled(o) if self.rank == root else (b"", "")
        lengths = self.agree(f"broadcast_object(root={root})", length_of(data, reason))
        check_pickled("broadcast_object", lengths, reason)
        length = lengths[root]
        buffer = np.frombuffer(data, np.uint8).copy() if self.rank == root else np.empty(length, np.uint8)
        self._called("a broadcast of an object", lambda: self.broadcast_buffer(buffer, root))
        return o if self.rank == root else unpickled("broadcast_object", buffer.tobytes(), root)

    @collective
    def gather_object(self, o: Any) -> list[Any]:
        """The objects of all ranks in their order, on every rank; they are pickled.

        Raises:
            DistributedError: an object cannot be pickled, on all ranks; or ranks do not come.
        Example:
            >>> from texpr import distributed as dist
            >>> dist.init().gather_object("here")
            ['here']
        """
        if self.size == 1:
            return [o]
        data, reason = pickled(o)
        counts = self.agree("gather_object()", length_of(data, reason))
        check_pickled("gather_object", counts, reason)
        mine = np.frombuffer(data, np.uint8)
        found = self._called("a gathering of objects", lambda: self.gather_buffers(mine, counts)).tobytes()
        ends = np.cumsum(counts)
        parts = [found[end - n : end] for end, n in zip(ends, counts)]
        return [unpickled("gather_object", part, rank) for rank, part in enumerate(parts)]

    @collective
    def compare(self, what: str, text: str) -> None:
        """Raise an error on all ranks unless they have the same text, such as that of a plan.

        Args:
            what: the subject of the message: "the plan".
            text: lines; the message shows the first one that differs.
        Raises:
            CallError: `text` is no text.
            DistributedError: texts differ, or ranks do not come.
        Example:
            >>> from texpr import distributed as dist
            >>> dist.init().compare("the options", "lr=0.1")
        """
        if not isinstance(text, str):
            raise CallError(
                f"compare: the text is of type {type(text).__name__}", code="type", help="give str(...) of it"
            )
        number = int.from_bytes(digest(text)[:7], "little")
        numbers = self.agree(f"compare({what!r})", number)

        def differences() -> list[str]:
            first = self.broadcast_object(text)
            return self.gather_object(first_difference(text, first))

        compared(what, len(set(numbers)) == 1, differences)

    def agree(self, text: str, number: int = 0, timeout: float | None = None) -> list[int]:
        """The numbers of all ranks, after a check that all make the call that `text` describes.

        It waits first until `comm.thread` has done what it was given, so that all ranks call MPI in
        one order.

        Raises:
            DistributedError: texts differ, or ranks do not come.
        """
        self._check_process(text.partition("(")[0])
        if self._thread is not None:
            self._thread.drain()
        if self.size == 1:
            return [number]
        what, longest = text.partition("(")[0].partition(" of ")[0], timeout or self.timeout
        if self._left:  # else the ranks would be one call apart
            raise left_early(what, self._left)
        self._left = what
        headers = self.exchange_headers(header_of(text, number), what, longest)
        self._left = ""
        return agreed(headers)

    def _called(self, what: str, call: Callable[[], R]) -> R:
        """The result of a collective, which is waited for no longer than `timeout`."""
        return call() if self.size == 1 else self.thread.call(call, what).wait()

    def silent_ranks(self) -> tuple[int, ...]:
        """Ranks that do not answer within a tenth of the timeout, 1 to 10 s: asked for where a
        collective hangs. All ranks that wait for it ask.
        """
        if self.size == 1 or not self.is_concurrent:
            return ()
        try:
            self.exchange_headers(
                header_of("are you there"), "answer", min(10.0, max(1.0, self.timeout / 10))
            )
        except DistributedError as error:
            return error.ranks
        return ()

    def _meet(self) -> list[RankProcess]:
        """Let ranks know each other's processes. All ranks call it, once they can gather objects."""
        processes = self.gather_object(own_process())
        self._beside = beside(processes, self.rank)
        return processes

    def watch(self) -> Watch:
        """A watch over the other ranks of this machine, for one that waits."""
        return Watch(self._beside)

    def check_others(self, watch: Watch, what: str) -> None:
        """Raise DistributedError where a rank of this machine is stopped, or its process has ended.

        Args:
            watch: of this wait; it looks once a second.
            what: the subject of the message.
        """
        found = watch.look()
        held = {rank: self._beside[rank] for rank, state in found.items() if state == "stopped"}
        if held:
            raise stopped(what, held)
        if found:
            raise ended(what, list(found))

    @property
    def thread(self) -> CommunicationThread:
        """The thread that reduces buffers while this one computes; made when it is first asked
        for.
        """
        with self._making:
            if self._thread is None:
                self._thread = CommunicationThread(self)
            return self._thread

    def _check_process(self, what: str) -> None:
        """Raise DistributedError in a process that was forked: its messages would come from the rank."""
        if self.size > 1 and os.getpid() != self._process:
            raise DistributedError(
                f"{what}: this process was forked from rank {self.rank}, and is no rank itself",
                code="ranks",
                help="call the communicator in the process that the launcher has started",
            )

    def give_up(self, what: str) -> None:
        """The process ends in the midst of a call that never ended: called by the thread at exit.

        Args:
            what: the call, such as "an allreduce".
        """

    def _check_root(self, what: str, root: object) -> None:
        if isinstance(root, bool) or not isinstance(root, int | np.integer) or not 0 <= root < self.size:
            raise CallError(
                f"{what}: root is {root!r}, expected a rank from 0 to {self.size - 1}", code="arguments"
            )

    def exchange_headers(self, header: bytes, what: str, timeout: float) -> list[bytes]:
        """The headers of all ranks in their order.

        Args:
            header: of this rank; all have the same length.
            what: the subject of the message.
            timeout: seconds.
        Raises:
            DistributedError: ranks do not come in time; it names them.
        """
        return [header]

    def reduce_buffer(self, buffer: np.ndarray, op: str) -> None:
        """Replace a flat buffer by the sum or product of all ranks', or of integers the minimum or
        maximum. All ranks must get the same bits.
        """

    def broadcast_buffer(self, buffer: np.ndarray, root: int) -> None:
        """Replace the bytes of a buffer by those of rank `root`."""

    def gather_buffers(self, buffer: np.ndarray, counts: Sequence[int]) -> np.ndarray:
        """The flat buffers of all ranks one after the other; `counts` are their numbers of
        elements.
        """
        return buffer.copy()

    def exchange_pieces(self, buffer: np.ndarray, counts: Sequence[int]) -> np.ndarray:
        """This rank's piece of the buffers of all ranks, a row each. The pieces of a buffer have
        `counts` elements.
        """
        all_of_it = self.gather_buffers(buffer, [buffer.size] * self.size).reshape(self.size, -1)
        start = sum(counts[: self.rank])
        return all_of_it[:, start : start + counts[self.rank]]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rank={self.rank}, size={self.size})"


def shares(count: int, size: int) -> list[int]:
    """Parts of `count` whose lengths differ by one at most, the longer ones first."""
    return [count // size + (rank < count % size) for rank in range(size)]


def seconds(what: str, value: object) -> float:
    """A timeout that was given.

    Raises:
        CallError: it is no number above 0.
    """
    good = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not good or not value > 0:  # type: ignore[operator]
        raise CallError(f"{what}: timeout is {value!r}, expected seconds above 0", code="arguments")
    return min(float(value), _LONGEST)  # type: ignore[arg-type]

"""Buckets: gradients that lie side by side in one block, which is reduced over all ranks as a whole.

Which gradients there are, and the order in which the backward pass completes them, is known when a
step is captured. So buckets are made then, and not changed by what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from texpr.distributed import Communicator
from texpr.distributed.communication_thread import Pending
from texpr.graph import Symbolic, Variable
from texpr.graph.execution.parcels import Arrival, Parcel
from texpr.ir.dtypes import DType, accumulator, numpy_dtype
from texpr.nn.core.parameter import Parameter
from texpr.runtime.slabs import ALIGNMENT, Given, block

MB = 1 << 20


class Bucket:
    """Sums of gradients, of one dtype, in one block that the communicator reduces where it lies.

    Attributes:
        name: for listings.
        buffer: all of it, flat.
        places: the part of each parameter, which begins at a whole line.
        sums: the same as variables.
    """

    def __init__(self, name: str, parameters: Sequence[Parameter]) -> None:
        self.name = name
        dtype = numpy_dtype(accumulator(parameters[0].dtype))
        ends = np.cumsum([_bytes_of(p) for p in parameters])
        memory = block(int(ends[-1]))
        memory[:] = 0
        self.buffer = memory.view(dtype)
        self.places = {
            p: memory[end - _bytes_of(p) :][: p.size * dtype.itemsize].view(dtype).reshape(p.shape)
            for p, end in zip(parameters, ends.tolist())
        }
        self.sums = {
            p: Variable(place.view(Given), f"{p.name}_gradients") for p, place in self.places.items()
        }
        self._pending: Pending | None = None

    def begin(self, comm: Communicator, reduction: str) -> None:
        """Reduce over all ranks, beside what this thread does next."""
        self._pending = comm.thread.submit(self.buffer, "sum", reduction)

    def wait(self) -> None:
        """Return when the reduction that was begun is done."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.wait()


class Buckets:
    """All buckets of some parameters.

    Attributes:
        parameters: in the order in which their gradients are complete.
        buckets: in the order in which they are reduced, the same on all ranks.
    """

    def __init__(
        self, parameters: Sequence[Parameter], cap_mb: float, comm: Communicator, reduction: str
    ) -> None:
        self.parameters, self._cap, self._comm, self._reduction = tuple(parameters), cap_mb, comm, reduction
        groups = shared_out(parameters, cap_mb)
        self.buckets = [Bucket(f"allreduce of bucket {k}", group) for k, group in enumerate(groups)]

    def __reduce__(self) -> tuple:
        """Copies are of the copied parameters, with memory of their own."""
        return Buckets, (self.parameters, self._cap, self._comm, self._reduction)

    def __iter__(self) -> Iterator[Bucket]:
        return iter(self.buckets)

    @property
    def sums(self) -> dict[Parameter, Variable]:
        """The sums over all ranks as variables."""
        return {p: v for bucket in self for p, v in bucket.sums.items()}

    def parcels(self, totals: Mapping[Parameter, Symbolic]) -> list[Parcel]:
        """The sums of this rank, which a plan hands over."""
        return [
            Parcel(b.name, [totals[p] for p in b.places], list(b.places.values()), self._beginning(b))
            for b in self
        ]

    def arrivals(self) -> list[Arrival]:
        """The sums over all ranks, for which a plan waits."""
        return [Arrival(b.name, list(b.sums.values()), b.wait) for b in self]

    def _beginning(self, bucket: Bucket) -> Callable[[], None]:
        return lambda: bucket.begin(self._comm, self._reduction)

    def send(self, totals: Mapping[Parameter, Variable]) -> None:
        """Reduce sums that lie elsewhere; zeros of parameters that have none."""
        for bucket in self:
            for p, place in bucket.places.items():
                place[...] = totals[p].held() if p in totals else 0
            bucket.begin(self._comm, self._reduction)

    def wait(self) -> None:
        """Return when nothing is reduced any more."""
        for bucket in self:
            bucket.wait()


def shared_out(parameters: Sequence[Parameter], cap_mb: float) -> list[list[Parameter]]:
    """Parameters in groups of one dtype and of at most so many megabytes (2^20 bytes), or of one
    that is larger; each group is of neighbours but for other dtypes between them.
    """
    done: list[list[Parameter]] = []
    open_: dict[DType, list[Parameter]] = {}
    for p in parameters:
        group = open_.setdefault(accumulator(p.dtype), [])
        if group and sum(map(_bytes_of, group)) + _bytes_of(p) > cap_mb * MB:
            done.append(group)
            group = open_[accumulator(p.dtype)] = []
        group.append(p)
    return done + list(open_.values())


def _bytes_of(parameter: Parameter) -> int:
    """Bytes of a gradient's place, whole lines."""
    size = parameter.size * numpy_dtype(accumulator(parameter.dtype)).itemsize
    return max(1, -(-size // ALIGNMENT)) * ALIGNMENT

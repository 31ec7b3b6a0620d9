"""Reductions go on beside the backward pass."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tests.nn.training.data_parallel.examples import X, Y, on_ranks, trainer
from texpr import nn
from texpr.distributed import Communicator


def deep() -> nn.Sequential:
    nn.manual_seed(0)
    layers = [each for _ in range(3) for each in (nn.Linear(5, 5), nn.Tanh())]
    return nn.Sequential(*layers, nn.Linear(5, 3))


def test_a_slow_reduction_does_not_hold_up_the_backward_pass():
    """The reduction of the first bucket does not end before the last bucket was begun: where one
    waited for the other, nothing would go on.
    """

    def fit(comm: Communicator) -> list[str]:
        begun, heard = threading.Event(), []
        t = trainer(comm, deep(), bucket_cap_mb=2e-4, reduction="ordered")
        submit, reduce = comm.thread.submit, comm.reduce_into

        def submitted(buffer: np.ndarray, *more: Any) -> Any:
            buckets = [b.buffer for each in t.step._buckets.values() for b in each]  # type: ignore[attr-defined]
            (number,) = [k for k, b in enumerate(buckets) if b is buffer] or [-1]
            if number >= 0:
                heard.append(f"begin {number}")
            if number == len(buckets) - 1:
                begun.set()
            return submit(buffer, *more)

        def slowly(buffer: np.ndarray, *more: Any) -> None:
            if buffer.dtype.kind == "f":
                assert begun.wait(20), "the backward pass waits for the reduction"
                heard.append("reduced")
            reduce(buffer, *more)

        comm.thread.submit, comm.reduce_into = submitted, slowly  # type: ignore[method-assign]
        t.fit(X[:16], Y[:16], batch_size=8, progress=False)
        return heard

    for heard in on_ranks(2, fit):
        assert heard == [f"begin {k}" for k in range(4)] + ["reduced"] * 4


def test_the_listing_shows_where_reductions_begin_and_are_waited_for():
    def fit(comm: Communicator) -> tuple[str, str]:
        t = trainer(comm, deep(), bucket_cap_mb=2e-4)
        t.fit(X, Y, batch_size=8, progress=False)
        step = t.step
        (plan, *_), (update,) = step._plans._made.values(), step._updates._made.values()
        return str(plan), str(update)

    plan, update = on_ranks(2, fit)[0]
    lines = [line if line.startswith("begin") else "kernel" for line in plan.splitlines()]
    begins = [k for k, line in enumerate(lines) if line != "kernel"]
    assert [lines[k] for k in begins] == [
        "begin allreduce of losses and states",
        *(f"begin allreduce of bucket {k}" for k in range(4)),
    ]
    assert all(b - a > 1 for a, b in zip(begins, begins[1:])), "kernels run between them"
    assert begins[-1] == len(lines) - 1
    assert [line for line in update.splitlines() if line.startswith("wait")] == [
        f"wait for allreduce of bucket {k}" for k in range(4)
    ]


def test_buckets_are_views_of_one_block():
    def fit(comm: Communicator) -> None:
        t = trainer(comm, deep(), bucket_cap_mb=2e-4)
        t.fit(X, Y, batch_size=8, progress=False)
        (buckets,) = t.step._buckets.values()  # type: ignore[attr-defined]
        names = [p for b in buckets for p in b.places]
        assert len(names) == len({*names}) == 8, "each gradient lies in one bucket"
        assert names[-1] is t.model[0].weight or names[-1] is t.model[0].bias, "the first layer comes last"  # type: ignore[index]
        for bucket in buckets:
            assert bucket.buffer.nbytes <= 2e-4 * 2**20 or len(bucket.places) == 1
            for p, place in bucket.places.items():
                assert np.shares_memory(place, bucket.buffer) and place.ctypes.data % 64 == 0
                assert np.shares_memory(bucket.sums[p].data, place)

    on_ranks(2, fit)

"""Tests that other libraries have of the same things, adapted: Horovod 0.28, ChainerMN 1.3,
accelerate 1.15, PyTorch. `correspondences.py` says which of theirs each of ours is for.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.distributed.correspondences import ADAPTED
from tests.distributed.thread_world import run_ranks
from tests.nn.optimizer_table import OPTIMIZERS
from tests.repo.source import ROOT
from texpr import distributed as dist
from texpr import nn
from texpr.nn.data import DataLoader, SubsetRandomSampler, TensorDataset

KINDS = {text.partition("(")[0]: text for text in OPTIMIZERS}
"""An optimizer of each class, the last of the table: it has the most options."""


def test_every_adapted_test_is_there():
    assert sum(len(theirs) for ours in ADAPTED.values() for theirs in ours.values()) == 98
    for name in {name for ours in ADAPTED.values() for name in ours}:
        path, _, function = name.partition("::")
        assert f"def {function}(" in (ROOT / "tests" / path).read_text(encoding="utf-8"), name


def error_of(found: list) -> list[type]:
    return [type(each) for each in found]


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_of_every_optimizer(kind):
    """Rank 1 has made steps; the others take its moments, counts and options, and go on as it does."""

    def call(comm):
        w = nn.Parameter(np.float32([[1.0, -2.0], [3.0, 0.5]]))
        optimizer = eval(KINDS[kind], {"p": [w], kind: getattr(nn.optim, kind)})

        def step():
            w.grad = None
            loss = (w * w).sum()
            loss.backward()
            return loss

        if comm.rank == 1:
            for _ in range(2):
                optimizer.step(step)
        dist.broadcast_optimizer_state(optimizer, 1, comm)
        w.data = np.array(comm.broadcast(w, 1))
        optimizer.step(step)
        state = optimizer.state_dict()
        arrays = {name: v.tobytes() for name, v in state.items() if isinstance(v, np.ndarray)}
        return w.data.tobytes(), arrays, state["steps"], state["param_groups"]

    first, second = run_ranks(2, call, timeout=60)
    assert first == second and first[2] >= 3


def test_options_of_groups_are_those_of_the_root():
    def call(comm):
        parameters = [nn.Parameter(np.zeros(n)) for n in (2, 3)]
        one, other = (0.1, 0.9) if comm.is_main else (0.5, 0.7)
        optimizer = nn.optim.AdamW(
            [
                {"params": parameters[:1], "lr": one, "betas": (other, 0.99)},
                {"params": parameters[1:], "weight_decay": one, "amsgrad": False},
            ]
        )
        dist.broadcast_optimizer_state(optimizer, comm=comm)
        return [{k: v for k, v in g.items() if k != "params"} for g in optimizer.param_groups]

    first, second = run_ranks(2, call)
    assert first == second
    assert (first[0]["lr"], first[0]["betas"], first[1]["weight_decay"]) == (0.1, (0.9, 0.99), 0.1)


def test_parameters_that_need_no_gradient_are_broadcast_too():
    def call(comm):
        nn.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        model[0].requires_grad_(False)
        for p in model.parameters():
            p.data[...] = comm.rank
        dist.broadcast_parameters(model, 1, comm)
        return [float(p.data.sum() / p.data.size) for p in model.parameters()]

    assert run_ranks(2, call) == [[1.0] * 4] * 2


def test_a_barrier_between_collectives():
    def call(comm):
        total = 0.0
        for k in range(10):
            total += float(comm.allreduce(float(comm.rank + k), "sum"))
            comm.barrier(timeout=5)
            total += float(comm.allgather(np.full((comm.rank, 1), k)).sum())
        return total

    first = sum(3 + 3 * k + 3 * k for k in range(10))
    assert run_ranks(3, call) == [first] * 3


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_scaling_before_is_scaling_after(dtype):
    """By powers of two, which round nothing."""

    def call(comm):
        a = np.random.default_rng(comm.rank).normal(size=50).astype(dtype)
        scale = np.array(0.25, dtype)
        return [(comm.allreduce(a * scale, "sum") / scale).tobytes(), comm.allreduce(a, "sum").tobytes()]

    for before, after in run_ranks(3, call):
        assert before == after


def test_mixed_dtypes_in_turn():
    dtypes = ["float16", "float32", "float64", "int8", "uint16", "int64", "float16"]

    def call(comm):
        return [str(comm.allreduce(np.full(3, comm.rank + 1, t), "sum").dtype) for t in dtypes]

    assert run_ranks(2, call) == [dtypes] * 2


def test_fused_buffers_reduce_as_each_alone():
    """Many buffers of several sizes that are under way together."""

    def call(comm):
        made = [np.full(1 + 7 * k % 5, float(k + comm.rank), np.float32) for k in range(30)]
        pending = [comm.thread.submit(buffer.copy(), "mean") for buffer in made]
        expected = [comm.allreduce(buffer, "mean") for buffer in made]
        return all(p.wait().tobytes() == e.tobytes() for p, e in zip(pending, expected))

    assert run_ranks(2, call) == [True, True]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_data_sets_are_scattered_whole(count, ranks):
    """Empty, of one example, uneven and large ones: parts are disjoint, and together everything."""
    loaders = [DataLoader(TensorDataset(np.arange(count)), shard=(k, ranks)) for k in range(ranks)]
    parts = [[int(x[0]) for (x,) in loader if not loader.padding] for loader in loaders]
    assert sorted(k for part in parts for k in part) == list(range(count))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert len({len(loader) for loader in loaders}) == 1


def test_an_epoch_repeats_nothing():
    loaders = [DataLoader(TensorDataset(np.arange(11)), 2, True, seed=4, shard=(k, 3)) for k in range(3)]
    for _ in range(3):
        seen = [int(k) for each in loaders for (x,) in each if not each.padding for k in x]
        assert sorted(seen) == list(range(11))


def test_orders_that_samplers_overwrite():
    """The order of a sampler, on each rank; ranks that draw others are an error."""

    def order(seed):
        return lambda comm: [
            x.tolist()
            for (x,) in DataLoader(
                TensorDataset(np.arange(8)),
                2,
                sampler=SubsetRandomSampler([1, 3, 5, 7], seed=seed(comm)),
                shard=comm,
            )
        ]

    one, two = run_ranks(2, order(lambda comm: 3))
    assert sorted(one[0] + two[0]) == [1, 3, 5, 7]
    assert error_of(run_ranks(2, order(lambda comm: comm.rank))) == [dist.DistributedError] * 2


def test_seeds_decide_orders():
    def epochs(seed):
        loader = DataLoader(TensorDataset(np.arange(20)), 4, True, seed=seed, shard=(1, 2))
        return [[x.tolist() for (x,) in loader] for _ in range(2)]

    assert epochs(1) == epochs(1) and epochs(1) != epochs(2) and epochs(1)[0] != epochs(1)[1]


def test_a_loop_that_is_left_goes_on_in_its_next_epoch():
    """`break` in one loop must not let the next one, or metrics, believe in padding."""

    def call(comm):
        loader = DataLoader(TensorDataset(np.arange(10)), 2, shard=comm)
        for (x,) in loader:
            if x[0] >= 4:
                break
        alone = dist.gather_for_metrics(np.array([comm.rank]), comm).tolist()
        return alone, [x.tolist() for (x,) in loader if not loader.padding]

    (first, even), (second, odd) = run_ranks(2, call)
    assert first == second == [0, 1]
    assert sorted(k for batch in even + odd for k in batch) == list(range(10))


def test_metrics_over_ranks_are_those_of_one_process():
    random = np.random.default_rng(0)
    outputs, targets = random.normal(size=(23, 4)).astype(np.float32), random.integers(0, 4, 23)

    def call(comm):
        loader = DataLoader(TensorDataset(outputs, targets), 5, shard=comm)
        parts = [dist.gather_for_metrics([x, y], comm) for x, y in loader]
        x, y = (np.concatenate(each) for each in zip(*parts))
        return float(nn.metrics.Accuracy()(x, y)), float(nn.metrics.F1()(x, y))

    alone = float(nn.metrics.Accuracy()(outputs, targets)), float(nn.metrics.F1()(outputs, targets))
    for ranks in (1, 2, 3):
        assert run_ranks(ranks, call) == [alone] * ranks


def test_gathered_batches_where_the_last_one_is_left_out():
    def call(comm):
        data = TensorDataset(np.arange(10 * comm.size + 1))
        loader = DataLoader(data, 5, drop_last=True, shard=comm)
        return [dist.gather_for_metrics(x, comm).tolist() for (x,) in loader]

    for ranks in (2, 3):
        width = 5 * ranks
        expected = [list(range(width)), list(range(width, 2 * width))]
        assert run_ranks(ranks, call) == [expected] * ranks


def test_observations_are_averaged_over_ranks():
    def call(comm):
        observed = {"loss": 1.0 + comm.rank, "accuracy": 0.5 * comm.rank}
        return {name: float(comm.allreduce(value)) for name, value in observed.items()}

    assert run_ranks(3, call) == [{"loss": 2.0, "accuracy": 0.5}] * 3


@pytest.mark.parametrize("ranks", [2, 3])
def test_uneven_batches_give_the_gradient_of_one_process(ranks):
    """Ranks whose last batch is smaller or missing: weighted by examples, nobody waits."""
    random = np.random.default_rng(1)
    x, y = random.normal(size=(7, 3)), random.normal(size=(7, 1))

    def gradients(comm, size):
        nn.manual_seed(0)
        model = nn.Linear(3, 1).double()
        model.weight.data[...], model.bias.data[...] = 0.5, -0.25
        loader = DataLoader(TensorDataset(x, y), size, shard=comm)
        found = []
        for a, b in loader:
            count = len(a) - loader.padding
            share = count / float(comm.allreduce(count, "sum"))
            for p in model.parameters():
                p.grad = None
            nn.MSELoss()(model(tx.tensor(a)), tx.tensor(b)).backward()
            found.append([np.array(comm.allreduce(p.grad * share, "sum")) for p in model.parameters()])
        return found

    for found in run_ranks(ranks, lambda comm: gradients(comm, 2)):
        alone = gradients(dist.Communicator(), 2 * ranks)
        assert len(found) == len(alone)
        for one, other in zip(found, alone):
            for g, expected in zip(one, other):
                np.testing.assert_allclose(g, expected, rtol=1e-12, atol=1e-14)


def test_a_rank_that_fails_alone_leaves_the_others_an_error():
    """Of arguments that only one rank refuses, the others learn when their time is over."""

    def call(comm):
        return comm.allreduce(np.array(["text"]) if comm.rank == 1 else 1.0)

    found = run_ranks(3, call, timeout=0.3)
    assert error_of(found) == [dist.DistributedError, tx.CallError, dist.DistributedError]
    assert found[0].ranks == found[2].ranks == (1,)


def test_large_objects_and_those_of_none():
    def call(comm):
        return (
            comm.broadcast_object(np.arange(100_000), 1).sum(),
            comm.gather_object(None),
            comm.broadcast_object(),
        )

    assert run_ranks(2, call) == [(4999950000, [None, None], None)] * 2

"""Sharded loaders: each example once, in the order of one process, on any number of ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.distributed.thread_world import run_ranks
from tests.profiles import examples
from texpr import distributed as dist
from texpr import nn
from texpr.nn.data import DataLoader, LengthBatchSampler, TensorDataset, WeightedRandomSampler

COUNTS, SIZES, RANKS = st.integers(0, 30), st.integers(1, 7), st.integers(1, 5)


def dealt(loaders: list[DataLoader]) -> list[tuple[list[int], int]]:
    """The batches of all ranks in turn, with their padding; all ranks have equally many."""
    epochs = [[(x.tolist(), loader.padding) for (x,) in loader] for loader in loaders]
    return [batch for batches in zip(*epochs, strict=True) for batch in batches]


def numbers(count: int) -> TensorDataset:
    return TensorDataset(np.arange(count))


@given(COUNTS, SIZES, RANKS, st.booleans(), st.booleans())
def test_ranks_take_the_batches_of_one_process_in_turn(count, size, ranks, shuffle, drop_last):
    def loader(shard=None):
        return DataLoader(numbers(count), size, shuffle, drop_last=drop_last, seed=3, shard=shard)

    whole, loaders = loader(), [loader((rank, ranks)) for rank in range(ranks)]
    for _ in range(2):
        expected = [x.tolist() for (x,) in whole]
        found = dealt(loaders)
        assert [batch for batch, padding in found if not padding] == expected
        assert all(padding in (0, len(batch)) for batch, padding in found)
        assert sum(padding > 0 for _, padding in found) == -len(expected) % ranks if expected else not found
    assert {len(each) for each in loaders} == {-(-whole.count() // ranks)}


@given(COUNTS, SIZES, RANKS, RANKS, st.data())
def test_a_loader_goes_on_with_another_number_of_ranks(count, size, ranks, later, data):
    """The state that rank 0 saves is that of one process at the same place."""

    def loaders(number):
        return [DataLoader(numbers(count), size, True, seed=5, shard=(k, number)) for k in range(number)]

    before = loaders(ranks)
    rounds = data.draw(st.integers(0, len(before[0])))
    iterators = [iter(each) for each in before]
    done = [[next(it)[0].tolist() for it in iterators] for _ in range(rounds)]
    state = before[0].state_dict()
    assert set(state) == {"seed", "epoch", "position", "count", "batch_size"}
    assert state["position"] == min(rounds * ranks, before[0].count())
    after = loaders(later)
    for each in after:
        each.load_state_dict(state)
    whole = [x.tolist() for (x,) in DataLoader(numbers(count), size, True, seed=5)]
    taken = [batch for batches in done for batch in batches][: state["position"]]
    assert taken + [batch for batch, padding in dealt(after) if not padding] == whole


@pytest.mark.parametrize("workers", [0, 2])
def test_samplers(workers):
    samplers = {
        "sampler": lambda: WeightedRandomSampler(np.arange(1, 12), 23, seed=1),
        "batch_sampler": lambda: LengthBatchSampler(np.arange(11) % 5, 3, seed=1),
    }
    for name, made in samplers.items():

        def loader(shard=None, name=name, made=made):
            sizes = {} if name == "batch_sampler" else {"batch_size": 4}
            return DataLoader(numbers(11), **sizes, **{name: made()}, num_workers=workers, shard=shard)

        expected = [x.tolist() for (x,) in loader()]
        found = dealt([loader((rank, 3)) for rank in range(3)])
        assert [batch for batch, padding in found if not padding] == expected


def test_a_data_set_that_is_smaller_than_the_world():
    loaders = [DataLoader(numbers(2), 1, shard=(rank, 4)) for rank in range(4)]
    assert dealt(loaders) == [([0], 0), ([1], 0), ([0], 1), ([0], 1)]
    assert [loader.padding for loader in loaders] == [0] * 4


@pytest.mark.parametrize("shard", [(2, 2), (-1, 2), (0, 0), (0,), "all", 3, (0.5, 2), (True, 2)])
def test_shards_that_make_no_sense(shard):
    with pytest.raises(tx.CallError) as error:
        DataLoader(numbers(3), shard=shard)
    assert str(error.value) == (
        f"error[arguments]: DataLoader: shard is {shard!r}, expected a communicator or (rank, size)"
    )


def test_a_communicator_of_another_library():
    """It has a rank and a size, and no way to compare the orders of ranks."""

    class Comm:
        rank, size = 0, 2

    with pytest.raises(tx.CallError, match="expected a communicator or"):
        DataLoader(numbers(3), shard=Comm())


@examples(25)
@given(st.integers(1, 20), SIZES, st.integers(1, 4))
def test_gathered_values_are_those_of_one_process(count, size, ranks):
    def call(comm):
        loader = DataLoader(numbers(count), size, True, seed=2, shard=comm)
        found = [dist.gather_for_metrics((x, {"twice": tx.tensor(x * 2)}), comm) for (x,) in loader]
        return np.concatenate([x for x, _ in found]), np.concatenate([t["twice"].numpy() for _, t in found])

    whole = np.concatenate([x for (x,) in DataLoader(numbers(count), size, True, seed=2)])
    for x, twice in run_ranks(ranks, call):
        np.testing.assert_array_equal(x, whole)
        np.testing.assert_array_equal(twice, whole * 2)


def test_the_innermost_loop_counts():
    """An inner loader without padding, in a loop whose batch is padding."""

    def call(comm):
        found = []
        for (x,) in DataLoader(numbers(1), 1, shard=comm):
            inner = DataLoader(numbers(4), 2, shard=comm)
            found += [dist.gather_for_metrics(y, comm).tolist() for (y,) in inner]
            found.append(dist.gather_for_metrics(x, comm, loader=inner).tolist())
            found.append(dist.gather_for_metrics(x, comm).tolist())
        for _ in DataLoader(numbers(1), 1, shard=comm):
            break
        return found

    assert run_ranks(2, call) == [[[0, 1, 2, 3], [0, 0], [0]]] * 2


def test_values_that_are_no_examples():
    def call(comm):
        for _ in DataLoader(numbers(3), 3, shard=comm):
            return dist.gather_for_metrics(np.zeros(2), comm)

    _, error = run_ranks(2, call, timeout=0.5)
    assert str(error) == (
        "error[shape]: gather_for_metrics: a batch has 3 examples of padding, and values have the shape [2]\n"
        "  help: give values of each example, along axis 0"
    )


def test_orders_that_differ_are_an_error():
    def call(comm):
        return list(DataLoader(numbers(6), 2, True, seed=comm.rank, shard=comm))

    for error in run_ranks(2, call):
        assert isinstance(error, dist.DistributedError)
        assert "rank 1 differs from rank 0 in the batches of a loader\n    rank 1: line 3 is `order " in str(
            error
        )


def test_parameters_are_those_of_the_root():
    def call(comm):
        nn.manual_seed(comm.rank)
        model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).bfloat16()
        model[1].running_mean.data[...] = comm.rank
        before = {name: value.tobytes() for name, value in model.state_dict().items()}
        dist.broadcast_parameters(model, root=1, comm=comm)
        return before, {name: value.tobytes() for name, value in model.state_dict().items()}

    found = run_ranks(3, call)
    for _, after in found:
        assert after == found[1][0]


@pytest.mark.parametrize("kind", [nn.optim.Adam, nn.optim.SGD, nn.optim.Adafactor])
def test_the_state_of_optimizers_is_that_of_the_root(kind):
    """Rank 0 has made steps, others none: those take moments, counts and the learning rate."""

    def call(comm):
        w = nn.Parameter(np.float32([[1.0, 2.0], [3.0, 4.0]]))
        optimizer = kind([w], lr=0.1 if comm.is_main else 0.5)
        if comm.is_main:
            for _ in range(3):
                w.grad = None
                (w * w).sum().backward()
                optimizer.step()
        dist.broadcast_optimizer_state(optimizer, comm=comm)
        state = optimizer.state_dict()
        return {n: v.tobytes() if isinstance(v, np.ndarray) else v for n, v in state.items()}

    found = run_ranks(2, call)
    assert found[0] == found[1] and found[1]["steps"] == 3 and found[1]["param_groups"][0]["lr"] == 0.1


def test_models_and_optimizers_that_differ():
    def models(comm):
        dist.broadcast_parameters(nn.Linear(3, 2 + comm.rank), comm=comm)

    def optimizers(comm):
        w = nn.Parameter(np.zeros(2))
        dist.broadcast_optimizer_state((nn.optim.Adam, nn.optim.SGD)[comm.rank]([w], lr=1.0), comm=comm)

    assert "line 1 is `weight: f32[3, 3]`, that of rank 0 `weight: f32[2, 3]`" in str(run_ranks(2, models)[0])
    assert "in the optimizer\n    rank 1: line 1 is `SGD`, that of rank 0 `Adam`" in str(
        run_ranks(2, optimizers)[1]
    )
    with pytest.raises(tx.CallError, match="broadcast_parameters takes a module, not a list"):
        dist.broadcast_parameters([])
    with pytest.raises(tx.CallError, match="broadcast_optimizer_state takes an optimizer, not a dict"):
        dist.broadcast_optimizer_state({})

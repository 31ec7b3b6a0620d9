"""Samplers: every order is a function of the seed and the epoch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from texpr import nn
from texpr.nn.data import (
    BatchSampler,
    DataLoader,
    GroupedBatchSampler,
    LengthBatchSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

SEEDS, SIZES = st.integers(0, 1000), st.integers(1, 7)
NUMBERS = st.lists(st.integers(1, 9), min_size=1, max_size=40)


@given(NUMBERS, SIZES, SEEDS, st.booleans())
def test_batches_of_groups(groups: list[int], size: int, seed: int, drop_last: bool):
    sampler = GroupedBatchSampler(groups, size, drop_last, seed=seed)
    batches = sampler.batches(3)
    assert len(batches) == len(sampler)
    assert all(len({groups[k] for k in batch}) == 1 for batch in batches)
    found = sorted(k for batch in batches for k in batch)
    assert len(set(found)) == len(found)
    assert all(len(b) == size for b in batches) if drop_last else found == list(range(len(groups)))
    again = GroupedBatchSampler(groups, size, drop_last, seed=seed).batches(3)
    assert all(map(np.array_equal, batches, again))


@given(NUMBERS, SIZES, SEEDS, st.integers(1, 4))
def test_batches_by_length(lengths: list[int], size: int, seed: int, pool: int):
    sampler = LengthBatchSampler(lengths, size, pool=pool, seed=seed)
    batches = sampler.batches(0)
    assert len(batches) == len(sampler)
    assert sorted(k for batch in batches for k in batch) == list(range(len(lengths)))
    ordered = LengthBatchSampler(lengths, size, shuffle=False).batches(0)
    assert [lengths[k] for b in ordered for k in b] == sorted(lengths)
    one_pool = LengthBatchSampler(lengths, size, pool=len(lengths), seed=seed).batches(0)
    assert sorted(sorted(lengths[k] for k in b) for b in one_pool) == sorted(
        [lengths[k] for k in b] for b in ordered
    )


@given(st.lists(st.floats(0, 5), min_size=1, max_size=20).filter(lambda w: sum(w) > 1e-3), SEEDS)
def test_weights(weights: list[float], seed: int):
    sampler = WeightedRandomSampler(weights, 50, seed=seed)
    order = sampler.order(1)
    assert len(order) == len(sampler) == 50 and all(weights[k] > 0 for k in order)
    assert np.array_equal(order, WeightedRandomSampler(weights, 50, seed=seed).order(1))


def test_draws_follow_the_weights():
    order = WeightedRandomSampler([1.0, 0.0, 3.0], 40_000).order(0)
    shares = np.bincount(order, minlength=3) / 40_000
    assert abs(shares - [0.25, 0, 0.75]).max() < 4 * (0.25 * 0.75 / 40_000) ** 0.5
    assert sorted(WeightedRandomSampler([1.0, 2.0, 0.0, 3.0], 3, False).order(5)) == [0, 1, 3]


DATA = TensorDataset(np.arange(10), np.arange(10) % 2)


def test_loaders_take_samplers_and_go_on():
    batches = GroupedBatchSampler(np.arange(10) % 2, 2)
    for options in (
        {"sampler": SubsetRandomSampler(range(3, 9)), "batch_size": 4},
        {"batch_sampler": batches},
    ):
        loader, other = DataLoader(DATA, **options), DataLoader(DATA, **options)
        first, second = ([x.tolist() for x, _ in loader] for _ in range(2))
        assert first != second and len(first) == len(loader)
        going = iter(other)
        next(going)
        state = other.state_dict()
        resumed = DataLoader(DATA, **options)
        resumed.load_state_dict(state)
        assert [x.tolist() for x, _ in resumed] == first[1:]
        assert [x.tolist() for x, _ in resumed] == second
    assert [x.tolist() for x, _ in DataLoader(DATA, 2, sampler=[7, 1, 2])] == [[7, 1], [2]]
    assert [x.tolist() for x, _ in DataLoader(DATA, batch_sampler=[[7, 1], [2, 3, 4]])] == [[7, 1], [2, 3, 4]]
    pieces = BatchSampler(SubsetRandomSampler([1, 2, 3]), 2, drop_last=True)
    assert len(pieces) == 1 == len(list(pieces))


def complaint(run: Callable[[], object]) -> str:
    with pytest.raises(tx.CallError) as caught:
        run()
    return str(caught.value)


def test_samplers_that_do_not_fit():
    assert complaint(
        lambda: list(DataLoader(DATA, sampler=WeightedRandomSampler([0.0] * 10 + [1.0], 2)))
    ) == (
        "error[data]: DataLoader: the sampler asks for example 10 of 10\n"
        "  help: give it as many weights, groups or lengths as there are examples"
    )
    assert complaint(lambda: DataLoader(DATA, shuffle=True, sampler=[1])) == (
        "error[arguments]: DataLoader: sampler and shuffle exclude each other"
    )
    assert complaint(lambda: DataLoader(DATA, 4, batch_sampler=[[1]])) == (
        "error[arguments]: DataLoader: batch_sampler decides batch_size, shuffle and drop_last"
    )
    assert complaint(lambda: WeightedRandomSampler([-1.0, 2.0], 3)) == (
        "error[arguments]: WeightedRandomSampler: expected a number of at least 0 for each example, one of them "
        "above 0"
    )
    assert complaint(lambda: WeightedRandomSampler([1.0, 0.0], 2, False)) == (
        "error[arguments]: WeightedRandomSampler: 2 of 1 examples with a weight above 0 cannot be drawn without "
        "replacement"
    )


def test_trainings_take_samplers():
    x = np.random.default_rng(0).normal(size=(10, 3)).astype("f4")
    model = nn.Linear(3, 2)
    loader = DataLoader(
        TensorDataset(x, np.arange(10) % 2), 5, sampler=WeightedRandomSampler(np.ones(10), 20)
    )
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters()))
    trainer.fit(loader, epochs=2, progress=False)
    assert trainer.optimizer.steps == 8

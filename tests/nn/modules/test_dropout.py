"""Dropout: masks that change with every step and repeat with the seed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import texpr as tx
from texpr import nn

X = np.ones((40, 50), np.float32)


def trained(threads: int, epochs: int = 3) -> dict[str, np.ndarray]:
    nn.manual_seed(3)
    drop = nn.Dropout(0.25)
    model = nn.Sequential(nn.Linear(50, 32), drop, nn.ReLU(), nn.Dropout(0.5), drop, nn.Linear(32, 2))
    y = (np.arange(40) % 2).astype(np.int64)
    with tx.options(threads=threads):
        trainer = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters()))
        trainer.fit(X + y[:, None], y, epochs=epochs, batch_size=16, progress=False)
    assert int(drop.seed.data) == int(fresh_seed()) + epochs * 3 * 2, (
        "three steps per epoch, two uses per step"
    )
    return model.state_dict()


def fresh_seed() -> np.ndarray:
    nn.manual_seed(3)
    return nn.Dropout().seed.data


def test_the_same_seed_gives_the_same_training():
    first, second = trained(1), trained(2)
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_masks(dtype):
    drop = nn.Dropout(0.25)
    first, second = drop(X.astype(dtype)), drop(X.astype(dtype))
    assert first.dtype == dtype
    for y in (first, second):
        assert set(np.unique(y)) == {dtype(0), dtype(1) / dtype(0.75)}
        assert abs((y == 0).mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / y.size)
    assert 0.1 < (first != second).mean() < 0.6


def test_evaluation_is_the_identity():
    drop = nn.Dropout(0.25).eval()
    before = int(drop.seed.data)
    np.testing.assert_array_equal(drop(X), X)
    assert int(drop.seed.data) == before
    np.testing.assert_array_equal(nn.Dropout(0.0)(X), X)


def test_copies_go_on_alike():
    drop = nn.Dropout()
    for other in (copy.deepcopy(drop), pickle.loads(pickle.dumps(drop))):
        np.testing.assert_array_equal(copy.deepcopy(drop)(X), other(X))


def test_the_gradient_has_the_same_mask():
    nn.manual_seed(1)
    drop, scale = nn.Dropout(), nn.Linear(1, 1, bias=False)
    seed = drop.seed.data.copy()
    x = np.random.default_rng(0).normal(size=(30, 1)).astype(np.float32)
    model = nn.Sequential(drop, scale)
    weight = scale.weight.data.copy()
    nn.TrainingStep(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=1.0))(x, np.zeros_like(x))
    masked = tx.ops.dropout(x, seed)
    np.testing.assert_allclose(scale.weight.data, weight - np.mean(2 * masked * masked * weight), rtol=1e-5)


@pytest.mark.parametrize("p", [1.1, -0.1, float("nan"), "half"])
def test_no_probability(p):
    with pytest.raises(tx.CallError) as caught:
        nn.Dropout(p)
    expected = "number from 0 to 1" if p == 1.1 else "finite number of at least 0"
    assert str(caught.value) == f"error[arguments]: Dropout: p is {p!r}, expected a {expected}"


def test_it_prints():
    assert repr(nn.Dropout(0.1)) == "Dropout(p=0.1)"

"""Random operators: the same numbers compiled and interpreted, of the distribution that they
say.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import ops

SEED = np.uint64(7)


@pytest.mark.parametrize(
    ("name", "constants", "mean", "deviation"),
    [
        ("random_uniform", {"N": 20000, "lo": -1.0, "hi": 3.0}, 1, 4 / np.sqrt(12)),
        ("random_normal", {"N": 20000, "mean": 2.0}, 2, 1),
        ("uniform_like", {}, 0.5, 1 / np.sqrt(12)),
        ("normal_like", {"deviation": 3.0}, 0, 3),
    ],
)
def test_moments(name: str, constants: dict[str, object], mean: float, deviation: float):
    inputs = (np.zeros((100, 200)), SEED) if name.endswith("like") else (SEED,)
    found = np.asarray(getattr(ops, name)(*inputs, **constants))
    assert abs(found.mean() - mean) < 5 * deviation / np.sqrt(found.size)
    assert abs(found.std() - deviation) < 0.05 * deviation
    np.testing.assert_allclose(
        found, tx.interpret(getattr(ops, name), *inputs, **constants), rtol=1e-6, atol=1e-6
    )
    assert found.shape == (inputs[0].shape if name.endswith("like") else (20000,))


def test_bernoulli():
    p = np.repeat(np.array([0, 0.25, 1], np.float32)[:, None], 10000, 1)
    found = np.asarray(ops.bernoulli(p, SEED))
    assert set(np.unique(found)) == {0, 1}
    assert (found[0] == 0).all() and (found[2] == 1).all() and abs(found[1].mean() - 0.25) < 0.02
    np.testing.assert_array_equal(found, tx.interpret(ops.bernoulli, p, SEED))


@pytest.mark.parametrize(("axis", "alike"), [(2, (0, 1)), (1, (0,)), (4, (0, 1, 2, 3))])
def test_dropout_of_channels(axis: int, alike: tuple[int, ...]):
    x = np.ones((20, 30, 3, 4))
    found = np.asarray(ops.dropout_channels(x, SEED, axis=axis, p=0.25))
    np.testing.assert_array_equal(found, tx.interpret(ops.dropout_channels, x, SEED, axis=axis, p=0.25))
    firsts = found[(slice(None),) * axis + (slice(1),) * (4 - axis)]
    np.testing.assert_array_equal(found, np.broadcast_to(firsts, x.shape))
    assert set(np.unique(found)) <= {0, 1 / 0.75} and abs((firsts == 0).mean() - 0.25) < 5 * np.sqrt(
        0.19 / firsts.size
    )


def test_alpha_dropout_keeps_mean_and_variance():
    x = np.random.default_rng(0).standard_normal((200, 300))
    found = np.asarray(ops.alpha_dropout(x, SEED, p=0.3))
    np.testing.assert_allclose(found, tx.interpret(ops.alpha_dropout, x, SEED, p=0.3), rtol=1e-12, atol=1e-12)
    assert abs(found.mean()) < 0.02 and abs(found.std() - 1) < 0.02
    values, counts = np.unique(found, return_counts=True)
    assert values[counts.argmax()] < 0 and abs(counts.max() / found.size - 0.3) < 0.01
    shared = np.asarray(ops.alpha_dropout(x, SEED, axis=1, p=0.3))
    assert all((row == row[0]).all() or row.std() > 0.5 for row in shared)


def test_random_slopes():
    x = np.random.default_rng(0).standard_normal((100, 200))
    found = np.asarray(ops.rrelu(x, SEED, lower=0.1, upper=0.3))
    np.testing.assert_allclose(found, tx.interpret(ops.rrelu, x, SEED, lower=0.1, upper=0.3), rtol=1e-6)
    np.testing.assert_array_equal(found[x > 0], x[x > 0])
    slopes = (found / x)[x < 0]
    assert slopes.min() >= 0.1 and slopes.max() <= 0.3 and abs(slopes.mean() - 0.2) < 0.005

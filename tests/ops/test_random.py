"""Random operators: the same numbers compiled and interpreted, of the distribution that they say."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import ops

SEED = np.uint64(7)


@pytest.mark.parametrize(("name", "constants", "mean", "deviation"), [
    ("random_uniform", {"N": 20000, "lo": -1.0, "hi": 3.0}, 1, 4 / np.sqrt(12)), ("random_normal", {"N": 20000, "mean": 2.0}, 2, 1),
    ("uniform_like", {}, 0.5, 1 / np.sqrt(12)), ("normal_like", {"deviation": 3.0}, 0, 3)])
def test_moments(name: str, constants: dict[str, object], mean: float, deviation: float):
    inputs = (np.zeros((100, 200)), SEED) if name.endswith("like") else (SEED,)
    found = np.asarray(getattr(ops, name)(*inputs, **constants))
    assert abs(found.mean() - mean) < 5 * deviation / np.sqrt(found.size)
    assert abs(found.std() - deviation) < 0.05 * deviation
    np.testing.assert_allclose(found, tx.interpret(getattr(ops, name), *inputs, **constants), rtol=1e-6, atol=1e-6)
    assert found.shape == (inputs[0].shape if name.endswith("like") else (20000,))


def test_bernoulli():
    p = np.repeat(np.array([0, 0.25, 1], np.float32)[:, None], 10000, 1)
    found = np.asarray(ops.bernoulli(p, SEED))
    assert set(np.unique(found)) == {0, 1}
    assert (found[0] == 0).all() and (found[2] == 1).all() and abs(found[1].mean() - 0.25) < 0.02
    np.testing.assert_array_equal(found, tx.interpret(ops.bernoulli, p, SEED))

"""Tensors made from a shape, joined, and drawn."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn

X = np.arange(6, dtype="f4").reshape(2, 3)
SAME = {
    "tx.zeros(2, 3)": "np.zeros((2, 3), 'f4')",
    "tx.zeros((2, 3), dtype='i32')": "np.zeros((2, 3), 'i4')",
    "tx.zeros()": "np.zeros((), 'f4')",
    "tx.zeros(0, 2)": "np.zeros((0, 2), 'f4')",
    "tx.ones([3])": "np.ones(3, 'f4')",
    "tx.empty(2)": "np.zeros(2, 'f4')",
    "tx.full((2,), 3.5)": "np.full(2, 3.5, 'f4')",
    "tx.full(2, 3)": "np.full(2, 3)",
    "tx.full((), True)": "np.full((), True)",
    "tx.full((2,), 1, dtype='f16')": "np.ones(2, 'f2')",
    "tx.zeros_like(x)": "np.zeros_like(X)",
    "tx.ones_like(x, dtype='i64')": "np.ones((2, 3), 'i8')",
    "tx.zeros_like(3)": "np.zeros_like(3)",
    "tx.full_like(2.5, 3)": "np.full_like(2.5, 3)",
    "tx.full_like(X, 2)": "np.full_like(X, 2)",
    "tx.empty_like(p)": "np.zeros_like(X)",
    "tx.arange(5)": "np.arange(5)",
    "tx.arange(1, 7, 2)": "np.arange(1, 7, 2)",
    "tx.arange(5, 0, -2)": "np.arange(5, 0, -2)",
    "tx.arange(0, 1, 0.25)": "np.arange(0, 1, 0.25, 'f4')",
    "tx.arange(3, dtype='f64')": "np.arange(3.0)",
    "tx.linspace(0, 1, 5)": "np.linspace(0, 1, 5, dtype='f4')",
    "tx.linspace(0, 1, 4, endpoint=False, dtype='f64')": "np.linspace(0, 1, 4, endpoint=False)",
    "tx.eye(3)": "np.eye(3, dtype='f4')",
    "tx.eye(2, 3, k=1)": "np.eye(2, 3, 1, 'f4')",
    "tx.cat([x, X])": "np.concatenate([X, X])",
    "tx.concat([x, x], axis=1)": "np.concatenate([X, X], 1)",
    "tx.concat([x, p], dim=-1)": "np.concatenate([X, X], 1)",
    "tx.concat([x, x], axis=None)": "np.concatenate([X, X], None)",
    "tx.stack([x, X], dim=1)": "np.stack([X, X], 1)",
    "tx.stack([x])": "np.stack([X])",
    "tx.meshgrid(x[0], x[:, 1])[0]": "np.meshgrid(X[0], X[:, 1])[0]",
    "tx.meshgrid(x[0], x[:, 1], x[1], indexing='ij')[1]": "IJ",
    "tx.as_tensor(X)": "X",
    "tx.from_numpy(X)": "X",
}


@pytest.mark.parametrize("text", SAME)
def test_values(text: str):
    names = {"tx": tx, "np": np, "x": tx.tensor(X), "X": X, "p": nn.Parameter(X)}
    names["IJ"] = np.meshgrid(X[0], X[:, 1], X[1], indexing="ij")[1]
    found, expected = eval(text, names).numpy(), eval(SAME[text], names)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(found, expected)


def test_gradients():
    x = tx.ones(2, 3, requires_grad=True)
    p = nn.Parameter(X)
    (tx.cat([x, p]) * tx.arange(4).reshape(4, 1)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[0] * 3, [1] * 3])
    np.testing.assert_array_equal(p.grad.numpy(), [[2] * 3, [3] * 3])


def test_a_seed_repeats_a_draw_and_leaves_the_generator_alone():
    tx.manual_seed(3)
    first, layer = tx.rand(2, 3), nn.Linear(2, 2).weight.numpy().copy()
    tx.manual_seed(3)
    assert tx.randn(4, seed=1).equal(tx.randn(4, seed=1)) and not tx.randn(4, seed=1).equal(
        tx.randn(4, seed=2)
    )
    assert tx.rand((2, 3)).equal(first)
    np.testing.assert_array_equal(nn.Linear(2, 2).weight.numpy(), layer)


def test_draws():
    u, z, n = tx.rand(1000, seed=0), tx.randn(1000, seed=0, dtype="f64"), tx.randint(2, 5, (1000,), seed=0)
    assert str(u.dtype) == "f32" and 0 <= u.min().item() < 0.05 and 0.95 < u.max().item() < 1
    assert str(z.dtype) == "f64" and abs(z.mean().item()) < 0.1 and abs(z.std().item() - 1) < 0.1
    assert str(n.dtype) == "i64" and sorted(set(n.tolist())) == [2, 3, 4]
    assert tx.randint(3, (4,), seed=0).shape == (4,) and tx.randint(3).shape == ()
    assert sorted(tx.randperm(9, seed=1).tolist()) == list(range(9))
    assert tx.bernoulli(np.float32([0, 1, 1])).tolist() == [0, 1, 1]
    assert abs(tx.bernoulli(np.full(4000, 0.25), seed=0).mean().item() - 0.25) < 0.03
    assert tx.multinomial([[0.0, 1.0], [2.0, 0.0]], 3, replacement=True).tolist() == [[1] * 3, [0] * 3]
    counts = np.bincount(tx.multinomial([1.0, 3.0], 4000, True, seed=0).numpy())
    assert abs(counts[1] / 4000 - 0.75) < 0.03
    assert sorted(tx.multinomial([1.0, 2.0, 1.0], 3).tolist()) == [0, 1, 2]
    for like, draw in ((tx.rand_like, tx.rand), (tx.randn_like, tx.randn)):
        x = tx.zeros(2, 3, dtype="f64")
        assert like(x, seed=1).equal(draw(2, 3, seed=1, dtype="f64")) and like(x).shape == (2, 3)
        assert str(like(X, dtype="f16").dtype) == "f16"


COMPLAINTS = {
    "tx.zeros(2, -1)": "the shape (2, -1) is not made of integers of at least 0; tx.zeros(2, 3), or "
    "tx.zeros((2, 3))",
    "tx.zeros(2.5)": "the shape (2.5,) is not made of integers of at least 0; tx.zeros(2, 3), or tx.zeros((2, 3))",
    "tx.eye(-1)": "the shape (-1, -1) is not made of integers of at least 0; tx.zeros(2, 3), or tx.zeros((2, 3))",
    "tx.linspace(0, 1, -1)": "the shape (-1,) is not made of integers of at least 0; tx.zeros(2, 3), or "
    "tx.zeros((2, 3))",
    "tx.multinomial([-1.0, 2.0], 1)": "a weight is below 0 or not finite; "
    "x.sigmoid(), or x.softmax(-1), gives probabilities",
    "tx.multinomial([0.0, 2.0], 2)": "2 samples of fewer places above 0; replacement=True",
    "tx.bernoulli([2.0])": "an element is no probability; x.sigmoid(), or x.softmax(-1), gives probabilities",
    "tx.randperm(-1)": "the shape (-1,) is not made of integers of at least 0; tx.zeros(2, 3), or tx.zeros((2, 3))",
    "tx.full((2,), 'a')": "the value 'a' is no real number; tx.full((2, 3), 0.5)",
    "tx.full_like(X, 1j)": "the value 1j is no real number; tx.full((2, 3), 0.5)",
    "tx.zeros_like('a')": "'a' is no operand of tensors; operands are tensors, arrays and numbers",
    "tx.arange(0, 3, 0)": "arange with a step of 0; ",
    "tx.cat([])": "concatenate of no tensors; ",
    "tx.rand(2, dtype='i32')": "random numbers as i32; tx.randint draws integers",
    "tx.randint(3, 3)": "no integer n has 3 <= n < 3; ",
    "tx.randn(2, seed=-1)": "the seed is -1, expected an integer of at least 0; ",
    "tx.meshgrid(X, indexing='yx')": 'indexing is \'yx\'; "xy" or "ij"',
    "tx.jit(lambda x: x + tx.rand(3))(X)": "random numbers inside of a function that is traced: "
    "each call would have the same; pass them as an argument, or a seed: ops.random_normal(...), nn.Dropout",
}


@pytest.mark.parametrize("text", COMPLAINTS)
def test_complaints(text: str):
    with pytest.raises(tx.CallError) as e:
        eval(text, {"tx": tx, "X": X})
    assert f"{e.value.message}; {e.value.help}" == COMPLAINTS[text]

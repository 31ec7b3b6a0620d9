"""Operators that ask a range of values take what was computed: the range is known, or checked in
every run.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn, ops
from texpr.graph.capture.capture import Capture
from texpr.ir.dtypes import F32, I16, I64, U8, DType

X = np.array([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]])
USES = {
    "one_hot of argmax": lambda x: ops.one_hot(x.argmax(axis=1), C=3),
    "fewer classes": lambda x: ops.one_hot(x.argmax(axis=1), C=2),
    "gather": lambda x: ops.gather(x, x.argmin(axis=1, keepdims=True) * 1, axis=1),
    "take": lambda x: ops.take(x, 2 - x.argmax(axis=1), axis=1),
    "scatter": lambda x: ops.scatter(x, x.argmax(axis=1, keepdims=True).reshape(2, 1), x[:, :1] + 10, axis=1),
    "embedding": lambda x: ops.embedding(x, (x > 2).astype("i64")),
    "histogram": lambda x: ops.histogram(x.astype("i64"), B=8),
    "segments": lambda x: ops.segment_sum(x, x.argmax(axis=1), S=3),
    "index": lambda x: x[0][x.argmax(axis=1)],
}
WANTED = {
    "one_hot of argmax": np.eye(3)[[1, 0]],
    "fewer classes": np.eye(2)[[1, 0]],
    "gather": [[1.0], [0.0]],
    "take": X[:, [1, 2]],
    "scatter": [[1.0, 11.0, 2.0], [17.0, 0.0, 3.0]],
    "embedding": X[(X > 2).astype(int)],
    "histogram": [1, 1, 1, 1, 0, 1, 0, 1],
    "segments": [X[1], X[0], [0.0] * 3],
    "index": [5.0, 1.0],
}


@pytest.mark.parametrize("name", USES)
def test_computed_places(name: str):
    np.testing.assert_array_equal(USES[name](tx.tensor(X)).numpy(), WANTED[name])
    np.testing.assert_array_equal(tx.jit(USES[name])(X).numpy(), WANTED[name])


def test_values_outside_are_refused_when_they_are_there():
    count = tx.jit(lambda x: ops.histogram(x.astype("i64"), B=6))
    for f in (count, lambda x: ops.histogram(tx.tensor(x).astype("i64"), B=6).numpy()):
        with pytest.raises(tx.CallError) as found:
            f(X)
        assert str(found.value) == "error[range]: `X[1, 0]` is 7, expected a value in 0..6"
    assert count(X % 6).tolist() == [1, 2, 1, 1, 0, 1]


def test_a_run_that_fails_changes_nothing():
    p = nn.Parameter(np.zeros(2))

    @tx.jit
    def step(x):
        p.data = p + ops.histogram(x.astype("i64"), B=2).astype("f64")

    step(np.array([0.0, 1.0, 1.0]))
    with pytest.raises(tx.CallError):
        step(np.array([0.0, 2.0]))
    assert p.tolist() == [1, 2]


@pytest.mark.parametrize(("dtype", "length", "checked"), [(U8, 256, 0), (U8, 255, 1), (I16, 256, 1)])
def test_bytes_are_places_in_a_table_of_all_of_them(dtype: DType, length: int, checked: int):
    capture = Capture()
    table, x = capture.input("t", (length,), F32), capture.input("x", (4,), dtype)
    table[x.astype("i64")]
    assert [e.program.name for e in capture.equations].count("checked_values") == checked


def test_what_is_known_is_not_checked_again():
    capture = Capture()
    x = capture.input("x", (4, 3), F32)
    ops.one_hot(x.argmax(axis=1), C=3)
    assert [e.program.name for e in capture.equations] == ["reduce_argmax", "one_hot"]
    ops.cross_entropy(x, capture.input("y", (4,), I64) + 0)
    assert [e.program.name for e in capture.equations][2:] == ["add", "checked_values", "cross_entropy"]


def test_places_of_maxima_go_back():
    x = tx.tensor(np.random.default_rng(0).random((2, 1, 4, 4)), requires_grad=True)

    def there_and_back(x):
        y, places = nn.MaxPool2d(2, return_indices=True)(x)
        return nn.MaxUnpool2d(2)(y, places)

    found = there_and_back(x)
    for k in np.ndindex(2, 1, 2, 2):
        window = (*k[:2], slice(2 * k[2], 2 * k[2] + 2), slice(2 * k[3], 2 * k[3] + 2))
        assert (
            found.numpy()[window].max() == x.numpy()[window].max() and (found.numpy()[window] > 0).sum() == 1
        )
    found.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), found.numpy() > 0)
    np.testing.assert_array_equal(tx.jit(there_and_back)(x.detach()).numpy(), found.numpy())


def test_rows_that_must_be_distinct():
    permute = tx.op("op permute(X: f64[N], k: i64[N] in 0..N distinct) -> Y: f64[N] { Y[k[i]] = X[i] }")
    k = tx.tensor(np.array([2, 0, 1]))
    assert permute(tx.tensor([1.0, 2.0, 3.0]), 2 - k).tolist() == [1.0, 3.0, 2.0]
    with pytest.raises(tx.CallError, match=r"`k\[0\]` and `k\[1\]` are both 0, expected distinct values"):
        permute(tx.tensor([1.0, 2.0, 3.0]), k // 3).numpy()

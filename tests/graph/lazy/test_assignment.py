"""Assignment of values that are known to parts of known tensors: no kernel for each place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from texpr.graph.arrays import operator_texts

BOUNDS = st.one_of(st.none(), st.integers(-7, 7))
SLICES = st.builds(slice, BOUNDS, BOUNDS, st.sampled_from([None, 1, 2, -1, -3]))
KEYS = st.lists(st.one_of(st.integers(-5, 4), SLICES), min_size=1, max_size=3).map(tuple)


@given(KEYS, st.sampled_from(["f4", "f8", "i4", "?"]), st.booleans())
def test_parts_are_those_of_numpy(key: tuple, dtype: str, is_tensor: bool):
    array = np.arange(5 * 5 * 6).reshape(5, 5, 6).astype(dtype)
    value: Any = (np.ones_like(array[key]) * 7).astype(dtype) if is_tensor else array.dtype.type(1).item()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator_texts, "put", None)
        x = tx.tensor(array.copy())
        before = x + x if dtype != "?" else x | x
        x[key if len(key) > 1 else key[0]] = tx.tensor(value) if is_tensor else value
    np.testing.assert_array_equal(before.numpy(), array + array)
    array[key] = value
    np.testing.assert_array_equal(x.numpy(), array)


def test_a_loop_over_rows_compiles_a_kernel_for_all(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(operator_texts, "put", None)
    w, rows, h = tx.tensor(np.eye(3) * 0.5), tx.zeros(4, 3, dtype="f64"), tx.ones(3, dtype="f64")
    for t in range(4):
        h = h @ w
        rows[t] = h
    np.testing.assert_array_equal(rows.numpy(), 0.5 ** np.arange(1, 5)[:, None] * np.ones(3))


def test_gradients_flow_through_assigned_rows():
    w, rows = tx.tensor(np.ones(3), requires_grad=True), tx.zeros(2, 3, dtype="f64")
    rows[1] = w * 3
    rows[0, 1:] = 2.0
    (rows * rows).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [18, 18, 18])


@pytest.mark.parametrize(
    ("key", "value"), [(9, 1.0), (0, np.ones(2)), (slice(0, 2), tx.ones(3, 3)), ((0, 0, 0), 1.0), (0, "a")]
)
def test_what_does_not_fit_is_refused_and_nothing_is_changed(key: Any, value: Any):
    x = tx.tensor(np.zeros((2, 3), "f4"))
    with pytest.raises(tx.CallError):
        x[key] = value
    np.testing.assert_array_equal(x.numpy(), np.zeros((2, 3)))


def test_tensors_of_other_dtypes_are_converted():
    x = tx.tensor(np.zeros((2, 3), "f4"))
    x[0], x[1] = tx.tensor([1, 2, 3]), tx.tensor(np.float64([0.5, 0.25, 0.125]))
    assert x.dtype.name == "f32" and x.tolist() == [[1, 2, 3], [0.5, 0.25, 0.125]]


def test_a_tensor_that_takes_over_another_one_stays_apart():
    """Through in-place methods, whose results are its own; and where gradients are wanted."""
    x, y = tx.tensor(np.ones(3)), tx.tensor(np.arange(3.0))
    waiting = y * 2
    x[...] = waiting
    waiting[0] = 9.0
    x.mul_(2)
    assert (x.tolist(), waiting.tolist(), y.tolist()) == ([0, 4, 8], [9, 2, 4], [0, 1, 2])
    x[...] = y
    y.add_(1)
    assert (x.tolist(), y.tolist()) == ([0, 1, 2], [1, 2, 3])
    w = tx.tensor(np.ones(3), requires_grad=True)
    x[...] = w
    (x * 5).sum().backward()
    assert w.grad.tolist() == [5, 5, 5] and x.requires_grad
    with tx.no_grad():
        x[...] = w * 2
    assert not x.requires_grad and x.tolist() == [2, 2, 2]

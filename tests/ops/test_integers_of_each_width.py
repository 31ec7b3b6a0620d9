"""Sums of integers of 8 and 16 bits: tensors add in i64 or u64, as NumPy does; operators of the library for
`T: num` keep the dtype and wrap, which their documentation says.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import ops

WIDTHS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")


def _values(t: str) -> tuple[np.ndarray, tx.Tensor]:
    dtype = np.dtype(f"{t[0]}{int(t[1:]) // 8}")
    a = np.array([[100, 120, 7], [90, 127, 3]], dtype)
    return a, tx.tensor(a)


@pytest.mark.parametrize("t", WIDTHS)
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "mean", "max", "argmax", "var"])
def test_methods_are_numpys(t: str, name: str):
    a, x = _values(t)
    assert x.dtype.name == t
    for axis in (None, 0, 1):
        expected, found = getattr(a, name)(axis), getattr(x, name)(axis)
        assert np.asarray(found).dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected)


LIBRARY = {
    "reduce_sum": (lambda x: ops.reduce_sum(x, axis=1), lambda a: a.sum(1, dtype=a.dtype)),
    "reduce_prod": (lambda x: ops.reduce_prod(x, axis=1), lambda a: a.prod(1, dtype=a.dtype)),
    "reduce_max": (lambda x: ops.reduce_max(x, axis=1), lambda a: a.max(1)),
    "cumsum": (lambda x: ops.cumsum(x, axis=1), lambda a: a.cumsum(1, dtype=a.dtype)),
    "sum_square": (lambda x: ops.sum_square(x, axis=1), lambda a: (a * a).sum(1, dtype=a.dtype)),
    "norm1": (lambda x: ops.norm1(x, axis=1), lambda a: abs(a).sum(1, dtype=a.dtype)),
    "matmul": (lambda x: ops.matmul(x, x.T), lambda a: a @ a.T),
    "matvec": (lambda x: ops.matvec(x, x[0]), lambda a: a @ a[0]),
    "dot": (lambda x: ops.dot(x[0], x[1]), lambda a: a[0] @ a[1]),
    "outer": (lambda x: ops.outer(x[0], x[1]), lambda a: np.outer(a[0], a[1])),
    "trace": (lambda x: ops.trace(x[:, :2]), lambda a: np.trace(a[:, :2], dtype=a.dtype)),
    "@": (lambda x: x @ x.T, lambda a: a @ a.T),
    "einsum": (lambda x: np.einsum("ij,kj->ik", x, x), lambda a: np.einsum("ij,kj->ik", a, a)),
    "count_nonzero": (lambda x: ops.count_nonzero(x, axis=1), lambda a: np.count_nonzero(a, axis=1)),
    "histogram_weighted": (
        lambda x: ops.histogram_weighted(np.array([0, 1, 0]), x[0], B=2),
        lambda a: np.array([a[0, 0] + a[0, 2], a[0, 1]], a.dtype),
    ),
    "scatter_add": (
        lambda x: ops.scatter_add(x, np.zeros((2, 3), np.int64), x, axis=0),
        lambda a: np.stack([a[0] + a.sum(0, dtype=a.dtype), a[1]]),
    ),
    "tril": (lambda x: ops.tril(x), lambda a: np.tril(a)),
    "pad": (lambda x: ops.pad(x, axis=0, before=1), lambda a: np.pad(a, ((1, 0), (0, 0)))),
    "sort": (lambda x: ops.sort(x), lambda a: np.sort(a)),
    "clip": (lambda x: ops.clip(x, lo=5, hi=100), lambda a: np.clip(a, 5, 100)),
}


@pytest.mark.parametrize("t", WIDTHS)
@pytest.mark.parametrize("name", LIBRARY)
def test_the_library_keeps_the_dtype(t: str, name: str):
    ours, theirs = LIBRARY[name]
    a, x = _values(t)
    with np.errstate(over="ignore"):
        expected = theirs(a)
    found = ours(x).numpy()
    assert found.dtype == expected.dtype or name == "count_nonzero" and found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)

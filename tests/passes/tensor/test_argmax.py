"""Where an extreme is, of many elements: found in blocks, the first of equal ones, the first
NaN.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.passes.tensor.argmax import MANY

COUNTS = (
    MANY,
    10_000,
    8_209,
    3 * MANY + 1,
)  # whole blocks, blocks of another size, a last one that is not full


def _op(kind: str, dtype: str, count: int) -> tx.Op:
    return tx.op(f"op place(X: {dtype}[3, {count}]) -> Y: i64[3] {{ Y[i] = {kind}(j: X[i, j]) }}")


def _check(op: tx.Op, kind: str, x: np.ndarray) -> None:
    np.testing.assert_array_equal(op(x), getattr(np, kind)(x, axis=1))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "u8"])
def test_the_first_of_equal_ones(kind: str, dtype: str, count: int):
    op, rng = _op(kind, dtype, count), np.random.default_rng(count)
    numpy = {"f32": "f4", "f64": "f8", "i32": "i4", "u8": "u1"}[dtype]
    for most in (2, 100, 250):
        _check(op, kind, rng.integers(0, most, (3, count)).astype(numpy))
    assert tx.schedule(op).auto().certificate()


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", ["argmax", "argmin"])
def test_numbers_that_are_none(kind: str, count: int):
    """NaN before, behind and between infinities, in the first, the last and the same block;
    infinities alone.
    """
    op, x = _op(kind, "f32", count), np.zeros((3, count), "f4")
    for places in ((0, count - 1, 5), (count - 1, 0, count // 2), (7, 8, 9), (count // 2, count // 2 + 1, 1)):
        x[...] = 0
        for row, (nan, infinity) in enumerate(zip(places, places[1:] + places[:1])):
            x[row, infinity] = np.inf if kind == "argmax" else -np.inf
            x[row, nan : nan + 2] = np.nan
        _check(op, kind, x)
    for value in (np.inf, -np.inf, np.nan, -0.0):
        x[...] = value
        _check(op, kind, x)
    x[:, 3::2] = 0.0
    _check(op, kind, x)


def test_only_what_lies_side_by_side_is_looked_at_in_blocks():
    def blocks(text: str) -> bool:
        return "block" in str(tx.schedule(tx.op(text)))

    count = MANY
    assert blocks(f"op f(X: f32[{count}]) -> y: i64 {{ y = argmax(i: X[i] * 2) }}")
    assert not blocks(f"op f(X: f32[{count - 1}]) -> y: i64 {{ y = argmax(i: X[i]) }}")
    assert not blocks(f"op f(X: f32[{count}, 4]) -> y: i64[4] {{ y[j] = argmax(i: X[i, j]) }}")
    assert not blocks(f"op f(X: f32[{2 * count}]) -> y: i64 {{ y = argmax(i in 0..{count}: X[2 * i]) }}")
    assert not blocks(f"op f(X: f32[{count}]) -> y: i64 {{ y = argmax(i where i > 3: X[i]) }}")
    assert not blocks("op f(X: f32[N]) -> y: i64 require N >= 1 { y = argmax(i: X[i]) }")


def test_ranges_that_do_not_begin_at_0():
    op = tx.op(f"op f(X: f32[{MANY + 9}]) -> y: i64 {{ y = argmax(i in 5..{MANY + 6}: X[i]) }}")
    x = np.random.default_rng(0).standard_normal(MANY + 9, dtype="f4")
    x[:5] = x[-3:] = 99
    assert op(x) == 5 + x[5:-3].argmax()

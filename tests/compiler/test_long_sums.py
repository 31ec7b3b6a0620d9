"""Sums of many floats: how far they are from what they should be, relatively. Terms are
positive, so nothing cancels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import texpr as tx
from tests.runtime.native.test_interrupt import run
from texpr import ops

MANY = 10_000_000
BOUND = 4e-7
"""Adding 0.1 ten million times is off by 1.1e-7, in NumPy too; by 4.2e-5 where 64 parts of it
are added in 32 lanes each.
"""
VALUES = (0.1, 0.3, 1.1, 1.7)


def _off(found: object, wanted: np.ndarray | np.floating) -> float:
    return float(np.max(np.abs(np.asarray(found, "f8") - wanted) / np.abs(wanted)))


@pytest.mark.parametrize("value", VALUES)
def test_equal_terms(value: float):
    X = np.full(MANY, value, "f4")
    assert _off(ops.reduce_sum(X), X[0].astype("f8") * MANY) <= BOUND


def test_terms_at_random():
    X = np.random.default_rng(0).uniform(0, 1, MANY).astype("f4")
    assert _off(ops.reduce_sum(X), X.sum(dtype="f8")) <= BOUND


SUMS: dict[str, tuple[Callable[[np.ndarray], object], Callable[[np.ndarray], np.ndarray | np.floating]]] = {
    "mean": (ops.reduce_mean, lambda x: x.mean()),
    "norm": (ops.norm2, lambda x: np.sqrt((x * x).sum())),
    "sum of squares": (ops.sum_square, lambda x: (x * x).sum()),
    "variance": (ops.reduce_var, lambda x: x.var()),
    "dot": (lambda x: ops.dot(x, x), lambda x: x @ x),
    "log of a sum": (ops.logsumexp, lambda x: np.log(np.exp(x).sum())),
}


@pytest.mark.parametrize("name", SUMS)
def test_what_is_made_of_sums(name: str):
    of, wanted = SUMS[name]
    X = np.random.default_rng(1).uniform(0.5, 2, 1_000_003).astype("f4")
    assert _off(of(X), wanted(X.astype("f8"))) <= BOUND


ROWS: dict[str, tuple[str, tuple[int, ...], float]] = {
    "rows": ("op f(X: f32[M, N]) -> Y: f32[M] { Y[i] = sum(k: X[i, k]) }", (20, 50_001), BOUND),
    "columns": ("op f(X: f32[M, N]) -> Y: f32[N] { Y[k] = sum(i: X[i, k]) }", (50_001, 20), BOUND),
    "wide columns": ("op f(X: f32[M, N]) -> Y: f32[N] { Y[k] = sum(i: X[i, k]) }", (4001, 300), BOUND),
    "few columns": ("op f(X: f32[M, N]) -> Y: f32[N] { Y[k] = sum(i: X[i, k]) }", (300_001, 3), BOUND),
    "channels": ("op f(X: f32[B, C, N]) -> Y: f32[C] { Y[c] = sum(b, k: X[b, c, k]) }", (70, 9, 1001), BOUND),
    "all": ("op f(X: f32[M, N]) -> y: f32 { y = sum(i, k: X[i, k]) }", (1001, 999), BOUND),
    "half precision": ("op f(X: f16[M, N]) -> Y: f32[M] { Y[i] = sum(k: X[i, k]) }", (20, 50_001), BOUND),
    "double precision": ("op f(X: f64[M, N]) -> Y: f64[M] { Y[i] = sum(k: X[i, k]) }", (20, 50_001), 1e-15),
    "matrix and vector": (
        "op f(X: f32[M, N]) -> Y: f32[M] { Y[i] = sum(k: X[i, k] * X[0, k]) }",
        (20, 50_001),
        2e-6,
    ),
    "vector and matrix": (
        "op f(X: f32[M, N]) -> Y: f32[N] { Y[k] = sum(i: X[i, k] * X[i, 0]) }",
        (50_001, 20),
        BOUND,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_sums_of_rows_and_columns(name: str):
    text, shape, bound = ROWS[name]
    op = tx.op(text)
    X = np.full(shape, 0.1).astype({"half precision": "f2", "double precision": "f8"}.get(name, "f4"))
    x = X.astype(np.longdouble)
    times = x[:1] if name == "matrix and vector" else x[:, :1] if name == "vector and matrix" else 1
    wanted = (x * times).sum(
        {"channels": (0, 2), "all": None}.get(
            name, 0 if "olumns" in name or name == "vector and matrix" else 1
        )
    )
    assert _off(op(X), wanted) <= bound
    assert tx.schedule(op, **dict(zip("BCN" if len(shape) == 3 else "MN", shape))).auto().certificate()


def test_softmax_of_equal_scores():
    n = 200_001
    assert _off(ops.softmax(np.full((3, n), 0.1, "f4"), axis=1), np.float64(1 / n)) <= BOUND


def test_running_sums_keep_their_order():
    """Each sum follows from the one before it: as many roundings as terms."""
    X = np.full(100_000, 0.1, "f4")
    assert np.array_equal(ops.cumsum(X), np.cumsum(X))


@pytest.mark.parametrize(
    "text",
    [
        "op f(X: f32[M]) -> y: f32 { y = sum(i in 0..1000000000000000000: X[0]) }",
        "op f(X: f32[M]) -> Y: f32[M] { Y[k] = sum(i in 0..1000000000, j in 0..1000000000: X[k] + f32(i + "
        "j)) }",
        "op f(X: f32[M]) -> y: i64 { y = sum(i in 0..1000000000000000000: i64(i)) }",
    ],
)
def test_sums_that_take_years_need_no_memory(text: str):
    """There are as many partial sums whatever the number of terms; Ctrl-C ends the call."""
    run(f"""
import texpr as tx
kernel = tx.schedule(tx.op({text!r}), M=40).auto().compile().ready()
pressed = press(0.2)
try:
    kernel(np.ones(40, "f4"))
except KeyboardInterrupt:
    assert delay(pressed) < 2, delay(pressed)
    print("ok")
""")

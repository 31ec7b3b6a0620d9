"""`and` and `or` are lazy: the right side is proven, and read, only where the left one does not
decide.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

X = np.random.default_rng(0).standard_normal(37).astype("f4")
LAZY = [
    "Y[i] = if i > 0 and X[i - 1] > 0 then 1 else 2",
    "Y[i] = if i == 0 or X[i - 1] > 0 then 1 else 2",
    "Y[i] = if not (i == 0 or X[i - 1] > 0) then 1 else X[i]",
    "Y[i] = if i > 0 and i < N - 1 and X[i - 1] > X[i] and X[i + 1] > X[i] then X[i] else 0",
    "Y[i] = if 0 < i and (X[i] > 0 or X[i - 1] > 0) then X[i] else 0",
    "Y[i] = sum(k in 0..i + 1 where k > 0 and X[k - 1] > 0: X[k])",
    "Y[i] = if i > 0 and max(k in 0..i: X[k]) > 0 then X[i] else 0",
    "Y[i] = if i > 0 and any(k in 0..i: X[i - 1 - k] > 1) then X[i] * X[i - 1] else X[i]",
    "m[i] = i > 0 and X[i - 1] > 0  for i in 0..N\n  Y[i] = if m[i] then X[i] else 0",
]


def text(body: str) -> str:
    return f"op f(X: f32[N]) -> Y: f32[N] {{\n  {body}\n}}"


@pytest.mark.parametrize("body", LAZY)
def test_compiled_is_interpreted(body):
    op = tx.op(text(body))
    for n in (1, 2, 37):
        np.testing.assert_allclose(op(X[:n]), tx.interpret(op, X[:n]), rtol=1e-5)


@pytest.mark.parametrize("body", LAZY)
def test_gradients(body):
    tx.check_grad(tx.op(text(body)), X[:7])


def test_the_right_side_is_not_read_past_the_end_of_memory():
    """The last page of memory that may be read ends with the array: reading on would end the
    process.
    """
    page = np.frombuffer(__import__("mmap").mmap(-1, 4096), "f4")
    op = tx.op(text("Y[i] = if i + 100000000 < N and X[i + 100000000] > 0 then 1 else 2"))
    assert (op(page) == 2).all()


@pytest.mark.parametrize(
    "body",
    [
        "Y[i] = if X[i - 1] > 0 and i > 0 then 1 else 2",
        "Y[i] = if i > 0 or X[i - 1] > 0 then 1 else 2",
        "Y[i] = if not (i > 0) and X[i - 1] > 0 then 1 else 2",
    ],
)
def test_the_left_side_is_proven_alone(body):
    with pytest.raises(tx.CheckError, match="X is read outside its shape"):
        tx.op(text(body))


def test_what_cannot_be_outside_stays_logic():
    """Branches cost; only what needs the left side gets one."""
    shown = str(
        tx.schedule(tx.op(text("Y[i] = if X[i] > 0 and X[i] < 1 and X[i + 1 | 0] > 0 then 1 else 2")))
    )
    assert "X[i] > 0.0 and X[i] < 1.0 and" in shown

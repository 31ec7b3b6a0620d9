"""Axes that count from the end: `*A:axis` takes `shape[:axis]`, as Python does."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.graph import Capture
from texpr.ir.dtypes import F32
from texpr.ir.interpreter.tensor import interpret

TEXT = """op softmax<T: float>(X: T[*A:axis, D, *B]; axis = -1) -> Y: T[*A, D, *B] {
  m[*a, *b] = max(j: X[*a, j, *b])
  e[*a, j, *b] = exp(X[*a, j, *b] - m[*a, *b])
  Y[*a, j, *b] = e[*a, j, *b] / sum(k: e[*a, k, *b])
}
"""
STACK = (
    "op stack<T>(X: T[*A:axis, *B], Z: T[*A, *B]; axis = 0) -> Y: T[*A, 2, *B] { Y[*a, 0, *b] = X[*a, *b]  "
    "Y[*a, 1, *b] = Z[*a, *b] }\n"
)
softmax = tx.op(TEXT)
X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("f4")


def reference(X: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(X - X.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
def test_every_axis(axis):
    np.testing.assert_allclose(softmax(X, axis=axis), reference(X, axis), atol=1e-6)
    np.testing.assert_allclose(tx.interpret(softmax, X, axis=axis), reference(X, axis), atol=1e-6)
    gradient = tx.grad(softmax)
    np.testing.assert_allclose(gradient(X, X, axis=axis), gradient(X, X, axis=axis % 3), atol=1e-6)
    tx.check_grad(softmax, X, axis=axis)


def test_the_default_counts_from_the_end_at_every_rank():
    for x in (X, X[0], X[0, 0]):
        np.testing.assert_allclose(softmax(x), reference(x, -1), atol=1e-6)
        np.testing.assert_allclose(tx.grad(softmax)(x, x), tx.grad(softmax)(x, x, axis=x.ndim - 1), atol=1e-6)


def test_calls_in_texts():
    op = tx.op(
        TEXT
        + "op f(X: f32[N, M]) -> (Y: f32[N, M], Z: f32[N, M]) { Y = softmax(X)   Z = softmax(X, axis=-2) }"
    )
    Y, Z = op(X[0])
    np.testing.assert_allclose(Y, reference(X[0], 1), atol=1e-6)
    np.testing.assert_allclose(Z, reference(X[0], 0), atol=1e-6)


def test_captured_calls():
    capture = Capture()
    x = capture.input("x", (2, 3, 4), F32)
    with capture:
        y = softmax(x, axis=-2)
    (found,) = interpret(capture.program([y.tensor]), [X])
    np.testing.assert_allclose(found, reference(X, 1), atol=1e-6)
    with pytest.raises(tx.CallError, match="axis = -4 is no axis of `X`"):
        softmax(x, axis=-4)


def test_a_split_between_packs_counts_dimensions_as_slices_do():
    op = tx.op("op rows(X: f32[*A:axis, *B]; axis = 1) -> Y: f32[*A] { Y[*a] = sum(*b: X[*a, *b]) }")
    assert [op(X, axis=k).shape for k in (-3, -1, 0, 3)] == [(), (2, 3), (), (2, 3, 4)]


@pytest.mark.parametrize(("new", "dims"), [("2", (2,)), ("2, 5", (2, 5)), ("(2, 3)", (6,))])
def test_an_axis_of_the_result_alone_counts_there(new, dims):
    """As for NumPy's stack and expand_dims."""
    indices = {1: "r", 2: "r, q"}[len(dims)] if new[0] != "(" else "(r, q)"
    expand = tx.op(
        f"op expand(X: f32[*A:axis, *B]; axis = 0) -> Y: f32[*A, {new}, *B] {{ Y[*a, {indices}, *b] = X[*a, "
        f"*b] }}"
    )
    rank = X.ndim + len(dims)
    for axis in range(-rank, X.ndim + 1):
        first = axis % rank
        if first > X.ndim:
            continue
        front, back = X.shape[:first], X.shape[first:]
        wanted = np.broadcast_to(X.reshape(*front, *[1] * len(dims), *back), (*front, *dims, *back))
        np.testing.assert_array_equal(expand(X, axis=axis), wanted)
        np.testing.assert_array_equal(tx.tensor(wanted), expand(tx.tensor(X), axis=axis).numpy())
    with pytest.raises(tx.CallError, match=f"axis is {-rank} to 3 here"):
        expand(X, axis=-rank - 1)


def test_stacks_and_expansions_count_axes_as_numpy():
    for axis in range(-4, 4):
        np.testing.assert_array_equal(tx.ops.stack(X, X, axis=axis), np.stack([X, X], axis))
        np.testing.assert_array_equal(tx.ops.stack([X] * 3, axis=axis), np.stack([X] * 3, axis))
        np.testing.assert_array_equal(tx.ops.expand(X, axis=axis, times=2), np.stack([X] * 2, axis))
    assert tx.ops.stack(np.float32(1), np.float32(2), axis=-1).tolist() == [1, 2]
    inner = tx.op(STACK + "op f(X: f32[N, M]) -> Y: f32[N, M, 2] { Y = stack(X, X, axis=-1) }")
    np.testing.assert_array_equal(inner(X[0]), np.stack([X[0]] * 2, -1))


@pytest.mark.parametrize("axis", [-4, 3])
def test_no_such_axis(axis):
    for call in (softmax, lambda *a, **k: tx.interpret(softmax, *a, **k)):
        with pytest.raises(tx.CallError) as e:
            call(X, axis=axis)
        assert (
            str(e.value)
            == f"""error[rank]: softmax: axis = {axis} is no axis of `X`, which has 3 dimensions
  help: axis is -3 to 2 here"""
        )


def test_no_axis_at_all():
    for name in ("softmax", "flip"):
        with pytest.raises(tx.CallError) as e:
            getattr(tx.ops, name)(np.float32(1), axis=0)
        assert (
            str(e.value)
            == f"""error[rank]: {name}: axis = 0 is no axis of `X`, which has 0 dimensions
  help: `X` needs at least 1 dimension here"""
        )


def test_no_such_axis_in_a_text():
    with pytest.raises(tx.CheckError) as e:
        tx.op("op f(X: f32[N, M]) -> Y: f32[N, M] { Y = softmax(X, axis=-3) }\n" + TEXT)
    assert (
        str(e.value)
        == """error[shape]: axis = -3 is no axis of `X`, which has 2 dimensions
  --> <op>:1:53
  1 | op f(X: f32[N, M]) -> Y: f32[N, M] { Y = softmax(X, axis=-3) }
    |                                                     ^^^^^^^
  help: axis is -2 to 1 here"""
    )


def test_where_no_rank_is_known():
    complaint = """error[rank]: softmax: axis = -1 counts from the end of `X`, whose rank is not known here
  help: count from the start: axis=0 is the first axis"""
    for options in ({}, {"axis": -1}):
        with pytest.raises(tx.CallError) as e:
            tx.schedule(softmax, **options)
        assert str(e.value) == complaint
    assert "kernel softmax" in str(tx.schedule(softmax, axis=1))
    with pytest.raises(
        tx.CheckError, match="counts from the end of `X`, whose packs have any number of dimensions"
    ):
        tx.op(TEXT + "op f(X: f32[*S]) -> Y: f32[*S] { Y = softmax(X) }")


def test_dim_is_axis():
    x = np.random.default_rng(0).standard_normal((3, 4)).astype("f4")
    expected = tx.ops.softmax(x, axis=0)
    for given in (x, tx.tensor(x)):
        assert (np.asarray(tx.ops.softmax(given, dim=0)) == expected).all()
    with pytest.raises(tx.CallError) as caught:
        tx.ops.softmax(x, dim=0, axis=0)
    assert str(caught.value).startswith("error[arguments]: softmax has no argument `dim`")
    with pytest.raises(tx.CallError) as caught:
        tx.ops.relu(x, dim=0)
    assert str(caught.value).startswith("error[arguments]: relu has no argument `dim`")

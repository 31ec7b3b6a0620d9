"""Derived operators through the front door."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import texpr as tx

TEXT = """
fn swish(v) = v * sigmoid(v)
op layer<T: float>(X: T[B, I], W: T[O, I], b: T[O] = 0; slope = 1.0) -> Y: T[B, O] {
  Z[n, o] = sum(i: X[n, i] * W[o, i]) + b[o]
  Y[n, o] = slope * swish(Z[n, o])
}
"""
layer = tx.op(TEXT)
rng = np.random.default_rng(0)
X, W, B, DY = (rng.standard_normal(s, dtype=np.float32) for s in ((3, 5), (4, 5), (4,), (3, 4)))


def test_compiled_gradients_equal_interpreted_ones():
    gradient = tx.grad(layer)
    for got, want in zip(gradient(X, W, B, DY, slope=2.0), tx.interpret(gradient, X, W, B, DY, slope=2.0)):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_check_grad():
    assert tx.check_grad(layer, X, W, B, slope=0.5) < 1e-7
    assert tx.check_grad(layer, X, W) < 1e-7


def test_check_grad_refuses_a_kink():
    relu = tx.op("op relu(X: f32[N]) -> Y: f32[N] { Y[i] = max(X[i], 0) }")
    with pytest.raises(tx.CheckError, match="the gradient of relu differs from central differences by") as e:
        tx.check_grad(relu, np.zeros(3, np.float32))
    assert "is there a kink near these inputs?" in str(e.value)


def test_forward_and_reverse_mode_agree():
    forward = tx.jvp(layer)
    vx, vw, vb = (rng.standard_normal(a.shape, dtype=np.float32) for a in (X, W, B))
    _, dy = forward(X, W, B, vx, vw, vb)
    dx, dw, db = tx.grad(layer)(X, W, B, DY)
    np.testing.assert_allclose(
        np.vdot(DY, dy), np.vdot(dx, vx) + np.vdot(dw, vw) + np.vdot(db, vb), rtol=1e-4
    )


def test_residuals_are_shared():
    forward, backward = tx.vjp(layer)
    y, *residuals = forward(X, W, B)
    np.testing.assert_allclose(y, layer(X, W, B), rtol=1e-6)
    given = dict(zip([t.name for t in forward.program().outputs], [y, *residuals])) | {
        "X": X,
        "W": W,
        "b": B,
        "dY": DY,
    }
    found = backward(*(given[t.name] for t in backward.program().inputs))
    for got, want in zip(found, tx.grad(layer)(X, W, B, DY)):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "operator", [layer, tx.grad(layer, ["W"]), tx.jvp(layer), tx.vjp(layer)[1]], ids=lambda o: o.__name__
)
def test_operators_survive_pickling(operator: tx.Op):
    again = pickle.loads(pickle.dumps(operator))
    assert str(again) == str(operator)
    assert again.signature == operator.signature


def test_check_grad_refuses_what_is_not_finite():
    with pytest.raises(tx.CheckError, match="differs from central differences by nan"):
        tx.check_grad(
            tx.op("op f(X: f64[N]) -> Y: f64[N] { Y[i] = sqrt(X[i] * X[i] * X[i]) / X[i] }"), np.zeros(3)
        )


def test_optional_inputs_are_optional_in_gradients():
    given = {"X": X, "W": W}
    seed = np.ones_like(layer(**given))
    dX, dW = tx.grad(layer)(**given, dY=seed)
    all_three = tx.grad(layer)(X, W, np.zeros_like(B), seed)
    np.testing.assert_array_equal(dX, all_three[0])
    np.testing.assert_array_equal(dW, all_three[1])
    second = tx.grad(tx.grad(layer))(**given, dY=seed, ddX=np.ones_like(X), ddW=np.ones_like(W))
    assert len(second) == 3


def test_cotangents_of_optional_inputs_that_are_given_are_missed():
    with pytest.raises(tx.CallError, match="missing: ddb"):
        tx.grad(tx.grad(layer))(
            X=X, W=W, b=B, dY=np.ones_like(layer(X, W)), ddX=np.ones_like(X), ddW=np.ones_like(W)
        )


def test_a_gradient_by_hand_is_checked():
    """In f64, though both texts say f32; what was derived before it was registered is derived
    again.
    """
    cube = tx.op("op cube_by_hand(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * X[i] * X[i] }")
    assert tx.check_grad(cube, X[0]) < 1e-7
    rule = "op cube_vjp(X: f32[N], dY: f32[N]) -> dX: f32[N] {{ dX[i] = {} * X[i] * X[i] * dY[i] }}"
    tx.register_vjp("cube_by_hand", rule.format(2))
    with pytest.raises(tx.CheckError, match="the gradient of cube_by_hand differs"):
        tx.check_grad(cube, X[0])
    tx.register_vjp("cube_by_hand", rule.format(3))
    assert tx.check_grad(cube, X[0]) < 1e-7
    np.testing.assert_allclose(tx.grad(cube)(X[0], np.ones_like(X[0])), 3 * X[0] ** 2, rtol=1e-6)


def test_signatures_say_types_and_shapes():
    """Of generic operators with dtype variables; residuals whose extents depend on constants with
    `...`.
    """
    forward, backward = tx.vjp(tx.ops.matmul)
    assert str(forward.signature) == "matmul_forward<T: num>(A: T[M, K], B: T[K, N]) -> C: T[M, N]"
    assert (
        str(backward.signature)
        == "matmul_backward<T: num>(A: T[M, K], B: T[K, N], dC: T[M, N]) -> (dA: T[M, K], dB: T[K, N])"
    )
    assert (
        str(tx.jvp(tx.ops.relu).signature)
        == "relu_jvp<T: float>(X: T[*S], dX: T[*S]) -> (Y: T[*S], dY: T[*S])"
    )
    cut = tx.op(
        "op cut<T: float>(X: T[*A:axis, N], n: i64[M] in 0..N; K, axis = 0) -> Y: T[*A, M - K] "
        "require M >= K { Z[*a, j] = exp(X[*a, n[j]])  Y[*a, i] = Z[*a, i + K] * Z[*a, i] }"
    )
    assert str(tx.grad(cut).signature) == (
        "cut_grad<T: float>(X: T[*A:axis, N], n: i64[M] in 0..N, dY: T[*A, M - K]; K, axis = 0) -> "
        "dX: T[*A, N]"
    )
    assert "Z: T[...]" in str(tx.vjp(cut)[0].signature)

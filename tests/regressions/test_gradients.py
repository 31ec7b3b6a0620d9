"""Derived operators whose signatures are not that of the operator they come from."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx


def test_required_constants_need_not_be_one():
    every = tx.op("op f(X: f32[N]; P, Q) -> Y: f32[N//P] require P >= 2, Q > P { Y[i] = X[i*P] * Q }")
    gradient = tx.grad(every)(np.ones(9, "f4"), np.array([1, 2, 3, 4], "f4"), P=2, Q=5)
    assert gradient.tolist() == [5, 0, 10, 0, 15, 0, 20, 0, 0]


def test_cotangents_have_the_types_of_outputs():
    single = tx.op(
        "op f<T: float, U: float>(X: T[N], Z: U[N]) -> (Y: f32[N], V: U[N]) { Y[i] = f32(X[i]) * 2\n V[i] = "
        "Z[i] * 3 }"
    )
    x, z = np.ones(2, "f8"), np.ones(2, "f2")
    dx, dz = tx.grad(single)(x, z, np.ones(2, "f4"), np.ones(2, "f2"))
    assert (dx.dtype, dz.dtype, dx.tolist(), dz.tolist()) == (np.float64, np.float16, [2, 2], [3, 3])


TWICE = "op {} (X: f32[N, M]) -> Y: f32[N] {{ Y[i] = sum(j: X[i, j]) * 2 }}"
WRONG_RULES = {
    "a longer result": (
        "(X: f32[N, M], dY: f32[N]) -> dX: f32[N + 1, M] { dX[i, j] = 2 for i in 0..N + 1 }",
        "the gradient of `{}` has `dX` [N + 1, M], expected [N, M]",
    ),
    "a result on its side": (
        "(X: f32[N, M], dY: f32[N]) -> dX: f32[M, N] { dX[j, i] = dY[i] * 2 }",
        "the gradient of `{}` has `dX` [M, N], expected [N, M]",
    ),
    "another rank": (
        "(dY: f32[N, M]) -> dX: f32[N, M] { dX[i, j] = dY[i, j] * 2 }",
        "the gradient of `{}` has `dY` of 2 dimensions, expected 1",
    ),
    "another type": (
        "(X: f32[N, M], dY: f32[N]) -> dX: i32[N, M] { dX[i, j] = 2 }",
        "the gradient of `{}` has `dX` i32, expected f32",
    ),
    "one size": (
        "(X: f32[N, N], dY: f32[N]) -> dX: f32[N, N] { dX[i, j] = dY[i] * 2 }",
        "the gradient of `{}` has `X` [N, N], expected [N, M]",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_RULES)
def test_a_gradient_by_hand_has_the_shapes_of_what_it_is_named_after(wrong: str):
    rule, message = WRONG_RULES[wrong]
    name = f"twice_{wrong.replace(' ', '_')}"
    tx.register_vjp(name, f"op {name}_vjp{rule}")
    with pytest.raises(tx.CheckError) as e:
        tx.grad(tx.op(TWICE.format(name)))
    assert str(e.value).splitlines()[0] == "error[gradient]: " + message.format(name)


def test_a_gradient_by_hand_may_name_sizes_otherwise():
    tx.register_vjp(
        "twice_renamed",
        "op twice_renamed_vjp(X: f32[P, Q], dY: f32[P]) -> dX: f32[P, Q] { dX[i, j] = dY[i] * 2 }",
    )
    assert tx.check_grad(tx.op(TWICE.format("twice_renamed")), np.ones((2, 3), "f4")) < 1e-7


@pytest.mark.parametrize("given", [(3, "op g(dY: f32[N]) -> dX: f32[N] { dX[i] = dY[i] }"), ("g", 3)])
def test_what_is_no_gradient_is_not_registered(given: tuple):
    with pytest.raises(tx.CallError, match="register_vjp takes the name of an operator and an operator"):
        tx.register_vjp(*given)


@pytest.mark.parametrize("names", [3, [3], [["X"]], ["X", "X"]])
def test_what_are_no_names(names: object):
    f = tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * X[i] }")
    for ask in (
        lambda: tx.grad(f, wrt=names),
        lambda: tx.jvp(f, wrt=names),
        lambda: tx.vjp(f, checkpoint=names),
    ):  # type: ignore[arg-type]
        with pytest.raises(tx.CallError, match="each once"):
            ask()


def test_an_input_is_kept_anyway():
    with pytest.raises(tx.CheckError, match="`X` is an input of `f`"):
        tx.vjp(tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * X[i] }"), checkpoint=["X"])


def test_a_check_looks_at_its_arguments_first():
    gathered = tx.op("op f(X: f32[N], k: i64[N] in 0..N) -> Y: f32[N] { Y[i] = X[k[i]] }")
    with pytest.raises(tx.CallError, match=r"`k\[2\]` is 9, expected a value in 0..3"):
        tx.check_grad(gathered, np.ones(3, "f4"), np.array([0, 1, 9]))
    with pytest.raises(tx.CallError, match="requires"):
        tx.check_grad(tx.op("op f(X: f32[N]) -> y: f32 require N >= 2 { y = X[1] }"), np.ones(1, "f4"))


def test_a_quotient_of_nothing_but_divisors():
    f = tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = 1.0 / (X[i] * X[i]) }")
    found = tx.grad(f)(np.array([1, 2, -4], "f4"), np.ones(3, "f4"))
    assert np.allclose(found, [-2, -0.25, 1 / 32], rtol=1e-6)

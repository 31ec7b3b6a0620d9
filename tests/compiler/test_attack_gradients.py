"""Derived operators whose signatures are not that of the operator they come from."""

from __future__ import annotations

import numpy as np

import texpr as tx


def test_required_constants_need_not_be_one():
    every = tx.op("op f(X: f32[N]; P, Q) -> Y: f32[N//P] require P >= 2, Q > P { Y[i] = X[i*P] * Q }")
    gradient = tx.grad(every)(np.ones(9, "f4"), np.array([1, 2, 3, 4], "f4"), P=2, Q=5)
    assert gradient.tolist() == [5, 0, 10, 0, 15, 0, 20, 0, 0]


def test_cotangents_have_the_types_of_outputs():
    single = tx.op("op f<T: float, U: float>(X: T[N], Z: U[N]) -> (Y: f32[N], V: U[N]) { Y[i] = f32(X[i]) * 2\n V[i] = Z[i] * 3 }")
    x, z = np.ones(2, "f8"), np.ones(2, "f2")
    dx, dz = tx.grad(single)(x, z, np.ones(2, "f4"), np.ones(2, "f2"))
    assert (dx.dtype, dz.dtype, dx.tolist(), dz.tolist()) == (np.float64, np.float16, [2, 2], [3, 3])

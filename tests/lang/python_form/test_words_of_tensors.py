"""The words of the Python form called on tensors outside of operators: methods, as in torch."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn

X = np.array([[1.0, -2.0], [3.0, 4.0]])
CALLS = {
    "exp": (lambda x: tx.exp(x), np.exp(X)),
    "abs": (lambda x: tx.abs(x), abs(X)),
    "clamp": (lambda x: tx.clamp(x, 0, 3), X.clip(0, 3)),
    "sum": (lambda x: tx.sum(x), X.sum()),
    "sum along an axis": (lambda x: tx.sum(x, 1), X.sum(1)),
    "sum along dim": (lambda x: tx.sum(x, dim=0, keepdim=True), X.sum(0, keepdims=True)),
    "max": (lambda x: tx.max(x), X.max()),
    "max along an axis": (lambda x: tx.max(x, 1), X.max(1)),
    "max along dim": (lambda x: tx.max(x, dim=1).values, X.max(1)),
    "min along the last axis": (lambda x: tx.min(x, -1), X.min(-1)),
    "max of a number": (lambda x: tx.max(x, 0.0), X.clip(0)),
    "min of two": (lambda x: tx.min(x, x * 2), np.minimum(X, 2 * X)),
}


@pytest.mark.parametrize("make", (tx.tensor, nn.Parameter))
@pytest.mark.parametrize(("call", "expected"), CALLS.values(), ids=CALLS)
def test_of_tensors_and_parameters(call, expected, make):
    found = call(make(X))
    assert isinstance(found, tx.Tensor)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12)


def test_in_a_traced_function():
    assert tx.jit(lambda x: tx.sum(tx.exp(x)))(tx.zeros(3)).item() == 3


def test_arrays_stay_those_of_numpy():
    with pytest.raises(tx.Error, match=r"arrays are NumPy's, as in np\.exp"):
        tx.exp(X)
    with pytest.raises(tx.Error, match="tx.sum has no argument `dim`"):
        tx.sum(lambda i: i, dim=1)


def test_a_function_has_gradients_by_its_result():
    with pytest.raises(tx.CallError, match=r"of a function of tensors y\.backward\(\) gives the gradient"):
        tx.grad(lambda x: x)


@pytest.mark.parametrize("unbiased", (True, False))
def test_torchs_name_of_the_divisor(unbiased):
    found = tx.tensor(X).var(dim=0, unbiased=unbiased)
    np.testing.assert_allclose(found.numpy(), X.var(0, ddof=int(unbiased)))

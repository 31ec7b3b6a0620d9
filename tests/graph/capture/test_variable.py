"""Variables have the methods and operators of tensors, and updates in place mean the same for
leaves and for variables.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn


def parameter() -> nn.Parameter:
    return nn.Parameter(np.array([1.0, -2.0]))


EXPRESSIONS = {
    "method": lambda p: p.tanh(),
    "operator": lambda p: 2 * p + 1,
    "array first": lambda p: np.ones(2) * p,
    "with itself": lambda p: p @ p,
    "index": lambda p: p[0],
    "T": lambda p: p.T * 1.0,
    "tensor": lambda p: tx.tensor(p),
    "as f32": lambda p: tx.tensor(p, "f32"),
    "reduction": lambda p: p.var(),
    "negative": lambda p: -p,
    "power": lambda p: p**2,
    "each": lambda p: next(iter(p)),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_gradients_flow_to_the_parameter(name: str):
    f, p = EXPRESSIONS[name], parameter()
    leaf = tx.tensor(p.data.copy(), requires_grad=True)
    f(leaf).sum().backward() if name not in ("tensor", "as f32") else leaf.sum().backward()
    found = f(p)
    assert isinstance(found, tx.Tensor)
    found.sum().backward()
    np.testing.assert_array_equal(p.grad.numpy(), leaf.grad.numpy())
    q = parameter()
    traced = tx.jit(lambda: f(q))()
    np.testing.assert_allclose(traced.numpy(), found.numpy(), rtol=1e-15)


def test_variables_stay_objects():
    p = parameter()
    assert p == p and p != parameter() and p in [p] and bool(p) and len({p: 1}) == 1
    assert p.item is not None and p.tolist() == [1.0, -2.0] and not p.detach().requires_grad


def test_updates_in_place():
    w, p = tx.tensor(np.array([1.0, -2.0]), requires_grad=True), parameter()
    same, twin, doubled = w, p, w * 2
    (w * w).sum().backward()
    (p * p).sum().backward()
    with tx.no_grad():
        w -= 0.25 * w.grad
        p -= 0.25 * p.grad
    assert same is w and twin is p
    assert w.tolist() == p.tolist() == [0.5, -1.0] and doubled.tolist() == [2.0, -4.0]
    w.grad = p.grad = None
    (w * w).sum().backward()
    (p * p).sum().backward()
    assert w.grad.tolist() == p.grad.tolist() == [1.0, -2.0]
    with tx.no_grad():
        w *= np.float32(2)
        w /= 4
        w **= 2
        p[0] = 7
    assert (
        w.tolist() == [0.0625, 0.25]
        and str(w.dtype) == "f64"
        and w.requires_grad
        and p.tolist() == [7.0, -1.0]
    )


def test_updates_in_place_are_refused_where_gradients_would_not_know():
    p, w = parameter(), tx.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(tx.CallError) as found:
        p -= 1
    assert str(found.value) == (
        "error[gradient]: `parameter` requires a gradient, and is changed in place\n"
        "  help: change it inside `with tx.no_grad():`, or compute another tensor: p = p - y"
    )
    with (
        pytest.raises(tx.CallError, match=r"a leaf of shape \[2\] would become one of \[3, 2\]"),
        tx.no_grad(),
    ):
        w += np.ones((3, 2))
    before = w
    w += 1  # another tensor, computed from the leaf
    assert before is not w and before.tolist() == [1.0, 2.0]
    w.sum().backward()
    assert before.grad.tolist() == [1.0, 1.0]


def test_updates_of_variables_in_traced_functions():
    p = parameter()

    @tx.jit
    def step(x):
        q = p
        q -= x
        return q.sum()

    assert step(np.ones(2)).item() == -3 and p.tolist() == [0.0, -3.0]
    assert step(np.ones(2)).item() == -5 and step.traces == 1

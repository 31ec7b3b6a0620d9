"""Methods that end in `_`, and assignments at places, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr import nn

A = np.arange(12, dtype="f4").reshape(3, 4) - 5
METHODS = {
    "zero_()": lambda a: a * 0,
    "fill_(2)": lambda a: a * 0 + 2,
    "copy_([1, 2, 3, 4])": lambda a: a * 0 + np.float32([1, 2, 3, 4]),
    "add_(A, alpha=0.5)": lambda a: a + np.float32(0.5) * A,
    "sub_(1)": lambda a: a - 1,
    "mul_(A)": lambda a: a * A,
    "div_(2)": lambda a: a / 2,
    "pow_(2)": lambda a: a**2,
    "addcmul_(A, A, value=2)": lambda a: a + 2 * A * A,
    "addcdiv_(A, A * 0 + 2, value=3)": lambda a: a + 3 * A / 2,
    "lerp_(A * 3, 0.5)": lambda a: a + (A * 3 - a) / 2,
    "clamp_(-1, 3)": lambda a: a.clip(-1, 3),
    "masked_fill_(A > 0, 7)": lambda a: np.where(A > 0, np.float32(7), a),
    "neg_()": lambda a: -a,
    "abs_()": abs,
    "exp_()": np.exp,
    "abs_().sqrt_()": lambda a: np.sqrt(abs(a)),
    "relu_()": lambda a: np.maximum(a, 0),
    "sigmoid_()": lambda a: 1 / (1 + np.exp(-a)),
    "tanh_()": np.tanh,
}


@pytest.mark.parametrize("text", METHODS)
def test_the_tensor_and_the_parameter_have_the_value(text: str):
    x, p, expected = tx.tensor(A), nn.Parameter(A), METHODS[text](A)
    before, names = x * 1, {"A": tx.tensor(A)}
    assert eval(f"x.{text}", {**names, "x": x}) is x
    with tx.no_grad():
        assert eval(f"p.{text}", {**names, "p": p}) is p
    for found in (x, p):
        np.testing.assert_allclose(found.numpy(), expected, rtol=2e-6)
        assert found.dtype.name == "f32"
    assert (before.numpy() == A).all()


def test_the_dtype_stays():
    i = tx.tensor([1, 2, 3])
    assert i.add_(1).div_(2).tolist() == [1, 1, 2] and i.dtype.name == "i64"


def test_a_leaf_changes_outside_of_its_gradient_only():
    w = tx.tensor(A, requires_grad=True)
    text = (
        "error[gradient]: elements of a tensor that requires a gradient are assigned\n"
        "  help: compute a new tensor, where(condition, values, x), or assign inside `with tx.no_grad():`"
    )
    for change in (lambda: w.add_(1), lambda: w.__setitem__([0], 1.0)):
        with pytest.raises(tx.CallError) as caught:
            change()
        assert str(caught.value) == text
    with tx.no_grad():
        w[0] = 1
        w[[1, 2], 0] = tx.tensor([2.0, 3.0])
        w.mul_(2)
    assert w.requires_grad and w.is_leaf and w[:, 0].tolist() == [2, 4, 6]
    (w * w).sum().backward()
    assert (w.grad.numpy() == 2 * w.numpy()).all()


def test_a_moving_average_and_a_gradient_set_to_zero():
    model, average = nn.Linear(3, 2), nn.Linear(3, 2)
    expected = 0.9 * average.weight.numpy() + 0.1 * model.weight.numpy()
    with tx.no_grad():
        for a, p in zip(average.parameters(), model.parameters()):
            a.mul_(0.9).add_(p, alpha=0.1)
    np.testing.assert_allclose(average.weight.numpy(), expected, rtol=1e-6)
    model(tx.ones(1, 3)).sum().backward()
    model.weight.grad.zero_()
    assert not model.weight.grad.numpy().any()


def test_in_a_traced_function():
    @tx.jit
    def f(x):
        y = x * 2
        y.add_(1)
        y[[0, 0]] = np.float32([8, 9])
        return y.relu_()

    assert f(tx.tensor(np.float32([-3, 2, -4]))).tolist() == [9, 5, 0]
    with pytest.raises(tx.CallError) as caught:
        tx.jit(lambda x, i: x.__setitem__(i, 1.0))(tx.tensor(A), tx.tensor([0]))
    assert str(caught.value).startswith("error[symbolic]: `i` stands for i64[1] while a program is captured")


MASK = A > 1
KEYS = {
    "a list": ([0, 2], 1.0),
    "rows": ([0, 2], np.float32([[1], [2]])),
    "a place twice": ([1, 1], np.float32([[1, 2, 3, 4], [5, 6, 7, 8]])),
    "columns": ((slice(None), [1, 3]), 5),
    "a slice and places": ((slice(0, 2), np.array([1, 3])), np.float32([[1, 2], [3, 4]])),
    "pairs": (([0, 1, 0], [2, 3, 2]), np.float32([7, 8, 9])),
    "pairs that broadcast": (([[0], [2]], [1, 3]), 4.0),
    "from the end": ([-1], 3.0),
    "a mask": (MASK, np.arange(MASK.sum(), dtype="f4")),
    "a mask of rows": (MASK[:, 0], np.float32([1, 2, 3, 4])),
    "a mask and a place": ((MASK[:, 2], 0), 6.0),
    "a mask and a slice": ((MASK[:, 2], slice(1, 3)), np.float32([6, 7])),
    "nothing": ([], 3.0),
    "a mask that holds nowhere": (A > 100, np.zeros(0, "f4")),
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("form", ["arrays", "tensors"])
def test_places_are_assigned_as_numpy_does(name: str, form: str):
    key, value = KEYS[name]
    expected, x = A.copy(), tx.tensor(A)
    expected[key] = value
    if form == "tensors":
        parts = [
            k if isinstance(k, int | slice) else tx.tensor(np.asarray(k, None if np.size(k) else "i8"))
            for k in (key if isinstance(key, tuple) else (key,))
        ]
        key = tuple(parts) if isinstance(key, tuple) else parts[0]
        value = tx.tensor(np.asarray(value, "f4"))
    x[key] = value
    assert (x.numpy() == expected).all()


@examples(30)
@given(st.data())
def test_the_last_value_at_a_place_counts(data: st.DataObject):
    places = data.draw(st.lists(st.integers(-5, 4), min_size=1, max_size=8))
    x, expected = tx.zeros(5), np.zeros(5, "f4")
    values = np.arange(len(places), dtype="f4") + 1
    x[places] = values
    expected[places] = values
    assert (x.numpy() == expected).all()


def test_gradients_reach_what_stays_and_what_is_assigned():
    w, u = tx.tensor(A, requires_grad=True), tx.tensor(np.float32([5, 6]), requires_grad=True)
    y = w * 1
    y[[0, 2, 0], [1, 1, 1]] = tx.stack([u[0], u[1], u[1] * 2])
    (y * tx.tensor(A)).sum().backward()
    expected = A.copy()
    expected[[0, 2], 1] = 0
    assert (w.grad.numpy() == expected).all()
    assert u.grad.tolist() == [0, A[2, 1] + 2 * A[0, 1]]


COMPLAINTS = {
    "error[index]: index 5 is out of bounds for axis 0 of extent 3": ([5], 1.0),
    "error[shape]: values of shape [3] are assigned to elements of shape [2, 4]\n"
    "  help: assign one number, or values of the shape of x[key], whose extents may be 1 and missing in front": (
        [0, 1],
        np.ones(3),
    ),
    "error[shape]: values of shape [3] are assigned to elements of shape [4]\n"
    "  help: assign one number, or values of the shape of x[key], whose extents may be 1 and missing in front": (
        0,
        np.ones(3),
    ),
}


@pytest.mark.parametrize("text", COMPLAINTS)
def test_complaints(text: str):
    with pytest.raises(tx.CallError) as caught:
        tx.tensor(A)[COMPLAINTS[text][0]] = COMPLAINTS[text][1]
    assert str(caught.value) == text


def test_a_mask_of_another_shape():
    with pytest.raises(tx.CallError) as caught:
        tx.tensor(A)[np.ones((2, 2), bool)] = np.ones(3)
    assert str(caught.value).startswith("error[index]: the index does not fit a tensor of shape [3, 4]: ")
    assert caught.value.help == "a mask has the extents of its axes, several arrays of places have one shape"


def test_parameters_have_what_tensors_have():
    p = nn.Parameter(A)
    assert p.to("f64").dtype.name == "f64" and p.cpu().shape == (3, 4) and p.nbytes == 48 and p.is_leaf
    assert p.mT.shape == (4, 3) and np.from_dlpack(p).shape == (3, 4)
    assert float(nn.Parameter(2.0)) == 2.0 and f"{nn.Parameter(2.5):.2f}" == "2.50"
    assert p.requires_grad_(False) is p and not p.requires_grad and p.requires_grad_().requires_grad
    assert p.__array_namespace__() is tx.array_api
    own = {"own", "node", "spec", "value", "users", "owner", "index", "stops", "kept", "engine", "own_spec"}
    own |= {"detach_users", "forget_users", "recorded_arithmetic", "recorded_call", "set_value"}
    missing = {n for n in dir(tx.Tensor) if not n.startswith("_")} - set(dir(nn.Parameter)) - own
    assert not missing

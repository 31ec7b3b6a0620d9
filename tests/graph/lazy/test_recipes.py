"""Recorded calls: found again by method, shapes and dtypes, and the same as when methods are run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from texpr import CallError, nn
from texpr.graph.arrays import operator_texts, recorded
from texpr.graph.lazy import native_tensors, recipes
from texpr.nn import functional as F

CALLS: dict[str, Callable[..., Any]] = {
    "x + y": lambda x, y: x + y,
    "x - x": lambda x, y: x - x,
    "x / 3": lambda x, y: x / 3,
    "2.5 * x": lambda x, y: 2.5 * x,
    "x - 0.5": lambda x, y: x - 0.5,
    "x ** 2.0": lambda x, y: x**2.0,
    "x ** 1.5": lambda x, y: abs(x) ** 1.5,
    "x ** 3": lambda x, y: x**3,
    "x < 0.25": lambda x, y: x < 0.25,
    "x == y": lambda x, y: x == y,
    "-x": lambda x, y: -x,
    "exp": lambda x, y: x.exp(),
    "tanh": lambda x, y: x.tanh(),
    "x @ y.T": lambda x, y: x @ y.T,
    "sum": lambda x, y: x.sum(),
    "sum 0": lambda x, y: x.sum(0),
    "sum 1, kept": lambda x, y: x.sum(axis=1, keepdims=True),
    "mean of both": lambda x, y: x.mean((0, 1)),
    "var": lambda x, y: x.var(1, ddof=1),
    "max": lambda x, y: x.max(1),
    "argmax": lambda x, y: x.argmax(1),
    "cumsum": lambda x, y: x.cumsum(1),
    "x[0]": lambda x, y: x[0],
    "x[1, 2]": lambda x, y: x[1, 2],
    "x[::2, None, 1:]": lambda x, y: x[::2, None, 1:],
    "x[..., -1]": lambda x, y: x[..., -1],
    "reshape": lambda x, y: x.reshape(-1),
    "reshape 2": lambda x, y: x.reshape((2, -1)),
    "transpose": lambda x, y: x.transpose(1, 0),
    "as f64": lambda x, y: x.astype("f64"),
    "as i32": lambda x, y: x.astype("i32"),
    "any": lambda x, y: (x > 0).any(0),
    "broadcast": lambda x, y: x.sum(0).broadcast_to(3, x.shape[1]),
    "clip": lambda x, y: x.clip(0, 1.5),
    "maximum": lambda x, y: x.maximum(y),
    "relu": lambda x, y: x.relu(),
    "round": lambda x, y: x.round(),
    "where": lambda x, y: tx.where(x > 0, x, y),
    "masked": lambda x, y: x.masked_fill(y > 0, 2.5),
    "flip": lambda x, y: x.flip(0),
    "triu": lambda x, y: x.triu(),
    "places": lambda x, y: x[tx.tensor([1, -1, 0])],
    "places of NumPy": lambda x, y: x[np.array([[1], [-2]])],
    "a parameter": lambda x, y: (x + P) * P,
    "F.gelu": lambda x, y: F.gelu(x.astype("f32")),
    "F.linear": lambda x, y: F.linear(x.astype("f32"), x.astype("f32"), bias=None),
    "F.linear of a parameter": lambda x, y: F.linear(x[:, :1].astype("f32"), P[:, None], P),
    "F.softmax by name": lambda x, y: F.softmax(x.astype("f32"), dim=-1),
}
P = nn.Parameter(np.float32([1.5]))


@pytest.fixture(autouse=True, params=["python", "native"])
def _no_recipes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """Each test looks calls up in Python, and by native code."""
    recipes.RECIPES.clear()
    if request.param == "native":
        native_tensors.install()
    else:
        monkeypatch.setattr(recorded, "_found_recorded", recorded._unknown)
        monkeypatch.setattr(recorded, "_found_arithmetic", recorded._unknown)
        monkeypatch.setattr(native_tensors, "history", native_tensors._unknown)


def arrays(seed: int, shape: tuple[int, int], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(-4, 5, shape).astype(dtype) / (1 if dtype[0] == "i" else 2) for _ in range(2))  # type: ignore[return-value]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("name", CALLS)
def test_calls_that_were_recorded_before_are_the_same(name: str, dtype: str):
    """With other values, with the same tensor twice, and with other shapes between."""
    call = CALLS[name]
    for seed, shape in enumerate([(2, 4), (2, 4), (4, 6), (2, 4)]):
        x, y = arrays(seed, shape, dtype)
        x = x.astype(dtype)
        y = y.astype(dtype)
        tensors = tx.tensor(x.copy()), tx.tensor(y.copy())
        found = [call(*tensors), call(*tensors), call(tensors[0], tensors[0])]
        recipes.RECIPES.clear()
        expected = [call(*tensors), None, call(tensors[0], tensors[0])]
        expected[1] = expected[0]
        for one, other in zip(found, expected):
            assert one.dtype == other.dtype and one.shape == other.shape
            np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_nothing_is_composed_again(monkeypatch: pytest.MonkeyPatch):
    """Of a method that was called with such tensors before, no operator is looked up."""
    x, y = (tx.tensor(np.arange(6, dtype="f4").reshape(2, 3) + k) for k in (0, 1))

    def compute() -> list[Any]:
        chosen = np.where(x > 2, np.maximum(x, y), np.exp(y) * 0.5)
        return [
            ((x * y + x).tanh() * y - 0.5).sum(1),
            x @ y.T,
            x.reshape(3, 2).mean(0, keepdims=True),
            chosen,
        ]

    expected = [each.numpy() for each in compute()]
    monkeypatch.setattr(operator_texts, "written", None)
    for one, other in zip(compute(), expected):
        np.testing.assert_array_equal(one.numpy(), other)


def test_no_module_is_called_again(monkeypatch: pytest.MonkeyPatch):
    """Functions of modules are found as methods are; parameters are operands."""
    x, w, b = tx.tensor(np.ones((2, 3), "f4")), nn.Parameter(np.ones((4, 3), "f4")), nn.Parameter(np.ones(4))

    def compute() -> list[Any]:
        made = F.linear(x, w), F.relu(x), F.layer_norm(x, (3,)), F.gelu(x), x @ w.T + b, x.clip(0, 0.5)
        joined = tx.cat([x, x, w]), tx.stack([x, x], axis=1), tx.cat((x,), 1)
        return [*made, *joined, tx.where(x > 2, x, b[0]), x[np.array([1, -1])]]

    expected = [each.numpy() for each in compute()]
    monkeypatch.setattr(nn.Module, "__call__", None)
    monkeypatch.setattr(operator_texts, "written", None)
    for one, other in zip(compute(), expected):
        np.testing.assert_array_equal(one.numpy(), other)


def test_functions_that_draw_are_called_each_time():
    x = tx.tensor(np.ones(1000, "f4"))
    first, second = (F.dropout(x, 0.5, training=True).numpy() for _ in range(2))
    assert (first != second).any()


def test_a_parameter_whose_gradient_is_no_longer_wanted():
    x, w = tx.tensor(np.ones((2, 3), "f4")), nn.Parameter(np.ones((4, 3), "f4"))
    for wanted in (True, False, True):
        w.requires_grad = wanted
        assert F.linear(x, w).requires_grad == (x @ w.T).requires_grad == wanted
    w.data = np.full((4, 3), 2, "f4")
    np.testing.assert_array_equal(F.linear(x, w).numpy(), np.full((2, 4), 6))
    F.linear(x, w).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), np.full((4, 3), 2))


def test_floats_are_operands_of_arithmetic_and_part_of_other_calls():
    x = tx.tensor(np.array([1.0, 4.0, 9.0]))
    for factor in (2.0, 3.0, -0.0, float("inf")):
        np.testing.assert_array_equal((x * factor).numpy(), x.numpy() * factor)
        np.testing.assert_array_equal((factor / x).numpy(), factor / x.numpy())
    assert len([key for key in recipes.RECIPES if key[-1] is float]) == 2
    for exponent in (0.5, 2.0, 1.25, 0.5):
        np.testing.assert_allclose((x**exponent).numpy(), x.numpy() ** exponent, rtol=1e-12)


def test_numbers_that_are_equal_and_of_other_types():
    x = tx.tensor(np.array([3, 4], "i4"))
    assert [str((x + n).dtype) for n in (1, 1.0, True, 1, 1.0, True)] == ["i32", "f64", "i32"] * 2
    y = tx.tensor(np.array([[1.0, 2.0]]))
    assert [y.sum(axis).shape for axis in (0, 1, None, 0)] == [(2,), (1,), (), (2,)]


def test_functions_of_numpy_that_look_at_values_are_run_each_time():
    for values in ([1.0, 2.0, 2.0], [3.0, 3.0, 3.0], [0.0, 2.0, 0.0]):
        x = tx.tensor(np.array(values))
        np.testing.assert_array_equal(np.asarray(np.unique(x)), np.unique(values))
        np.testing.assert_array_equal(np.asarray(np.where(x > 1)[0]), np.where(np.array(values) > 1)[0])
        assert np.allclose(x, values) and not np.array_equal(x, np.array(values) + 1)


def test_values_are_no_part_of_recipes():
    """Methods that look at values are run each time."""
    x = tx.tensor(np.arange(4.0))
    for mask in ([True, False, True, False], [True, True, True, False]):
        chosen = x[tx.tensor(np.array(mask))]
        np.testing.assert_array_equal(chosen.numpy(), x.numpy()[np.array(mask)])


def test_errors_come_each_time():
    x, y = tx.tensor(np.ones((2, 3))), tx.tensor(np.ones((3, 4)))
    for _ in range(2):
        with pytest.raises(CallError, match="fit each other"):
            x + y
        with pytest.raises(CallError):
            x.sum(5)
        with pytest.raises(CallError, match="index -3 is out of bounds for axis 0 of extent 2"):
            x[tx.tensor([0, -3])]
        with pytest.raises(CallError, match="missing a required argument"):
            F.linear(x)


def test_gradients_flow_through_recorded_calls():
    for k in range(3):
        w = tx.tensor(np.full(3, k + 1.0), requires_grad=True)
        ((w * w + w) * 0.5).sum().backward()
        np.testing.assert_array_equal(w.grad.numpy(), w.detach().numpy() + 0.5)
        with tx.no_grad():
            assert not (w * w).requires_grad
        assert not (w.detach() * 2.0).requires_grad


def test_a_tensor_that_is_changed_is_another_operand():
    x = tx.tensor(np.ones(3))
    before = x * 2.0
    x[0] = 5
    after = x * 2.0
    np.testing.assert_array_equal(before.numpy(), [2, 2, 2])
    np.testing.assert_array_equal(after.numpy(), [10, 2, 2])


@given(st.lists(st.sampled_from(["x", "y", "z"]), min_size=2, max_size=8), st.integers(0, 3))
def test_chains_share_what_they_share(names: list[str], twice: int):
    """Values depend on which tensors are the same, not on shapes alone."""
    values = {n: np.array([2.0, 3.0]) * (k + 1) for k, n in enumerate("xyz")}
    tensors = {n: tx.tensor(v) for n, v in values.items()}
    made, expected = tensors[names[0]], values[names[0]]
    for k, n in enumerate(names[1:]):
        made, expected = made * tensors[n] - made, expected * values[n] - expected
        if k == twice:
            made, expected = made + made, expected + expected
    np.testing.assert_array_equal(made.numpy(), expected)


def test_many_users_that_are_gone_are_forgotten():
    x = tx.tensor(np.ones(3))
    for _ in range(500):
        (x * 2.0).numpy()
    assert len(x.users) <= 64


BOTH = """op both(X: f32[N], Y: f32[N]; by = 1) -> (A: f32[N], B: f32[N]) {
  A[i] = X[i] + Y[i] * by
  B[i] = X[i] - Y[i] * by }"""


def test_operators_by_name(monkeypatch: pytest.MonkeyPatch):
    """With several results, constants, and an input by name; programs are looked up once."""
    both, x = tx.op(BOTH), np.arange(5, dtype="f4")

    def compute(k: int) -> list[np.ndarray]:
        a, b = tx.tensor(x + k), tx.tensor(x * 2)
        first, second = both(a, b, by=3)
        named = both(a, Y=b)[1]
        return [first.numpy(), second.numpy(), named.numpy(), tx.ops.softmax(a, axis=0).numpy()]

    compute(0)
    monkeypatch.setattr(type(both), "_first_call", None)
    for k in (1, 2):
        first, second, named, soft = compute(k)
        a, b = x + k, x * 2
        np.testing.assert_array_equal(first, a + b * 3)
        np.testing.assert_array_equal(second, a - b * 3)
        np.testing.assert_array_equal(named, a - b)
        np.testing.assert_allclose(soft, np.exp(a - a.max()) / np.exp(a - a.max()).sum(), rtol=1e-6)


def test_operators_of_tensors_and_arrays_in_turns():
    both, x = tx.op(BOTH), np.arange(5, dtype="f4")
    for _ in range(3):
        np.testing.assert_array_equal(both(x, x)[0], x + x)
        np.testing.assert_array_equal(both(tx.tensor(x), tx.tensor(x + 1))[0].numpy(), x + x + 1)
        np.testing.assert_array_equal(both(tx.tensor(x), x + 2)[0].numpy(), x + x + 2)
        with pytest.raises(CallError):
            both(tx.tensor(x), tx.tensor(np.ones(4, "f4")))


def test_slices_with_arrays_as_bounds():
    x = tx.tensor(np.arange(5.0))
    for bound in (1, np.array(1), np.int64(1), tx.tensor(1)):
        np.testing.assert_array_equal(x[bound:].numpy(), [1, 2, 3, 4])
        np.testing.assert_array_equal(x[::-1][:bound].numpy(), [4])
    key = tx.tensor(1)
    assert x[key:].shape == (4,)
    key[...] = 3
    assert x[key:].shape == (2,)


def test_gradients_where_a_leaf_waits_for_what_was_recorded():
    """Computing `c`, through which no gradient flows, computes `b`, which has no history then."""
    w, a = tx.tensor(np.ones(3)).requires_grad_(), tx.tensor(np.arange(3.0))
    b = a * 2.0
    with tx.no_grad():
        c = b * w
    (b * w * c).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [0, 4, 16])
    np.testing.assert_array_equal(b.numpy(), [0, 2, 4])


def test_threads_that_look_at_tensors_of_one_history():
    """A tensor that gets its value while another thread walks through its history."""
    interval, failures = sys.getswitchinterval(), []
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            tensors, expected = [tx.tensor(np.ones(5))], [np.ones(5)]
            for _ in range(30):
                tensors.append((tensors[-1] * 1.5).tanh())
                expected.append(np.tanh(expected[-1] * 1.5))
            start = threading.Barrier(4)
            looks = partial(_look, tensors, expected, start, failures)
            threads = [threading.Thread(target=looks, args=(k,)) for k in (30, 10, 20, 30)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures


def _look(
    tensors: list[Any], expected: list[Any], start: threading.Barrier, failures: list[object], k: int
) -> None:
    try:
        start.wait()
        np.testing.assert_allclose(tensors[k].numpy(), expected[k])
    except Exception as error:
        failures.append(error)


def test_results_of_methods_of_parameters_are_apart():
    """Also where a method gives its tensor itself."""
    p = nn.Parameter(np.ones((2, 2), "f4"))
    with tx.no_grad():
        for same in (p.contiguous(), p.reshape(2, 2), p.T, p.to("f32"), p.clone(), p.flatten(), p.clip()):
            same[...] = tx.zeros(same.shape)
            assert p.numpy().all() and (p * 1).numpy().all()


def test_functions_of_numbers_that_are_equal_and_not_the_same():
    x = tx.tensor(np.ones((1, 1, 2, 2), np.float32))
    padded = [F.pad(x, (1, 1), value=v).numpy()[..., 0] for v in (0.0, -0.0, 0.0)]
    assert [np.signbit(p).all() for p in padded] == [False, True, False]
    F.max_pool2d(x, (1, 1))
    with pytest.raises(CallError, match="kernel_size is True"):
        F.max_pool2d(x, (True, True))

"""Lazy tensors: when they compute, what is kept, gradients, other libraries' memory."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import texpr as tx
from texpr.graph import Plan
from texpr.graph.lazy import computation_cache


@pytest.fixture(autouse=True)
def _no_plans():
    computation_cache.GENERAL.made.clear()


def test_nothing_runs_before_somebody_looks_and_then_what_has_a_name():
    x = tx.tensor(np.arange(6.0))
    y = x * 2
    z = (y + 1).sum()
    assert y.value is None and z.value is None and z.shape == () and y.shape == (6,)
    assert z.item() == 36
    assert y.value is not None, "y has a name, and was needed"
    assert y.node is None, "no history without gradients"


def test_a_loop_compiles_its_body_once():
    x = tx.tensor(np.ones(5, "f4"))
    for k in range(6):
        x = (x * 1.5 + k).realize()
    assert len(computation_cache.GENERAL.made) == 1
    want = np.ones(5, "f4")
    for k in range(6):
        want = want * np.float32(1.5) + np.float32(k)
    np.testing.assert_array_equal(x.numpy(), want)


def test_a_loop_that_nobody_looks_into_computes_in_between():
    x = tx.tensor(np.zeros(3))
    for _ in range(450):
        x = x + 1
    assert x.node is not None and x.node.depth < 250
    assert x.tolist() == [450.0] * 3


def test_what_nobody_holds_is_not_kept():
    x = tx.tensor(np.ones(4))
    (x * 2).sum().item()
    gc.collect()
    assert all(user() is None for user in x.users)


def test_memory_is_shared_with_arrays_both_ways():
    a = np.arange(6, dtype="f4").reshape(2, 3)
    x = tx.as_tensor(a)
    assert x.numpy() is a or np.shares_memory(np.asarray(x), a)
    assert np.shares_memory(np.from_dlpack(x), a)
    assert np.shares_memory(tx.from_dlpack(a).numpy(), a)
    backwards = a[:, ::-1]
    assert not np.shares_memory(tx.tensor(backwards).numpy(), a)
    assert all(s > 0 for s in np.from_dlpack(tx.from_dlpack(backwards)).strides), (
        "other libraries end the process at negative strides"
    )
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, dtype="f8", copy=False)


def test_bf16_rounds_once_and_comes_back():
    x = tx.tensor([1.0, 1.0 + 2**-9, 3.14159], "bf16")
    assert (
        str(x.dtype) == "bf16" and str((x + 1).dtype) == "bf16" and str((x * np.ones(3, "f4")).dtype) == "f32"
    )
    np.testing.assert_array_equal(np.asarray(x.astype("f32").numpy()), np.array([1.0, 1.0, 3.140625], "f4"))
    assert (x * 0.5).astype("f64").tolist() == [0.5, 0.5, 1.5703125]


@pytest.mark.parametrize(
    "name",
    [
        "itself",
        "reshape",
        "squeeze",
        "sum",
        "mean",
        "max",
        "min",
        "prod",
        "index",
        "transpose",
        "astype",
        "flip",
    ],
)
def test_a_leaf_that_is_a_single_number_has_a_gradient(name: str):
    f = {
        "itself": lambda x: x,
        "reshape": lambda x: x.reshape(()),
        "squeeze": lambda x: x.squeeze(),
        "index": lambda x: x[...],
        "transpose": lambda x: x.T,
        "astype": lambda x: x.astype("f64"),
        "flip": lambda x: x.reshape(1)[::-1].sum(),
    }.get(name, lambda x: getattr(x, name)())
    x = tx.tensor(2.0, requires_grad=True)
    f(x).backward()
    assert x.grad.item() == 1

    @tx.jit
    def traced(x):
        f(x).backward()
        return x.grad

    assert traced(x).item() == 1


def test_gradients_add_up_in_leaves():
    w = tx.tensor(np.array([1.0, -2.0, 3.0]), requires_grad=True)
    for _ in range(2):
        ((w * w).sum() + w[0]).backward()
    np.testing.assert_allclose(w.grad.numpy(), 2 * (2 * w.numpy() + [1, 0, 0]))
    w.grad = None
    (w * 3).backward(np.array([1.0, 2.0, 0.0]))
    assert w.grad.tolist() == [3, 6, 0]


def test_control_flow_of_python_is_differentiated_as_it_ran():
    def f(x):
        return x.exp() if x.sum().item() > 0 else x * 2

    for start in (1.0, -1.0):
        x = tx.tensor([start, 0.5], requires_grad=True)
        f(x).sum().backward()
        want = np.exp(x.numpy()) if start == 1.0 else [2, 2]
        np.testing.assert_allclose(x.grad.numpy(), want)


def test_gradients_stop_where_told():
    x = tx.tensor([2.0, 3.0], requires_grad=True)
    with tx.no_grad():
        scale = x * 10
    assert not scale.requires_grad
    (x * scale * x.detach()).sum().backward()
    assert x.grad.tolist() == [40, 90]


def test_a_leaf_that_does_not_matter_has_zeros():
    x, y = tx.tensor([1.0], requires_grad=True), tx.tensor([1.0], requires_grad=True)
    (x * 2 + y.astype("i64").astype("f64")).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2], [0])


def test_gradients_by_finite_differences():
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(s) for s in ((3, 4), (4, 2), (2,))]

    def loss(x, w, b):
        h = (x @ w + b).tanh()
        return ((h - h.mean(axis=0)) ** 2).sum() + h[::2, -1].exp().sum() + h.softmax()[0, 1]

    leaves = [tx.tensor(a, requires_grad=True) for a in arrays]
    loss(*leaves).backward()
    for k, leaf in enumerate(leaves):
        for at in np.ndindex(*leaf.shape):
            step = np.zeros(leaf.shape)
            step[at] = 1e-6
            up, down = (
                loss(*[tx.tensor(a + sign * step if j == k else a) for j, a in enumerate(arrays)]).item()
                for sign in (1, -1)
            )
            assert abs((up - down) / 2e-6 - leaf.grad.numpy()[at]) < 1e-7


def test_users_operators_take_tensors():
    saxpy = tx.op("op saxpy(a: f32, X: f32[N], Y: f32[N]) -> Z: f32[N] { Z[i] = a * X[i] + Y[i] }")
    x = tx.tensor(np.ones(3, "f4"), requires_grad=True)
    y = saxpy(2.0, x, np.arange(3, dtype="f4"))
    y.sum().backward()
    assert y.tolist() == [2, 3, 4] and x.grad.tolist() == [2, 2, 2]
    first, second = tx.op("op two(X: f32[N]) -> (Y: f32[N], Z: f32[N]) { Y[i] = X[i] + 1  Z[i] = X[i] * 3 }")(
        x
    )
    assert (second - first).tolist() == [1, 1, 1]


def test_a_range_of_values_is_checked_when_it_runs():
    rows = tx.ops.take(tx.tensor(np.arange(6.0).reshape(3, 2)), tx.tensor([0, 3]))
    with pytest.raises(tx.CallError, match="range"):
        rows.numpy()


def test_copies_and_pickles():
    x = tx.tensor([1.0, 2.0], requires_grad=True)
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(x * 1))):
        assert other.tolist() == [1, 2] and other is not x
    assert copy.deepcopy(x).requires_grad


def test_what_does_not_fit_into_memory():
    with pytest.raises(tx.ResourceError, match="do not fit into memory"):
        tx.tensor([1.0]).broadcast_to(10**15).numpy()


def test_comparisons_with_what_is_no_operand():
    x = tx.tensor([1.0])
    assert not (x == None) and x != "a" and x not in [None, "a"]  # noqa: E711


def test_what_it_looks_like():
    x = tx.tensor(np.arange(6, dtype="f4").reshape(2, 3), requires_grad=True)
    assert repr(x) == "tensor([[0., 1., 2.],\n        [3., 4., 5.]], f32[2, 3], requires_grad=True)"
    assert x._repr_html_().count("<td>") == 6 and "f32[2, 3] requires grad" in x._repr_html_()
    assert tx.tensor(np.zeros((40, 40)))._repr_html_().count("&hellip;") == 16
    assert f"{tx.tensor(1.5):.2f} {tx.tensor(2)}" == "1.50 tensor(2, i64[])"
    assert "<pre>" in tx.tensor(np.zeros((2, 2, 2)))._repr_html_()


COMPLAINTS = {
    "error[gradient]: the tensor is [3], no single number\n  help: reduce it, for example with .sum(), or "
    "give a cotangent: .backward(g)": lambda: (tx.tensor(np.ones(3), requires_grad=True) * 2).backward(),
    "error[gradient]: nothing that the tensor is computed from requires a gradient\n"
    "  help: make a leaf with tx.tensor(data, requires_grad=True)": lambda: tx.tensor([1.0]).sum().backward(),
    'error[gradient]: a tensor of i64 has no gradient\n  help: convert it: .astype("f32")': lambda: tx.tensor(
        [1], requires_grad=True
    ),
    "error[shape]: the cotangent is [2], the tensor [3]": lambda: (
        tx.tensor(np.ones(3), requires_grad=True) * 2
    ).backward(np.ones(2)),
    "error[type]: the data are a masked array, whose mask would be lost\n  help: fill it: x.filled(0)": lambda: (
        tx.tensor(np.ma.ones(3))
    ),
    "error[dtype]: an operand has dtype complex128, which texpr does not have\n  help: convert it: "
    ".astype(...)": lambda: tx.tensor(np.ones(3, "c16")),
    "error[shape]: values of shape [2] are assigned to elements of shape [3]\n"
    "  help: assign one number, or values of the shape of x[key], whose extents may be 1 and missing in front": lambda: (
        tx.tensor(np.ones(3)).__setitem__(..., [1.0, 2.0])
    ),
}


@pytest.mark.parametrize("text", COMPLAINTS)
def test_complaints(text: str):
    with pytest.raises(tx.CallError) as found:
        COMPLAINTS[text]()
    assert str(found.value) == text


def plan_results(compute: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tensors each of the plans computes that a computation runs."""
    found: list[int] = []
    run = Plan.__call__

    def counted(plan: Plan, *arrays: object) -> tuple:
        found.append(len(plan.captured.outputs))
        return run(plan, *arrays)

    monkeypatch.setattr(Plan, "__call__", counted)
    compute()
    return found


def test_what_nobody_holds_is_not_stored(monkeypatch: pytest.MonkeyPatch):
    """Tensors on the way are results of the plan if the program can ask for them."""
    x = tx.tensor(np.arange(4, dtype="f4"))
    assert plan_results(lambda: ((x * 2 + 1) / 3 - x).realize(), monkeypatch) == [1]
    double = x * 2
    assert plan_results(lambda: (double + double).realize(), monkeypatch) == [2]
    assert plan_results(lambda: double.realize(), monkeypatch) == []
    first, second = x + 1, None
    kept = [first * 3]
    second = kept[0] - 1
    assert plan_results(lambda: second.realize(), monkeypatch) == [3]
    np.testing.assert_array_equal(kept.pop().numpy(), (x.numpy() + 1) * 3)


def test_what_another_call_uses_is_stored(monkeypatch: pytest.MonkeyPatch):
    x = tx.tensor(np.arange(4, dtype="f4"))
    shared = x * 2
    first, second = shared + 1, shared - 1
    del shared
    assert plan_results(lambda: first.realize(), monkeypatch) == [2]
    assert plan_results(lambda: second.realize(), monkeypatch) == [1]
    np.testing.assert_array_equal(second.numpy(), x.numpy() * 2 - 1)


def test_gradients_flow_through_what_was_not_stored():
    w = tx.tensor(np.arange(3, dtype="f4"), requires_grad=True)
    loss = ((w * 2 + 1) ** 2).sum()
    loss.realize()
    loss.backward()
    np.testing.assert_allclose(w.grad.numpy(), 4 * (w.numpy() * 2 + 1))

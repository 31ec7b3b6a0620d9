"""Calls that native code records, and histories that it looks through, are those of Python."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import texpr as tx
from texpr.graph.arrays import recorded
from texpr.graph.lazy import evaluation, lazy_tensor, native_tensors, recipes
from texpr.graph.lazy.lazy_tensor import Node, Tensor
from texpr.support.version import FREE_THREADED

pytestmark = pytest.mark.skipif(FREE_THREADED, reason="there the code of Python looks calls up")
CALLS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x * x,
    lambda x, y: x * 2.5,
    lambda x, y: 1.0 / y,
    lambda x, y: x.tanh(),
    lambda x, y: x.sum(0),
    lambda x, y: x.mean((0, 1)),
    lambda x, y: x.reshape(-1),
    lambda x, y: x.reshape((3, 2)),
    lambda x, y: x.var(),
]


@pytest.fixture(autouse=True)
def _native():
    assert native_tensors.install()


def operands(requires_grad: bool = False) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(1)
    x, y = (tx.tensor(rng.random((2, 3)) + 1) for _ in range(2))
    return x.requires_grad_(requires_grad), y


def found(call: Callable[[Any, Any], Any], x: Tensor, y: Tensor, monkeypatch: pytest.MonkeyPatch) -> Tensor:
    """The result of native code, which has to know the call."""
    with monkeypatch.context() as patch:
        patch.setattr(Tensor, "recorded_call", None)
        patch.setattr(Tensor, "recorded_arithmetic", None)
        return call(x, y)


def described(t: Tensor, leaves: list[Tensor]) -> Any:
    """A tensor and all that it waits for."""
    own = t.shape, t.dtype, t.index, t.requires_grad, t.stops, t.owner, t.grad, t.spec, type(t.index)
    if any(t is leaf for leaf in leaves):
        return "leaf", [t is leaf for leaf in leaves]
    if t.value is not None:
        return own, t.value.tolist()
    assert isinstance(t.node, Node)
    node = t.node
    return (
        own,
        node.program,
        node.depth,
        node.device,
        node.cache,
        [r() is t for r in node.outputs],
        [described(a, leaves) for a in node.arguments],
        [[user() is node for user in a.users or ()].count(True) for a in node.arguments],
    )


@pytest.mark.parametrize("k", range(len(CALLS)))
@pytest.mark.parametrize("mode", ["plain", "gradient", "no_grad"])
def test_calls_are_those_of_python(k: int, mode: str, monkeypatch: pytest.MonkeyPatch):
    x, y = operands(requires_grad=mode != "plain")
    with tx.set_grad_enabled(mode != "no_grad"):
        CALLS[k](x, y)
        with monkeypatch.context() as patch:
            patch.setattr(recorded, "_found_recorded", recorded._unknown)
            patch.setattr(recorded, "_found_arithmetic", recorded._unknown)
            expected = CALLS[k](x, y)
        again = found(CALLS[k], x, y, monkeypatch)
    assert described(again, [x, y]) == described(expected, [x, y])
    np.testing.assert_array_equal(again.numpy(), expected.numpy())


def test_operands_that_python_looks_at(monkeypatch: pytest.MonkeyPatch):
    """Numbers of other types, arrays, other tensors than those of the key."""
    x, y = operands()
    for other in (y, 2.0):
        x + other
    for other in (1, True, np.float64(2), np.ones(3), tx.tensor(np.ones(3)), tx.tensor(1)):
        np.testing.assert_array_equal((x + other).numpy(), x.numpy() + np.asarray(other))
    with pytest.raises(tx.CallError, match="fit each other"):
        x + np.ones(4)


def wanted(rng: random.Random, held: list[Tensor], count: int) -> Tensor:
    """The last one of random calls, some of whose results are held."""
    x, y = operands()
    tensors = [x, y, tx.as_tensor(x.numpy())]
    for _ in range(count):
        a, b = rng.choice(tensors), rng.choice(tensors)
        tensors.append(rng.choice([lambda a, b: a + b, lambda a, b: a.tanh(), lambda a, b: b * 0.5])(a, b))
    held += [t for t in tensors if rng.random() < 0.2]
    last = next(t for t in reversed(tensors) if t.value is None)
    if rng.random() < 0.3:
        last.node.arguments[0].realize()
    return last


@pytest.mark.parametrize("count", [3, 20, 45])
def test_histories_are_those_of_python(count: int):
    for seed in range(30):
        held: list[Tensor] = []
        last = wanted(random.Random(seed), held, count)
        assert last.node is not None
        own = native_tensors.history(last)
        assert own is not None
        _, specs, values, outputs = own
        del own
        history = evaluation.History([last], by_value=True)
        assert [id(v) for v in values] == [id(t.value) for t in history.leaves]
        assert list(specs) == [t.spec for t in history.leaves]
        of_native = [id(t) for t in outputs]
        del outputs, values
        expected = [id(t) for t in history.held()]
        assert of_native == expected + [id(last)] * (id(last) not in expected)


def test_structures_differ_where_those_of_python_do():
    """Native code tells the same histories apart."""
    pairs = []
    for count in (1, 2, 3, 4):
        for seed in range(60):
            last = wanted(random.Random(seed), [], count)
            words, specs, _, _ = native_tensors.history(last) or ()
            history = evaluation.History([last], by_value=True)
            pairs.append(((words, specs), (history.structure(), history.place(last))))
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(set(pairs)) > 20


def test_histories_that_python_looks_through():
    """Values, several results, long chains, modules."""
    x, y = operands()
    assert native_tensors.history(x) is None
    z = x + y
    z[0] = 1.0
    assert native_tensors.history(z + 1.0) is None
    model = tx.nn.Linear(3, 3, dtype="f64")
    assert native_tensors.history(model(x) * 2.0) is None
    long = x
    for _ in range(native_tensors.FEW + 1):
        long = long + y
    assert native_tensors.history(long) is None
    np.testing.assert_allclose(long.numpy(), x.numpy() + (native_tensors.FEW + 1) * y.numpy())


def test_plans_are_shared_with_those_of_python(monkeypatch: pytest.MonkeyPatch):
    x, y = operands()

    def compute() -> np.ndarray:
        return ((x + y).tanh() * y).numpy()

    with monkeypatch.context() as patch:
        patch.setattr(native_tensors, "history", native_tensors._unknown)
        expected = compute()
    monkeypatch.setattr(evaluation, "Plan", None)
    for _ in range(3):
        np.testing.assert_array_equal(compute(), expected)


def test_long_chains_are_computed_on_the_way():
    x, y = operands()
    made = x
    for _ in range(lazy_tensor.MOST_WAITING + 10):
        made = made + y
    assert made.node is not None and made.node.depth == 9


def test_no_reference_is_kept_or_lost():
    """References to operands, specs, recipes and constants are as before."""
    x, y = operands(requires_grad=True)

    def compute() -> None:
        z = (x * y + x).tanh() * 2.0 - x.mean((0, 1))
        z.numpy()
        (x @ y.reshape(3, -1)).numpy()

    def counts() -> np.ndarray:
        gc.collect()
        calls = [call for recipe in recipes.RECIPES.values() for call in recipe or ()]
        objects = [x, y, x.spec, y.spec, x.dtype, x.shape, *calls, *(c.program for c in calls)]
        specs = [spec for c in calls for spec in c.results]
        extra = [recipes.RECIPES, float, Tensor, Node, *specs, *[s.dtype for s in specs]]
        return np.array([*map(sys.getrefcount, (*objects, *extra)), len(gc.get_objects())])

    for _ in range(70):
        compute()
    before = counts()
    for _ in range(640):
        compute()
    assert np.abs(counts() - before).max() < 500  # users that are gone are forgotten now and then


def test_it_is_linked_after_some_calls(monkeypatch: pytest.MonkeyPatch):
    recipes.RECIPES.clear()
    installed = []
    monkeypatch.setattr(recorded, "_found_arithmetic", recorded._unknown)
    monkeypatch.setattr(lazy_tensor, "_recorded", 0)
    monkeypatch.setattr(native_tensors, "install", lambda: installed.append(1))
    x, y = operands()
    for k in range(lazy_tensor.NATIVE_FROM + 5):
        assert len(installed) == (k > lazy_tensor.NATIVE_FROM)
        x + y

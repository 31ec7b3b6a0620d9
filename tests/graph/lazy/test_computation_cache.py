"""Plans of lazy tensors: those of a module go with it, equal modules share them, and all have a
bound.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.graph import Plan
from texpr.graph.lazy import computation_cache
from texpr.graph.passes.flatten_calls import shape_of

X = np.ones((1, 20), "f4")
USES = {
    "forward": lambda m: m(tx.tensor(X)).numpy(),
    "backward": lambda m: (m(tx.tensor(X)).sum().backward(), m.weight.grad.numpy()),
    "second derivatives": lambda m: (_slope(m) ** 2).sum().backward(),
    "loss": lambda m: nn.MSELoss()(
        m(tx.tensor(X)), tx.tensor(np.zeros((1, m.out_features), "f4"))
    ).backward(),
}


def _used(use: Callable, model: nn.Module) -> None:
    """Use a model that has no gradients yet: where there are some, adding to them is a
    computation of its own.
    """
    for p in model.parameters():
        p.grad = None
    use(model)


def _slope(model: nn.Module) -> tx.Tensor:
    x = tx.tensor(X, requires_grad=True)
    (model(x) ** 2).sum().backward(create_graph=True)
    for p in model.parameters():
        p.grad = None  # adding to it would be a computation on tensors of its shape, of no module
    return x.grad


@pytest.fixture(autouse=True)
def _plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[weakref.ref[Plan]]]:
    """All plans that are made meanwhile."""
    made: list[weakref.ref[Plan]] = []
    before = Plan.__init__

    def noted(self: Plan, *args: object, **options: object) -> None:
        before(self, *args, **options)  # type: ignore[arg-type]
        made.append(weakref.ref(self))

    monkeypatch.setattr(Plan, "__init__", noted)
    computation_cache.GENERAL.made.clear()
    yield made
    computation_cache.GENERAL.made.clear()


def _alive(plans: list[weakref.ref[Plan]]) -> list[Plan]:
    gc.collect()
    return [p for r in plans if (p := r()) is not None]


def _shapes(plans: list[weakref.ref[Plan]]) -> list[tuple[int, ...]]:
    return [a.shape for p in _alive(plans) for a in p.inputs]


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_plans_of_a_module_go_with_it(use: Callable, _plans: list):
    for size in (5, 6):  # of different structures
        model = nn.Linear(20, size)
        parts = [weakref.ref(p) for p in model.parameters()]
        _used(use, model)
        assert (size, 20) in _shapes(_plans)
        del model
        assert (size, 20) not in _shapes(_plans)
        assert [part() for part in parts] == [None, None]


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_equal_modules_share_plans(use: Callable, _plans: list):
    models = [nn.Linear(20, 7) for _ in range(3)]
    _used(use, models[0])
    count = len(_plans)
    for model in models[1:]:
        _used(use, model)
    assert len(_plans) == count
    del models[0], model
    assert len(_alive(_plans)) > 0
    _used(use, models[0])
    assert len(_plans) == count


def test_losses_that_are_made_in_each_step_share_plans(_plans: list):
    model = nn.Linear(20, 8)
    for _ in range(3):
        _used(USES["loss"], model)
        gc.collect()
    assert len(_plans) == 1


def test_plans_have_a_bound_in_bytes(_plans: list, monkeypatch: pytest.MonkeyPatch):
    """A plan holds what is computed on the way: of two running sums the first, which the second one reads backwards."""
    monkeypatch.setattr(computation_cache, "MOST_BYTES", 3 * 4 * 1024)
    monkeypatch.setattr(computation_cache, "FEWEST", 2)

    def compute(n: int) -> None:
        tx.tensor(np.ones(n, "f4")).cumsum(0)[::-1].cumsum(0).numpy()

    def lengths() -> list[int]:
        return [shape_of(p.captured.inputs[0])[0] for p in _alive(_plans)]

    for n in range(6):
        compute(1000 + n)
    assert lengths() == [1003, 1004, 1005]
    for n in range(3):
        compute(100_000 + n)
    assert lengths() == [100_001, 100_002], "the last ones stay, whatever they take"
    compute(100_001)
    assert len(_plans) == 9, "found"

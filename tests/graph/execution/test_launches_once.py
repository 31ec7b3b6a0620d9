"""Launches of weights alone, which run once and anew when a weight changes."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import pytest

import texpr as tx
from tests.graph.execution.renewal import expected, network
from texpr import nn
from texpr.graph.execution.runner import Runner
from texpr.graph.report.profile import profile

X = np.random.default_rng(5).standard_normal((4, 3, 24)).astype(np.float32)


class Net(nn.Module):
    """A recurrence reads its weights by columns: a launch turns them."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(24, 32)

    def forward(self, x):
        return self.gru(x)[0]


def runner(net: Net) -> Runner:
    """The one that ran the plan of a network."""
    weight = net.gru.weight_hh_l0
    found = (r for r in gc.get_objects() if isinstance(r, Runner) and r._name == "Net")
    return next(r for r in found if any(v is weight for v in r._variables))


def assigned(net: Net) -> None:
    net.gru.weight_hh_l0.data = net.gru.weight_hh_l0.numpy().copy() / 2


def written(net: Net) -> None:
    net.gru.weight_hh_l0.data[...] *= 2


def trained(net: Net) -> None:
    nn.Trainer(net, nn.MSELoss(), nn.optim.SGD(net.parameters(), lr=0.1)).fit(
        X, np.zeros((4, 3, 32), np.float32), epochs=1, progress=False
    )
    net.eval()


@pytest.mark.parametrize("change", [assigned, written, trained])
def test_outputs_are_made_anew_when_a_weight_changes(change: Callable[[Net], None]):
    net = network(Net)
    first = net(X)
    np.testing.assert_array_equal(net(X), first)
    change(net)
    after = net(X)
    np.testing.assert_array_equal(after, expected(net, X))
    assert not np.array_equal(after, first)
    np.testing.assert_array_equal(net(X), after)


def test_later_calls_use_the_outputs():
    """Where they are spoilt, results are."""
    net = network(Net)
    before = net(X)
    kept = runner(net)._memory.prepacked
    (launch,) = kept.once
    kept.arrays[launch.outputs[0]][...] = 0
    assert not np.array_equal(net(X), before)
    kept.renew()
    np.testing.assert_array_equal(net(X), before)


def test_an_array_that_somebody_holds_may_change_at_any_time():
    net = network(Net)
    held = net.gru.weight_hh_l0.data
    for factor in (2, 3, 5):
        held *= factor
        np.testing.assert_array_equal(net(X), expected(net, X))


def test_calls_that_are_watched_and_strided_arguments():
    net = network(Net)
    with profile():
        watched = net(X)
    np.testing.assert_array_equal(net(X), watched)
    strided = np.ascontiguousarray(X.transpose(2, 0, 1)).transpose(1, 2, 0)
    np.testing.assert_array_equal(network(Net)(strided), watched)


def test_training_and_functions_keep_nothing():
    net = network(Net).train()
    net(X)
    assert not runner(net)._memory.prepacked.once
    with tx.options(disable="prepack"):
        other = network(Net)
        other(X)
    assert not runner(other)._memory.prepacked.once


class Expanded(nn.Module):
    """A weight of few elements, from which many are made."""

    def __init__(self) -> None:
        super().__init__()
        self.row = nn.Parameter(np.arange(64, dtype=np.float32))

    def forward(self, x):
        table = tx.cumsum(self.row.reshape(1, 64).broadcast_to((64, 64)), 0)
        return tx.cumsum(table + x, 1) @ table


def test_outputs_take_no_more_memory_than_the_weights():
    net = Expanded().eval()
    x = np.ones((64, 64), np.float32)
    np.testing.assert_array_equal(net(x), net(x))
    found = (r for r in gc.get_objects() if isinstance(r, Runner) and r._name == "Expanded")
    assert not any(r._memory.prepacked.once for r in found)


class Chained(nn.Module):
    """Launches of weights alone that read each other's outputs; the first one's are a result, or are
    larger than the weight.
    """

    def __init__(self, times: int) -> None:
        super().__init__()
        self.row, self.times = nn.Parameter(np.arange(64, dtype=np.float32)), times

    def forward(self, x):
        table = tx.cumsum(self.row.reshape(1, 64).broadcast_to((self.times, 64)), 1)
        ends = tx.cumsum(tx.cumsum(table, 0), 1)
        return x + ends.max(), table


@pytest.mark.parametrize("times", [1, 64])
def test_launches_that_read_what_is_made_anew(times: int):
    net = Chained(times).eval()
    x = np.ones((3, 64), np.float32)
    row = np.arange(64, dtype=np.float32)
    for factor in (1, 1, 2):
        if factor == 2:
            net.row.data = row * 2
        table = np.cumsum(np.broadcast_to(row * factor, (times, 64)), 1)
        found = net(x)
        np.testing.assert_allclose(found[1], table, 1e-5)
        np.testing.assert_allclose(found[0], x + np.cumsum(np.cumsum(table, 0), 1).max(), 1e-5)


class Called(nn.Module):
    """A function of users, of a weight alone, and a product with it."""

    def __init__(self, many: bool) -> None:
        super().__init__()
        self.many = many
        self.matrix = nn.Parameter(np.ones((600, 600) if many else (3, 3)))

    def forward(self, x):
        return x @ COUNTED(self.matrix)


COUNTED = tx.op("extern op counted(X: f64[M, N]) -> Y: f64[M, N]\n")


@pytest.mark.parametrize("many", [False, True])
def test_functions_of_users_are_called_each_time(many: bool):
    calls: list[int] = []
    tx.register_extern("counted", lambda x: calls.append(0) or x + len(calls))
    net = Called(many).eval()
    x = np.ones((100, 600) if many else (2, 3))
    found = [net(x)[0, 0] for _ in range(3)]
    assert len(calls) >= 3 and found[0] < found[1] < found[2]

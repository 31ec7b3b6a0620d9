"""Copies of weights that kernels keep from run to run: made once, and anew when a weight changes."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable, Iterable

import numpy as np
import pytest

import texpr as tx
from tests.graph.execution.renewal import expected, network
from texpr import nn
from texpr.compiler.kernels.prepacking import with_prepacking
from texpr.compiler.pass_pipeline import prepared
from texpr.graph.capture.variable import Variable
from texpr.graph.execution import runner as runners
from texpr.graph.execution.runner import Runner
from texpr.graph.lazy.lazy_tensor import leaf_of
from texpr.ir.loop import If
from texpr.targets import find_target

RNG = np.random.default_rng(3)
X = RNG.standard_normal((2, 8, 16, 16)).astype(np.float32)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(8, 40, 3, padding=1)
        self.last = nn.Linear(40, 56)

    def forward(self, x):
        return self.last(self.first(x).relu().mean((2, 3)))


def runner(name: str = "Net") -> Runner:
    """The one that ran the plan of this name, with copies."""
    gc.collect()
    (found,) = {
        id(r): r
        for r in gc.get_objects()
        if isinstance(r, Runner) and r._name == name and r._memory.prepacked.arrays
    }.values()
    return found


def written(value: np.ndarray) -> np.ndarray:
    value[...] *= 2
    return value


def halved(variable: nn.Parameter) -> None:
    variable.data = variable.numpy().copy() / 2


def element_set(variable: nn.Parameter) -> None:
    with tx.no_grad():
        variable[0, 0] = 7.0


CHANGES: dict[str, Callable[[Net], object]] = {
    "data assigned": lambda net: halved(net.first.weight),
    "data written": lambda net: written(net.first.weight.data),
    "numpy written": lambda net: written(net.first.weight.numpy()),
    "asarray written": lambda net: written(np.asarray(net.first.weight)),
    "leaf written": lambda net: written(leaf_of(net.first.weight).numpy()),
    "leaf written through dlpack": lambda net: written(np.from_dlpack(leaf_of(net.first.weight))),
    "state loaded": lambda net: net.load_state_dict({k: v * 3 for k, v in net.state_dict().items()}),
    "initialised": lambda net: nn.init.uniform_(net.first.weight, -1, 1),
    "element set": lambda net: element_set(net.first.weight),
    "trained": lambda net: nn.Trainer(net, nn.MSELoss(), nn.optim.SGD(net.parameters(), lr=0.1)).fit(
        X, np.zeros((2, 56), np.float32), epochs=1, progress=False
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_copies_are_made_anew_when_a_weight_changes(change: str):
    net = network(Net)
    first = net(X)
    np.testing.assert_array_equal(net(X), first)
    CHANGES[change](net)
    net.eval()
    after = net(X)
    np.testing.assert_array_equal(after, expected(net, X))
    assert not np.array_equal(after, first)
    np.testing.assert_array_equal(net(X), after)


def test_an_array_of_a_weight_that_somebody_holds_may_change_at_any_time():
    net, other = network(Net), network(Net)
    held = net.first.weight.data
    net(X)
    for factor in (2, 3, 5):
        held *= factor
        other.first.weight.data = held
        np.testing.assert_array_equal(net(X), other(X))


def test_a_call_while_a_weight_is_written_does_not_keep_what_was_there(monkeypatch):
    """Where another thread calls the network between the announcement and the change."""
    net, other = network(Net), network(Net)
    net(X)
    changes = Variable.changes

    def called_meanwhile(variable: Variable) -> None:
        changes(variable)
        if variable is net.first.weight:
            net(X)

    monkeypatch.setattr(Variable, "changes", called_meanwhile)
    net.first.weight.data = other.first.weight.data = np.ones_like(net.first.weight.held())
    np.testing.assert_array_equal(net(X), other(X))


def test_a_call_while_a_step_changes_weights_does_not_keep_what_was_there(monkeypatch):
    net = network(Net)
    net(X)
    optimizer = nn.optim.SGD(net.parameters(), lr=0.5)
    net(tx.tensor(X)).square().mean().backward()
    announce = runners.announce_changes

    def called_meanwhile(variables: Iterable[Variable]) -> None:
        announce(variables)
        net(X)

    monkeypatch.setattr(runners, "announce_changes", called_meanwhile)
    optimizer.step()
    monkeypatch.undo()
    np.testing.assert_array_equal(net(X), expected(net, X))


def test_an_array_that_is_handed_out_while_copies_are_looked_at():
    """By another thread, just when all weights were seen to be nobody's."""
    net, other = network(Net), network(Net)
    net(X)
    weight, handed = net.first.weight, []
    weight.data = other.first.weight.data = np.zeros_like(weight.held())
    kept = next(iter(weight._watching))

    class Meanwhile(tuple):
        def __iter__(self):
            yield from tuple.__iter__(self)
            handed.append(weight.data)

    kept._variables = Meanwhile(kept._variables)
    net(X)
    handed[0][...] = 1
    other.first.weight.data = handed[0]
    np.testing.assert_array_equal(net(X), other(X))


def test_an_array_that_a_hook_has():
    net, other, handed = network(Net), network(Net), []
    net.first.register_forward_hook(lambda module, inputs, outputs: handed.append(module.weight.data))
    net(X)
    handed[0][...] = 1
    other.first.weight.data = handed[0]
    np.testing.assert_array_equal(net(X), other(X))


@pytest.mark.parametrize("how", ("copied", "handed over"))
def test_copies_of_weights_have_memory_of_their_own(how: str):
    net = network(Net)
    before, buffers = net(X), list[pickle.PickleBuffer]()
    if how == "copied":
        other = copy.copy(net.first.weight)
    else:
        pickled = pickle.dumps(net.first.weight, 5, buffer_callback=buffers.append)
        other = pickle.loads(pickled, buffers=buffers)
    other.data = np.zeros_like(other.held())
    np.testing.assert_array_equal(net(X), before)
    assert net.first.weight.exposed is (how == "handed over")


def test_an_optimizer_changes_weights_between_calls():
    net = network(Net)
    optimizer = nn.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(3):
        before = net(X)
        optimizer.zero_grad()
        net(tx.tensor(X)).square().mean().backward()
        optimizer.step()
        after = net(X)
        assert not np.array_equal(after, before)
        np.testing.assert_array_equal(after, expected(net, X))


def test_later_calls_use_the_copies():
    """Where they are spoilt, results are; they are made once."""
    net = network(Net)
    net(X)
    kept = runner()._memory.prepacked
    done = [a for a in kept.arrays.values() if a is not None and a.nbytes == 64 and a[0] == 1]
    assert done and not kept.stale
    before = net(X)
    for a in kept.arrays.values():
        if not any(a is each for each in done):
            a[...] = 0
    assert not np.array_equal(net(X), before)
    kept.renew()
    np.testing.assert_array_equal(net(X), before)


def test_copies_can_be_left_out():
    plain, packed = network(Net), network(Net)
    with tx.options(disable="prepack"):
        found = plain(X)
    np.testing.assert_allclose(found, packed(X), 1e-5, 1e-6)
    assert not any(r._memory.prepacked.arrays for r in _runners(plain))
    assert any(r._memory.prepacked.arrays for r in _runners(packed))


def _runners(net: Net) -> list[Runner]:
    gc.collect()
    found = (r for r in gc.get_objects() if isinstance(r, Runner) and r._name == "Net")
    return [r for r in found if any(v is net.first.weight for v in r._variables)]


def test_networks_with_other_weights_share_kernels_and_no_copies():
    first, second = network(Net), network(Net)
    second.load_state_dict({k: v + 1 for k, v in first.state_dict().items()})
    for _ in range(2):
        np.testing.assert_array_equal(first(X), expected(first, X))
        np.testing.assert_array_equal(second(X), expected(second, X))


def test_training_keeps_no_copies():
    net = network(Net).train()
    net(X)
    assert not [
        r
        for r in gc.get_objects()
        if isinstance(r, Runner)
        and r._name == "Net"
        and r._memory.prepacked.arrays
        and any(v is net.first.weight for v in r._variables)
    ]


def test_pickled_networks_have_copies_of_their_own():
    net = network(Net)
    net(X)
    _ = net.first.weight.data
    other = pickle.loads(pickle.dumps(net))
    assert not other.first.weight.exposed
    written(net.first.weight.data)
    np.testing.assert_array_equal(other(X), expected(other, X))


PRODUCT = tx.op(
    "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)
NATIVE = find_target("native")
SIZES = {"M": 64, "K": 96, "N": 80}


def test_a_schedule_by_hand_keeps_what_it_copies_in_front_of_all_loops():
    schedule = tx.schedule(PRODUCT, **SIZES)
    schedule.cache_read("B").split("B_cache.d1", 16).layout("B_cache", "a b -> b/16 a b%16")
    kernel = with_prepacking(prepared(schedule.kernel, NATIVE), {"B"})
    assert [t.name for t in kernel.prepacked] == ["B_cache", "prepacked"]
    assert isinstance(kernel.body[0], If)


@pytest.mark.parametrize("steps", ("", 'cache_read("B", "i")', 'cache_read("A")'))
def test_what_depends_on_others_is_computed_in_each_call(steps: str):
    schedule = tx.schedule(PRODUCT, **SIZES).replay(steps)
    kernel = prepared(schedule.kernel, NATIVE)
    assert with_prepacking(kernel, {"B"}) is kernel


def test_constants_are_inputs():
    with pytest.raises(tx.ScheduleError) as error:
        tx.schedule(PRODUCT).auto(constant=["Z"])
    assert str(error.value) == "error[auto]: product has no input 'Z'\n  help: one of A, B"


@pytest.mark.parametrize("n", (16, 80, 77))
@pytest.mark.parametrize("m", (1, 7, 64))
def test_the_kernel_of_constant_weights_is_that_of_others(m: int, n: int):
    """Bit for bit, and proven."""
    a, b = (RNG.standard_normal(s).astype(np.float32) for s in ((m, 96), (96, n)))
    given = dict(M=m, K=96, N=n)
    plain, kept = (tx.schedule(PRODUCT, **given).auto(constant=names) for names in ((), ["B"]))
    kept.certificate()
    np.testing.assert_array_equal(kept.compile()(a, b), plain.compile()(a, b))


KEPT = tx.op("""op kept(W: f32[K, C], V: f32[C, T]) -> M: f32[K, T] {
  let U: f32[2*K, C]
  U[2*k, c] = exp(W[k, c])
  U[2*k + 1, c] = W[k, c]
  M[k, t] = sum(c: (U[2*k, c] - U[2*k + 1, c]) * V[c, t])
}""")


def test_temporaries_of_constants_in_parts_are_kept():
    """What several nests compute of weights alone stays in front of all loops, and is kept."""
    schedule = tx.schedule(KEPT, K=24, C=32, T=16).auto(constant=["W"])
    assert 'compute_at("U' not in schedule.script().replace('compute_at("U.0", "U.1', "")
    kernel = with_prepacking(prepared(schedule.kernel, NATIVE), {"W"})
    assert [t.name for t in kernel.prepacked] == ["U", "prepacked"]
    assert not with_prepacking(prepared(schedule.kernel, NATIVE), {"V"}).prepacked
    w, v = (RNG.standard_normal(s).astype(np.float32) for s in ((24, 32), (32, 16)))
    np.testing.assert_allclose(schedule.compile()(w, v), tx.interpret(KEPT, w, v), rtol=1e-5, atol=1e-5)

"""Variables that are updated where they lie: what runs last, that nothing is lost, and that
Ctrl-C leaves no half of an update.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from texpr import nn, ops
from texpr.graph import Capture, Plan, Variable
from texpr.graph.execution.in_place_updates import order_in_place_updates
from texpr.graph.fusion.producer_consumer import tensor_bytes
from texpr.ir.dtypes import F32, I64
from texpr.ir.expr import Tensor, index, plain

SIZE = 1 << 16
DATA = np.linspace(-1, 1, 8 * 96, dtype=np.float32).reshape(8, 96)


def tensor(name, draw):
    return Tensor(name, F32, plain(index(draw(st.sampled_from([8, 16, 32])))))


@dataclass(eq=False)
class Made:
    """What is asked of launches here."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    overwrites: list[tuple[int, int]]
    self_contained: bool


@st.composite
def programs(draw):
    """Launches, new values of variables, and results."""
    variables = [tensor(f"v{k}", draw) for k in range(draw(st.integers(1, 4)))]
    news = {v: Tensor(f"n{k}", F32, v.dims) for k, v in enumerate(variables)}
    waiting, written, launches = list(news.values()), [], []
    for k in range(draw(st.integers(1, 8))):
        inputs = draw(st.lists(st.sampled_from([*variables, *written]), max_size=4))
        outputs = [tensor(f"t{k}", draw)] if draw(st.booleans()) else []
        while waiting and (not outputs or draw(st.booleans())):
            outputs.append(waiting.pop(draw(st.integers(0, len(waiting) - 1))))
        over = {
            i: j
            for i, s in enumerate(inputs)
            for j, t in enumerate(outputs)
            if s.dims == t.dims and draw(st.booleans())
        }
        fails = draw(st.integers(0, 3)) == 0
        launches.append(
            Made(inputs=inputs, outputs=outputs, overwrites=[*over.items()], self_contained=not fails)
        )
        written += outputs
    updates = {v: t for v, t in news.items() if t not in waiting}
    return launches, updates, set(draw(st.lists(st.sampled_from(written), max_size=2)))


@given(programs())
def test_no_launch_finds_what_it_reads_overwritten(case):
    launches, updates, results = case
    order = order_in_place_updates(launches, updates, results, lambda t: t, 0)
    assert sorted(map(id, launches)) == sorted(map(id, (*order.first, *order.in_place)))
    assert all(n.self_contained for n in order.in_place)
    holds: dict[Tensor, Tensor] = {}
    made = {t for n in launches for t in n.outputs}
    for n in (*order.first, *order.in_place):
        assert all(holds.get(t, t) is t for t in n.inputs) and made.intersection(n.inputs) <= holds.keys()
        for j, t in enumerate(n.outputs):
            place = order.overwrites.get(t, t)
            assert place is t or n in order.in_place
            assert all((i, j) in n.overwrites for i, s in enumerate(n.inputs) if s is place)
            holds[place] = t
    assert all(holds[order.overwrites.get(t, t)] is t for t in made)
    assert not order.overwrites.keys() & results


@given(programs())
def test_no_more_is_kept_than_is_saved(case):
    launches, updates, results = case
    order = order_in_place_updates(launches, updates, results, lambda t: t, 0)
    made = {t for n in launches for t in n.outputs}
    retained = sum(tensor_bytes(t) for n in order.in_place for t in made.intersection(n.inputs))
    assert retained <= sum(map(tensor_bytes, order.overwrites))


KINDS = {
    "SGD": lambda p: nn.optim.SGD(p, lr=0.1),
    "momentum": lambda p: nn.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda p: nn.optim.Adam(p),
    "AdamW": lambda p: nn.optim.AdamW(p, amsgrad=True),
    "RMSprop": lambda p: nn.optim.RMSprop(p),
    "Adagrad": lambda p: nn.optim.Adagrad(p),
    "Adadelta": lambda p: nn.optim.Adadelta(p),
    "Lion": lambda p: nn.optim.Lion(p),
}


def network():
    nn.manual_seed(0)
    return nn.Sequential(
        nn.Linear(96, 300), nn.BatchNorm1d(300), nn.ReLU(), nn.Linear(300, 260), nn.Tanh(), nn.Linear(260, 4)
    )


def trained(kind: str, **options):
    """Losses of three steps, the variables then, and the plan."""
    with tx.options(**options):
        model = network()
        step = nn.TrainingStep(model, nn.CrossEntropyLoss(), KINDS[kind](model.parameters()))
        losses = [step(DATA, np.arange(8) % 4) for _ in range(3)]
        plan = step.plan((DATA.shape, F32), ((8,), I64))
        return losses, [v.data.copy() for v in plan.assigned], plan


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_bits_are_those_of_second_arrays(kind: str, threads: int):
    (losses, found, plan), (expected, wanted, other) = (
        trained(kind, threads=threads),
        trained(kind, threads=threads, disable="in_place"),
    )
    assert losses == expected
    for a, b in zip(found, wanted, strict=True):
        assert a.tobytes() == b.tobytes()
    assert decisions(plan) and not decisions(other)
    alone = [v for v in plan.assigned if v._spare is None]
    assert sum(v.size for v in alone) > 0.3 * sum(v.size for v in plan.assigned), (
        "large variables have second arrays"
    )
    assert all(v._spare is not None for v in other.assigned)


def decisions(plan: Plan) -> list[str]:
    return [str(d) for d in plan.decisions if d.kind == "over"]


def counting(size: int = SIZE, **options):
    """A variable to which each run adds the data, and a sum of it."""
    total, capture = Variable(np.zeros(size, np.float32), "total"), Capture()
    x = capture.input("x", (size,), F32)
    capture.assign(total, capture.variable(total) + x)
    return total, Plan(capture, [ops.sum_all(capture.variable(total))], **options)


def test_the_reasons():
    total, plan = counting()
    assert decisions(plan) == ["over add_1 -> total: yes, nothing can fail when it runs; saves 256.0 KiB"]
    capture = Capture()
    old = Variable(np.zeros((64, 64), np.float32), "old")
    capture.assign(old, ops.transpose(capture.variable(old)))
    assert decisions(Plan(capture, [])) == [
        "over transpose_1 -> : no, not every old element is proven to be read last where it is replaced"
    ]
    plan = trained("SGD", threads=1)[2]
    (bias,) = (line for line in decisions(plan) if "-> bias_3:" in line)
    assert bias.endswith("-> bias_3: no, it would keep 8.1 KiB until then"), bias


def test_programs_of_small_variables_are_left_as_they_are():
    total, plan = counting(SIZE - 1)
    assert decisions(plan) == ["over add_1 -> total: no, all together are less than 256.0 KiB"]
    plan.run()
    assert total._spare is not None


def test_the_array_stays_and_compute_alone_changes_nothing():
    total, plan = counting()
    before = total.data
    plan.inputs[0][...] = 1
    plan.compute()
    assert not total.data.any() and plan.value(0) == 0
    plan.commit()
    plan.commit()
    assert (total.data == 1).all() and total.data is before, "a second commit changes nothing"
    plan.run()
    assert (total.data == 2).all() and plan.value(0) == SIZE
    (result,) = plan(np.full(SIZE, 2, np.float32))
    assert (total.data == 4).all() and result == 2 * SIZE and total.data is before


def test_a_compute_that_fails_leaves_nothing_to_commit():
    x, k = np.ones((SIZE, 1), np.float32), np.arange(4)
    total, capture = Variable(np.zeros(SIZE, np.float32), "total"), Capture()
    which, table = capture.input("which", (4,), I64), capture.input("table", (SIZE, 1), F32)
    rows = ops.embedding(table, which)
    capture.assign(total, capture.variable(total) + ops.sum_all(rows))
    plan = Plan(capture, [rows])
    plan.inputs[0][...], plan.inputs[1][...] = k, x
    plan.compute()
    plan.inputs[0][...] = SIZE
    for fails in (plan.compute, lambda: plan(np.full(4, SIZE), x)):
        with pytest.raises(tx.CallError):
            fails()
        plan.commit()
        assert not total.data.any()
        plan.inputs[0][...] = k
        plan.compute()
    plan.commit()
    assert (total.data == 4).all()


def test_who_waits_for_an_old_value_is_served_before_any_value_changes():
    """There may be no memory for the copy."""

    class Waits:
        def kept(self):
            raise MemoryError

    total, other, capture = (
        Variable(np.zeros(SIZE, np.float32), "total"),
        Variable(np.zeros((64, 64), np.float32), "other"),
        Capture(),
    )
    x = capture.input("x", (SIZE,), F32)
    capture.assign(total, capture.variable(total) + x)
    capture.assign(other, ops.transpose(capture.variable(other)) + 1.0)
    plan = Plan(capture, [])
    assert plan._memory.in_place == (total,)
    plan.inputs[0][...] = 1
    for profiled in (False, True):
        total.leaf, other.leaf = None, Waits()
        with pytest.raises(MemoryError), tx.profile() if profiled else nullcontext():
            plan.run()
        assert not total.data.any() and not other.data.any()
    other.leaf = None
    plan.commit()
    assert (total.data == 1).all() and (other.data == 1).all(), "it can be done once more"


def test_what_waits_for_an_old_value_gets_it():
    model = network()
    before, waiting = model(DATA), model(tx.tensor(DATA))
    nn.TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=1.0))(
        DATA, np.arange(8) % 4
    )
    np.testing.assert_allclose(waiting.numpy(), before, rtol=1e-5, atol=1e-6)
    assert not np.allclose(model(DATA), before, rtol=0.1)


def test_profiles_change_nothing_and_profiled_runs_do():
    total, plan = counting()
    plan.inputs[0][...] = 1
    plan.profile(3)
    assert not total.data.any()
    with tx.profile():
        plan.run()
        plan.run()
    assert (total.data == 2).all()
    plan.run()
    assert (total.data == 3).all()


def test_results_are_there_behind_a_profile_and_no_new_values():
    """It computes again, with the values that variables have then, and in memory of its own what
    else lies over what it came from.
    """
    capture, total = Capture(), Variable(np.zeros((64, 64), np.float32), "total")
    x = capture.input("x", (64, 64), F32)
    slopes = ops.tanh(ops.matmul(x, x))
    capture.assign(total, capture.variable(total) + slopes)
    for results in ([slopes], [ops.sum_all(slopes)], [capture.variable(total)]):
        plan = Plan(capture, results, opt=2)
        assert plan.arena.overwrites
        plan.inputs[0][...] = np.linspace(-1, 1, 4096).reshape(64, 64)
        plan.compute()
        before = plan.value(0).copy()
        plan.profile(2)
        assert plan.value(0).tobytes() == before.tobytes()
        plan.commit()
        assert not total.data.any()
        plan.run()
        before = plan.value(0).copy()
        plan.profile(2)
        assert plan.value(0).tobytes() == before.tobytes()
        total.data[...] = 0


def test_new_values_that_their_own_kernel_reads():
    a, b, capture = (
        Variable(np.zeros(SIZE, np.float32), "a"),
        Variable(np.zeros(SIZE, np.float32), "b"),
        Capture(),
    )
    new = capture.variable(a) + 1.0
    capture.assign(a, new)
    capture.assign(b, ops.tanh(new) + capture.variable(b) * 0.5)
    plan = Plan(capture, [])
    assert decisions(plan) == [
        "over add_1, add_2 -> a, b: yes, nothing can fail when it runs; saves 512.0 KiB"
    ]
    expected = np.zeros(SIZE, np.float32)
    for k in range(4):
        plan.run()
        expected = np.tanh(np.float32(k + 1)) + expected * np.float32(0.5)
        assert (a.data == k + 1).all()
        np.testing.assert_allclose(b.data, expected, rtol=1e-6)


CTRL_C = """
import os, random, signal, sys, threading, time
import numpy as np
import texpr as tx
from texpr import nn

tx.options(threads=2)

def made():
    nn.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 4))
    return model, OPTIMIZER

DATA = np.random.default_rng(0).normal(size=(64 * 40, 256)).astype("f4")
LABELS = np.arange(64 * 40) % 4

def state(model, optimizer):
    return [np.array(p.data) for p in model.parameters()], optimizer.steps

wanted, (model, optimizer) = [], made()
step = nn.TrainingStep(model, nn.CrossEntropyLoss(), optimizer)
for k in range(40):
    wanted.append(state(model, optimizer)[0])
    step(DATA[64 * k : 64 * k + 64], LABELS[64 * k : 64 * k + 64])
wanted.append(state(model, optimizer)[0])

model, optimizer = made()
random.seed(1)
interrupts = 0
step = nn.TrainingStep(model, nn.CrossEntropyLoss(), optimizer)
step.plan(((64, 256), tx.ir.dtypes.F32), ((64,), tx.ir.dtypes.I64))
while optimizer.steps < 40:
    timer = threading.Timer(random.random() * 0.004, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        while optimizer.steps < 40:
            k = optimizer.steps
            step(DATA[64 * k : 64 * k + 64], LABELS[64 * k : 64 * k + 64])
        while timer.is_alive():
            time.sleep(0.001)
    except KeyboardInterrupt:
        interrupts += 1
        found, steps = state(model, optimizer)
        assert all(np.array_equal(a, b) for a, b in zip(found, wanted[steps])), steps
    timer.join()
assert all(np.array_equal(a, b) for a, b in zip(state(model, optimizer)[0], wanted[40]))
assert interrupts > 2, interrupts
print("ok")
"""


@pytest.mark.parametrize(
    "optimizer", ["nn.optim.SGD(model.parameters(), lr=0.05)", "nn.optim.Adam(model.parameters())"]
)
def test_ctrl_c_leaves_all_of_a_step_or_nothing(optimizer: str):
    script = CTRL_C.replace("OPTIMIZER", optimizer)
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": root},
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stdout + done.stderr

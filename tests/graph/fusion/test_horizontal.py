"""Sweeps: results that are computed alike, such as the updates of an optimizer, share one loop."""

from __future__ import annotations

import os
import signal
import threading
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr import nn, ops
from texpr.graph import Capture, Plan, Variable
from texpr.ir.dtypes import F32, I64
from texpr.nn.training.step import TrainingStep
from texpr.runtime.call.kernel_sequence import SWEPT

SHAPES = [(3,), (5, 7), (2, 1, 3, 3), (SWEPT + 5,), (3, SWEPT), (1,)]


def adam(shapes: list[tuple[int, ...]], **options) -> tuple[Plan, list[Variable]]:
    """Adam's updates of parameters of these shapes, by gradients that are data."""
    random = np.random.default_rng(1)
    capture = Capture("update")
    parameters = [nn.Parameter(random.normal(size=shape).astype(np.float32)) for shape in shapes]
    optimizer = nn.optim.Adam(parameters, lr=0.1)
    with capture:
        optimizer.append_updates(capture, {p: capture.input("d", p.shape, F32) for p in parameters})
    optimizer.prepare()
    return Plan(capture, [], **options), [*capture.updates]


def test_updates_of_all_parameters_are_one_kernel():
    plan, _ = adam(SHAPES)
    (launch,) = plan.launches
    assert launch.lengths == tuple(map(prod, SHAPES)) and launch.program.name == "sweep"
    lines = [line for line in plan.explain().splitlines() if line.startswith("sweep")]
    assert len(lines) == len(SHAPES) - 1
    assert lines[0].endswith(f"yes, one loop over all {sum(launch.lengths):,} elements of {len(SHAPES)} such")
    assert len(adam(SHAPES, disable=["sweep"])[0].launches) == len(SHAPES)


def values(shapes: list[tuple[int, ...]], **options) -> list[np.ndarray]:
    """What the variables are after two runs."""
    plan, variables = adam(shapes, **options)
    random = np.random.default_rng(2)
    for _ in range(2):
        plan(*(random.normal(size=shape).astype(np.float32) for shape in shapes))
    return [v.data.copy() for v in variables]


@pytest.mark.parametrize("threads", [1, 2])
def test_bits_are_those_of_kernels_for_each(threads: int):
    with tx.options(threads=threads):
        for found, wanted in zip(values(SHAPES), values(SHAPES, disable=["sweep"]), strict=True):
            assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32))


@examples(15)
@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple), min_size=2, max_size=6))
def test_any_shapes(shapes: list[tuple[int, ...]]):
    for found, wanted in zip(values(shapes), values(shapes, disable=["sweep"]), strict=True):
        assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32))


def kinds(plan: Plan) -> list[int]:
    """How many parts each kernel has."""
    return sorted(len(n.lengths) for n in plan.launches)


def test_what_is_not_alike_or_read_by_others_stays_alone():
    capture = Capture()
    x, y = capture.input("x", (4, 6), F32), capture.input("y", (6,), F32)
    assert kinds(Plan(capture, [ops.tanh(x), ops.tanh(y)])) == [2]
    assert kinds(Plan(capture, [ops.tanh(x), ops.exp(y)])) == [0, 0], "other functions"
    hidden = ops.tanh(x)
    assert kinds(Plan(capture, [hidden, ops.tanh(y), ops.sum_all(hidden)])) == [0, 0, 0], (
        "a sum reads one of them"
    )
    assert kinds(Plan(capture, [ops.transpose(x), ops.copy(y)])) == [0, 0], "elements from other places"
    assert kinds(Plan(capture, [ops.tanh(ops.sum_all(x)), ops.tanh(y)])) == [0, 0], "one is a number"


def test_groups_of_parameters_have_numbers_of_their_own():
    first, second = nn.Parameter(np.ones(5, np.float32)), nn.Parameter(np.ones((2, 3), np.float32))
    optimizer = nn.optim.SGD([{"params": [first], "lr": 0.5}, {"params": [second], "lr": 0.25}], lr=1.0)
    capture = Capture()
    with capture:
        optimizer.append_updates(capture, {p: capture.input("d", p.shape, F32) for p in (first, second)})
    optimizer.prepare()
    plan = Plan(capture, [])
    plan(np.ones(5, np.float32), np.ones((2, 3), np.float32))
    assert kinds(plan) == [2]
    assert np.array_equal(first.data, np.full(5, 0.5)) and np.array_equal(second.data, np.full((2, 3), 0.75))


def test_a_training_step_has_one_sweep():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
    step = TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters()))
    plan = step.plan(((4, 8), F32), ((4,), I64))
    assert [n.lengths for n in plan.launches if n.lengths] == [(128, 256, 48)]


def test_ctrl_c_in_a_sweep_changes_nothing():
    totals, capture = [Variable(np.zeros((k, 1 << 18), np.float32), "total") for k in (3, 5, 7)], Capture()
    for total in totals:
        capture.assign(total, capture.variable(total) + 1.0)
    plan = Plan(capture, [])
    assert kinds(plan) == [3]
    for _ in range(5):
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                plan.run()
        timer.join()
        assert all((total.data == totals[0].data[0, 0]).all() for total in totals)


def test_large_gradients_are_computed_just_before_their_sweep():
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
    step = nn.TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters()))
    launches = step.plan(((4, 16), F32), ((4,), I64)).launches
    (sweep,) = (n for n in launches if n.lengths)
    fed = [k for k, n in enumerate(launches) if n.outputs[0] in sweep.inputs]
    assert launches[-1] is sweep and fed[1:] == [len(launches) - 3, len(launches) - 2], (
        "nothing runs between them"
    )

"""Plans: memory, variables, repeated runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from texpr import nn, ops
from texpr.graph import Capture, Plan, Variable, multiply_adds, operations, timing_table
from texpr.graph.execution.arena import lifetimes, make_arena
from texpr.graph.fusion.producer_consumer import tensor_bytes
from texpr.graph.lowering.default_kernels import kernel_for
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.dtypes import F32, F64, I64
from texpr.ir.expr import Tensor, index, plain
from texpr.ir.shapes import bind_sizes


@st.composite
def launch_lists(draw):
    """Launches that read tensors written before, and tensors to keep."""
    launches, written = [], []
    for k in range(draw(st.integers(1, 12))):
        outputs = [
            Tensor(f"t{k}_{n}", F32, plain(index(draw(st.integers(0, 9)))))
            for n in range(draw(st.integers(1, 3)))
        ]
        inputs = draw(st.lists(st.sampled_from(written), max_size=3)) if written else []
        launches.append((inputs, outputs))
        written += outputs
    return launches, set(draw(st.lists(st.sampled_from(written), max_size=3)))


@given(launch_lists())
def test_tensors_alive_at_once_overlap_nowhere(case):
    launches, kept = case
    arena = make_arena(lifetimes(launches, kept))
    last = {t: k for k, (inputs, outputs) in enumerate(launches) for t in (*inputs, *outputs)}
    last |= {t: len(launches) for t in kept}
    first = {t: k for k, (_, outputs) in enumerate(launches) for t in outputs}
    assert all(at % 64 == 0 and at + tensor_bytes(t) <= arena.size for t, at in arena.offset.items())
    for a in first:
        for b in first:
            if a is not b and first[a] <= first[b] <= last[a]:
                lo, hi = sorted((a, b), key=arena.offset.__getitem__)
                assert arena.offset[lo] + tensor_bytes(lo) <= arena.offset[hi]


def test_a_chain_needs_two_places():
    capture = Capture()
    x = capture.input("x", (1000,), F32)
    value = x
    for _ in range(8):
        value = ops.tanh(value)
    assert Plan(capture, [value], disable=["fuse", "in_place"]).memory_bytes == 2 * 4032
    assert Plan(capture, [value], disable=["fuse"]).memory_bytes == 4032
    assert Plan(capture, [value]).memory_bytes == 4032


def counter() -> tuple[Variable, Plan]:
    """A variable to which each run adds the data."""
    total, capture = Variable(np.zeros(3, np.float32), "total"), Capture()
    x = capture.input("x", (3,), F32)
    capture.assign(total, capture.variable(total) + x)
    return total, Plan(capture, [])


def test_variables_keep_their_values_between_runs():
    total, plan = counter()
    for k in range(5):
        plan(np.full(3, k, np.float32))
    np.testing.assert_array_equal(total.data, [10, 10, 10])


def test_a_variable_may_be_set_between_runs():
    total, plan = counter()
    plan(np.ones(3, np.float32))
    total.data = np.full(3, 40, np.float32)
    plan(np.ones(3, np.float32))
    total.data[0] = 7
    plan(np.ones(3, np.float32))
    np.testing.assert_array_equal(total.data, [8, 42, 42])


def test_two_plans_share_a_variable():
    total, plan = counter()
    capture = Capture()
    double = Plan(capture, [capture.variable(total) * 2.0])
    for k in range(3):
        plan(np.ones(3, np.float32))
        np.testing.assert_array_equal(double()[0], [2 * k + 2] * 3)


def test_an_exchange_uses_old_values_everywhere():
    a, b, capture = Variable(np.array([1.0]), "a"), Variable(np.array([2.0]), "b"), Capture()
    capture.assign(a, ops.copy(capture.variable(b)))
    capture.assign(b, ops.copy(capture.variable(a)))
    plan = Plan(capture, [])
    plan()
    assert (a.data[0], b.data[0]) == (2.0, 1.0)
    plan()
    assert (a.data[0], b.data[0]) == (1.0, 2.0)


def test_compute_without_commit_changes_nothing():
    total, plan = counter()
    plan.inputs[0][...] = 1
    plan.compute()
    np.testing.assert_array_equal(total.data, [0, 0, 0])
    plan.commit()
    np.testing.assert_array_equal(total.data, [1, 1, 1])


def test_a_variable_keeps_its_shape_and_dtype():
    total, _ = counter()
    with pytest.raises(tx.CallError) as caught:
        total.data = np.zeros(4)
    assert (
        str(caught.value)
        == """\
error[shape]: `total` is f32[3], the new value float64[4]
  help: a variable keeps its shape and dtype; make a new one"""
    )


def test_ranges_of_data_are_checked_at_each_run():
    capture = Capture()
    x, y = capture.input("x", (2, 3), F32), capture.input("y", (2,), I64)
    plan = Plan(capture, [ops.cross_entropy(x, y)])
    plan(np.zeros((2, 3), np.float32), np.array([0, 2]))
    for bad in (-1, 3, 1 << 40):
        with pytest.raises(tx.CallError) as caught:
            plan(np.zeros((2, 3), np.float32), np.array([0, bad]))
        assert str(caught.value) == f"error[range]: `y[1]` is {bad}, expected a value in 0..3"


def test_ranges_of_constants_are_checked_once():
    capture = Capture()
    x = capture.input("x", (2, 3), F32)
    with pytest.raises(tx.CallError) as caught:
        Plan(capture, [ops.cross_entropy(x, np.array([0, 5]))])
    assert str(caught.value) == "error[range]: `constant[1]` is 5, expected a value in 0..3"


def test_equal_programs_share_a_kernel():
    text = "op twice(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + X[i] }"
    a, b = tx.op(text).program(), tx.op(text).program()
    assert kernel_for(a, {a.sizes[0]: 7}) is kernel_for(b, {b.sizes[0]: 7})
    assert kernel_for(a, {a.sizes[0]: 7}) is not kernel_for(a, {a.sizes[0]: 8})
    other = tx.op("op twice(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * X[i] }").program()
    assert kernel_for(other, {other.sizes[0]: 7}) is not kernel_for(a, {a.sizes[0]: 7})


def test_what_is_not_needed_is_not_run():
    capture = Capture()
    x = capture.input("x", (4,), F32)
    ops.tanh(x)
    assert [launch.program.name for launch in Plan(capture, [ops.relu(x)]).launches] == ["map"]


def test_a_profile_lists_every_launch():
    capture = Capture()
    x = capture.input("x", (16, 8), F32)
    plan = Plan(capture, [ops.relu(ops.linear(x, Variable(np.ones((4, 8), np.float32))))], opt=0)
    rows = plan.profile(repeats=2)
    assert [(row.name, row.shapes) for row in rows] == [("linear", "16x8 4x8 16x4"), ("relu", "16x4 16x4")]
    assert timing_table(rows).count("\n") == 2


def test_costs_are_counted():
    program = ops.linear.program()
    sizes, _ = bind_sizes(program.inputs, [(16, 8), (4, 8), (4,)])
    assert multiply_adds(program, sizes) == 16 * 4 * 8
    assert operations(program, sizes) == 16 * 4 * (2 * 8 + 1)


def test_ranges_of_variables_are_checked_at_each_run():
    labels, capture = Variable(np.array([0, 2]), "labels"), Capture()
    x = capture.input("x", (2, 3), F32)
    plan = Plan(capture, [ops.cross_entropy(x, labels)])
    plan(np.zeros((2, 3), np.float32))
    labels.data[0] = -7
    with pytest.raises(tx.CallError) as caught:
        plan(np.zeros((2, 3), np.float32))
    assert str(caught.value) == "error[range]: `labels[0]` is -7, expected a value in 0..3"


def test_the_narrowest_of_two_ranges_counts():
    capture = Capture()
    x, z, y = capture.input("x", (2, 3), F32), capture.input("z", (2, 2), F32), capture.input("y", (2,), I64)
    plan = Plan(capture, [ops.cross_entropy(x, y), ops.cross_entropy(z, y)])
    with pytest.raises(tx.CallError) as caught:
        plan(np.zeros((2, 3), np.float32), np.zeros((2, 2), np.float32), np.array([0, 2]))
    assert str(caught.value) == "error[range]: `y[1]` is 2, expected a value in 0..2"


def test_a_result_may_be_assigned_to_variables():
    a, b, capture = Variable(np.zeros(2), "a"), Variable(np.zeros(2), "b"), Capture()
    x = capture.input("x", (2,), F64)
    double = x * 2.0
    capture.assign(a, double)
    capture.assign(b, double)
    plan = Plan(capture, [double, x])
    for value in (1.0, 3.0):
        found = plan(np.full(2, value))
        assert [float(r[0]) for r in (*found, a.data, b.data)] == [2 * value, value, 2 * value, 2 * value]


def test_plans_run_from_several_threads():
    capture = Capture()
    x = capture.input("x", (1000,), F32)
    plan = Plan(capture, [ops.relu(x * 2.0)])

    def many(k: int) -> bool:
        return all((plan(np.full(1000, k, np.float32))[0] == 2 * k).all() for _ in range(200))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(many, range(4)))


def test_tensors_of_one_recurrence_begin_apart_and_share_a_kernel():
    """h and c of an LSTM each have a first value of their own, and need each other from then on."""
    capture = Capture("cell")
    sizes = {
        "X": (3, 2, 4),
        "h0": (2, 5),
        "c0": (2, 5),
        "weight_ih": (20, 4),
        "weight_hh": (20, 5),
        "bias_ih": (20,),
        "bias_hh": (20,),
    }
    inputs = [capture.input(name, shape, F32) for name, shape in sizes.items()]
    outputs = tx.ops.lstm(*inputs)
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape).astype("f4") for shape in sizes.values()]
    for level in range(4):
        plan = Plan(capture, outputs, opt=level)
        targets = [t for n in plan.launches for t in n.outputs]
        assert len(set(targets)) == len(targets), "a tensor is computed by one kernel"
        for got, want in zip(plan(*arrays), tx.ops.lstm(*arrays)):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_sums_of_what_was_just_computed_come_first():
    """The gradient of a bias reads what the product before it has written, which products of
    megabytes would push out of the caches.
    """
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    plan = nn.TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=0.1)).plan(
        ((128, 64), F32), ((128,), I64)
    )
    launches = list(zip(plan.launches, plan.launches[1:]))
    biases = [
        (before, n) for before, n in launches if n.program.name == "sum" and shape_of(n.outputs[0]) == (64,)
    ]
    assert len(biases) == 2
    for before, n in biases:
        assert set(before.outputs) & set(n.inputs)

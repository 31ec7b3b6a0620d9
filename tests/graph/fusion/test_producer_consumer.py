"""Fusion, memory, pictures: what is decided, and what it costs."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr import nn, ops
from texpr.graph import Capture, Plan, Symbolic, Variable
from texpr.ir.dtypes import F32, I64
from texpr.ir.printing.tensor import show_program

RANDOM = np.random.default_rng(0)


def weight(*shape: int) -> Variable:
    return Variable(RANDOM.normal(size=shape).astype(np.float32) / 4, "w")


def kernels(plan: Plan) -> list[str]:
    return [show_program(n.program).partition("{")[2].strip() for n in plan.launches]


def test_a_product_ends_with_bias_and_activation():
    capture = Capture()
    x = capture.input("x", (8, 16), F32)
    plan = Plan(capture, [ops.relu(ops.linear(x, weight(4, 16), weight(4)))])
    assert kernels(plan) == ["Y0[s0, s1] = max(X0[s1] + sum(i: X1[s0, i] * X2[s1, i]), 0.0)\n}"]


def test_the_mask_of_a_backward_pass_ends_its_product():
    capture = Capture()
    x, w, v = capture.input("x", (8, 16), F32), weight(4, 16), weight(3, 4)
    loss = ops.sum_all(ops.tanh(ops.linear(ops.relu(ops.linear(x, w)), v)))
    plan = Plan(capture, [loss, *capture.gradients(loss, [capture.variable(w)])])  # type: ignore[list-item]
    assert any("= if X0[s0, s1] > 0.0 then sum(" in text for text in kernels(plan)), kernels(plan)


def test_an_update_ends_the_product_of_its_gradient():
    capture = Capture()
    x, w, lr = capture.input("x", (8, 16), F32), weight(4, 16), Variable(np.float64(0.1), "lr")
    loss = ops.mean_all(ops.tanh(ops.linear(x, w)))
    (gradient,) = capture.gradients(loss, [capture.variable(w)])
    with capture:
        capture.assign(w, ops.sgd_update(capture.variable(w), gradient, capture.variable(lr)))  # type: ignore[arg-type]
    before = w.data.copy()
    plan = Plan(capture, [loss])
    (value,) = plan(RANDOM.normal(size=(8, 16)).astype(np.float32))
    assert any("Y0[s0, s1] = X0[s0, s1] - " in text and "sum(n0:" in text for text in kernels(plan)), kernels(
        plan
    )
    assert np.isfinite(value) and not np.array_equal(w.data, before)


def test_rows_share_a_kernel():
    capture = Capture()
    x, y = capture.input("x", (8, 5), F32), capture.input("y", (8,), I64)
    assert len(Plan(capture, [ops.cross_entropy(x, y)]).launches) == 1


def test_decisions_are_explained():
    capture = Capture()
    x = capture.input("x", (8, 16), F32)
    hidden = ops.tanh(ops.linear(x, weight(4, 16)))
    plan = Plan(capture, [hidden, ops.linear(hidden * 2.0, weight(3, 4))])
    assert (
        plan.explain()
        == """\
inline linear_1 -> tanh_1: yes, computed where it is read; saves 256 bytes
inline multiply_1 -> linear_2_sum: no, a product takes it as an operand, again and again
epilogue linear_1_sum -> tanh_1: yes, done to the sum when it is complete; saves 256 bytes
epilogue tanh_1 -> multiply_1: no, others read it, too
epilogue linear_2_sum -> linear_2: yes, done to the sum when it is complete; saves 192 bytes"""
    )


OPERATORS = [
    lambda a, b: ops.tanh(a),
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: ops.relu(a),
    lambda a, b: a * 1.0 - b,
    lambda a, b: ops.softmax(a, axis=1),
    lambda a, b: ops.matmul(a, b),
    lambda a, b: ops.exp(a) / 8.0,
    lambda a, b: ops.relu(a) + a,
]


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Operators, each of one or two tensors made before it."""
    return [
        (draw(st.integers(0, len(OPERATORS) - 1)), draw(st.integers(0, k)), draw(st.integers(0, k)))
        for k in range(draw(st.integers(1, 7)))
    ]


def built(graph: list[tuple[int, int, int]], **options: object) -> Plan:
    capture = Capture()
    made: list[Symbolic] = [capture.input("x", (4, 4), F32)]
    for operator, a, b in graph:
        made.append(OPERATORS[operator](made[a], made[b]))  # type: ignore[arg-type]
    return Plan(capture, [made[-1], made[len(made) // 2]], **options)  # type: ignore[arg-type]


@examples(12)
@given(graphs())
def test_random_graphs_keep_their_values_and_their_places(graph: list[tuple[int, int, int]]):
    data = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
    plan = built(graph)
    for found, wanted in zip(plan(data), built(graph, opt=0)(data), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)
    places = sorted(
        (plan.arena.offset[t], prod(r.shape) * 4)
        for t, r in zip(plan.arena.offset, plan.results)
        if t in plan.arena.offset
    )
    assert all(at % 64 == 0 and at + size <= plan.arena.size for at, size in places)


def convolutions(capture: Capture, layers: int) -> tuple[Symbolic, list[Variable], int]:
    """A chain of convolutions, their weights, and the bytes of what each layer gives."""
    value = capture.input("x", (2, 4, 12, 12), F32)
    weights = [weight(4, 4, 3, 3) for _ in range(layers)]
    for w in weights:
        value = ops.relu(ops.conv2d(value, w, weight(4), PH=1, PW=1))
    return value, weights, 2 * 2 * 4 * 144 * 4


def test_ten_layers_need_little_memory():
    capture = Capture()
    value, _, layer = convolutions(capture, 10)
    plan = Plan(capture, [value])
    assert plan.memory_bytes == layer, "two places, of which a layer reads one and writes the other"
    assert Plan(capture, [value], opt=0).memory_bytes <= 0.6 * 10 * layer


def test_training_ten_layers_needs_less_than_all_tensors():
    capture = Capture()
    value, weights, layer = convolutions(capture, 10)
    loss = ops.mean_all(value)
    gradients = capture.gradients(loss, [capture.variable(w) for w in weights])
    plan = Plan(capture, [loss, *gradients])  # type: ignore[list-item]
    naive = sum(prod(r.shape) * 4 for r in plan.results) + 2 * 10 * layer
    assert plan.memory_bytes <= 0.6 * naive
    assert len({id(n.kernel) for n in plan.launches}) <= 8, "layers of one shape share kernels"


def test_what_was_captured_is_printed_and_read_again():
    capture = Capture("net")
    x, y = capture.input("x", (2, 3, 4, 4), F32), capture.input("y", (2,), I64)
    w = weight(5, 48)
    loss = ops.mean_all(ops.cross_entropy(ops.linear(ops.flatten4(ops.relu(x)), w), y))
    plan = Plan(capture, [loss, *capture.gradients(loss, [capture.variable(w)])])  # type: ignore[list-item]
    again = tx.op(plan.text())
    assert show_program(again.program(), with_callees=True) == plan.text()
    found = again(DATA, np.array([1, 2]), w.data, np.float32(1))
    for a, b in zip(found, plan(DATA, np.array([1, 2])), strict=True):  # type: ignore[call-overload]
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


DATA = RANDOM.normal(size=(2, 3, 4, 4)).astype(np.float32)


def test_ctrl_c_changes_nothing():
    total, capture = Variable(np.zeros((400, 400), np.float32), "total"), Capture()
    a = capture.input("a", (400, 400), F32)
    capture.assign(total, capture.variable(total) + ops.matmul(a, a) * 0.0 + 1.0)
    plan = Plan(capture, [])
    plan.run()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            plan.run()
    timer.join()
    assert (total.data == total.data[0, 0]).all() and total.data[0, 0] >= 1
    before = total.data[0, 0]
    plan.run()
    assert (total.data == before + 1).all()


def test_plans_run_at_once():
    def plan(k: int) -> Plan:
        capture = Capture()
        return Plan(
            capture,
            [
                ops.tanh(
                    ops.matmul(
                        capture.input("a", (64, 64), F32), capture.constant(np.full((64, 64), k, np.float32))
                    )
                )
            ],
        )

    plans = [plan(k) for k in range(3)]
    ones = np.ones((64, 64), np.float32)
    expected = [p(ones)[0] for p in plans]

    def many(k: int) -> bool:
        return all(np.array_equal(plans[k](ones)[0], expected[k]) for _ in range(100))

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(many, range(3)))


ZIP = tx.op("""op zip(A: f32[N], B: f32[N]) -> T: f32[2*N] {
  T[2*i] = A[i]
  T[2*i + 1] = -B[i]
}""")


def zipped(results) -> Plan:
    capture = Capture()
    a, b, m = (capture.input(name, (n,), F32) for name, n in (("a", 5), ("b", 5), ("m", 10)))
    return Plan(capture, list(results(ZIP(a, b), m)))


def test_parts_end_with_what_is_done_to_them():
    plan = zipped(lambda t, m: [ops.relu(t * m)])
    assert kernels(plan) == [
        "Y0[i * 2] = max(X0[i] * X1[i * 2], 0.0)\n  Y0[i * 2 + 1] = max(-X2[i] * X1[i * 2 + 1], 0.0)\n}"
    ]
    assert "done to each of its parts; saves 80 bytes" in plan.explain()
    a, b, m = (RANDOM.normal(size=n).astype(np.float32) for n in (5, 5, 10))
    expected = np.maximum(np.stack([a, -b], 1).ravel() * m, 0)
    assert np.array_equal(plan(a, b, m)[0], expected)


@pytest.mark.parametrize(
    "results",
    [
        lambda t, m: [t, ops.relu(t * m)],
        lambda t, m: [ops.relu(t * m), ops.tanh(t)],
        lambda t, m: [ops.softmax(t * m, axis=0)],
    ],
    ids=["a result", "two readers", "read by a reduction"],
)
def test_parts_that_others_need_are_stored(results):
    plan = zipped(results)
    assert "done to each of its parts" not in plan.explain()
    a, b, m = (RANDOM.normal(size=n).astype(np.float32) for n in (5, 5, 10))
    t = np.stack([a, -b], 1).ravel()
    found = [np.maximum(t * m, 0), np.tanh(t), t, np.exp(t * m) / np.exp(t * m).sum()]
    for result in plan(a, b, m):
        assert any(np.allclose(result, each, rtol=1e-5, atol=1e-6) for each in found)


def attended(name: str, *, weights: bool = False, masks: int = 0) -> Plan:
    """Attention of 2 samples with 3 heads, 40 rows and columns of 8."""
    capture = Capture()
    q, k, v = (capture.input(name, (2, 3, 40, 8), F32) for name in "qkv")
    more = [capture.input("mask", (40, 40), F32)] * masks
    results = [getattr(ops, name)(q, k, v, *more)]
    return Plan(capture, results + ([ops.softmax(results[0], axis=3)] if weights else []))


@pytest.mark.parametrize(
    "name, masks", (("attention", 0), ("attention_causal", 0), ("attention_bias", 1), ("attention_masks", 1))
)
def test_attention_is_one_kernel(name: str, masks: int):
    plan = attended(name, masks=masks)
    assert len(plan.launches) == 1
    assert any(
        d.kind == "together" and "scores are for the sums that they weight alone" in str(d)
        for d in plan.decisions
    )


def test_what_follows_attention_is_a_kernel_of_its_own():
    assert len(attended("attention", weights=True).launches) == 2


def test_attention_whose_scores_are_asked_for_is_no_single_kernel():
    """Its gradient reads the exponentials."""
    capture = Capture()
    q = capture.input("q", (1, 2, 40, 8), F32)
    k = Variable(RANDOM.normal(size=(1, 2, 40, 8)).astype(np.float32), "k")
    loss = ops.sum_all(ops.attention(q, capture.variable(k), q))
    plan = Plan(capture, [loss, *capture.gradients(loss, [capture.variable(k)])])  # type: ignore[list-item]
    assert len(plan.launches) > 3


def test_exponentials_that_a_row_needs_twice_are_computed_once():
    capture = Capture()
    x = capture.input("x", (64, 100), F32)
    plan = Plan(capture, [ops.softmax(x, axis=1)])
    (kernel,) = kernels(plan)
    assert kernel.count("exp(") == 1
    assert any(
        d.kind == "inline" and not d.fused and "rows are used in turn" in d.reason for d in plan.decisions
    )


def test_exponentials_of_rows_that_do_not_stay_near_are_computed_again():
    capture = Capture()
    x = capture.input("x", (2, 1 << 20), F32)
    (kernel,) = kernels(Plan(capture, [ops.softmax(x, axis=1)]))
    assert kernel.count("exp(") == 2


TWICE = """op twice(Q: f32[L, D], K: f32[L, D], V: f32[L, D]) -> (O: f32[L, D], P: f32[L, D]) require L >= 1 {
  p[i, j] = sum(d: Q[i, d] * K[j, d])
  m[i] = max(j: p[i, j])
  e[i, j] = exp(p[i, j] - m[i])
  O[i, v] = sum(j: e[i, j] * V[j, v]) / sum(j: e[i, j])
  W[j, v] = tanh(%s[j, v])
  P[i, v] = sum(j: e[i, j] * W[j, v])
}"""


@pytest.mark.parametrize("of, fused", (("O", False), ("V", True)))
def test_weights_that_are_used_twice(of: str, fused: bool):
    """Values that are computed of the first sums cannot be weighted in the kernel that computes
    those; others can.
    """
    op, capture = tx.op(TWICE % of), Capture()
    plan = Plan(capture, list(op(*(capture.input(n, (9, 4), F32) for n in "qkv"))))
    given = [np.random.default_rng(k).random((9, 4)).astype(np.float32) for k in range(3)]
    for found, expected in zip(plan(*given), tx.interpret(op, *given), strict=True):  # type: ignore[call-overload]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert any("scores are for the sums" in d.reason for d in plan.decisions) == fused


def test_what_ends_a_sum_by_way_of_another_is_not_done_again_by_each_reader():
    """`silu` of a convolution with a bias, which two read: its exponentials are computed once."""
    convolution = nn.Conv2d(8, 8, 1)

    def squeezed(x: tx.Tensor) -> tx.Tensor:
        y = convolution(x)
        y = y * y.sigmoid()
        return y.mean((2, 3), keepdim=True) * y

    capture = Capture("squeezed")
    x = capture.input("x", (1, 8, 24, 24), F32)
    with capture:
        plan = Plan(capture, [squeezed(x)])
    assert sum(k.count("sigmoid(") for k in kernels(plan)) == 1
    (made,) = (
        d
        for d in plan.decisions
        if d.kind == "epilogue" and d.tensor.startswith("conv2d") and d.readers[0].startswith("mul")
    )
    assert made.fused
    again = [d for d in plan.decisions if d.kind == "inline" and d.tensor == made.readers[0]]
    assert [d.fused for d in again] == [False]


@pytest.mark.parametrize("groups", (8, 4, 2))
@pytest.mark.parametrize("what", ("silu", "scaled", "added", "two"))
def test_what_is_done_to_a_view_of_a_sum_ends_the_sum(groups: int, what: str):
    """Grouped convolutions have results of five dimensions, whose views of four are read."""
    convolution = nn.Conv2d(8, 8, 3, padding=1, groups=groups)
    scale = RANDOM.normal(size=(1, 8, 1, 1)).astype(np.float32)

    def layer(x: tx.Tensor) -> tx.Tensor:
        y = convolution(x)
        if what == "silu":
            y = y * y.sigmoid()
        elif what == "scaled":
            y = (y * tx.tensor(scale)).relu()
        else:
            y = (y + x).tanh()
        return (
            y.mean((2, 3), keepdim=True) * y
            if what != "two"
            else (y.mean((2, 3), keepdim=True) * y).exp() + y
        )

    capture = Capture("layer")
    x = capture.input("x", (1, 8, 24, 24), F32)
    with capture:
        plan = Plan(capture, [layer(x)])
    ends = [k for k in kernels(plan) if "sigmoid(" in k or "max(" in k or "tanh(" in k]
    assert len(ends) == 1 and "sum(" in ends[0], kernels(plan)
    given = RANDOM.normal(size=(1, 8, 24, 24)).astype(np.float32)
    (found,) = plan(given)
    with tx.options(disable="fuse"):
        plain = layer(tx.tensor(given)).numpy()
    np.testing.assert_allclose(found, plain, rtol=2e-5, atol=2e-6)


def test_what_reads_others_at_quotients_stays_behind_the_view():
    """A view that splits what the sum has joined: a vector along a part of it has no affine place."""
    op = tx.op(
        "op rows(A: f32[12, K], B: f32[K, L]) -> Y: f32[12, L] { Y[i, j] = sum(k: A[i, k] * B[k, j]) }"
    )
    a, b, v = (RANDOM.normal(size=s).astype(np.float32) for s in ((12, 5), (5, 6), (1, 4, 1)))
    capture = Capture("split")
    x = capture.input("x", (12, 5), F32)
    with capture:
        y = (op(x, tx.tensor(b)).reshape(3, 4, 6) * tx.tensor(v)).tanh()
        plan = Plan(capture, [y.sum(0) + y])
    assert not any("tanh(" in k and "sum(k:" in k for k in kernels(plan)), kernels(plan)
    (found,) = plan(a)
    expected = np.tanh((a @ b).reshape(3, 4, 6) * v)
    np.testing.assert_allclose(found, expected.sum(0) + expected, rtol=2e-5, atol=2e-6)

"""Tensors that are computed in the memory of others: what may be, what is, and that nothing is
lost.
"""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr import nn, ops
from texpr.compiler.kernels.aliasing import overwritten
from texpr.compiler.pass_pipeline import certified_loops
from texpr.graph import Capture, Plan, Symbolic
from texpr.graph.execution.arena import lifetimes, make_arena, reuse_in_place
from texpr.graph.fusion.producer_consumer import tensor_bytes
from texpr.ir.dtypes import F32, I64
from texpr.ir.expr import Tensor, index, plain

DATA = np.linspace(-1, 1, 20 * 20, dtype=np.float32).reshape(20, 20)


@st.composite
def programs(draw):
    """Launches, which of their outputs may lie over which inputs, and tensors to keep; all of
    one size, so that many places fit.
    """
    launches, pairs, written = [], [], []
    for k in range(draw(st.integers(1, 12))):
        outputs = [Tensor(f"t{k}_{n}", F32, plain(index(16))) for n in range(draw(st.integers(1, 2)))]
        inputs = draw(st.lists(st.sampled_from(written), max_size=3)) if written else []
        launches.append((inputs, outputs))
        both = st.tuples(st.integers(0, max(0, len(inputs) - 1)), st.integers(0, len(outputs) - 1))
        pairs.append(draw(st.lists(both, max_size=4)) if inputs else [])
        written += outputs
    return launches, pairs, set(draw(st.lists(st.sampled_from(written), max_size=2)))


@given(programs())
def test_no_launch_finds_what_it_reads_overwritten(case):
    """Run by names: every place holds what was written there last, and is overwritten while a
    launch runs only where that may be.
    """
    launches, pairs, kept = case
    lives = lifetimes(launches, kept)
    over = reuse_in_place(launches, pairs, lives)
    arena = make_arena(lives, over)
    holds: dict[int, Tensor] = {}
    for (inputs, outputs), allowed in zip(launches, pairs, strict=True):
        assert all(holds[arena.offset[t]] is t for t in inputs)
        for t in outputs:
            before = [s for s in inputs if arena.offset[s] == arena.offset[t]]
            assert all(
                over.get(t) is s and any(inputs[i] is s and outputs[j] is t for i, j in allowed)
                for s in before
            )
        assert len({arena.offset[t] for t in outputs}) == len(outputs)
        holds |= {arena.offset[t]: t for t in outputs}
    assert all(holds[arena.offset[t]] is t for t in kept)
    assert arena.size >= max(arena.offset[t] + tensor_bytes(t) for t in lives)
    assert arena.size <= make_arena(lives).size


def found(text: str, steps: str = "") -> tuple[tuple[int, int], ...]:
    return overwritten(certified_loops(tx.schedule(tx.op(text)).replay(steps).kernel))


MAP = "op f(A: f32[N], B: f32[N]) -> Y: f32[N] { Y[i] = A[i] + B[i] }"


@pytest.mark.parametrize(
    ("text", "steps", "wanted"),
    [
        (MAP, "", ((0, 0), (1, 0))),
        (MAP, 'split("i", 8)\nvectorize("ii")\nparallel("io")', ((0, 0), (1, 0))),
        (MAP, 'split("i", 8, tail="overlap")', ()),
        ("op f(A: f32[N]) -> Y: f32[N] { Y[i] = A[N - 1 - i] }", "", ()),
        ("op f(A: f32[N]) -> Y: f32[N] { Y[i] = A[i] + A[0] }", "", ()),
        ("op f(A: f32[N, N]) -> Y: f32[N, N] { Y[i, j] = A[i, j] + A[j, i] }", "", ()),
        ("op f(A: f32[N, M], B: f32[N]) -> Y: f32[N, M] { Y[i, j] = A[i, j] * B[i] }", "", ((0, 0),)),
        ("op f(A: f32[N], B: f64[N]) -> Y: f64[N] { Y[i] = f64(A[i]) + B[i] }", "", ((1, 0),)),
        ("op f(A: f32[N], B: i32[N]) -> Y: i32[N] { Y[i] = if A[i] > 0.0 then B[i] else 0 }", "", ((1, 0),)),
        ("op f(A: f32[N]) -> (Y: f32[N], Z: f32[N]) { Y[i] = A[i]\nZ[i] = A[i] }", "", ()),
        ("op f(A: f32[N]) -> (Y: f32[N], Z: f32[N]) { Y[i] = A[i] * 2\nZ[i] = Y[i] + 1 }", "", ((0, 0),)),
        (
            "op f(A: f32[2*N], B: f32[N]) -> Y: f32[2*N] { Y[2*i] = A[2*i] + B[i]\nY[2*i + 1] = -A[2*i + 1] "
            "* B[i] }",
            "",
            ((0, 0),),
        ),
        (
            "op f(A: f32[2*N], B: f32[N]) -> Y: f32[2*N] { Y[2*i] = A[2*i] + B[i]\nY[2*i + 1] = -A[2*i] * "
            "B[i] }",
            "",
            (),
        ),
        ("op f(A: f32[N]) -> Y: f32[N] { Y[i] = sum(k in 0..i+1: A[k]) }", "", ()),
    ],
)
def test_what_may_lie_over_what(text: str, steps: str, wanted: tuple[tuple[int, int], ...]):
    assert found(text, steps) == wanted


def built(graph: list[tuple[int, int, int]], **options) -> Plan:
    capture = Capture()
    made: list[Symbolic] = [capture.input("x", DATA.shape, F32)]
    for operator, a, b in graph:
        made.append(OPERATORS[operator](made[a], made[b]))
    return Plan(capture, [made[-1], made[len(made) // 2]], **options)


OPERATORS = (
    lambda a, b: ops.tanh(a),
    lambda a, b: a * 0.5 + b,
    lambda a, b: ops.matmul(a, b) * 0.1,
    lambda a, b: ops.transpose(a),
    lambda a, b: ops.softmax(a),
    lambda a, b: ops.maximum(a, b),
)


@st.composite
def graphs(draw):
    count = draw(st.integers(3, 9))
    return [
        (
            draw(st.integers(0, len(OPERATORS) - 1)),
            draw(st.integers(max(0, k - 2), k)),
            draw(st.integers(0, k)),
        )
        for k in range(count)
    ]


@examples(20)
@given(graphs(), st.booleans())
def test_values_are_the_same_bits(graph: list[tuple[int, int, int]], fuse: bool):
    others = () if fuse else ("fuse",)
    plan, apart = built(graph, disable=others), built(graph, disable=(*others, "in_place"))
    for _ in range(2):
        for a, b in zip(plan(DATA), apart(DATA), strict=True):
            assert np.array_equal(a.view(np.uint32), b.view(np.uint32))
    assert plan.arena.size <= apart.arena.size and not apart.arena.overwrites


CHAIN = [(0, k, k) for k in range(7)]


def test_a_chain_takes_the_places_of_its_results():
    plan = built(CHAIN, disable=["fuse"])
    assert len(plan.arena.overwrites) == 5, "all but the first, and the one after the result in the middle"
    assert str(plan.arena) == "7 tensors in 3,200 bytes, 5 over others; each alone: 11,200"


def test_a_profile_changes_no_values():
    plan = built(CHAIN, disable=["fuse"])
    wanted = plan(DATA)
    with tx.profile():
        watched = plan(DATA)
    plan.profile(2)
    for a, b, c in zip(wanted, watched, plan(DATA), strict=True):
        assert np.array_equal(a, b) and np.array_equal(a, c)


def test_profiles_use_the_same_arrays():
    """The first write to each page of new memory takes as long as a kernel, which a profile would
    show as the kernel's time: places in others' memory are separate arrays there, made once.
    """
    plan = built(CHAIN, disable=["fuse"])
    memory = plan._memory
    first, second = memory.spare(), memory.spare()
    assert all(first[t] is second[t] is not memory.fixed[t] for t in plan.arena.overwrites)


def test_a_run_that_begins_anew_gives_the_same():
    """A handler that does not raise: kernels run again on what is computed again."""
    capture = Capture()
    x = capture.input("x", (1 << 20,), F32)
    value = x
    for _ in range(12):
        value = ops.tanh(value)
    plan, count = Plan(capture, [value], disable=["fuse"]), 0
    assert plan.arena.overwrites
    data = np.linspace(-2, 2, 1 << 20, dtype=np.float32)
    wanted = plan(data)[0]

    def handler(*_: object) -> None:
        nonlocal count
        count += 1

    before = signal.signal(signal.SIGINT, handler)
    try:
        for _ in range(20):
            timer = threading.Timer(0.003, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            assert np.array_equal(plan(data)[0], wanted)
            timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert count == 20


def test_training_ten_convolutions_needs_little_memory():
    layers = [layer for _ in range(10) for layer in (nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(8 * 12 * 12, 4))
    step = nn.TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters()))
    plan = step.plan(((8, 8, 12, 12), F32), ((8,), I64))
    assert plan.arena.size <= 0.6 * plan.arena.naive

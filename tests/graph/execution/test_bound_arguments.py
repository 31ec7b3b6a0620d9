"""Calls of plans: arguments are read where they lie, results are new arrays that kernels write."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from texpr.graph import Capture, Plan, Variable
from texpr.graph.execution.arena import lifetimes, make_arena
from texpr.graph.execution.written_memory import WrittenMemory
from texpr.graph.fusion.producer_consumer import tensor_bytes
from texpr.ir.dtypes import F16, F32, I64
from texpr.ir.expr import Tensor, index, plain


def test_memory_mapped_gigabyte_is_not_copied(tmp_path: Path):
    """A file with holes: reading it takes no memory of its own."""
    path = tmp_path / "x.bin"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    x = np.memmap(path, np.float32, "r", shape=(1 << 14, 1 << 14))
    function = tx.jit(lambda x: x[::64, ::64].sum(0))
    function(x)
    tracemalloc.start()
    result = function(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.shape == (1 << 8,) and not result.numpy().any()
    assert peak < 1 << 20


def test_results_are_arrays_of_their_own():
    function = tx.jit(lambda x: (x + 1, x * 2))
    x = np.arange(10, dtype="f4")
    first, second = function(x)
    again = function(x + 1)[0]
    np.testing.assert_array_equal(first.numpy(), x + 1)
    np.testing.assert_array_equal(second.numpy(), x * 2)
    np.testing.assert_array_equal(again.numpy(), x + 2)
    assert not np.shares_memory(first.numpy(), again.numpy())


def test_a_tensor_that_is_a_result_twice():
    capture = Capture()
    x = capture.input("x", (5,), F32)
    y, z = x + 1, x * 3
    a, b, c = Plan(capture, [y, z, y])(np.ones(5, "f4"))
    assert (a == 2).all() and (b == 3).all() and (c == 2).all()
    assert not np.shares_memory(a, c)
    only, same = Plan(capture, [y, y])(np.ones(5, "f4"))
    assert (only == 2).all() and (same == 2).all() and not np.shares_memory(only, same)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (5000,), (70, 130)])
@pytest.mark.parametrize("layout", ["contiguous", "strided", "reversed", "subclass", "read-only"])
def test_arguments_of_all_layouts(shape: tuple[int, ...], layout: str):
    function = tx.jit(lambda x, y: (x * 2 + y, (x - y).sum()))
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 9, shape).astype("f4") for _ in range(2))
    given = x
    if layout == "strided":
        given = np.repeat(x[..., None], 2, -1)[..., 0]
    elif layout == "reversed":
        given = np.ascontiguousarray(x[tuple(slice(None, None, -1) for _ in shape)])
        given = given[tuple(slice(None, None, -1) for _ in shape)]
    elif layout == "subclass":
        given = x.view(type("Own", (np.ndarray,), {}))
    elif layout == "read-only":
        given = x.copy()
        given.flags.writeable = False
    for _ in range(2):
        made, total = function(given, y)
        np.testing.assert_array_equal(made.numpy(), x * 2 + y)
        assert float(total) == (x - y).sum()


def test_the_same_array_twice():
    function = tx.jit(lambda x, y: x @ y)
    x = np.arange(16, dtype="f8").reshape(4, 4)
    np.testing.assert_array_equal(function(x, x).numpy(), x @ x)


def test_ranges_are_checked_on_arguments():
    function = tx.jit(lambda x, i: x[i])
    x = np.arange(5, dtype="f4")
    assert function(x, np.array([4, -1])).numpy().tolist() == [4, 4]
    for indices in (np.array([5]), np.array([0, 7])[::-1]):
        with pytest.raises(tx.CallError, match="index|range|0..5"):
            function(x, indices)
    assert function(x, np.array([1])).numpy().tolist() == [1]


def update_plan(size: int) -> tuple[Plan, Variable]:
    """w + x backwards, assigned to w; the sum of x is the result."""
    capture = Capture()
    x = capture.input("x", (size,), F32)
    w = Variable(np.zeros(size, "f4"), "w")
    value = capture.lift(w)
    with capture:
        capture.assign(w, value + x[::-1])
    return Plan(capture, [x.sum()]), w


@pytest.mark.parametrize("size", [10, 200_000])
def test_arguments_that_are_memory_of_variables(size: int):
    """The array of a variable, and the one that it had before, are data as they were at the call:
    small variables are exchanged, large ones are updated in place.
    """
    plan, w = update_plan(size)
    x = np.arange(size, dtype="f4")
    plan(x)
    np.testing.assert_array_equal(w.data, x[::-1])
    for argument in w.arrays():
        before, value = argument.copy(), w.data.copy()
        plan(argument)
        np.testing.assert_array_equal(w.data, value + before[::-1])


def test_data_that_kernels_which_run_last_read():
    """Strided arguments stay until these have run."""
    size = 200_000
    plan, w = update_plan(size)
    assert plan.runner._reads_late
    wide = np.arange(2 * size, dtype="f4")
    plan(wide[::2])
    np.testing.assert_array_equal(w.data, wide[::2][::-1])


@given(
    st.lists(st.integers(0, 60), min_size=2, max_size=12, unique=True), st.integers(0, 60), st.integers(0, 9)
)
def test_overlaps(edges: list[int], start: int, length: int):
    memory = np.zeros(80, np.uint8)
    edges = sorted(edges)
    parts = [memory[a:b] for a, b in zip(edges[::2], edges[1::2])]
    argument = memory[start : start + length]
    expected = any(np.shares_memory(p, argument) for p in parts)
    assert WrittenMemory(parts).overlaps(argument) == expected


def test_memory_of_results_holds_what_is_computed_before_in_it():
    """Unless that is larger."""
    wide, result, narrow = (Tensor(n, t, plain(index(64))) for n, t in [("w", F32), ("r", F32), ("n", F16)])
    lives = lifetimes([((), (wide,)), ((wide,), (result,))], {result})
    arena = make_arena(lives, {result: wide}, {result})
    assert arena.size == 0 and arena.given == {wide: result, result: result}
    lives = lifetimes([((), (wide,)), ((wide,), (narrow,))], {narrow})
    arena = make_arena(lives, {narrow: wide}, {narrow})
    assert arena.size == tensor_bytes(wide) and arena.given == {narrow: narrow}
    assert not arena.overwrites


def test_fixed_arrays_are_made_when_they_are_asked_for():
    capture = Capture()
    x = capture.input("x", (1000,), F32)
    plan = Plan(capture, [x + 1])
    plan(np.ones(1000, "f4"))
    assert plan.held_bytes == 0
    plan.fill(0, np.full(1000, 2, "f4"))
    plan.run()
    assert (plan.value(0) == 3).all() and plan.held_bytes >= 8000
    assert (plan(np.ones(1000, "f4"))[0] == 2).all() and (plan.value(0) == 3).all()


def test_values_of_fixed_arrays_are_checked_after_a_call():
    capture = Capture()
    x, i = capture.input("x", (5,), F32), capture.input("i", (2,), I64)
    plan = Plan(capture, [x[i]])
    plan(np.ones(5, "f4"), np.array([0, 4, 1])[::2])
    plan.fill(0, np.ones(5, "f4"))
    plan.fill(1, np.array([0, 5]))
    with pytest.raises(tx.CallError):
        plan.run()

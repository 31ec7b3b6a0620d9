"""Steps that change no value, in native code."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.schedule.drawing import TEXTS
from texpr.targets import find_target

MATMUL, GATHER = tx.op(TEXTS["matmul"]), tx.op(TEXTS["gather"])
STEPS = [
    (MATMUL, 's.prefetch("B", "k", 8)'),
    (MATMUL, 's.vectorize("j").reorder("C.jo", "C.k", "C.ji").prefetch("B", "k", 8).prefetch("A", "i", 2)'),
    (MATMUL, 's.prefetch("B", "k", 3).reorder("k", "i", "j").vectorize("C.j")'),
    (MATMUL, 's.jam("i", 2).prefetch("A", "k", 2)'),
    (GATHER, 's.prefetch("E", "k", 4)'),
    (GATHER, 's.prefetch("E", "k", 4).vectorize("d")'),
    (GATHER, 's.vectorize("d").prefetch("E", "k", 4).parallel("k")'),
]


@pytest.mark.parametrize("n", [0, 1, 7, 20])
@pytest.mark.parametrize("op, steps", STEPS)
def test_prefetching_changes_nothing(op, steps, n):
    s = tx.schedule(op)
    exec(steps, {"s": s})
    random = np.random.default_rng(n)
    if op is MATMUL:
        arrays = [random.random((n, 5), np.float32), random.random((5, n), np.float32)]
    else:
        arrays = [random.random((5, n), np.float32), random.integers(0, 5, n).astype(np.int32)]
    np.testing.assert_array_equal(s.compile()(*arrays), tx.interpret(op, *arrays))


def test_a_prefetch_is_an_instruction():
    assert "@llvm.prefetch.p0(ptr" in tx.schedule(MATMUL).prefetch("B", "k", 8).compile().llvm
    assert "@llvm.prefetch" not in tx.schedule(MATMUL).compile().llvm


def test_machines_without_it_leave_it_out():
    s = tx.schedule(MATMUL, M=64, N=64, K=64).prefetch("B", "k", 8).bind("i", "block.x").bind("j", "thread.x")
    target = next(name for name in ("sm_80", "sm_90") if find_target(name))
    assert "prefetch" not in s.compile(target).llvm


def test_a_copy_for_one_size_runs_for_that_size():
    s = tx.schedule(MATMUL).specialize(N=8).vectorize("j_N8").parallel("i_N8").parallel("i")
    for n in (7, 8, 9):
        a, b = np.random.default_rng(n).random((2, 3, 5), np.float32)[0], np.random.default_rng(n).random((5, n), np.float32)
        np.testing.assert_array_equal(s.compile()(a, b), tx.interpret(MATMUL, a, b))

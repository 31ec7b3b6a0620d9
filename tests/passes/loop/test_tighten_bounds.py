"""Conditions that become bounds."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.printing.loop import show_kernel
from texpr.lang import parse_kernel
from texpr.passes.loop.tighten_bounds import narrow

HEAD = "kernel f(X: f32[N, M]) -> (Y: f32[N, M])\n  for Y.i in 0..N\n    for Y.j in 0..M{kind}\n"

CASES = {
    "j < i": "    for Y.j in 0..max(0, min(M, i))\n      Y[i, j] = X[i, j]",
    "i <= j": "    for Y.j in 0..max(0, M - max(0, i))\n      Y[i, j + max(0, i)] = X[i, j + max(0, i)]",
    "i - j >= 2 and 0 <= i - j": "    for Y.j in 0..max(0, min(min(M, i - 1), i + 1))\n      Y[i, j] = X[i, "
    "j]",
    "j < i and X[i, j] > 0": "    for Y.j in 0..max(0, min(M, i))\n      if X[i, j] > 0.0\n        Y[i, j] = "
    "X[i, j]",
    "X[i, j] > 0 and j < 3": "    for Y.j in 0..max(0, min(M, 3))\n      if X[i, j] > 0.0\n        Y[i, j] = "
    "X[i, j]",
    "(if j != 3 then X[i, j] > 0 and j < i else false)": "    for Y.j in 0..max(0, min(M, i))\n      if j != "
    "3\n        if X[i, j] > 0.0\n          Y[i, j] = "
    "X[i, j]",
    "(if X[i, 0] > 0 then X[i, j] > 0 and j < i else false)": "    for Y.j in 0..M\n      if if X[i, 0] > "
    "0.0 then X[i, j] > 0.0 and j < i else false\n "
    "       Y[i, j] = X[i, j]",
    "2 * j < i": "    for Y.j in 0..M\n      if 2 * j < i\n        Y[i, j] = X[i, j]",
    "j != i": "    for Y.j in 0..M\n      if j != i\n        Y[i, j] = X[i, j]",
    "j // 2 < i": "    for Y.j in 0..M\n      if j // 2 < i\n        Y[i, j] = X[i, j]",
}


@pytest.mark.parametrize("condition", CASES)
def test_bounds(condition: str):
    kernel = parse_kernel(HEAD.format(kind="") + f"      if {condition}\n        Y[i, j] = X[i, j]\n")
    assert show_kernel(narrow(kernel)).split("0..N\n")[1].rstrip() == CASES[condition]


def test_a_condition_leaves_the_loops_it_does_not_depend_on():
    kernel = parse_kernel(HEAD.format(kind="") + "      if i < 3\n        Y[i, j] = X[i, j]\n")
    assert show_kernel(narrow(kernel)).split("\n", 1)[1] == (
        "  for Y.i in 0..max(0, min(N, 3))\n    for Y.j in 0..M\n      Y[i, j] = X[i, j]\n"
    )


def test_vector_loops_keep_their_lanes():
    kernel = parse_kernel(
        HEAD.format(kind=" vector").replace("0..M", "0..8") + "      if j < i\n        Y[i, j] = X[i, j]\n"
    )
    assert narrow(kernel) is kernel


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("m", [0, 1, 3, 70])
def test_the_same_instances_run(n: int, m: int):
    conditions = "0 <= j - i and j - 2 * i < 3 and i < 4"
    text = (
        f"kernel f(X: f32[N, M]) -> (Y: f32[N, M])\n  for Y.i in 0..N\n    for Y.j in 0..M\n      Y[i, j] = "
        f"0.0\n    for Y.k in 0..M\n"
        f"      if {conditions.replace('j', 'k')}\n        Y[i, k] += X[i, k]\n"
    )
    kernel = parse_kernel(text)
    x = np.random.default_rng(0).standard_normal((n, m)).astype(np.float32)
    sizes = {"N": n, "M": m}
    np.testing.assert_array_equal(
        interpret_kernel(narrow(kernel), [x], sizes)[0], interpret_kernel(kernel, [x], sizes)[0]
    )


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (5, 7), (7, 3)])
@pytest.mark.parametrize("factor", [1, 2])
def test_wavefronts_in_native_code(shape, factor):
    operator = tx.op(
        "op wave(X: f32[M, N]) -> A: f32[M, N] { A[i, j] = max(A[i - 1, j | 0], A[i, j - 1 | 0]) + X[i, j] }"
    )
    kernel = tx.schedule(operator).skew("j", "i", factor).reorder("j", "i").parallel("i").compile()
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    np.testing.assert_array_equal(kernel(x), tx.interpret(operator, x))

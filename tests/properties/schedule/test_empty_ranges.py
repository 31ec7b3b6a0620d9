"""Ranges that end before they begin have no iterations: not in the loop, not in what steps leave
over of it, not in buffers.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.ir.build import integer, is_natural, product
from texpr.ir.expr import Mod, Sub, Var, index

TRIANGLE = "op f(X: i32[9, 8]) -> y: i32[9] { y[i] = sum(j in i..6: X[i, j]) }"
"""From the seventh row on there is nothing to sum, in the last two rows the range ends before it
begins.
"""
PIECES = """op g(X: f32[N], Z: f32[K]) -> Y: f32[N] {
  Y[i] = X[i] + 1 for i in 0..min(N, K)
  Y[i] = X[i] * 2 for i in K..N }"""
DATA = (
    "op h(a: i32[N] in 0..M, b: i32[N] in 0..M, X: f32[M]) -> Y: f32[N] { Y[i] = sum(k in a[i]..b[i]: X[k]) }"
)
TWICE = """op e(X: f32[N, N], Z: f32[K]) -> Y: f32[N, N] {
  Y[i, j] = X[i, j] for i in 0..min(N, K), j in 0..N
  Y[i, j] = X[i, j] for i in K..N, j in 0..min(N, K)
  Y[i, j] = X[i, j] * 2 for i in K..N, j in K..N }"""
BUFFER = """op b(X: i32[K], Z: i32[N], W: i32[M]) -> Y: i32[K, M] {
  Y[j, k] = X[j] + 1 for j in 0..min(K, N), k in 0..M
  Y[j, k] = sum(r in j..K: X[r]) for j in N..K, k in 0..M }"""


def scheduled(text: str, script: str, **sizes: int) -> tx.Schedule:
    return tx.schedule(tx.op(text), **sizes).replay(script)


@pytest.mark.parametrize(
    "script",
    [
        'unroll("j", 4)',
        'unroll_and_jam("j", 4)',
        'split("j", 4, tail="peel")',
        'vectorize("j", 3, tail="peel")',
        'tile("j", sizes=(4,), tail="peel")',
        'peel("j", 2, 1)',
        'split("j", 4, tail="clip")',
        'split("j", 4, tail="peel")\nunroll("ji")',
        'reverse("j")',
        'rfactor("j")',
    ],
)
def test_rows_with_nothing_left_sum_nothing(script):
    s = scheduled(TRIANGLE, script)
    s.certificate()
    assert s.compile()(np.ones((9, 8), np.int32)).tolist() == [6, 5, 4, 3, 2, 1, 0, 0, 0]


@pytest.mark.parametrize(
    "step",
    [
        'unroll("Y.1.i", 4)',
        'unroll_and_jam("Y.1.i", 3)',
        'split("Y.1.i", 4, tail="peel")',
        'vectorize("Y.1.i", 4, tail="peel")',
        'specialize("K > N")\nunroll("Y.1.i_KgtN", 4)',
        'specialize("N % 2 == 1")\nsplit("Y.1.i_Nmod2eq1", 4, tail="peel")',
    ],
)
def test_nothing_is_written_in_front_of_an_array(step):
    s = scheduled(PIECES, step)
    s.certificate()
    memory = np.full(32, 7, np.float32)
    s.compile()(np.ones(1, np.float32), np.ones(6, np.float32), out=memory[16:17])
    assert memory.tolist() == [7] * 16 + [2] + [7] * 15


@pytest.mark.parametrize(
    "script",
    [
        "",
        'unroll("k", 4)',
        'split("k", 4, tail="peel")',
        'unroll_and_jam("k", 2)',
        'peel("k", 1, 1)',
        'split("k", 4, tail="peel")\nsplit("ki", 2, tail="peel")',
    ],
)
def test_data_may_say_that_a_range_ends_before_it_begins(script):
    a, b = np.array([5, 3, 2, 7, 0], np.int32), np.array([2, 7, 2, 1, 7], np.int32)
    assert scheduled(DATA, script).compile()(a, b, np.arange(8, dtype=np.float32)).tolist() == [
        0,
        3 + 4 + 5 + 6,
        0,
        0,
        21,
    ]


def test_copies_ahead_of_an_empty_loop():
    text = (
        "op p(X: f32[N], Z: f32[K]) -> Y: f32[N] {\n  T[i] = X[i] * 2 for i in K..N\n  Y[i] = 1 for i in "
        "0..min(K, N)\n"
        "  Y[i] = T[i] + T[i] for i in K..N }"
    )
    text = text.replace("  T[i] = X[i] * 2 for i in K..N\n", "  T[i] = X[i] * 2\n")
    for script in (
        'compute_at("T", "Y.1.i")\npipeline("T", 2)',
        'compute_at("T", "Y.1.i")\npipeline("T", 3)\nunroll("Y.1.i", 4)',
    ):
        s = scheduled(text, script)
        s.certificate()
        assert s.compile()(np.ones(1, np.float32), np.ones(6, np.float32)).tolist() == [1]
        assert s.compile()(np.ones(9, np.float32), np.ones(6, np.float32)).tolist() == [1] * 6 + [4] * 3


@pytest.mark.parametrize(
    "script",
    [
        "",
        'fuse("Y.2.i", "Y.2.j")',
        'fuse("Y.2.i", "Y.2.j")\nunroll("Y.2.ij", 4, tail="guard")',
        'unroll_and_jam("Y.2.i", 2)',
        'parallel("Y.2.i")\nparallel("Y.2.j")',
        'tile("Y.2.i", "Y.2.j", sizes=(2, 3), tail="peel")',
    ],
)
def test_two_empty_ranges_are_not_one_with_iterations(script):
    s = scheduled(TWICE, script)
    for n, k in ((1, 4), (2, 4), (3, 1), (0, 2), (5, 5)):
        x = np.arange(1, n * n + 1, dtype=np.float32).reshape(n, n)
        expected = x.copy()
        expected[k:, k:] *= 2
        np.testing.assert_array_equal(s.compile()(x, np.ones(k, np.float32)), expected)


@pytest.mark.parametrize("sizes", [{}, {"N": 2}])
@pytest.mark.parametrize("steps", [lambda s: s, lambda s: s.auto()])
def test_buffers_of_empty_ranges_need_no_memory(steps, sizes):
    """The sum has a temporary of K - N elements."""
    kernel = steps(tx.schedule(tx.op(BUFFER), **sizes)).compile()
    for k, m in ((1, 2), (0, 3), (1, 1000), (3, 1)):
        expected = np.where(np.arange(k) < 2, 2, k - np.arange(k))[:, None] + np.zeros((1, m))
        np.testing.assert_array_equal(
            kernel(np.ones(k, np.int32), np.ones(2, np.int32), np.ones(m, np.int32)), expected
        )


def test_a_shape_with_a_negative_size_has_no_elements():
    n, k = Var("N"), Var("K")
    assert integer(product((index(-2), index(-3)))) == 0
    assert integer(product((index(2), index(3)))) == 6
    assert (
        not is_natural(Sub(n, k))
        and is_natural(product((Sub(n, k), n)))
        and is_natural(Mod(Sub(n, k), index(4)))
    )

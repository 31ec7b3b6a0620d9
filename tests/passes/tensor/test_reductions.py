"""Reductions that get a tensor of their own are computed only where the equation computes them:
elsewhere their reads may be outside.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import Scheduled, check, random_arrays
from texpr.ir.printing.loop import show_kernel
from texpr.ir.shapes import evaluate_size
from texpr.ir.traverse import equal
from texpr.passes import hoist, lower

OUTSIDE = [
    "op f(X: f32[N], Z: f32[M], V: f32[K]) -> Y: f32[K] { Y[i] = max(r in 1..M + 1: X[0]) }",
    "op f(X: f32[M, N], Z: f32[K]) -> Y: f32[M, K] { Y[i, j] = sum(r in 0..i + 1: X[r, r | clamp]) + Z[j] }",
    "op f(X: f32[N], Z: f32[M], V: f32[K]) -> Y: f32[K, M] { Y[i, j] = sum(r in 0..M: X[N - 1] * sum(s in "
    "0..M: X[0])) }",
    "op f(X: f32[N], Z: f32[M], V: f32[K]) -> Y: f32 { Y = sum(i in 0..K, j in 0..i + 1: sum(r in 0..M: "
    "X[0])) }",
]
CHOSEN = [
    "op f(A: f32[M, K], B: f32[K, N], c: f32[M]) -> Y: f32[M, N] { Y[i, j] = if c[i] + sum(k: A[i, k] * B[k, j]) > 0 "
    "then c[i] + sum(k: A[i, k] * B[k, j]) else 0.5 * (c[i] + sum(k: A[i, k] * B[k, j])) }",
    "op f(A: f32[M, K], B: f32[K, N]) -> Y: f32[M, N] { Y[i, j] = if i < 2 then (if sum(k: A[i, k] * B[k, j]) > "
    "0 then sum(k: A[i, k] * B[k, j]) else 1.0) else -sum(k: A[i, k] * B[k, j]) }",
    "op f(A: f32[N]) -> Y: f32[N] { Y[i] = if sum(k in 0..N: f32(k * i)) > 3 then sum(k in 0..N: f32(k * i)) else A[i] }",
    "op f(A: f32[M, K], B: f32[N]) -> Y: f32[M, N] { Y[i, j] = if sum(k: A[i, k] * B[j]) > 0 then "
    "max(k: A[i, k]) else sum(k: A[i, k] * B[j]) }",
    "op f(A: f32[M, K], B: f32[K, N]) -> Y: f32[M + 1, N] { Y[i, j] = if i > 0 then (if sum(k: A[i - 1, k] * "
    "B[k, j]) > 0 then sum(k: A[i - 1, k] * B[k, j]) else 2.0) else 3.0 }",
]
INSIDE = [
    "op f(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = X[i, j] / sum(k: X[i, k]) }",
    "op f(E: f32[M, N], p: i32[K] in 0..M) -> Y: f32[K, N] { Y[i, j] = sum(r in 0..N: E[p[i], r] * E[0, r | "
    "1]) }",
]


@pytest.mark.parametrize("text", [*OUTSIDE, *CHOSEN])
def test_nothing_outside_is_read_at_sizes_of_zero(text: str):
    program = tx.op(text).program()
    kernel = lower(program)
    for values in product((0, 1, 3), repeat=len(program.sizes)):
        sizes = dict(zip(program.sizes, values))
        if all(evaluate_size(c, sizes) for c in program.requires):
            check(Scheduled(program, sizes, kernel, []), kernel, random_arrays(program, sizes))


@pytest.mark.parametrize("text", INSIDE)
def test_a_reduction_that_reads_what_is_there_has_no_condition(text: str):
    assert "if " not in show_kernel(lower(tx.op(text).program())).partition("r in")[0].partition("Y.i")[0]


def test_sums_and_conditions_as_deep_as_a_text_is_long():
    """A sum of many terms is a tree that is as deep as it is long."""
    terms = " + ".join(f"{k}.0 * A[i]" for k in range(1500))
    chosen = "".join(f"if A[i] < {k}.5 then {k}.0 else " for k in range(90)) + "sum(k: A[k])"
    f = tx.op(f"op f(A: f32[N]) -> (B: f32[N], C: f32[N]) {{ B[i] = {terms}   C[i] = {chosen} }}")
    a = np.array([1, 7, 200], np.float32)
    b, c = f(a)
    np.testing.assert_allclose(b, a * np.float32(1500 * 1499 / 2), rtol=1e-5)
    assert np.array_equal(c, np.array([1, 7, 208], np.float32))


def test_what_has_no_reduction_stays_as_it_is():
    program = tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[if i < 1 then i - 1 + N else i - 1] }").program()
    assert equal(hoist(program), program)


def test_a_sum_that_chooses_what_becomes_of_it_is_computed_once():
    """As in rectifiers with a slope behind a product."""
    listing = show_kernel(lower(tx.op(CHOSEN[0]).program()))
    assert listing.count(" += ") == 1 and "Y_sum" not in listing

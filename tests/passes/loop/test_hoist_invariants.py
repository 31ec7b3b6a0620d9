"""What does not change in a loop is read before it, where that is sure to be read."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.compare import assert_same_bits
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Kernel, Store
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import statements
from texpr.ir.verifier.program import verify_kernel
from texpr.lang import parse_kernel
from texpr.passes.loop.hoist_invariants import invariants_first
from texpr.passes.loop.legalize_vectors import chunk_vectors


def kernel(body: str, head: str = "X: f32[3, 8], a: f32[3], b: f32") -> Kernel:
    lines = "".join(f"  {line}\n" for line in body.splitlines())
    return parse_kernel(f"kernel f({head}) -> (Y: f32[3, 8])\n{lines}")


def body_of(k: Kernel) -> str:
    return show_kernel(k).split("\n", 1)[1]


def test_values_go_out_as_far_as_loops_hold_nothing_else():
    """What moves with the outer loop stays in it, the largest values are taken, and one that two
    vectors need is computed once.
    """
    k = chunk_vectors(
        kernel("""\
for i in 0..3
  for j in 0..2
    for v in 0..8 vector
      Y[i, v] = X[i, v] * sqrt(a[i] + b) + exp(b)"""),
        16,
    )
    found = invariants_first(k, 8)
    verify_kernel(found)
    assert (
        body_of(found)
        == """\
  let once1: f32  stack
  once1 = exp(b)  copy
  let once2: f32  stack
  once2 = b  copy
  for i in 0..3
    let once0: f32  stack
    once0 = sqrt(a[i] + once2)  copy
    for j in 0..2
      for v in 0..4 vector
        Y[i, v] = X[i, v] * once0 + once1
      for v in 0..4 vector
        Y[i, v + 4] = X[i, v + 4] * once0 + once1
"""
    )
    arrays = [np.random.default_rng(0).random(s, np.float32) for s in ((3, 8), (3,), ())]
    for one, two in zip(interpret_kernel(found, arrays, {}), interpret_kernel(k, arrays, {}), strict=True):
        assert_same_bits(one, two)


@pytest.mark.parametrize(
    "body",
    [
        # not in every iteration
        "for i in 0..3\n  for j in 0..8\n    if i + j < 4\n      Y[i, j] = a[i] + b",
        # one side of a choice
        "for i in 0..3\n  for j in 0..8\n    Y[i, j] = if j < 4 then a[i] else X[i, j]",
        "for i in 0..3\n  for j in 0..8 - 8 // (i + 1) - 4\n    Y[i, j] = a[i]",  # perhaps in none
        "for i in 0..3\n  for j in 0..8\n    Y[i, j] = Y[i, 0] + X[i, j]",  # written in the loop
        "for i in 0..3\n  for j in 0..8\n    Y[i, j] += X[i, j]",  # nothing is the same
        "for i in 0..3 parallel\n  Y[i, 0] = b",  # each thread reads for itself
        # would take a register from the loop inside
        "for i in 0..3\n  Y[i, 0] = b\n  for j in 0..8\n    Y[i, j] = X[i, j]",
        "for i in 0..3 vector\n  for j in 0..8\n    Y[i, j] = X[i, j] * a[i]",  # each lane has its own
    ],
)
def test_values_that_stay_where_they_are(body: str):
    k = kernel(body)
    assert invariants_first(k, 8) is k


def test_a_choice_that_is_the_same_goes_as_a_whole():
    found = invariants_first(
        kernel("for i in 0..3\n  for j in 0..8\n    Y[i, j] = X[i, j] * (if i < 2 then a[i] else b)"), 8
    )
    assert [str(s.tensor.name) for s in statements(found) if isinstance(s, Store)] == ["once0", "Y"]
    assert "once0 = if i < 2 then a[i] else b" in show_kernel(found)


def test_what_goes_on_leaves_its_place():
    """A value that two loops need only once is kept in neither."""
    found = invariants_first(kernel("for i in 0..3\n  for j in 0..8\n    Y[i, j] = X[i, j] * b"), 8)
    assert (
        body_of(found)
        == """\
  let once0: f32  stack
  once0 = b  copy
  for i in 0..3
    for j in 0..8
      Y[i, j] = X[i, j] * once0
"""
    )


def test_more_values_than_there_are_registers_for_stay():
    k = kernel("for i in 0..3\n  for j in 0..8\n    Y[i, j] = X[i, j] * a[i] + b")
    assert invariants_first(k, 1) is k and invariants_first(k, 2) is not k


@pytest.mark.parametrize("extent", ["M", "5"])
def test_loops_in_lanes_are_right(extent: str):
    """Under the mask of a ragged vector, too."""
    op = tx.op(
        f"op f(X: f32[{extent}, 6], a: f32[{extent}]) -> Y: f32[{extent}, 6] {{ Y[i, j] = X[i, j] * a[i] }}"
    )
    X, a = np.random.default_rng(0).random((5, 6), np.float32), np.arange(5, dtype=np.float32)
    for factor in (2, 4):
        kernel = tx.schedule(op).vectorize("i", factor).compile()
        np.testing.assert_array_equal(kernel(X, a), X * a[:, None])


def test_a_value_that_is_a_part_of_another_one_is_read_beside_it():
    op = tx.op("""fn g(t, x) = x * sqrt(t) + t
        op f(a: f32[9], X: f32[9, 33], b: f32) -> Y: f32[9, 33] { Y[i, j] = g(a[i] * b, X[i, j]) }""")
    text = show_kernel(invariants_first(tx.schedule(op).kernel, 8))
    assert (
        "Y[i, j] = X[i, j] * once0 + once1" in text
        and "once0 = sqrt(a[i] * once2)" in text
        and "once1 = a[i] * once2" in text
    )


def test_one_element_is_one_value_however_often_it_is_written():
    found = invariants_first(
        kernel(
            "for i in 0..3\n  for j in 0..8\n    Y[i, j] = X[i, j] * b + X[i, j] / b + a[i] + a[i] * X[i, j]"
        ),
        2,
    )
    assert [s.tensor.name for s in statements(found) if isinstance(s, Store)] == ["once0", "once1", "Y"]

"""Steps where there are several of what is mostly one: updates in a loop, statements in a nest,
loops of one name, readers of a tensor.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.test_corners import computes, refusal, scheduled
from texpr.ir.expr import Var
from texpr.ir.printing.loop import show_kernel
from texpr.schedule.steps.placement.fold_storage import fold_storage
from texpr.schedule.structure.loops import find_loops

COUNTS = """op counts(X: i32[N]) -> (y: i32, H: i32[N]) {{
  H[j] = 0 for j in 0..N
  H[{0}] += X[i] for i in 0..N
  y = sum(i: X[i]) }}"""
MASKED = "op masked(X: f32[N]) -> y: f32 {\n  T[i] = X[i] * 2\n  y = sum(i where T[i] > 0: X[i]) }"
CUT = """op cut(X: f32[N, 8], w: f32[N, 8]) -> Y: f32[N, 8] {
  let T: f32[N, 8]
  T[i, j] = X[i, j] * 2 for i in 0..N, j in 0..8 where i < 4
  T[i, j] = X[i, j] * 3 for i in 0..N, j in 0..8 where i >= 4
  Y[i, j] = T[i, j] + w[i, j] }"""
TRIANGLE = (
    "op triangle(X: f32[N, N]) -> Y: f32[N, N] {\n  Y[i, j] = X[i, j] for j in 0..i + 1\n  Y[i, j] = 0 for j "
    "in i + 1..N }"
)
CHAIN = (
    "op chain(X: f32[N, M]) -> (A: f32[N, M], B: f32[N, M]) {\n  A[i, j] = X[i, j] * 2\n  B[i, j] = A[i, j] "
    "* 3 }"
)
PLANE = """op plane(X: f32[N, M]) -> Y: f32[N + M, N, M] {
  let T: f32[N + M, N, M]
  T[i + j, i, j] = X[i, j]
  T[k, i, j] = 1 for k in 0..N + M, i in 0..N, j in 0..M where k != i + j
  Y[k, i, j] = T[k, i, j] * 2 }"""
STENCIL = "op stencil(X: f32[N]) -> Y: f32[N] {\n  T[i] = X[i] * 2\n  Y[i] = T[i] + T[i - 1 | 0] }"


@pytest.mark.parametrize("element", ["i", "N - 1 - i"])
def test_lanes_that_join_one_update_and_have_elements_of_another(element: str):
    operator = tx.op(COUNTS.format(element))
    s = tx.schedule(operator).replay('compute_at("H.1", "y.i")\nvectorize("y.i")')
    s.certificate()
    compiled = s.compile()
    for n in (1, 7, 33):
        x = np.arange(n, dtype=np.int32)
        wanted, found = tx.interpret(operator, x), compiled(x)
        assert isinstance(wanted, tuple) and isinstance(found, tuple)
        for each, other in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(each, other)


@pytest.mark.parametrize("element", ["i // 2", "i % 2 | drop"])
def test_lanes_that_join_one_update_and_meet_in_another(element: str):
    said = refusal(COUNTS.format(element), 'compute_at("H.1", "y.i")\nvectorize("y.i")')
    assert "vectorize of `ii`: its iterations depend on each other" in said and "both use H[0]" in said


def test_a_tensor_that_only_a_condition_reads_moves():
    s = scheduled(MASKED, 'split("y.i", 4)\nsplit("T.i", 4)\nlayout("T", "i -> i/4 i%4")')
    assert "if T[io, ii] > 0.0" in show_kernel(s.kernel)
    s.certificate()
    computes(s, 0, 1, 5, 8)


def test_a_nest_of_two_statements_is_not_the_first_of_them():
    apart = 'split("T.0.i", 4)\nsplit("T.1.i", 4)\nsplit("Y.i", 4)\ncompute_at("T.0", "T.1.ii")\n'
    assert "stands under a condition" in refusal(CUT, apart + 'compute_at("T.1", "Y.j", recompute=False)')
    s = scheduled(CUT, apart + 'compute_at("T.1", "Y.ii", recompute=False)')
    s.certificate()
    computes(s, 0, 3, 9)


@pytest.mark.parametrize("kind", ["", 'parallel("Y.0.j")\n', 'parallel("Y.0.i")\n'])
def test_a_triangle_on_its_side_may_run_at_once(kind: str):
    s = scheduled(TRIANGLE, kind + 'reorder("Y.0.j", "Y.0.i")')
    assert "if j < i + 1" in show_kernel(s.kernel) and ("parallel" in show_kernel(s.kernel)) == bool(kind)
    s.certificate()
    computes(s, 0, 1, 4)


def test_loops_of_one_name_are_cut_each():
    s = scheduled(CHAIN, 'compute_at("A", "B.j")\npeel("B.j", 2, 0)', N=3, M=8)
    loops = find_loops(s.kernel, "B.j")
    s = s.replay('fission("B.j")')
    assert len(find_loops(s.kernel, "B.j")) == 2 * len(loops)
    assert {n.var for n in loops} <= {n.var for n in find_loops(s.kernel, "B.j")}
    s.certificate()


def test_a_dimension_is_named_by_the_loop_itself():
    s = scheduled(STENCIL, 'compute_at("T", "Y.i", slide=True)')
    loop = find_loops(s.kernel, "Y.i")[0].var
    assert isinstance(loop, Var)
    assert "let T: f32[2]" in show_kernel(fold_storage(s.kernel, "T", loop))


def test_an_element_is_of_the_equation_whose_indices_it_has():
    """The first index of the plane does not tell the iteration, and the other two do; it says
    then whether there is one.
    """
    s = scheduled(PLANE, 'inline("T")')
    assert not s.kernel.temporaries
    computes(s, 0, 1, 3)


@pytest.mark.parametrize("outside", ["V[i]", "V[0]", "0"])
def test_what_stands_outside_of_a_tensor_is_copied_where_it_is_one_number(outside: str):
    text = (
        "op edge(X: f32[N], V: f32[N]) -> Y: f32[N] { Y[i] = X[i - 1 | "
        + outside
        + "] + X[i + 1 | "
        + outside
        + "] * V[i] }"
    )
    s = scheduled(text, 'split("i", 4)\ncache_read("X", "io")')
    s.certificate()
    computes(s, 0, 1, 4, 5)


@pytest.mark.parametrize(
    ("third", "length"), [("4 * j", "(M + 1) // 2"), ("2 * k[j | 0]", "M"), ("3 * j", "M")]
)
def test_every_second_element_is_copied_where_all_reads_take_these(third: str, length: str):
    """Twice a number of data may wrap, and half of that is another number."""
    text = (
        f"op halves(X: f32[N, M], k: i64[M]) -> Y: f32[N, M] {{ Y[i, j] = X[i, 2 * j | 0] * X[i, 2 * j + 2 | "
        f"0] + X[i, {third} | 0] }}"
    )
    s = scheduled(text, 'cache_read("X", "i")')
    assert f"X_cache: f32[1, {length}]" in show_kernel(s.kernel)
    s.certificate()
    computes(s, 0, 1, 5)

"""Recurrences as loops: in an order that is proven, equal to the interpreter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr.ir.dtypes import F64
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.loop import For
from texpr.ir.loop_kind import SERIAL, VECTOR
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import walk
from texpr.ir.verifier.program import verify_kernel
from texpr.lang import parse
from texpr.lang.elaboration.elaborate import unproven
from texpr.passes import lower, specialize

EXAMPLES = Path(__file__).parents[3] / "examples" / "operators"
rng = np.random.default_rng(0)

OPERATORS = {
    "op cumsum(X: f32[L, *D]) -> Y: f32[L, *D] { Y[t, *d] = Y[t-1, *d | 0] + X[t, *d] }": [(5, 3)],
    "op back(X: f32[L, D]) -> Y: f32[L, D] { Y[t, d] = Y[t+1, d | 0] + X[t, d] }": [(5, 3)],
    "op late(X: f32[N, L]) -> Y: f32[N, L] { Y[n, t] = Y[n, t-1 | 0] * 0.5 + X[n, t] }": [(3, 5)],
    "op seidel(A: f32[N, M]) -> B: f32[N, M] { B[i, j] = (B[i-1, j | 0] + B[i, j-1 | 0] + A[i+1, j | 0] + "
    "A[i, j+1 | 0]) / 4 }": [(4, 5)],
    "op corner(A: f32[N, M]) -> B: f32[N, M] { B[i, j] = B[i+1, j | 0] + B[i, j-1 | 0] + A[i, j] }": [(4, 5)],
    """op zigzag(X: f32[L]) -> (a: f32[L], b: f32[L]) {
      a[t] = b[t-1 | 0] + X[t]
      b[t] = a[t] * 0.5
    }""": [(6,)],
    """op textual(X: f32[L]) -> (b: f32[L], a: f32[L]) {
      b[t] = a[t] * 0.5
      a[t] = b[t-1 | 0] + X[t]
    }""": [(6,)],
    """op shifted(X: f32[L]) -> (a: f32[L], b: f32[L]) {
      a[t] = b[t | 0] + X[t]
      let c: f32[L+1]
      c[0] = 0
      c[t+1] = a[t] * 2  for t in 0..L
      b[t] = c[t]
    }""": [(6,)],
    """op normed(X: f32[L, D]) -> h: f32[L+1, D] {
      h[0, d] = 1
      z[t, d] = h[t, d] + X[t, d]  for t in 0..L
      h[t+1, d] = z[t, d] / (1 + sum(k: z[t, k] * z[t, k]))  for t in 0..L
    }""": [(4, 3)],
    """op scaled(X: f32[N, D]) -> (S: f32[D, D], V: f32[N, D]) {
      S[i, j] = f32(i - 2 * j) + (if i < j then sum(k: X[k, i] * V[k, j]) else 0)
      V[k, j] = X[k, j] / (1 + abs(S[j, j]))
    }""": [(4, 3)],
}


@pytest.mark.parametrize("text", OPERATORS, ids=lambda text: text.split("(")[0])
def test_lowered_recurrences_mean_what_the_equations_mean(text: str):
    program = tx.op(text).program()
    arrays = [rng.standard_normal(shape, dtype=np.float32) for shape in OPERATORS[text]]
    sizes = dict(zip((v.name for v in program.sizes), OPERATORS[text][0]))
    kernel = lower(specialize(program, {v: sizes[v.name] for v in program.sizes}))
    verify_kernel(kernel)
    for got, want in zip(interpret_kernel(kernel, arrays, {}), interpret(program, arrays)):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("text", OPERATORS, ids=lambda text: text.split("(")[0])
@pytest.mark.parametrize("length", [1, 2, 33])
def test_compiled_recurrences(text: str, length: int):
    operator = tx.op(text)
    arrays = [rng.standard_normal((length, *shape[1:]), dtype=np.float32) for shape in OPERATORS[text]]
    got, want = operator(*arrays), tx.interpret(operator, *arrays)
    for a, b in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_a_backward_recurrence_runs_backward():
    schedule = tx.schedule(tx.op("op back(X: f32[L]) -> Y: f32[L] { Y[t] = Y[t+1 | 0] + X[t] }"))
    assert "Y[L - 1 - t] = " in str(schedule)


def test_time_loops_are_not_parallel():
    schedule = tx.schedule(
        tx.op("op cumsum(X: f32[L, D]) -> Y: f32[L, D] { Y[t, d] = Y[t-1, d | 0] + X[t, d] }"), L=64, D=4096
    )
    with pytest.raises(tx.ScheduleError, match="parallel of `t`: its iterations depend on each other"):
        schedule.parallel("t")
    kinds = {n.var.name: n.kind for n in walk(schedule.auto().kernel) if isinstance(n, For)}
    assert kinds["t"] == SERIAL and VECTOR in kinds.values()


def test_an_order_that_no_loops_have():
    """The ends need what is between them: no affine time says so."""
    op = parse(
        "op f(X: f32[4]) -> A: f32[4] { A[i] = if i == 0 then A[1] else if i == 3 then A[2] else X[i] }"
    ).ops["f"]
    with pytest.raises(tx.CheckError) as e:
        lower(unproven(op, {}, {}))
    assert (
        str(e.value)
        == """error[cycle]: no order of loops was found in which A can be computed
  --> <text>:1:32
  1 | op f(X: f32[4]) -> A: f32[4] { A[i] = if i == 0 then A[1] else if i == 3 then A[2] else X[i] }
    |                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  help: let each element need elements that are earlier along some dimension; tx.interpret runs any order"""
    )


def test_what_an_if_guards_inside_a_reduction_stays_guarded():
    """The first row has no row before it: neither the largest element nor its place may be
    looked for there.
    """
    op = tx.op(
        "op f(X: f32[N, M]) -> p: i64[N, M] { p[t, s] = if t == 0 then 0 else argmax(r: X[t-1, r] + X[t-1, "
        "s]) }"
    )
    listing = show_kernel(lower(op.program()))
    assert listing.count("if not t == 0") == 2, listing


def test_what_needs_a_recurrence_waits_for_it():
    """The interpreter does not take an equation before the recurrence for a part of the cycle
    that it waits for.
    """
    program = tx.op(
        "op f(X: i64[N]) -> (y: i64[N], a: i64[N]) { a[i] = X[i] + a[i-1 | 0]  y[i] = a[i] * 2 }"
    ).program()
    y, a = interpret(replace(program, equations=program.equations[::-1]), [np.arange(4)])
    assert a.tolist() == [0, 1, 3, 6] and y.tolist() == [0, 2, 6, 12]


PICTURES = {
    """op columns(X: f32[M, N]) -> (Q: f32[M, N], R: f32[N]) {
      Q[k, j] = X[k, j] / R[j]
      R[j] = X[0, j] + (if j == 0 then 1 else Q[0, j-1])
    }""": """
  for Q.j in 0..N
    R[j] = X[0, j] + (if j == 0 then 1.0 else Q[0, j - 1])  eq 1
    for Q.k in 0..M
      Q[k, j] = X[k, j] / R[j]
""",
    "op skewed(X: i64[N, M]) -> A: i64[N, M] { A[i, j] = X[i, j] + A[i-1, j+1 | 0] + A[i+1, j-2 | 0] }": """
  for A.ij in 0..N + M - 1
    for A.i in 0..min(N, ij + 1) - max(ij - M + 1, 0)
      A[i + max(ij - M + 1, 0), ij - i - max(ij - M + 1, 0)] = X[""",
    """op crossed(X: i64[N]) -> (a: i64[N], b: i64[N]) {
      a[i] = b[N - 1 - i] + X[i]
      b[i] = if i == 0 then 1 else a[N - i] * 2
    }""": """
  for a.i in 0..N + 1
    if N - i < N
      a[N - i] = b[N - 1 - (N - i)] + X[N - i]
    if i < N
      b[i] = if i == 0 then 1 else a[N - i] * 2  eq 1
""",
}


@pytest.mark.parametrize("text", PICTURES, ids=lambda text: text.split("(")[0])
def test_the_loops_of_an_order(text: str):
    assert PICTURES[text] in show_kernel(lower(tx.op(text).program())) + "\n"


@pytest.mark.parametrize("name", ["cholesky", "lu", "gram_schmidt", "tridiagonal"])
def test_adjoints_of_factorizations_have_an_order(name: str):
    """Adjoints run backward, and those of factorizations need several loops: lowered equals
    interpreted.
    """
    program = tx.grad(getattr(tx.load(EXAMPLES / "linear_algebra.tx"), name)).program({"T": F64})
    arrays = [
        rng.standard_normal((5,) * t.rank) + (6 * np.eye(5) if t.rank == 2 else 6) for t in program.inputs
    ]
    kernel = lower(specialize(program, dict.fromkeys(program.sizes, 5)))
    verify_kernel(kernel)
    for got, want in zip(interpret_kernel(kernel, arrays, {}), interpret(program, arrays)):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["linear_algebra.gram_schmidt", "recurrences.qr_columns"])
def test_second_derivatives_of_factorizations_have_an_order(name: str):
    """Sums under conditions keep them: where one does not hold, elements are computed later."""
    file, _, operator = name.partition(".")
    twice = tx.grad(tx.grad(getattr(tx.load(EXAMPLES / f"{file}.tx"), operator)))
    program = twice.program({"T": F64})
    kernel = lower(specialize(program, dict.fromkeys(program.sizes, 3)))
    arrays = [rng.standard_normal([3] * t.rank) for t in program.inputs]
    for got, want in zip(interpret_kernel(kernel, arrays, {}), interpret(program, arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_a_call_beside_a_recurrence():
    """Only a call that takes part in it is refused."""
    op = tx.op(
        "op twice(X: f32[L]) -> Y: f32[L] { Y[i] = X[i] * 2 }\n"
        "op sums(X: f32[L]) -> h: f32[L] {\n  T = twice(X)\n  h[t] = h[t - 1 | 0] + T[t]\n}",
        "sums",
    )
    x = np.ones(4, np.float32)
    np.testing.assert_array_equal(op(x), np.cumsum(2 * x))

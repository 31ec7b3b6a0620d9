"""Reads through `clamp`, `wrap` and `reflect`: what reads an element is a sum, in recurrences
too.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.autodiff.checking import check_gradient
from tests.autodiff.test_text import assert_round_trip
from tests.profiles import examples
from texpr.autodiff import grad, jvp, vjp
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Equation, Program
from texpr.ir.verifier.program import verify_program
from texpr.lang import elaborate, parse
from texpr.poly import check_program

MODES = ("clamp", "wrap", "reflect")


def program(text: str) -> Program:
    return elaborate(parse(text).ops["f"], {}, {})


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


STEPS = {
    "heat": "U[t, i] + 0.1 * (U[t, i - 1 | MODE] - 2 * U[t, i] + U[t, i + 1 | MODE])",
    "far": "U[t, i] * (U[t, i - 3 | MODE] + 2 * U[t, i + 2 | MODE])",
    "backwards": "U[t, N - 2 - i | MODE] * U[t, N - i | MODE]",
    "window": "sum(k in 0..3: U[t, i + k - 1 | MODE] * U[t, k])",
    "maximum": "U[t, i] + max(k in 0..3: U[t, i - k | MODE])",
    "condition": "if i < 2 then U[t, i - 1 | MODE] * U[t, i] else U[t, i]",
}


def steps(value: str, mode: str) -> Program:
    return program(f"""op f(U0: f64[N]) -> U: f64[3, N] require N >= 4 {{
      U[0, i] = U0[i]
      U[t + 1, i] = {value.replace("MODE", mode)}  for t in 0..2
    }}""")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", STEPS)
def test_recurrence(name: str, mode: str):
    p = steps(STEPS[name], mode)
    assert_round_trip(check_gradient(p, normal(5)))
    for derived in (grad(p), vjp(p).backward, jvp(p)):
        check_program(derived)


RECURRENCES = {
    "line": "Y[0] = X[0]  Y[i] = X[i] * Y[i - 3 | clamp]  for i in 1..N",
    "from the end": "Y[N - 1] = X[N - 1]  Y[i] = X[i] * Y[i + 2 | clamp]  for i in 0..N - 1",
    "around": "Y[0] = X[0]  Y[i] = X[i] * Y[i + N - 1 | wrap]  for i in 1..N",
    "mirror": "Y[0] = X[0]  Y[1] = X[1]  Y[2] = X[2]  Y[i] = X[i] * Y[i - 1 | reflect] + Y[i - 3 | reflect]  "
    "for i in 3..N",
}


@pytest.mark.parametrize("name", RECURRENCES)
def test_recurrence_along_the_boundary(name: str):
    p = program(f"op f(X: f64[N]) -> Y: f64[N] require N >= 4 {{ {RECURRENCES[name]} }}")
    assert_round_trip(check_gradient(p, normal(6)))
    check_program(grad(p))


@pytest.mark.parametrize(("mode", "low"), [("clamp", -4), ("wrap", -1), ("reflect", 0)])
def test_recurrence_over_data(mode: str, low: int):
    p = program(f"""op f(X: f64[N], n: i64[N] in {low}..N) -> Y: f64[3, N] require N >= 1 {{
      Y[0, i] = X[i]
      Y[t + 1, i] = X[i] * Y[t, n[i] | {mode}]  for t in 0..2
    }}""")
    check_program(check_gradient(p, normal(5), np.array([low, 4, 0, 4, low])))


@pytest.mark.parametrize("mode", MODES)
def test_two_dimensions_at_once(mode: str):
    p = program(f"""op f(U0: f64[N, M]) -> U: f64[3, N, M] require N >= 2, M >= 2 {{
      U[0, i, j] = U0[i, j]
      U[t + 1, i, j] = U[t, i, j] * U[t, i - 1, j + 1 | {mode}]  for t in 0..2
    }}""")
    check_gradient(p, normal(3, 4))


@pytest.mark.parametrize("mode", MODES)
def test_second_order(mode: str):
    p = steps("U[t, i] * U[t, i - 1 | MODE]", mode)
    cotangents = [np.random.default_rng(4).normal(size=y.shape) for y in interpret(p, [normal(4)])]
    check_program(check_gradient(grad(p), normal(4), *cotangents))


@pytest.mark.parametrize("mode", MODES)
def test_what_is_no_recurrence_is_no_fold_either(mode: str):
    p = program(f"""op f(X: f64[N, M], F: f64[3, 3]) -> Y: f64[N, M] require N >= 3, M >= 3 {{
      Y[i, j] = sum(r, q: X[i + r - 1, j + q - 1 | {mode}] * F[r, q])
    }}""")
    gradient = check_gradient(p, normal(3, 4), normal(3, 3))
    assert all(isinstance(e, Equation) and e.update is None for e in gradient.equations)
    check_program(gradient)


def test_three_dimensions_at_once_are_a_fold():
    p = program(
        "op f(X: f64[N, M, K]) -> Y: f64[N, M, K] { Y[i, j, k] = X[i - 1, j - 1, k - 1 | clamp] * X[i + 1, j "
        "+ 1, k + 1 | clamp] }"
    )
    assert all(
        isinstance(e, Equation) and e.update is None for e in check_gradient(p, normal(3, 3, 3)).equations
    )
    p = program(
        "op f(X: f64[N, M, K], F: f64[3]) -> Y: f64[N, M, K] {"
        " Y[i, j, k] = sum(r in 0..3: X[i + r - 1, j + r - 1, k + r - 1 | clamp] * F[r]) }"
    )
    assert any(
        isinstance(e, Equation) and e.update == "add"
        for e in check_gradient(p, normal(3, 3, 3), normal(3)).equations
    )


INDICES = (
    "i",
    "j",
    "i + j - 1",
    "i - j",
    "j - i + 1",
    "i - 1",
    "i + 2",
    "2 * i - 1",
    "2 * j - 3",
    "j // 2",
    "2 - i",
    "N - i",
)
BODIES = (
    "A[P, Q | clamp] * A[j, i | clamp]",
    "sum(k in 0..3: A[P + k, Q | clamp] * b[k])",
    "max(k in 0..3: A[P - k, Q | clamp] * b[k])",
    "if j <= i then prod(k in 0..2: A[P, Q - k | clamp]) else A[P, j | clamp]",
)


@examples(8)
@given(st.sampled_from(BODIES), st.sampled_from(INDICES), st.sampled_from(INDICES))
@example(BODIES[0], "i + j - 1", "i")
@example(BODIES[2], "i + j - 1", "i + j - 1")
def test_indices_that_share_axes(body: str, p: str, q: str):
    """A maximum is found in the whole of its range, and an axis that one index fixes is fixed in
    the others.
    """
    text = (
        f"op f(A: f64[N, M], b: f64[3]) -> Y: f64[N, M] require N == M {{ Y[i, j] = "
        f"{body.replace('P', p).replace('Q', q)} }}"
    )
    check_gradient(program(text), normal(4, 4), normal(3))


def test_picture(golden):
    golden(
        show_program(grad(steps(STEPS["heat"], "clamp"))) + show_program(grad(steps(STEPS["far"], "reflect")))
    )


@pytest.mark.parametrize("first", ["i", "K - 1 - i"])
def test_binders_that_begin_at_an_axis(first: str):
    """Of the binders that meet an element at an edge, one is counted from where its range
    begins, which is solved for by then.
    """
    read = f"X[{first}, q + r - 1, 2*q + r | clamp]"
    value = f"sum(q in 0..p[1], r in i..i + 2: {read} * {read})"
    text = f"op f(X: f64[K, N, N], p: i64[K] in 0..N) -> Y: f64[K] require K >= 2 {{ Y[i] = {value} }}"
    derived = check_gradient(program(text), normal(4, 6, 6), np.array([0, 4, 2, 1]))
    verify_program(derived)
    check_program(derived)

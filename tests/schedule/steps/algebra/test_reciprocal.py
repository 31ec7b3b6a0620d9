"""`reciprocal`: products with reciprocals stay within the bound that the step states, the
certificate derives them, and says so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.schedule.steps.algebra.altered import certified_with
from texpr.ir.expr import Const, Div, Mul, Node, Read
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.traverse import rewrite
from texpr.passes.lowering.lower import loops_of
from texpr.poly.certificate import certify
from texpr.support.errors import ScheduleError

SOFTMAX = tx.op("""
op softmax(X: f32[N, M]) -> Y: f32[N, M] {
  m[i] = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}""")
BY_COLUMN = tx.op(
    "op scaled(X: f32[N, M], d: f32[M]) -> Y: f32[N, M] {\n"
    "  Y[i, j] = (X[i, j] + 1) / max(d[j], 1e-3) - X[i, j] / max(d[j], 1e-3)\n}"
)


def _divided(divisor: str) -> tx.Op:
    return tx.op(f"op f(X: f32[N, M], d: f32[N]) -> Y: f32[N, M] {{ Y[i, j] = X[i, j] / ({divisor}) }}")


def test_the_picture(golden):
    golden(str(tx.schedule(SOFTMAX).reciprocal("Y")))


NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(
    st.floats(2.0**-126, float(np.finfo(np.float32).max), width=32),
    st.lists(NUMBERS, min_size=1, max_size=20),
)
def test_products_are_near_the_quotients(divisor: float, values: list[float]):
    """Relative to the exact quotient by 2^-23, by 2^-21 where the reciprocal is below the normal
    numbers; and results that are.
    """
    op = _divided("max(d[i], 1.1754944e-38)")
    x, d = np.array([values], "f4"), np.array([divisor], "f4")
    with np.errstate(all="ignore"):
        got = interpret_kernel(tx.schedule(op).reciprocal("Y").kernel, [x, d], {"N": 1, "M": len(values)})[0]
        exact = x.astype("f8") / d.astype("f8")
    bound = 2.0**-23 if divisor <= 2.0**126 else 2.0**-21
    finite = np.abs(exact) < 3.4e38
    assert (np.abs(got - exact)[finite] <= bound * np.abs(exact)[finite] + 2.0**-149).all()
    assert (np.sign(got[~finite]) == np.sign(exact[~finite])).all()


def test_divisors_that_are_infinite_or_nan_give_what_quotients_give():
    x = np.array([[1, -2, 0, np.inf, np.nan]] * 3, "f4")
    d = np.array([np.inf, np.nan, 3.0], "f4")
    op = _divided("max(d[i], 1e-30)")
    with np.errstate(all="ignore"):
        got = interpret_kernel(tx.schedule(op).reciprocal("Y").kernel, [x, d], {"N": 3, "M": 5})[0]
        np.testing.assert_allclose(got, tx.interpret(op, x, d), rtol=2.0**-23)


def test_one_reciprocal_serves_equal_divisors():
    s = tx.schedule(BY_COLUMN).reciprocal("Y")
    assert str(s).count("1.0 / max(d[j], 0.001)") == 1
    assert s.certificate().rewrites["reciprocal"] == ("Y",)
    x, d = np.random.default_rng(0).random((4, 7), "f4"), np.random.default_rng(1).random(7, "f4")
    np.testing.assert_allclose(s.compile()(x, d), tx.interpret(BY_COLUMN, x, d), rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize(
    "equations",
    [
        "Y[i, j] = X[i, j] / max(d[i], 1.0)  Y[i, j] += X[i, j] / max(d[i], 2.0)",
        "Y[i, j] = X[i, j]  Y[i, j] += X[i, j] / max(d[i], 2.0)",
        "Y[i, 0] = X[i, 0] / max(d[i], 1.0)  Y[i, j] = X[i, j] / max(Y[i, 0], 1.0) for j in 1..M",
        "Y[0, j] = X[0, j]  Y[i, j] = X[i, j] / max(Y[i - 1, 0], 1.0) / max(d[i], 2.0) for i in 1..N",
    ],
)
def test_several_equations_of_a_tensor(equations: str):
    op = tx.op(f"op f(X: f32[N, M], d: f32[N]) -> Y: f32[N, M] require N >= 1, M >= 1 {{ {equations} }}")
    s = tx.schedule(op).reciprocal("Y")
    assert s.certificate().rewrites["reciprocal"] == ("Y",)
    x, d = (
        np.random.default_rng(0).standard_normal((6, 5)).astype("f4"),
        3 * np.random.default_rng(1).random(6, "f4"),
    )
    np.testing.assert_allclose(s.compile()(x, d), tx.interpret(op, x, d), rtol=1e-6)


def test_a_divisor_is_read_only_where_it_was():
    """Rows without elements have no divisor."""
    op = tx.op(
        "op f(X: f32[N, M]) -> Y: f32[N, M] { s[i] = max(j: abs(X[i, j]))  Y[i, j] = X[i, j] / max(s[i], "
        "1e-9) }"
    )
    s = tx.schedule(op).reciprocal("Y")
    assert "require M >= 1 or N == 0" in str(s)
    assert s.compile()(np.zeros((0, 3), "f4")).shape == (0, 3)


PROVEN = [
    "max(d[i], 1e-9)",
    "sqrt(d[i] * d[i] + 1e-5)",
    "1 + exp(d[i])",
    "2 + abs(d[i]) / 3",
    "max(exp(d[i]) + 0.5, d[i])",
    "sqrt(d[i]) + 1e-5",
    "min(1 + exp(d[i]), 3)",
    "sum(k: X[i, k] * X[i, k]) + 0.001",
]
UNPROVEN = [
    "d[i]",
    "exp(d[i])",
    "abs(d[i])",
    "d[i] * d[i]",
    "max(d[i], 1e-39)",
    "min(d[i], 1)",
    "1 - exp(d[i])",
    "sum(k: X[i, k])",
    "sum(k: exp(X[i, k]))",
    "-max(d[i], 1)",
    "1e-5 + d[i]",
    "sqrt(d[i])",
    "max(d[i], 1) * d[i]",
]


@pytest.mark.parametrize("divisor", PROVEN)
def test_divisors_that_are_proven_to_be_large_enough(divisor: str):
    s = tx.schedule(_divided(divisor)).reciprocal("Y")
    assert s.certificate().rewrites["reciprocal"] == ("Y",)


@pytest.mark.parametrize("divisor", UNPROVEN)
def test_divisors_that_may_be_too_small_are_refused(divisor: str):
    with pytest.raises(ScheduleError) as e:
        tx.schedule(_divided(divisor)).reciprocal("Y")
    assert (
        "error[reciprocal]: a divisor of `Y` is not proven to be so large that its reciprocal is finite"
        in str(e.value)
    )
    assert "help: divide by max(d, 1e-30), by sqrt(v + 1e-5), or leave the quotient as it is" in str(e.value)


@pytest.mark.parametrize(
    "change",
    [
        ("exp(X[i, j] - m[i])", "exp(X[i, j] - 2 * m[i])"),
        ("exp(X[i, j] - m[i])", "exp(m[i] - X[i, j])"),
        ("max(j: X[i, j])", "min(j: X[i, j])"),
        ("max(j: X[i, j])", "max(j: X[j, i])"),
        ("sum(k: e[i, k])", "sum(k: e[k, i])"),
        ("max(j: X[i, j])", "max(j in 0..N - 1: X[i, j])"),
        ("sum(k: e[i, k])", "sum(k in 1..N: e[i, k])"),
        ("max(j: X[i, j])", "max(j where j != 1: X[i, j])"),
        ("sum(k: e[i, k])", "sum(k: e[i, k] * e[i, k] * 1e-30)"),
    ],
)
def test_sums_that_need_not_hold_the_greatest_exponential(change: tuple[str, str]):
    text = (
        "op f(X: f32[N, N]) -> Y: f32[N, N] require N >= 2 { m[i] = max(j: X[i, j])  e[i, j] = exp(X[i, j] - "
        "m[i])  "
        "Y[i, j] = e[i, j] / sum(k: e[i, k]) }"
    )
    assert tx.schedule(tx.op(text)).reciprocal("Y").certificate().rewrites["reciprocal"] == ("Y",)
    with pytest.raises(ScheduleError, match="not proven to be so large"):
        tx.schedule(tx.op(text.replace(*change))).reciprocal("Y")


@pytest.mark.parametrize(
    "value",
    [
        "X[i, j] / X[i, j]",
        "X[i, j] * d[i]",
        "if d[i] > 0 then X[i, j] / max(d[i], 1) else 0",
        "sum(k: X[i, k] / max(d[i], 1)) + X[i, j]",
    ],
)
def test_refuses_what_has_no_divisor_of_its_own(value: str):
    op = tx.op(f"op f(X: f32[N, M], d: f32[N]) -> Y: f32[N, M] {{ Y[i, j] = {value} }}")
    with pytest.raises(
        ScheduleError, match="`Y` is not divided by floats that are the same along one of its axes"
    ) as e:
        tx.schedule(op).reciprocal("Y")
    assert f"{value}\n" in str(e.value) or f"{value} }}" in str(e.value)


def test_refuses_other_tensors_and_later_steps():
    with pytest.raises(ScheduleError) as e:
        tx.schedule(SOFTMAX).reciprocal("Z")
    assert "error[tensor]: there is no tensor `Z`\n    tensors: X, Y, m, e, Y_sum" in str(e.value)
    with pytest.raises(
        ScheduleError, match="reciprocal rewrites the equations, before their loops are changed"
    ):
        tx.schedule(SOFTMAX).split("Y.j", 4).reciprocal("Y")


def test_certificate_refuses_what_is_no_reciprocal():
    def halved(n: Node) -> Node | None:
        return Div(Const(0.5, dtype=n.dtype), n.rhs) if isinstance(n, Div) else None

    def squared(n: Node) -> Node | None:
        return (
            Mul(n, n.rhs)
            if isinstance(n, Mul) and isinstance(n.rhs, Read) and n.rhs.tensor.name == "Y_inv"
            else None
        )

    assert certified_with(
        tx.schedule(SOFTMAX).reciprocal("Y"), tx.schedule(SOFTMAX), lambda n: None
    ).rewrites["reciprocal"] == ("Y",)
    for rule in (halved, squared):
        with pytest.raises(ScheduleError, match="error\\[certificate\\]"):
            certified_with(tx.schedule(SOFTMAX).reciprocal("Y"), tx.schedule(SOFTMAX), rule)


def test_certificate_refuses_divisors_that_may_be_too_small():
    """The same equations, proven for a divisor with a bound and said of one without."""
    kernel = tx.schedule(_divided("max(d[i], 1e-9)")).reciprocal("Y").kernel
    assert kernel.program is not None
    bare = rewrite(kernel.program, lambda n: n.lhs if type(n).__name__ == "Max" else None)
    with pytest.raises(ScheduleError, match="a divisor whose reciprocal is Y_inv may be too small for that"):
        certify(replace(loops_of(bare), program=bare), tx.schedule(_divided("d[i]")).program)


def test_default_schedules_divide_once_a_row_and_keep_quotients_by_constants():
    softmax = tx.schedule(SOFTMAX, N=64, M=256).auto("x86-64-v4")
    assert 'reciprocal("Y")' in softmax.script() and softmax.certificate().rewrites["reciprocal"] == ("Y",)
    third = tx.schedule(tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] / 3 }"), N=64).auto("x86-64-v4")
    assert "reciprocal" not in third.script()
    assert 'reciprocal("Y")' in tx.schedule(SOFTMAX, N=64, M=256).auto("sm_80").script()


def test_with_a_maximum_that_runs_along():
    """Two laws in one certificate."""
    op = tx.op("""op attention(S: f32[N, M], V: f32[M, K]) -> O: f32[N, K] {
      m[i] = max(j: S[i, j])
      e[i, j] = exp(S[i, j] - m[i])
      t[i] = sum(j: e[i, j])
      O[i, v] = sum(j: e[i, j] * V[j, v]) / t[i]
    }""")
    s = tx.schedule(op).reciprocal("O").online_softmax("m", 4, reassoc=True)
    found = s.certificate()
    assert found.rewrites["reciprocal"] == ("O",) and set(found.rewrites["online_softmax"]) == {"t", "O"}
    x, v = (
        np.random.default_rng(0).standard_normal((5, 11)).astype("f4"),
        np.random.default_rng(1).random((11, 3), "f4"),
    )
    np.testing.assert_allclose(s.compile()(x, v), tx.interpret(op, x, v), rtol=2e-6)

"""`tanh_to_sigmoid`: quotients for sums of 1 and a tanh stay within the stated bound, the certificate
derives them, and says so.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.schedule.steps.algebra.altered import certified_with
from texpr.ir.expr import Call, Const, Div, Mul, Node
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.support.errors import ScheduleError

GELU = tx.op(
    "op gelu(X: f32[N]) -> Y: f32[N] { Y[i] = 0.5 * X[i] * (1 + tanh(0.8 * (X[i] + 0.045 * X[i] * X[i] * "
    "X[i]))) }"
)
SUM = "op sums(X: {t}[N]) -> Y: {t}[N] {{ Y[i] = tanh(X[i]) + 1 }}"


def test_the_picture(golden):
    golden(str(tx.schedule(GELU).tanh_to_sigmoid("Y")))


@pytest.mark.parametrize(("dtype", "bound", "low"), [("f32", 2.0**-22, -40.0), ("f64", 2.0**-50, -300.0)])
def test_the_bound(dtype: str, bound: float, low: float):
    op = tx.op(SUM.format(t=dtype))
    x = np.concatenate([np.linspace(low, 40, 100_001), np.random.default_rng(0).standard_normal(50_000)])
    x = x.astype(dtype.replace("f", "float"))
    exact = 2 / (1 + np.exp(-2 * x.astype(np.longdouble)))
    got = tx.schedule(op, N=len(x)).tanh_to_sigmoid("Y").split("i", 16).vectorize("ii").compile()(x)
    assert (np.abs(got - exact) <= bound * exact).all()


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_infinities_and_nan_give_what_the_sum_gives(dtype: str):
    op = tx.op(SUM.format(t=dtype))
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30, -1e30], dtype.replace("f", "float"))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(tx.schedule(op).tanh_to_sigmoid("Y").compile()(x), tx.interpret(op, x))


def test_the_certificate_names_the_law():
    certificate = tx.schedule(GELU).tanh_to_sigmoid("Y").certificate()
    assert (
        certificate.rounding == "tanh_to_sigmoid: 1 + tanh(u) = 2 / (1 + exp(-2 u)) in Y"
        and not certificate.bit_exact
    )
    assert certificate.rewrites["tanh_to_sigmoid"] == ("Y",)


def test_the_certificate_refuses_another_quotient():
    def with_factor(n: Node) -> Node | None:
        match n:
            case Call("exp", (Mul(Const(-2.0) as factor, u),)):
                return Call("exp", (Mul(Const(-1.0, dtype=factor.dtype), u),))
        return None

    def halved(n: Node) -> Node | None:
        return Div(Const(1.0, dtype=n.dtype), n.rhs) if isinstance(n, Div) else None

    assert certified_with(tx.schedule(GELU).tanh_to_sigmoid("Y"), tx.schedule(GELU), lambda n: None).rewrites[
        "tanh_to_sigmoid"
    ] == ("Y",)
    for rule in (with_factor, halved):
        with pytest.raises(ScheduleError, match="error\\[certificate\\]"):
            certified_with(tx.schedule(GELU).tanh_to_sigmoid("Y"), tx.schedule(GELU), rule)


def test_both_forms_in_one_equation_are_what_they_are():
    text = "op both(X: f32[N]) -> Y: f32[N] { Y[i] = (1 + tanh(X[i])) * (2 / (1 + exp(-2 * X[i]))) }"
    assert tx.schedule(tx.op(text)).certificate().bit_exact
    assert tx.schedule(tx.op(text)).tanh_to_sigmoid("Y").certificate().rewrites["tanh_to_sigmoid"] == ("Y",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5 * X[i] * (1 + tanh(X[i]))", True),
        ("(tanh(X[i]) + 1) * (1 + tanh(X[i]))", True),
        ("(1 + tanh(X[i])) * tanh(X[i])", False),  # which would be computed beside the exponential
        ("1 - tanh(X[i])", False),
        ("2 + tanh(X[i])", False),
    ],
)
def test_the_default_schedule(text: str, expected: bool):
    op = tx.op(f"op f(X: f32[N]) -> Y: f32[N] {{ Y[i] = {text} }}")
    schedule = tx.schedule(op, N=1000).auto()
    assert ('tanh_to_sigmoid("Y")' in schedule.script()) is expected
    x = np.random.default_rng(1).standard_normal(1000).astype("f4")
    np.testing.assert_allclose(schedule.compile()(x), np.asarray(tx.interpret(op, x)), rtol=2e-6, atol=1e-6)


def test_complaints():
    with pytest.raises(ScheduleError) as error:
        tx.schedule(tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = 1 - tanh(X[i]) }")).tanh_to_sigmoid("Y")
    assert "error[tanh_to_sigmoid]: `Y` has no 1 + tanh(u) of f32 or f64" in str(error.value)
    with pytest.raises(
        ScheduleError, match="tanh_to_sigmoid rewrites the equations, before their loops are changed"
    ):
        tx.schedule(GELU).split("i", 4).tanh_to_sigmoid("Y")
    assert interpret_kernel(tx.schedule(GELU).tanh_to_sigmoid("Y").kernel, [np.zeros(2, "f4")], {"N": 2})[
        0
    ].tolist() == [0, 0]

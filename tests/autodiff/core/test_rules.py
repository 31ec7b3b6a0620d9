"""Every scalar rule against central differences, and the conventions where there is no
derivative.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.autodiff.checking import check_gradient
from tests.autodiff.writing import (
    Value,
    array,
    axes,
    call,
    equation,
    iff,
    maximum,
    minimum,
    names,
    program,
    to,
)
from texpr.autodiff import derivative, grad
from texpr.autodiff.core.rules import RULES
from texpr.ir.dtypes import F32, F64
from texpr.ir.expr import Call
from texpr.ir.functions import FUNCTIONS
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.tensor import Program
from texpr.support.errors import CheckError

POSITIVE = np.array([0.3, 0.9, 1.7, 2.6])
ANY = np.array([-1.6, -0.4, 0.3, 1.9])


def elementwise(f, inputs: int = 1) -> Program:
    """Y[i] = f(A[i], B[i], ...)."""
    N, i = names("N i")
    given = [array(name, N) for name in "ABC"[:inputs]]
    Y = array("Y", N)
    return program("f", given, [Y], [equation(Y, (i,), axes(i, N), f(*(a[i] for a in given)))], [N])


def gradients(p: Program, *arrays) -> list[list[float]]:
    """The gradients for cotangents of 1."""
    values = [np.array(a, dtype=float) for a in arrays]
    return [g.tolist() for g in interpret(grad(p), [*values, np.ones_like(values[0])])]


INSIDE = np.array([-0.7, 0.3, 0.8, 0.1])
UNARY = sorted(
    f.name
    for f in FUNCTIONS.values()
    if f.arity == 1
    and f.domain in ("float", "num")
    and f.result == "same"
    and f.name not in ("trigamma", "detach", "tf32")
)


@pytest.mark.parametrize("name", UNARY)
def test_function(name: str):
    values = (
        POSITIVE if name.startswith(("log", "sqrt", "rsqrt")) else POSITIVE + 1 if name == "acosh" else ANY
    )
    check_gradient(
        elementwise(lambda x: call(name, x)),
        INSIDE if name in ("asin", "acos", "atanh", "erfinv") else values,
    )


def test_every_float_function_has_a_rule():
    floats = {f.name for f in FUNCTIONS.values() if f.domain in ("float", "num") and f.result == "same"}
    assert floats <= {*RULES, "trigamma"}  # whose derivative the language has no function for


BINARY = {
    "add": lambda x, z: x + z,
    "sub": lambda x, z: x - z,
    "mul": lambda x, z: x * z,
    "div": lambda x, z: x / z,
    "floordiv": lambda x, z: x // z,
    "mod": lambda x, z: x % z,
    "pow": lambda x, z: x**z,
    "max": maximum,
    "min": minimum,
    "atan2": lambda x, z: call("atan2", x, z),
    "hypot": lambda x, z: call("hypot", x, z),
    "fmod": lambda x, z: call("fmod", x, z),
    "copysign": lambda x, z: call("copysign", x, z),
    "if": lambda x, z: iff(x < z, x * x, z * x),
    "same twice": lambda x, z: (x * z) * (x * z) + x,
}


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str):
    check_gradient(elementwise(BINARY[name], 2), POSITIVE, np.array([1.3, 0.4, 2.2, 1.1]))


def test_fma():
    check_gradient(elementwise(lambda x, y, z: call("fma", x, y, z), 3), ANY, POSITIVE, ANY + 1)


def test_powers_by_a_literal():
    for p in (0, 1, 2, 3, 0.5, -2):
        check_gradient(elementwise(lambda x, p=p: x**p), POSITIVE)


def test_ties_of_max_and_min_go_to_the_second_operand():
    for f in (maximum, minimum):
        assert gradients(elementwise(f, 2), [1.0, 2.0], [1.0, 2.0]) == [[0, 0], [1, 1]]


def test_relu_has_0_at_0():
    assert gradients(elementwise(lambda x: maximum(x, 0)), [-1.0, 0.0, 2.0]) == [[0, 0, 1]]


def test_abs_has_0_at_0_and_sqrt_infinity():
    assert gradients(elementwise(lambda x: call("abs", x)), [-2.0, 0.0, 3.0]) == [[-1, 0, 1]]
    assert gradients(elementwise(lambda x: call("sqrt", x)), [0.0, 4.0]) == [[float("inf"), 0.25]]


def test_pow_at_0():
    assert gradients(elementwise(lambda x, p: x**p, 2), [0.0, 0.0, 0.0], [2.0, 1.0, 0.0]) == [
        [0, 1, 0],
        [0, 0, 0],
    ]


def test_the_branch_not_taken_gives_no_nan():
    safe = elementwise(lambda x: iff(x > 0, call("log", x), call("sqrt", -x)))
    assert gradients(safe, [-4.0, 2.0]) == [[-0.25, 0.5]]


def test_cast_sends_the_cotangent_back():
    p = elementwise(lambda x: to(F64, to(F32, x) * to(F32, x)))
    assert gradients(p, [1.5, -2.0]) == [[3, -4]]


def test_a_function_without_a_rule():
    p = elementwise(lambda x: Value(Call("strange", (x.expr,))))
    with pytest.raises(CheckError) as e:
        grad(p)
    assert (
        str(e.value)
        == """error[gradient]: the function `strange` has no derivative rule
  help: register one with texpr.autodiff.derivative"""
    )


def test_a_rule_of_the_user():
    derivative("cube")(lambda a, y, x: ((Value(a) * 3 * Value(x) * Value(x)).expr,))
    try:
        p = elementwise(lambda x: Value(Call("cube", (x.expr,))))
        assert gradients(p, [2.0]) == [[12]]
    finally:
        del RULES["cube"]


SLOPED = """
fn mine(x, y) = with_slope(with_slope(detach(x * y), x, y * cos(x)), y, x * x)
op f(A: f64[N], B: f64[N]) -> Y: f64[N] { Y[i] = 3 * mine(A[i], B[i]) }
"""


def test_a_function_with_its_own_rule(golden):
    f = tx.op(SLOPED)
    a, b, u = ANY, POSITIVE, np.array([1.0, 2.0, -1.0, 0.5])
    gradient = tx.grad(f)
    np.testing.assert_array_equal(f(a, b), 3 * (a * b))
    found = gradient(a, b, u)
    np.testing.assert_allclose(found[0], 3 * u * b * np.cos(a), rtol=1e-15)
    np.testing.assert_allclose(found[1], 3 * u * a * a, rtol=1e-15)
    np.testing.assert_allclose(tx.jvp(f)(a, b, u, b)[1], 3 * (b * np.cos(a) * u + a * a * b), rtol=1e-14)
    assert tx.check_grad(gradient, a, b, u) < 1e-7  # the slopes are differentiated as they are written
    assert str(tx.grad(tx.op(str(tx.grad(gradient))))) == str(tx.grad(tx.grad(gradient)))
    golden(str(gradient))


def test_a_rule_that_is_wrong_is_seen():
    f = tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = with_slope(detach(X[i] * X[i]), X[i], X[i]) }")
    with pytest.raises(CheckError, match="the gradient of f differs from central differences by"):
        tx.check_grad(f, POSITIVE.astype(np.float32))


def test_kernels_know_no_rules():
    """What only derivatives look at is not computed, and not read."""
    f = tx.op("op f(X: f32[N], W: f32[N]) -> Y: f32[N] { Y[i] = with_slope(detach(X[i]), X[i], exp(W[i])) }")
    assert str(tx.schedule(f)) == str(
        tx.schedule(tx.op("op f(X: f32[N], W: f32[N]) -> Y: f32[N] { Y[i] = X[i] }"))
    )
    tx.schedule(f).auto().certificate()

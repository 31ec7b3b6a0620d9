"""Gradients are programs, so they have gradients."""

from __future__ import annotations

import numpy as np
import pytest

from tests.autodiff import operators
from tests.autodiff.checking import check_gradient
from texpr.autodiff import grad, jvp
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.tensor import Program
from texpr.ir.verifier.program import verify_program
from texpr.lang import elaborate, parse
from texpr.poly import check_program


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


PROGRAMS = {
    "matmul": (operators.matmul(), [normal(2, 3), normal(3, 2)]),
    "softmax": (operators.softmax(), [normal(2, 3, 2)]),
    "layernorm": (operators.layernorm(), [normal(2, 3), normal(3), normal(3)]),
    "gelu": (operators.gelu(), [normal(4)]),
    "conv2d": (operators.conv2d(2, 1), [normal(1, 1, 4, 4), normal(1, 1, 3, 2), normal(1)]),
    "maxpool": (operators.maxpool(3, 2, 1), [normal(5, 4)]),
    "product": (operators.product(), [normal(2, 3)]),
    "attention": (operators.attention(), [normal(1, 2, 2), normal(1, 3, 2), normal(1, 3, 2)]),
    "cumsum": (operators.cumsum(), [normal(3, 2)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_of_a_gradient(name: str):
    program, arrays = PROGRAMS[name]
    cotangents = [np.random.default_rng(4).normal(size=y.shape) for y in interpret(program, arrays)]
    check_program(check_gradient(grad(program), *arrays, *cotangents))


def rosenbrock() -> Program:
    text = """op f(X: f64[N]) -> y: f64 require N >= 2 {
      y = sum(i in 0..N - 1: 100 * (X[i + 1] - X[i] * X[i]) ** 2 + (1 - X[i]) ** 2)
    }"""
    return elaborate(parse(text).ops["f"], {}, {})


def hessian(x: np.ndarray) -> np.ndarray:
    """From the formula."""
    n = len(x)
    diagonal = np.zeros(n)
    diagonal[:-1] += 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    diagonal[1:] += 200
    return np.diag(diagonal) + np.diag(-400 * x[:-1], 1) + np.diag(-400 * x[:-1], -1)


def test_reductions_in_products_are_bound_apart():
    """The other factors of a product contain the maximum that the derivative goes into."""
    value = "prod(r in 0..i + 1: X[r, 1] - max(q in 0..r + 1: X[i, q | -9] + X[q, 0]))"
    text = f"op f(X: f64[N, M]) -> Y: f64[N] require M >= 2 {{ Y[i] = {value} }}"
    program = elaborate(parse(text).ops["f"], {}, {})
    derived = check_gradient(program, normal(4, 3))
    verify_program(derived)
    check_program(check_gradient(derived, normal(4, 3), normal(4)))


@pytest.mark.parametrize("nested", ["forward over reverse", "reverse over forward", "reverse over reverse"])
def test_hessians(nested: str):
    x, one = normal(4), np.array(1.0)
    columns = []
    for v in np.eye(4):
        match nested:
            case "forward over reverse":
                columns.append(interpret(jvp(grad(rosenbrock()), ["X"]), [x, one, v])[1])
            case "reverse over forward":
                columns.append(interpret(grad(jvp(rosenbrock()), ["X"], ["dy"]), [x, v, one])[0])
            case _:
                columns.append(interpret(grad(grad(rosenbrock()), ["X"]), [x, one, v])[0])
    np.testing.assert_allclose(np.array(columns), hessian(x), rtol=1e-12, atol=1e-12)

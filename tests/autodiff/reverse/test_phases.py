"""Gradients of reads that skip elements: an equation per remainder, as long as these are few."""

from __future__ import annotations

import numpy as np
import pytest

from tests.autodiff import operators
from tests.autodiff.checking import check_gradient
from texpr.autodiff import grad
from texpr.ir.build import integer
from texpr.ir.expr import Mod, Reduce
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import walk
from texpr.lang import elaborate, parse
from texpr.poly import check_program

LINE = """op f(X: f64[N], F: f64[R]) -> Y: f64[(N + 2*P - D*(R - 1) - 1)//S + 1] require R >= 1, D*(R - 1) < N + 2*P {
  Y[y] = sum(r: X[S*y + D*r - P | 0] * F[r])
}"""


def line(stride: int, step: int, pad: int) -> Program:
    text = LINE
    for name, value in (("S", stride), ("D", step), ("P", pad)):
        text = (
            text.replace(f"{name}*", f"{value}*")
            .replace(f"*{name}", f"*{value}")
            .replace(f"//{name}", f"//{value}")
        )
        text = text.replace(f"- {name} |", f"- {value} |")
    return elaborate(parse(text).ops["f"], {}, {})


def equations(program: Program, target: str) -> list[Equation]:
    return [e for e in program.equations if isinstance(e, Equation) and e.target.name == target]


@pytest.mark.parametrize(
    ("stride", "step", "pad", "count"),
    [
        (1, 1, 0, 1),
        (2, 1, 0, 2),
        (2, 1, 1, 2),
        (3, 1, 1, 3),
        (5, 1, 2, 5),
        (9, 1, 0, 9),
        (10, 1, 0, 1),
        (2, 2, 0, 2),
        (3, 2, 1, 3),
    ],
)
def test_an_equation_per_remainder(stride: int, step: int, pad: int, count: int):
    random = np.random.default_rng(0)
    gradient = check_gradient(line(stride, step, pad), random.normal(size=19), random.normal(size=4))
    check_program(gradient)
    assert len(equations(gradient, "dX")) == count


def test_no_remainders_are_left_and_nothing_is_multiplied_in_vain():
    gradient = grad(operators.conv2d(2, 1), ["X"])
    found = equations(gradient, "dX")
    assert len(found) == 4
    assert not [n for e in found for n in walk(e.value) if isinstance(n, Mod)]


def test_elements_without_sums_stay_together():
    program = elaborate(parse("op f(X: f64[N]) -> Y: f64[N // 3] { Y[i] = X[3*i + 1] }").ops["f"], {}, {})
    assert len(equations(check_gradient(program, np.arange(8.0)), "dX")) == 1


@pytest.mark.parametrize(("size", "step", "terms"), [(16, 16, 1), (16, 10, 2), (9, 10, 1)])
def test_windows_are_summed_over_those_that_hold_an_element(size: int, step: int, terms: int):
    windows = (170 - size) // step + 1
    text = f"op f(X: f64[170]) -> Y: f64[{windows}, {size}] {{ Y[i, j] = X[{step}*i + j] }}"
    gradient = check_gradient(elaborate(parse(text).ops["f"], {}, {}), np.ones(170))
    sums = [n for n in walk(equations(gradient, "dX")[0].value) if isinstance(n, Reduce)]
    assert [integer(a.hi) for n in sums for a in n.axes] == ([terms] if terms > 1 else [])
    check_program(gradient)

"""Lower bounds hold of every number that the interpreter gives, and are as great as the rules
say.
"""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import texpr as tx
from texpr.ir.index.float_lower_bounds import least_of_tensors

BOUNDS = {
    "max(d[i], 2)": 2.0,
    "d[i] * d[i] + 1": 1.0,
    "abs(d[i]) * 2 + 0.5": 0.5,
    "exp(d[i])": 0.0,
    "sqrt(d[i]) + 3": 3.0,
    "1 / (exp(d[i]) + 1)": 0.0,
    "min(exp(d[i]), 7)": 0.0,
    "if d[i] > 0 then 1 else 2": 1.0,
    "sum(k: abs(d[k]))": 0.0,
    "max(k: exp(d[k]) + 1)": 1.0,
    "f32(f64(max(d[i], 0.1)))": float(np.float32(0.1)),
    "d[i]": -inf,
    "1 / sqrt(d[i])": -inf,
    "1 / abs(d[i])": -inf,
    "d[i] * abs(d[i])": -inf,
    "f32(i32(max(d[i], 1.5)))": -inf,
    "-exp(d[i])": -inf,
    "exp(d[i]) - 1": -inf,
    "prod(k: abs(d[k]))": -inf,
}
NUMBERS = np.array([0.0, -0.0, 1e-45, -1e-40, 1.7, -3.0, 3e38, -3e38, np.inf, -np.inf], np.float32)


@pytest.mark.parametrize("value", BOUNDS)
def test_bounds(value: str):
    op = tx.op(f"op f(d: f32[N]) -> y: f32[N] require N >= 1 {{ y[i] = {value} }}")
    assert least_of_tensors(op.program()).get("y", -inf) == BOUNDS[value]
    for one in NUMBERS:
        with np.errstate(all="ignore"):
            found = np.asarray(tx.interpret(op, np.array([one])))
        assert np.isnan(found).all() or (found >= BOUNDS[value]).all()


def test_a_float_that_is_cut_to_an_integer_loses_its_bound():
    op = tx.op("op f(d: f32[N]) -> y: i32[N] { y[i] = i32(max(d[i], 1.5)) }")
    assert least_of_tensors(op.program())["y"] == -inf

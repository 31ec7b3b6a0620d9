"""Gradients are proven like any program: every index in bounds, every element defined once."""

from __future__ import annotations

import numpy as np
import pytest

from tests.autodiff.test_pictures import PROGRAMS
from tests.autodiff.test_text import CONSTANTS, OPS, WITHOUT
from texpr.autodiff import grad, jvp, vjp
from texpr.ir.dtypes import F32, I32
from texpr.ir.interpreter.tensor import interpret
from texpr.lang import elaborate, parse
from texpr.poly import check_program


@pytest.mark.parametrize("name", PROGRAMS)
def test_hand_written_program(name: str):
    for derived in (grad(PROGRAMS[name]), vjp(PROGRAMS[name]).backward):
        check_program(derived)


@pytest.mark.parametrize("name", [name for name in OPS if name not in WITHOUT])
def test_operator(name: str):
    op = OPS[name]
    types = {v.name: I32 if v.kind == "int" else F32 for v in op.type_variables}
    program = elaborate(op, types, CONSTANTS.get(name, {}))
    if any(t.dtype.is_float for t in program.inputs) and any(t.dtype.is_float for t in program.outputs):
        check_program(program)
        for derived in (grad(program), *vjp(program), jvp(program)):
            check_program(derived)


def test_places_of_extremes_in_long_expressions_are_in_bounds():
    """What the extreme is taken of says nothing of where it lies, however long it is."""
    body = " + ".join(f"X[q[r] - {k} | 0] * X[r + {k} | 0]" for k in range(8))
    text = f"""op f(X: f64[N], q: i64[N], keep: bool[M]) -> Y: f64[M] require N >= 1 {{
  a[i] = if keep[i] then argmax(r in 0..N: {body}) else 0
  Y[i] = X[a[i]]
}}"""
    check_program(elaborate(parse(text).ops["f"], {}, {}))


def test_ranges_that_may_be_empty_ask_for_no_larger_sizes():
    """The second derivative stores a product for each of M - 1 instances, and no array has -1
    rows.
    """
    text = "op f(X: f64[M]) -> Y: f64[M] { Y[i] = prod(r in 0..M: X[i - r | clamp]) }"
    derived = grad(grad(elaborate(parse(text).ops["f"], {}, {})))
    assert not derived.requires and not check_program(derived)
    assert [y.shape for y in interpret(derived, [np.zeros(0)] * 3)] == [(0,), (0,)]

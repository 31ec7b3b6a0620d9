"""Random small programs: whatever the language can say, its gradient is right."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.autodiff.checking import check_gradient
from tests.autodiff.writing import (
    Array,
    Value,
    array,
    axes,
    call,
    equation,
    iff,
    names,
    or_value,
    program,
    reduce,
    to,
)
from tests.profiles import examples
from texpr.autodiff import grad
from texpr.ir.dtypes import F64
from texpr.ir.expr import Guard
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Program

SIZE = 3


@st.composite
def index(draw: st.DrawFn, variables: list[Value]) -> Value:
    """An affine index over some variables, and a constant."""
    e = Value(draw(st.sampled_from(variables)).expr)
    form = draw(st.sampled_from(["bare", "bare", "shift", "sum", "scaled", "half", "mirror", "remainder"]))
    other = draw(st.sampled_from(variables))
    match form:
        case "shift":
            return e + draw(st.integers(-2, 2))
        case "sum":
            return e + other - 1 if other.expr is not e.expr else e
        case "scaled":
            return e * 2 - 1
        case "half":
            return e // 2
        case "mirror":
            return 2 - e
        case "remainder":
            return e % 2
    return e


@st.composite
def read(draw: st.DrawFn, tensors: list[Array], variables: list[Value]) -> Value:
    tensor = draw(st.sampled_from(tensors))
    guard = draw(st.sampled_from([or_value(0), or_value(0.5), Guard("clamp")]))
    return tensor[(*(draw(index(variables)) for _ in tensor.tensor.shape), guard)]


@st.composite
def scalar(draw: st.DrawFn, tensors: list[Array], variables: list[Value], depth: int) -> Value:
    """A smooth value, or one whose kinks random data does not hit."""
    if depth == 0:
        return draw(read(tensors, variables))
    kind = draw(st.sampled_from(["read", "add", "mul", "call", "sum", "prod", "max", "if", "index"]))
    below = scalar(tensors, variables, depth - 1)
    match kind:
        case "add":
            return draw(below) + draw(below)
        case "mul":
            return draw(below) * draw(below)
        case "call":
            return call(draw(st.sampled_from(["sin", "tanh", "sigmoid"])), draw(below))
        case "index":
            return draw(below) * to(F64, draw(st.sampled_from(variables)))
        case "if":
            return iff(draw(st.sampled_from(variables)) < draw(st.integers(0, 3)), draw(below), draw(below))
        case "sum" | "prod" | "max":
            (k,) = names("k")
            body = draw(scalar(tensors, [*variables, k], depth - 1))
            return reduce(kind, axes(k, draw(st.integers(1, 3))), body)
    return draw(read(tensors, variables))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Up to three equations, each over one or two indices, reading inputs and earlier results."""
    N, M = names("N M")
    known = [array("A", N, M), array("b", N)]
    inputs, equations = list(known), []
    for n in range(draw(st.integers(1, 3))):
        i, j = names("i j")
        two = draw(st.booleans())
        target = array(f"T{n}", *((N, M) if two else (M,)))
        over = axes(i, N, j, M) if two else axes(j, M)
        equations.append(
            equation(target, (i, j) if two else (j,), over, draw(scalar(known, [i, j] if two else [j], 3)))
        )
        known.append(target)
    return program("random", inputs, known[2:], equations, [N, M])


@examples(20)
@given(programs(), st.integers(0, 5))
def test_random_program(p: Program, seed: int):
    random = np.random.default_rng(seed)
    try:
        check_gradient(p, random.normal(size=(SIZE, 4)), random.normal(size=SIZE))
    except Exception as e:
        raise AssertionError(f"{show_program(p)}\n{show_program(grad(p))}") from e

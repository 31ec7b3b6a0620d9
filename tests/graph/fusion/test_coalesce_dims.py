"""Programs over fewer dimensions compute what they did, from the same memory."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr import nn
from texpr.compiler.call_checks import check_requirements
from texpr.graph.fusion.coalesce_dims import coalesced
from texpr.ir.build import integer
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import substitute
from texpr.ir.verifier.program import verify_program
from texpr.lang import elaborate, parse
from texpr.passes.tensor.fix_sizes import specialize
from texpr.schedule.legality.replay import random_inputs
from texpr.tools.fuzz.differentiable import differentiable_text

POINTWISE = """op f(X: f32[1, 6, 4, 5], W: f32[7, 6, 1, 1], b: f32[7]) -> Y: f32[1, 7, 4, 5] {
  Y[n, k, i, j] = max(b[k] + sum(c, r, q: X[n, c, i + r, j + q] * W[k, c, r, q]), 0) for i in 0..4, j in 0..5 }"""
CASES = {
    "pointwise": (POINTWISE, "X: f32[6, 20], W: f32[7, 6], b: f32[7]"),
    "elements": (
        "op f(X: f32[2, 3, 4], Z: f32[2, 3, 4]) -> Y: f32[2, 3, 4] { Y[i, j, k] = X[i, j, k] * Z[i, j, k] }",
        "X: f32[24], Z: f32[24]",
    ),
    "rows": (
        "op f(X: f32[2, 3, 4, 5]) -> Y: f32[2, 3] { Y[i, j] = sum(k, l: X[i, j, k, l]) }",
        "X: f32[6, 20]",
    ),
    "transposed": ("op f(X: f32[3, 4]) -> Y: f32[4, 3] { Y[j, i] = X[i, j] }", "X: f32[3, 4]"),
    "one of two is turned": (
        "op f(X: f32[3, 4], Z: f32[4, 3]) -> Y: f32[3, 4] { Y[i, j] = X[i, j] + Z[j, i] }",
        "X: f32[3, 4], Z: f32[4, 3]",
    ),
    "a number": ("op f(X: f32[3, 4]) -> Y: f32[3, 4] { Y[i, j] = X[i, j] * f32(j) }", "X: f32[3, 4]"),
    "a condition": (
        "op f(X: f32[3, 4]) -> Y: f32[3, 4] { Y[i, j] = if i < 2 then X[i, j] else 0 }",
        "X: f32[3, 4]",
    ),
    "padded": (
        "op f(X: f32[2, 3, 4]) -> Y: f32[2, 3, 6] { Y[i, j, k] = X[i, j, k - 1 | 0] for k in 0..6 }",
        "X: f32[6, 4]",
    ),
    "part of a row": (
        "op f(X: f32[3, 4]) -> Y: f32[3, 3] { Y[i, j] = X[i, j] for j in 0..3 }",
        "X: f32[3, 4]",
    ),
    "places": ("op f(X: f32[3, 1, 4]) -> Y: i64[3, 1] { Y[i, j] = argmax(k: X[i, j, k]) }", "X: f32[3, 4]"),
    "one element": ("op f(X: f32[1, 1]) -> Y: f32[1, 1] { Y[i, j] = X[i, j] + 1 }", "X: f32[1]"),
    "a sum of one": ("op f(X: f32[3, 1]) -> Y: f32[3] { Y[i] = sum(j: X[i, j]) }", "X: f32[3]"),
    "two views of one tensor": (
        "op f(X: f32[2, 3, 4]) -> (Y: f32[2, 3, 4], Z: f32[4, 3]) {\n  Y[i, j, k] = X[i, j, k]\n  Z[k, j] = X[0, j, k] }",
        "X: f32[2, 3, 4]",
    ),
    "through an intermediate": (
        "op f(X: f32[2, 3, 4]) -> Y: f32[2, 3, 4] {\n  m[i, j, k] = exp(X[i, j, k])\n  Y[i, j, k] = m[i, j, k] + 1 }",
        "X: f32[24]",
    ),
    "places along rows": (
        "op f(X: f32[3, 4], p: i64[3, 4] in 0..3) -> Y: f32[3, 4] { Y[i, j] = X[p[i, j], j] }",
        "X: f32[3, 4], p: i64[3, 4] in 0..3",
    ),
    "updates at places": (
        "op f(X: f32[3, 2, 2], p: i64[3, 1] in 0..5) -> Y: f32[5, 2, 2] {\n  Y[i, j, k] = 0 for i in 0..5\n"
        "  Y[p[i, 0], j, k] += X[i, j, k] }",
        "X: f32[3, 4], p: i64[3] in 0..5",
    ),
    "a recurrence": (
        "op f(X: f32[5, 2, 3]) -> Y: f32[5, 2, 3] {\n  Y[0, i, j] = X[0, i, j]\n"
        "  Y[t, i, j] = Y[t - 1, i, j] * 0.5 + X[t, i, j] for t in 1..5 }",
        "X: f32[5, 6]",
    ),
    "a triangle": (
        "op f(X: f32[4, 4]) -> Y: f32[4, 4] { Y[i, j] = sum(k in 0..i + 1: X[i, k]) + X[i, j] }",
        "X: f32[4, 4]",
    ),
    "some terms": (
        "op f(X: f32[3, 4]) -> Y: f32[2] { Y[i] = sum(j, k where j < 2: X[j, k]) * f32(i) for i in 0..2 }",
        "X: f32[3, 4]",
    ),
    "one row in parts": (
        "op f(X: f32[1, 4]) -> Y: f32[1, 4] {\n  Y[i, 0] = X[i, 1]\n  Y[i, j] = X[i, j] for j in 1..4 }",
        "X: f32[4]",
    ),
    "beside one element": (
        "op f(X: f32[2, 1, 3]) -> Y: f32[2, 3, 3] { Y[i, j, k] = X[i, j - 1, k | 0] for j in 0..3 }",
        "X: f32[2, 1, 3]",
    ),
    "a diagonal": ("op f(X: f32[3, 3]) -> Y: f32[3] { Y[i] = X[i, i] }", "X: f32[3, 3]"),
    "no terms": ("op f(X: f32[2, 3, 0]) -> Y: f32[2, 3] { Y[i, j] = sum(k: X[i, j, k]) }", "X: f32[6, 0]"),
    "no elements": ("op f(X: f32[0, 3]) -> Y: f32[0, 3] { Y[i, j] = X[i, j] }", "X: f32[0, 3]"),
}


def shape_of(tensor: object) -> tuple[int, ...]:
    return tuple(integer(n) or 0 for n in tensor.shape)  # type: ignore[attr-defined]


def check(program: Program) -> Program:
    fewer = coalesced(program)
    generator = np.random.default_rng(0)
    arrays = [
        generator.standard_normal(shape_of(t), "f4")
        if t.dtype.is_float
        else generator.integers(3, size=shape_of(t))
        for t in program.inputs
    ]
    expected = interpret(program, arrays)
    found = interpret(fewer, [a.reshape(shape_of(t)) for a, t in zip(arrays, fewer.inputs)])
    for e, f in zip(expected, found, strict=True):
        np.testing.assert_array_equal(np.asarray(f).reshape(np.shape(e)), e)
    return fewer


@pytest.mark.parametrize("name", CASES)
def test_values_are_the_same_over_these_inputs(name: str):
    text, inputs = CASES[name]
    fewer = check(tx.schedule(tx.op(text)).program)
    assert f"({inputs})" in show_program(fewer), show_program(fewer)


@examples(60)
@given(st.data())
def test_random_sums_of_products(data: st.DataObject):
    """Operands that have some of the loops in some order, of extents 1 to 3; bit for bit."""
    loops = "abcd"[: data.draw(st.integers(1, 4))]
    extents = {v: data.draw(st.integers(1, 3)) for v in loops}
    operands = [
        data.draw(st.permutations(data.draw(st.lists(st.sampled_from(loops), min_size=1, unique=True))))
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    used = [v for v in loops if any(v in o for o in operands)]
    kept = data.draw(st.lists(st.sampled_from(used), min_size=1, unique=True))
    summed = [v for v in used if v not in kept]
    inputs = ", ".join(f"X{k}: f32[{', '.join(str(extents[v]) for v in o)}]" for k, o in enumerate(operands))
    value = " * ".join(f"X{k}[{', '.join(o)}]" for k, o in enumerate(operands))
    value = f"sum({', '.join(summed)}: {value})" if summed else value
    shape = ", ".join(str(extents[v]) for v in kept)
    program = tx.schedule(
        tx.op(f"op f({inputs}) -> Y: f32[{shape}] {{ Y[{', '.join(kept)}] = {value} }}")
    ).program
    fewer = check(program)
    assert all(prod(shape_of(a)) == prod(shape_of(b)) for a, b in zip(program.inputs, fewer.inputs))


def drawn(seed: int) -> Program | None:
    """An operator of small extents, many of them 1; None where what is drawn is refused."""
    rng = Random(seed)
    try:
        program = elaborate(parse(differentiable_text(rng), "drawn.tx").ops["f"], {}, {})
        sizes = {v: rng.choice((1, 1, 2, 3)) for v in program.sizes}
        check_requirements(program.name, program.requires, sizes)
    except (tx.CheckError, tx.CallError):
        return None
    return specialize(program, sizes)


def test_operators_that_are_drawn():
    """Recurrences, pieces, updates and gathers among them; bit for bit."""
    changed = 0
    for program in filter(None, map(drawn, range(40))):
        arrays = list(random_inputs(program, {}, 0))
        fewer = coalesced(program)
        verify_program(fewer)
        changed += fewer is not program
        found = interpret(fewer, [a.reshape(shape_of(t)) for a, t in zip(arrays, fewer.inputs)])
        arrays = [a.reshape(shape_of(t)) for a, t in zip(arrays, program.inputs)]
        for e, f in zip(interpret(program, arrays), found, strict=True):
            np.testing.assert_array_equal(np.ravel(f), np.ravel(e))
    assert changed > 9


def test_kernels_of_networks_are_over_fewer_dimensions():
    """A convolution of one tap is a product there, and its result has the shape that it had."""
    network = nn.Sequential(nn.Conv2d(3, 2, 1, bias=False), nn.ReLU()).eval()
    network.load_state_dict({"0.weight": np.ones((2, 3, 1, 1), "f4")})
    found = network(np.ones((1, 3, 4, 5), "f4"))
    np.testing.assert_array_equal(found, np.full((1, 2, 4, 5), 3, "f4"))


@pytest.mark.parametrize("axes", ["shared", "copied"])
def test_equations_that_have_a_variable_in_common_stay(axes: str):
    """The first one alone could merge its loops, but the second one reads an operand across."""
    text = """op f(X: f32[3, 4], Z: f32[4, 3]) -> (Y: f32[3, 4], V: f32[3, 4]) {
      Y[i, j] = exp(X[i, j])
      V[i, j] = Y[i, j] + Z[j, i] }"""
    program = tx.schedule(tx.op(text)).program
    first, second = program.equations
    assert isinstance(first, Equation) and isinstance(second, Equation)
    second = substitute(second, {b.var: a.var for a, b in zip(first.axes, second.axes)})
    second = replace(second, axes=first.axes if axes == "shared" else tuple(map(replace, first.axes)))
    program = replace(program, equations=(first, second))
    assert check(program) is program

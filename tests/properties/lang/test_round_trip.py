"""What is printed parses back: the same program, from the printed text alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from texpr.autodiff import grad
from texpr.ir.dtypes import BF16, F32, I32
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Invoke, Program
from texpr.ir.traverse import equal
from texpr.lang import OpDeclaration, elaborate, parse

OPS = parse((Path(__file__).parents[2] / "lang" / "operators.tx").read_text(), "operators.tx").ops
CONSTANTS = {
    "iota": {"N": 8},
    "embed_grad": {"V": 10},
    "one_hot": {"C": 4},
    "conv2d_dX": {"H": 5, "W": 5},
    "resize": {"V": 4},
}


def without_constants(program: Program) -> Program:
    """A printed program has its dtypes filled in, so it has no type variables left to remember."""
    calls = tuple(
        replace(e, program=without_constants(e.program)) if isinstance(e, Invoke) else e
        for e in program.equations
    )
    return replace(program, constants=(), equations=calls)


def instance(op: OpDeclaration, floats=F32) -> Program:
    types = {v.name: I32 if v.kind == "int" else floats for v in op.type_variables}
    return elaborate(op, types, CONSTANTS.get(op.name, {}))


@pytest.mark.parametrize("name", list(OPS))
def test_print_parse_elaborate(name):
    for floats in (F32, BF16):
        program = instance(OPS[name], floats)
        text = show_program(program, with_callees=True)
        again = elaborate(parse(text).ops[name], {}, {})
        assert show_program(again, with_callees=True) == text
        assert equal(without_constants(program), without_constants(again))


@pytest.mark.parametrize(
    "name", [name for name in OPS if name not in ("sorted", "two")]
)  # sorting has no derivative here
def test_gradients_print_and_parse(name):
    program = instance(OPS[name])
    if (
        not program.equations
        or not any(t.dtype.is_float for t in program.outputs)
        or not any(t.dtype.is_float for t in program.inputs)
    ):
        return
    gradient = grad(program)
    again = elaborate(parse(show_program(gradient, with_callees=True)).ops[gradient.name], {}, {})
    assert equal(without_constants(gradient), without_constants(again))


@pytest.mark.parametrize(
    "text",
    [
        "op f(p: u16, X: f32[N]) -> Y: f32[N] { let a: u16  a = p  Y[i] = X[i] + f32(a) }",
        "op f(p: i8, X: i8[N]) -> Y: i8[N] { Y[i] = if X[i] * 0 <= p then 1 else X[i] * 0 // p }",
    ],
    ids=["a copy", "beside what was folded"],
)
def test_rank_0_integers_keep_their_types(text):
    program = elaborate(parse(text).ops["f"], {}, {})
    assert show_program(elaborate(parse(show_program(program)).ops["f"], {}, {})) == show_program(program)

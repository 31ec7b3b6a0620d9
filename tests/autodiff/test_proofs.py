"""Gradients are proven like any program: every index in bounds, every element defined once."""

from __future__ import annotations

import pytest

from tests.autodiff.test_pictures import PROGRAMS
from tests.autodiff.test_text import CONSTANTS, OPS, WITHOUT
from texpr.autodiff import grad, jvp, vjp
from texpr.ir.dtypes import F32, I32
from texpr.lang import elaborate
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

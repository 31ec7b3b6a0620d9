"""Forward mode as text, and where it refuses."""

from __future__ import annotations

import pytest

from tests.autodiff import operators
from texpr.autodiff import jvp
from texpr.ir.printing.tensor import show_program

PROGRAMS = {
    "matmul": operators.matmul(),
    "relu": operators.relu(),
    "logsumexp": operators.logsumexp(),
    "cumsum": operators.cumsum(),
    "product": operators.product(),
    "attention": operators.attention(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_picture(name: str, golden):
    golden(show_program(jvp(PROGRAMS[name])))


def test_some_inputs_only():
    forward = jvp(operators.matmul(), ["B"])
    assert [t.name for t in forward.inputs] == ["A", "B", "dB"]
    assert [t.name for t in forward.outputs] == ["C", "dC"]

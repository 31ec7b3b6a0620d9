"""Forward mode as text, and where it refuses."""

from __future__ import annotations

import pytest

from tests.autodiff import operators
from tests.autodiff.writing import array, axes, equation, names, program
from texpr.autodiff import jvp
from texpr.ir.show_tensor import show_program
from texpr.support.errors import CheckError

PROGRAMS = {"matmul": operators.matmul(), "relu": operators.relu(), "logsumexp": operators.logsumexp(), "cumsum": operators.cumsum(),
            "product": operators.product(), "attention": operators.attention()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_picture(name: str, golden):
    golden(show_program(jvp(PROGRAMS[name])))


def test_some_inputs_only():
    forward = jvp(operators.matmul(), ["B"])
    assert [t.name for t in forward.inputs] == ["A", "B", "dB"]
    assert [t.name for t in forward.outputs] == ["C", "dC"]


def test_a_fold_with_max_has_no_derivative():
    N, i = names("N i")
    X, T = array("X", N), array("T", N)
    p = program("f", [X], [T], [equation(T, (i,), axes(i, N), 0), equation(T, (i // 2,), axes(i, N), X[i], update="max")], [N])
    with pytest.raises(CheckError, match="a fold with `max=` has no gradient"):
        jvp(p)

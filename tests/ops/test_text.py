"""Every operator of the library says what it is, and what is printed of it parses back."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.ops.test_values import FIRST
from texpr import ops
from texpr.compiler.op import instance
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.printing.tensor import show_program


def test_docstrings():
    assert [name for name in ops.names() if len(getattr(ops, name).__doc__ or "") < 3] == []


@pytest.mark.parametrize("name", FIRST)
def test_what_is_printed_parses_back(name):
    """The instance that serves the first case, printed, read, printed again, and computed."""
    case, dtype = FIRST[name], FIRST[name].dtypes[0]
    operator, arrays = getattr(ops, name), case.arrays(dtype)
    program, given = instance(operator, tuple(arrays), case.constants)
    text = show_program(program, with_callees=True)
    again = tx.op(text)
    assert show_program(again.program(), with_callees=True) == text
    found, expected = (interpret(p, given) for p in (again.program(), program))
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_array_equal(f, e)

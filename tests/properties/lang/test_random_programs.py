"""Random programs: the printed text means the same, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from tests.profiles import examples
from tests.strategies import Case, cases
from texpr.ir.expr import Compare, index
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.printing.tensor import show_program
from texpr.lang import elaborate, parse
from texpr.support.errors import CheckError


@given(cases())
@examples(50)
def test_printing_keeps_the_meaning(case: Case):
    requires = tuple(
        Compare(">=", size, index(2)) for size in case.program.sizes
    )  # `reflect` needs two elements
    text = show_program(replace(case.program, requires=requires))
    try:
        again = elaborate(parse(text).ops["case"], {}, {})
    except CheckError as error:
        assert error.code == "empty"  # a maximum over a filter that may leave nothing
        return
    for a, b in zip(interpret(case.program, case.arrays), interpret(again, case.arrays)):
        np.testing.assert_array_equal(a, b)
    assert show_program(elaborate(parse(show_program(again)).ops["case"], {}, {})) == show_program(again)


def test_a_rank_0_integer_alone_in_a_sum_keeps_its_type():
    op = parse("op f(x: i32, A: i32[N, M]) -> Y: i32[N] { Y[i] = sum(k in 0..M: x) }").ops["f"]
    program = elaborate(op, {}, {})
    (total,) = interpret(program, [np.int32(3), np.zeros((2, 4), np.int32)])
    np.testing.assert_array_equal(total, [12, 12])


@pytest.mark.parametrize(
    "value",
    [
        "sum(k in 0..M: i32(x) + x)",
        "max(k in 0..M: i32(x) * 3)",
        "i32(x) + x",
        "(i32(x) + 1) // 2",
        "-i32(x)",
        "abs(i32(x))",
        "max(i32(x), 2)",
        "if i32(x) + x > 2 then x else 3",
        "if i32(x) > 2 then 1 else 0",
        "A[i, 0] + x",
        "A[i, 0] + (if A[i, 1] > 0 then i32(x) else 3)",
    ],
)
def test_arithmetic_of_rank_0_integers_prints_at_its_type(value: str):
    """Alone, beside a literal, or beside another one they would be computed in i64; what is
    printed says otherwise.
    """
    text = f"op f(x: i32, A: i32[N, M]) -> Y: i32[N]\n   require M >= 2 {{\n  Y[i] = {value}\n}}\n"
    assert show_program(elaborate(parse(text).ops["f"], {}, {})) == text

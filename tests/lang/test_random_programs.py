"""Random programs: the printed text means the same, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from tests.strategies import Case, cases
from texpr.ir.expr import Compare, index
from texpr.ir.interpret import interpret
from texpr.ir.show_tensor import show_program
from texpr.lang import elaborate, parse
from texpr.support.errors import CheckError


@given(cases())
@settings(max_examples=50)
def test_printing_keeps_the_meaning(case: Case):
    requires = tuple(Compare(">=", size, index(2)) for size in case.program.sizes)  # `reflect` needs two elements
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

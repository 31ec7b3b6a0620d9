"""What isl is told of integers and conditions, against evaluating them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import islpy as isl
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.poly.certificate.exactly import Machine
from tests.poly.nests import at, e, kernel, tensor
from tests.profiles import examples
from texpr.ir.dtypes import BOOL, I8, I32, I64
from texpr.ir.expr import (
    Add,
    And,
    Call,
    Cast,
    Compare,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Not,
    Or,
    Select,
    Sub,
    Var,
    index,
)
from texpr.poly.certificate.engine.isl_frame import Frame, Parameters, structurally_equal
from texpr.poly.certificate.engine.obligations import truth_by_ranges

N, i, j = (Var(x) for x in "Nij")
SIZE = 3
RANGED = tensor("r", N, dtype=I32, value_range=(e(0), N))
NARROW = tensor("b", N, dtype=I8)
WIDE = tensor("k", N, dtype=I64)
SCALAR = tensor("s", dtype=I64)
FLAGS = tensor("m", N, dtype=BOOL)
INPUTS = (RANGED, NARROW, WIDE, SCALAR, FLAGS)
DATA = {
    "r": np.array([0, 2, 1]),
    "b": np.array([-128, 127, 3]),
    "k": np.array([-2, 5, 0]),
    "s": np.array(-3),
    "m": np.array([1, 0, 1]),
}
LEAVES = [
    i,
    j,
    N,
    index(0),
    index(1),
    index(2),
    index(-3),
    Cast(at(RANGED, i), dtype=I64),
    Cast(at(NARROW, j), dtype=I64),
    at(WIDE, i),
    at(WIDE, j),
    at(SCALAR),
]


def over(numbers: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    two = st.tuples(numbers, numbers)
    divisor = st.sampled_from([index(2), index(3), index(-2), index(0), N])
    return st.one_of(
        st.sampled_from([Add, Sub, Mul, Max, Min]).flatmap(lambda kind: two.map(lambda ab: kind(*ab))),
        st.sampled_from([FloorDiv, Mod]).flatmap(
            lambda kind: st.tuples(numbers, divisor).map(lambda ab: kind(*ab))
        ),
        numbers.map(Neg),
        numbers.map(lambda a: Call("abs", (a,), dtype=I64)),
        st.tuples(compared(numbers), numbers, numbers).map(lambda cab: Select(*cab)),
    )


def compared(numbers: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.builds(
        lambda op, a, b: Compare(op, a, b),
        st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
        numbers,
        numbers,
    )


NUMBERS = st.recursive(st.sampled_from(LEAVES), over, max_leaves=6)
PLAIN = st.one_of(
    compared(NUMBERS),
    st.sampled_from([at(FLAGS, i), at(FLAGS, j), Compare("<", at(NARROW, i), at(NARROW, j))]),
)
CONDITIONS = st.recursive(
    PLAIN,
    lambda below: st.one_of(
        st.tuples(below, below).map(lambda ab: And(*ab)),
        st.tuples(below, below).map(lambda ab: Or(*ab)),
        below.map(Not),
        st.tuples(below, below, below).map(lambda cab: Select(*cab)),
    ),
    max_leaves=4,
)


def a_frame() -> Frame:
    return Frame(Parameters([N], INPUTS), [i, j], {i: (0, SIZE - 1), j: (0, SIZE - 1)})


def valued(frame: Frame, values: Mapping[Var, int]) -> Machine:
    """A machine that knows the frame's parameters and atoms as well."""
    machine = Machine(kernel(inputs=INPUTS), DATA, values)  # type: ignore[arg-type]
    for term, var in (*frame.parameters.terms, *frame.atoms):
        machine.values[var] = machine.value(term)
    return machine


def contains(frame: Frame, s: isl.Set, machine: Machine) -> bool:
    """Whether the set has the point at which the columns have their values."""
    s = frame.lift(s)
    for kind, variables in (
        (isl.dim_type.param, frame.parameters.variables),
        (isl.dim_type.set, frame.variables),
    ):
        for k, v in enumerate(variables[: s.dim(kind)]):
            s = s.fix_val(kind, k, isl.Val.int_from_si(s.get_ctx(), machine.values[v]))
    return not s.is_empty()


def points() -> list[dict[Var, int]]:
    return [{N: SIZE, i: x, j: y} for x, y in product(range(SIZE), repeat=2)]


@given(CONDITIONS)
@examples(125)
def test_a_condition_holds_where_isl_says(condition: Expr):
    frame = a_frame()
    plain = frame.abstract(condition)
    s, known = frame.holds(plain), frame.holds(frame.bounds())
    for values in points():
        machine = valued(frame, values)
        assert contains(frame, s, machine) == bool(machine.value(condition)), values
        assert contains(frame, known, machine), f"bounds do not hold at {values}"


@given(CONDITIONS)
@examples(125)
def test_what_intervals_decide_is_so(condition: Expr):
    frame = a_frame()
    said = truth_by_ranges(condition, frame)
    if said is not None:
        assert all(bool(valued(frame, values).value(condition)) == said for values in points())


LINEAR = st.recursive(
    st.sampled_from([i, j, *map(index, range(-3, 4))]),
    lambda below: st.one_of(
        st.tuples(st.sampled_from([Add, Sub]), below, below).map(lambda kab: kab[0](*kab[1:])),
        st.tuples(below, st.integers(-2, 2)).map(lambda ac: Mul(ac[0], index(ac[1]))),
    ),
    max_leaves=4,
)


@given(st.sampled_from(["<", "<=", ">", ">="]), LINEAR, LINEAR)
@examples(125)
def test_intervals_decide_what_is_linear(op: str, a: Expr, b: Expr):
    condition = Compare(op, a, b)
    found = {bool(valued(a_frame(), values).value(condition)) for values in points()}
    assert truth_by_ranges(condition, a_frame()) is (found.pop() if len(found) == 1 else None)


@given(st.lists(NUMBERS, min_size=2, max_size=2))
@examples(125)
def test_what_is_alike_is_equal(pair: Sequence[Expr]):
    if structurally_equal(*pair):
        frame = a_frame()
        for values in points():
            machine = valued(frame, values)
            assert machine.value(pair[0]) == machine.value(pair[1])

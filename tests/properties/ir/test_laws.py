"""Laws of traversal and of the folding constructors, and of lowering by way of random programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.compare import assert_same_bits
from tests.programs import axis, names
from tests.strategies import Case, cases, scalar_exprs
from texpr.ir.affine import is_in_order, linear, same_value
from texpr.ir.build import fold
from texpr.ir.dtypes import F32, I64
from texpr.ir.expr import Add, Expr, Read, Reduce, Tensor, Var, index, plain
from texpr.ir.interpreter.loop import ORDERS, interpret_kernel
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.shapes import bind_sizes, evaluate_size
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import children, equal, identical, postorder, rewrite, substitute, walk, with_children
from texpr.ir.verifier.program import verify_kernel, verify_program
from texpr.passes.lowering.lower import lower

X, Y = names("x y")
exprs = scalar_exprs(I64, [X, Y])
environments = st.fixed_dictionaries({X: st.integers(-9, 9), Y: st.integers(-9, 9)})


@given(exprs, environments)
def test_fold_keeps_the_value(e: Expr, env: dict[Var, int]):
    assert value(rewrite(e, fold), env) == value(e, env)


def value(e, env: dict[Var, int]) -> int:
    """By the interpreter: casts to f32 and back round."""
    out, one = Tensor("Y", I64, ()), Tensor("X", I64, ())
    program = Program("f", (one,), (out,), (Equation(out, (), (), e),), tuple(env))
    return int(interpret(program, [np.array(0)], {var.name: n for var, n in env.items()})[0])


@given(exprs)
def test_equal_is_an_equivalence(e: Expr):
    copy = rewrite(e, lambda node: replace(node) if not isinstance(node, Var) else None)
    again = rewrite(copy, lambda node: replace(node) if not isinstance(node, Var) else None)
    assert copy is not e or isinstance(e, Var)
    assert equal(e, e) and equal(e, copy) and equal(copy, e) and equal(copy, again) and equal(e, again)
    assert not equal(Add(e, index(1)), Add(copy, index(2)))


def test_equal_looks_through_names_of_bound_variables():
    x, n = Tensor("X", F32, plain(index(3))), index(3)
    i, j = names("i j")
    assert equal(
        Reduce("sum", (axis(i, n),), Read(x, (i,)), dtype=F32),
        Reduce("sum", (axis(j, n),), Read(x, (j,)), dtype=F32),
    )
    assert not equal(
        Reduce("sum", (axis(i, n),), Read(x, (i,)), dtype=F32),
        Reduce("sum", (axis(j, n),), Read(x, (index(0),)), dtype=F32),
    )


@given(exprs)
def test_rewriting_nothing_returns_the_same_object(e: Expr):
    assert rewrite(e, lambda node: None) is e and substitute(e, {Var("z"): index(0)}) is e
    assert all(equal(with_children(node, children(node)), node) for node in walk(e) if children(node))


@given(exprs)
def test_postorder_lists_every_node_once_after_its_children(e: Expr):
    place = {id(node): k for k, node in enumerate(postorder(e))}
    assert set(place) == {id(node) for node in walk(e)}
    assert all(place[id(child)] < place[id(node)] for node in walk(e) for child in children(node))


@given(exprs, environments)
def test_substitution_is_evaluation(e: Expr, env: dict[Var, int]):
    assert value(rewrite(substitute(e, {v: index(n) for v, n in env.items()}), fold), env) == value(e, env)


affine = st.recursive(
    st.sampled_from([X, Y, index(1), index(-3)]),
    lambda below: st.one_of(
        st.builds(Add, below, below), st.builds(lambda a, b: Add(a, Add(b, index(2))), below, below)
    ),
)


@given(affine, environments)
def test_the_linear_form_keeps_the_value(e: Expr, env: dict[Var, int]):
    assert evaluate_size(linear(e).expr(), env) == evaluate_size(e, env) and same_value(e, linear(e).expr())


@given(st.one_of(exprs, affine))
def test_what_is_in_order_is_its_linear_form(e: Expr):
    for each in (e, linear(e).expr()):
        assert not is_in_order(each) or identical(each, linear(each).expr())


def test_deep_expressions_do_not_recurse():
    e: Expr = X
    for _ in range(20_000):
        e = Add(e, Y)
    assert value(e, {X: 1, Y: 2}) == 40_001 and evaluate_size(rewrite(e, fold), {X: 1, Y: 2}) == 40_001


@given(cases())
def test_lowering_keeps_the_meaning(case: Case):
    verify_program(case.program)
    kernel = lower(case.program)
    verify_kernel(kernel)
    sizes, _ = bind_sizes(case.program.inputs, [a.shape for a in case.arrays])
    expected = interpret(case.program, case.arrays)
    for order in ORDERS:
        for found, wanted in zip(interpret_kernel(kernel, case.arrays, sizes, order), expected, strict=True):
            assert_same_bits(found, wanted)

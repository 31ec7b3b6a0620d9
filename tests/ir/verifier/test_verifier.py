"""Everything that is not well-formed is refused, with the node in the message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import programs
from tests.programs import axis, names, number
from texpr.ir.build import TRUE
from texpr.ir.dtypes import BOOL, F32, F64, I32, I64
from texpr.ir.expr import (
    Add,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Guard,
    Neg,
    Not,
    Read,
    Reduce,
    Select,
    Tensor,
    Var,
    index,
    plain,
)
from texpr.ir.loop import Alloc, Barrier, For, If, Kernel, Stmt, Store
from texpr.ir.loop_kind import VECTOR
from texpr.ir.store_kind import ASYNCHRONOUS, ATOMIC, NONTEMPORAL, START
from texpr.ir.tensor import Equation, Program
from texpr.ir.verifier.program import verify_kernel, verify_program
from texpr.passes.lowering.lower import lower

N, i, j, k = names("N i j k")
X, Y, W = Tensor("X", F32, plain(N)), Tensor("Y", F32, plain(N)), Tensor("W", F64, plain(N))


@pytest.mark.parametrize(
    "program",
    [
        programs.matmul(),
        programs.conv2d(),
        programs.softmax(),
        programs.embed_grad(3),
        programs.cumsum(),
        programs.flatten(),
        programs.relu_shift(),
    ],
    ids=lambda p: p.name,
)
def test_real_programs_are_well_formed(program: Program):
    verify_program(program)


def test_lowered_programs_are_well_formed():
    for program in (
        programs.matmul(),
        programs.conv2d(),
        programs.softmax(),
        programs.embed_grad(3),
        programs.relu_shift(),
    ):
        verify_kernel(lower(program))


def complaint_of(program: Program) -> str:
    with pytest.raises(AssertionError) as error:
        verify_program(program)
    return str(error.value)


def equation(value: Expr, **changes) -> Program:
    e = replace(Equation(Y, (i,), (axis(i, N),), value), **changes)
    return Program("f", (X, W), (Y,), (e,), (N,))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (Read(X, (j,)), "j is not in scope: Read `X[j]`"),
        (Read(W, (i,)), "Y is f32, its value f64: Read `W[i]`"),
        (Read(X, (i, i)), "2 indices for X of rank 1: Read `X[i]`"),
        (Read(X, (Cast(i, dtype=I32),)), "an index is i64: Read `X[i32(i)]`"),
        (Read(X, (i,), dtype=F64), "X is f32: Read `X[i]`"),
        (Read(X, (i,), Guard("drop")), "no guard drop on a read: Read `X[i | drop]`"),
        (
            Read(X, (i,), Guard("value", number(0, F64))),
            "the guard of a f32 has another dtype: Read `X[i | 0.0]`",
        ),
        (Read(Tensor("Q", F32, plain(N)), (i,)), "Q is not a tensor that can be read here: Read `Q[i]`"),
        (Add(Read(X, (i,)), Read(W, (i,)), dtype=F32), "combines f32 with f64 to f32: Add `X[i] + W[i]`"),
        (Call("exp", (i,), dtype=F32), "exp is not for i64: Call `exp(i)`"),
        (Call("zeta", (Read(X, (i,)),)), "no function zeta: Call `zeta(X[i])`"),
        (Call("exp", (Read(X, (i,)), Read(X, (i,)))), "exp takes 1 arguments: Call `exp(X[i], X[i])`"),
        (
            Select(Read(X, (i,)), Read(X, (i,)), Read(X, (i,))),
            "a condition is bool: Select `if X[i] then X[i] else X[i]`",
        ),
        (Reduce("sum", (axis(i, N),), Read(X, (i,)), dtype=F32), "i is bound twice: Reduce `sum(i: X[i])`"),
        (
            Reduce("sum", (axis(j, N),), Read(X, (j,)), dtype=F64),
            "accumulates f32 in f64: Reduce `sum<f64>(j: X[j])`",
        ),
        (
            Reduce("sum", (axis(j, k), axis(k, N)), Read(X, (j,)), dtype=F32),
            "k is not in scope: Reduce `sum(j in 0..k, k in 0..N: X[j])`",
        ),
        (Const(1, dtype=F32), "a f32 literal holds a float, not 1: Const `1.0`"),
    ],
)
def test_complaints_about_expressions(value: Expr, complaint: str):
    assert complaint_of(equation(value)) == complaint


@pytest.mark.parametrize(
    ("value", "start"),
    [
        (Const(300, dtype=I32), "Y is f32"),
        (Const(True, dtype=I32), "True is no i32"),
        (Not(i, dtype=BOOL), "needs a bool"),
        (Neg(Compare("<", i, i)), "needs a number"),
        (Compare("<>", i, i), "no comparison <>"),
    ],
)
def test_more_complaints_about_expressions(value: Expr, start: str):
    assert complaint_of(equation(value)).startswith(start)


def test_complaints_about_equations():
    one = number(1)
    assert complaint_of(equation(one, update="add")).startswith("Y is updated before it is defined")
    assert complaint_of(equation(one, update="div")).startswith("no update div")
    assert complaint_of(equation(one, indices=())).startswith("0 indices for Y of rank 1")
    assert complaint_of(equation(one, where=i)).startswith("a condition is bool")
    assert complaint_of(equation(one, guard=Guard("value", one))).startswith("no guard value on a write")
    assert complaint_of(equation(one, axes=(axis(i, N), axis(i, N)))).startswith("i is bound twice")
    assert complaint_of(equation(one, target=X)).startswith("the input X is defined")
    assert complaint_of(
        replace(equation(one), outputs=(*equation(one).outputs, Tensor("Z", F32, ())))
    ).startswith("no equation defines Z")
    assert complaint_of(replace(equation(one), sizes=())).startswith("N is not in scope")
    assert complaint_of(replace(equation(one), inputs=(X, Tensor("X", F32, ())))).startswith(
        "the name X is used twice in f"
    )
    assert complaint_of(replace(equation(one), requires=(N,))).startswith("a requirement is bool")


def store(value: Expr, **changes) -> Store:
    return replace(Store(Y, (i,), value), **changes)


def complaint_about(*body: Stmt) -> str:
    with pytest.raises(AssertionError) as error:
        verify_kernel(Kernel("f", (X,), (Y,), (), (N,), body))
    return str(error.value)


def test_complaints_about_kernels():
    one = number(1)
    assert complaint_about(store(one)) == "i is not in scope: Var `i`"
    assert complaint_about(For(i, N, (For(i, N, (store(one),)),))) == "i is bound twice: Var `i`"
    assert complaint_about(For(i, N, (store(one),)), For(i, N, (store(one),))) == "i is bound twice: Var `i`"
    assert complaint_about(For(i, N, (store(one),), kind="sideways")) == "no kind of loop sideways: Var `i`"
    assert (
        complaint_about(For(i, N, (store(one),), kind=VECTOR))
        == "the extent of the vector loop i is not constant: Var `N`"
    )
    assert complaint_about(For(i, N, (store(Read(X, (i,), Guard("clamp"))),))).startswith(
        "not allowed in a kernel"
    )
    total = Reduce("sum", (axis(j, N),), Read(X, (j,)), dtype=F32)
    assert complaint_about(For(i, N, (store(total),))).startswith("not allowed in a kernel")
    assert complaint_about(For(i, N, (store(one, tensor=X),))) == "a store to the input X: Const `1.0`"
    assert (
        complaint_about(For(i, N, (store(Cast(one, dtype=F64)),)))
        == "Y is f32, its value f64: Cast `f64(f32(1.0))`"
    )
    assert (
        complaint_about(For(i, N, (store(one, role=START, update="add"),)))
        == "a start of Y is not an update: Const `1.0`"
    )
    for mode, value, update, complaint in (
        (NONTEMPORAL, one, "add", "an update of Y reads what it writes, and is not non-temporal"),
        (ASYNCHRONOUS, one, None, "Y is computed, and only copies and products are asynchronous"),
        (ASYNCHRONOUS, Read(X, (i,)), "max", "Y is computed, and only copies and products are asynchronous"),
        (ATOMIC, one, "mul", "Y is updated by mul, which is not atomic"),
        (ATOMIC, one, None, "Y is updated by None, which is not atomic"),
    ):
        found = complaint_about(For(i, N, (store(value, mode=mode, update=update),)))
        assert found.startswith(complaint)
    assert complaint_about(If(N, (Barrier(),))) == "a condition is bool: Var `N`"
    assert complaint_about(For(i, Cast(N, dtype=I32), (Barrier(),))) == "an extent is i64: Cast `i32(N)`"
    assert complaint_about(For(i, N, ())) == "the loop i has no statements: Var `i`"
    assert complaint_about(If(TRUE, ())) == "a condition has no statements: Const `true`"


def test_a_buffer_lives_from_its_alloc_to_the_end_of_the_body():
    a, b = Tensor("a", F32, ()), Store(Y, (i,), number(1))
    late = For(i, N, (Store(a, (), number(1)), Alloc(a)))
    gone = If(Compare("<", N, index(3)), (Alloc(a),))
    assert complaint_about(late) == "a is not a tensor in scope: Const `1.0`"
    assert complaint_about(gone, Store(a, (), number(1))) == "a is not a tensor in scope: Const `1.0`"
    assert complaint_about(Alloc(a), Alloc(a)).startswith("the name a is used twice in f")
    verify_kernel(Kernel("f", (X,), (Y,), (), (N,), (For(i, N, (Alloc(a), Store(a, (), number(1)), b)),)))


def test_a_valid_kernel_passes():
    body = (For(i, index(4), (If(Compare("<", i, N), (store(Read(X, (i,))), Barrier())),), kind=VECTOR),)
    verify_kernel(Kernel("f", (X,), (Y,), (), (N,), body))


def test_sizes_are_variables_in_scope():
    size = Var("M")
    lost = Program("f", (Tensor("A", I64, plain(size)),), (), (), ())
    assert complaint_of(lost) == "M is not in scope: Var `M`"

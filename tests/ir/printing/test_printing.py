"""Printed expressions, kernels and programs: pictures."""

from __future__ import annotations

import math

import pytest

from texpr.ir.dtypes import BF16, BOOL, F16, F32, F64, I32, I64, round_float
from texpr.ir.expr import (
    Add,
    Axis,
    Call,
    Cast,
    Compare,
    Const,
    Guard,
    Max,
    Mul,
    Neg,
    Not,
    Pow,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
    index,
    plain,
)
from texpr.ir.loop import Barrier, For, If, Kernel, Store
from texpr.ir.loop_kind import PARALLEL, SERIAL, UNROLLED, VECTOR
from texpr.ir.printing.expr import literal_text, show
from texpr.ir.printing.loop import show_kernel, source_kernel
from texpr.ir.printing.tensor import show_program
from texpr.ir.store_kind import START
from texpr.ir.tensor import Equation, Program

N, M, K = Var("N"), Var("M"), Var("K")
i, j, k = Var("i"), Var("j"), Var("k")
A = Tensor("A", F32, plain(M, K))
B = Tensor("B", F32, plain(K, N))
C = Tensor("C", F32, plain(M, N))
x = Read(Tensor("x", F32, ()))
half = Const(0.5, dtype=F32)


def f32(value: float) -> Const:
    return Const(value, dtype=F32)


@pytest.mark.parametrize(
    "expr, text",
    [
        (Sub(x, Sub(x, x)), "x - (x - x)"),
        (Sub(Sub(x, x), x), "x - x - x"),
        (Mul(Add(x, half), x), "(x + 0.5) * x"),
        (Neg(Mul(x, x)), "-(x * x)"),
        (Mul(Neg(x), Neg(x)), "-x * -x"),
        (Pow(Neg(x), Neg(x)), "(-x) ** -x"),
        (Pow(f32(-1.0), x), "(-1.0) ** x"),
        (Add(half, half), "f32(0.5) + 0.5"),
        (Call("exp", (half,)), "exp(f32(0.5))"),
        (Cast(Const(1, dtype=I64), dtype=F32), "f32(i64(1))"),
        (Max(x, f32(-math.inf)), "max(x, -inf)"),
        (Select(Compare("<", i, N), f32(1.0), f32(0.0)), "if i < N then 1.0 else 0.0"),
        (Add(Select(Compare("<", i, N), f32(1.0), f32(0.0)), x), "(if i < N then f32(1.0) else 0.0) + x"),
        (Not(Not(Const(True, dtype=BOOL))), "not not true"),
        (Not(Compare("==", x, f32(math.nan))), "not x == nan"),
        (Read(A, (Sub(i, index(1)), j), Guard("value", f32(0.0))), "A[i - 1, j | 0.0]"),
        (Read(A, (i, j), Guard("clamp")), "A[i, j | clamp]"),
        (
            Reduce("sum", (Axis(k, index(0), K),), Mul(Read(A, (i, k)), Read(B, (k, j))), dtype=F32),
            "sum(k: A[i, k] * B[k, j])",
        ),
        (
            Reduce("sum", (Axis(k, index(1), K),), Read(A, (i, k)), Compare("!=", k, i), dtype=F64),
            "sum<f64>(k in 1..K where k != i: A[i, k])",
        ),
        (
            Reduce(
                "argmax", (Axis(j, index(0), M), Axis(k, index(0), K)), Read(A, (j, k)), which=1, dtype=I64
            ),
            "argmax<1>(j, k: A[j, k])",
        ),
    ],
)
def test_expressions(expr, text):
    assert show(expr) == text


def test_a_deep_expression_prints():
    e = x
    for _ in range(50_000):
        e = Add(e, x)
    assert show(e).count("+") == 50_000


@pytest.mark.parametrize(
    "value, dtype, text",
    [
        (round_float(0.1, F32), F32, "0.1"),
        (0.1, F64, "0.1"),
        (1.0, F32, "1.0"),
        (1e30, F64, "1e+30"),
        (round_float(1 / 3, F16), F16, "0.3333"),
        (round_float(1 / 3, BF16), BF16, "0.334"),
        (-0.0, F32, "-0.0"),
        (7, I32, "7"),
        (16777216.0, F32, "16777216.0"),
    ],
)
def test_literals_are_short_and_exact(value, dtype, text):
    assert literal_text(value, dtype) == text
    assert not dtype.is_float or round_float(float(text), dtype) == value


def matmul_kernel() -> Kernel:
    total = Tensor("C_acc", F32, plain(M, N), scope="stack")
    ci, cj, ck = Var("i"), Var("j"), Var("k")
    body = (
        Store(total, (ci, cj), f32(0.0), role=START),
        For(
            ck,
            K,
            (Store(total, (ci, cj), Mul(Read(A, (ci, ck)), Read(B, (ck, cj))), "add", reassoc=True),),
            VECTOR,
            "C",
        ),
        Store(C, (ci, cj), Read(total, (ci, cj)), equation=1),
    )
    nest = For(ci, M, (For(cj, N, body, SERIAL, "C"),), PARALLEL, "C")
    inner = Var("i")
    other = For(i, M, (For(inner, N, (If(Compare("<", i, inner), (Barrier(),)),), UNROLLED),))
    return Kernel(
        "matmul", (A, B), (C,), (total,), (M, K, N), (nest, other), "all", (Compare(">=", K, index(1)),)
    )


def test_a_kernel():
    kernel = matmul_kernel()
    assert (
        show_kernel(kernel, {kernel.body[0].var: "independent"})
        == """\
kernel matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) allow_fma
  require K >= 1
  let C_acc: f32[M, N]  stack
  for C.i in 0..M parallel  # independent
    for C.j in 0..N
      C_acc[i, j] = 0.0  start
      for C.k in 0..K vector
        C_acc[i, j] += A[i, k] * B[k, j]  reassoc
      C[i, j] = C_acc[i, j]  eq 1
  for i in 0..M
    for i_1 in 0..N unroll
      if i < i_1
        barrier
"""
    )


def test_places_in_a_kernel():
    kernel = matmul_kernel()
    _, spans = source_kernel(kernel)
    inner = kernel.body[0].body[0]
    assert spans[id(inner)].text == "for C.j in 0..N"
    assert spans[id(inner.body[2])].text == "C[i, j] = C_acc[i, j]  eq 1"
    assert spans[id(inner.body[1].body[0].value)].text == "A[i, k] * B[k, j]"


def test_a_program():
    m = Tensor("m", F32, plain(M))
    t = Tensor("t", F32, plain(M))
    row = Reduce("max", (Axis(k, index(0), K),), Read(A, (i, k)), dtype=F32)
    j0 = Var("j")
    program = Program(
        "shift",
        (A,),
        (C,),
        (
            Equation(m, (i,), (Axis(i, index(0), M),), row),
            Equation(t, (j0,), (Axis(j0, index(0), M),), f32(1.0)),
            Equation(C, (j, k), (Axis(j, index(0), M), Axis(k, index(0), Sub(N, index(1)))), Read(m, (j,))),
        ),
        (M, K, N),
        (Compare(">=", K, index(1)),),
        (("S", 1), ("T", F32)),
        doc="Shift.",
    )
    assert (
        show_program(program)
        == """\
# Shift.
op shift(A: f32[M, K]; S = 1) -> C: f32[M, N]
   require K >= 1 {
  let t: f32[M]
  m[i] = max(k: A[i, k])
  t[j] = 1.0
  C[j, k] = m[j]  for k in 0..N - 1
}
"""
    )

"""What intermediates and reductions are of themselves: shapes of tensors that read themselves,
types of sums of numbers.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.ir.dtypes import DType
from texpr.ir.expr import Reduce
from texpr.ir.printing.tensor import show_program
from texpr.ir.traverse import walk
from texpr.lang import elaborate, parse


def program(text: str):
    return elaborate(parse(text).ops["f"], {}, {})


@pytest.mark.parametrize(
    ("body", "declared"),
    [
        ("h[k, i] = h[k-1, i | 0] * X[i] + p[k]", "let h: f32[K, N]"),
        ("h[i] = 0.5 * h[i-1 | 0] + X[i]", "let h: f32[N]"),
        ("h[i] = h[i+1 | 0] + X[i]", "let h: f32[N]"),
        ("h[i, *d] = h[i-1, *d | 0] + A[i, *d]", "let h: f32[N, *D]"),
        ("h[i] = h[i-1 | 0] + q[i]", "let h: i32[N]"),
        ("h[i] = 2 * h[i-1 | 1]  for i in 0..N", "let h: i64[N]"),
        ("h[i] = 0.5 * h[i-1 | 1]  for i in 0..N + 1", "let h: f64[N + 1]"),
        ("h[i] = max(h[i-1 | 0], i64(X[i]))", "let h: i64[N]"),
        ("h[i] = h[i-1 | 0] + w[i]", "let h: f32[N]"),
        ("h[i] = (if i > 0 then sum(j in 0..i: h[j]) else 0) + X[i]", "let h: f32[N]"),
    ],
)
def test_a_tensor_that_reads_itself_says_its_shape(body: str, declared: str):
    head = "op f(X: f32[N], p: f32[K], A: f32[N, *D], q: i32[N], w: f16[N]) -> Y: f32[N] { Y[i] = X[i]  "
    found = program(f"{head}{body} }}")
    assert declared in show_program(found)
    assert show_program(program(show_program(found))) == show_program(found)


def test_it_is_computed():
    horner = tx.op("""op f(p: f64[K], x: f64[N]) -> Y: f64[N] require K >= 1 {
  acc[k, i] = acc[k-1, i | 0] * x[i] + p[k]
  Y[i] = acc[K-1, i]
}""")
    p, x = np.array([2.0, -1, 3]), np.array([0.5, 2, -1, 0])
    np.testing.assert_allclose(horner(p, x), np.polyval(p, x))
    np.testing.assert_array_equal(horner(p, x), tx.interpret(horner, p, x))


def test_a_mistake_beside_it_is_the_one_that_is_shown():
    with pytest.raises(tx.Error) as e:
        program("op f(x: f32[N]) -> Y: f32[N] { h[i] = expp(h[i - 1 | 1]) * x[i]  Y[i] = h[i] }")
    assert (
        str(e.value)
        == """error[name]: unknown function `expp`
  --> <text>:1:39
  1 | op f(x: f32[N]) -> Y: f32[N] { h[i] = expp(h[i - 1 | 1]) * x[i]  Y[i] = h[i] }
    |                                       ^^^^
  help: did you mean `exp`?"""
    )


@pytest.mark.parametrize(
    ("body", "help"),
    [
        (
            "h[i + 1] = h[i | 0] + x[i]",
            "only bare, distinct indices say a shape; declare it: let h: f32[N + 1]",
        ),
        ("h[0] = 1  h[i + 1] = h[i] * x[i]", "declare its shape: let h: f32[N + 1]"),
        (
            "h[i, j] = c[i, j - 1 | 0] + x[i]  c[i, j] = h[i, j]  for j in 0..3",
            "a recurrence needs a declaration: let h",
        ),
        ("h[i] = x[i]  for i in 1..N", "declare it: let h: f32[N]"),
        (
            "h[i, d] = x[i]  for d in -R..R + 1",
            "elements begin at 0: let `d` run over 0..R * 2 + 1 and read it as d - R",
        ),
        ("h[i, d] = x[i]  for d in -1..2", "elements begin at 0: let `d` run over 0..3 and read it as d - 1"),
        ("h[i] = h[i - 1 | 0] + i", "write its range at the end of the equation: for i in 0..N"),
    ],
)
def test_help_names_what_to_declare(body: str, help: str):
    with pytest.raises(tx.Error) as e:
        program(f"op f(x: f32[N], r: f32[R]) -> Y: f32[N] {{ {body}  Y[i] = x[i] }}")
    assert str(e.value).splitlines()[-1] == f"  help: {help}"


def test_a_sum_of_numbers_has_a_type_and_help_converts_it():
    with pytest.raises(tx.Error) as e:
        program(
            "op f(k: i32[N], X: f32[N]) -> Y: f32[N] { Y[i] = X[i] / sum(n: if k[n] == i then 1.0 else 0) }"
        )
    assert (
        str(e.value)
        == """error[dtype]: `/` needs two values of one type; found f32 and f64
  --> <text>:1:50
  1 | op f(k: i32[N], X: f32[N]) -> Y: f32[N] { Y[i] = X[i] / sum(n: if k[n] == i then 1.0 else 0) }
    |                                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  help: a sum of numbers is f64, as numbers are; convert it: f32(sum(n: if k[n] == i then 1.0 else 0))"""
    )


@pytest.mark.parametrize(
    ("body", "dtype"),
    [
        ("if c[i] > 0 then X2 else 3", "i32"),
        ("if c[i] > 0 then 3 else if c[i] > 1 then X2 else X2", "i32"),
        ("X2 + 0 * c[i]", "i32"),
        ("if c[i] > 0 then X2 else Z2", "i64"),
        ("if c[i] > 0 then 2 else 3", "i64"),
    ],
)
def test_a_choice_of_a_parameter_and_numbers_is_of_its_type(body: str, dtype: str):
    found = program(f"op f(X2: i32, Z2: i16, c: i32[N]) -> y: i64 {{ y = sum(i: {body}) }}")
    kind = DType(dtype[0], int(dtype[1:]))
    assert {n.dtype for n in walk(found) if isinstance(n, Reduce)} == {kind}


def test_equal_positions_are_one_unknown():
    assert tx.op(
        "op f(X: f32[N]) -> y: f32 require N >= 1 { y = if argmax(i: X[i]) > 1 then X[argmax(j: X[j]) - 2] "
        "else 0 }"
    )
    assert tx.op("""op f(X: f32[N, M]) -> Y: f32[N] require M >= 1 {
      Y[n] = if argmax(i: X[n, i]) > 1 then X[n, argmax(i: X[n, i]) - 2] else 0 }""")
    with pytest.raises(tx.Error, match="may be read outside"):
        tx.op(
            "op f(X: f32[N]) -> y: f32 require N >= 1 { y = if argmax(i: X[i]) > 1 then X[argmax(j: -X[j]) - "
            "2] else 0 }"
        )
    with pytest.raises(tx.Error, match="may be read outside"):
        tx.op(
            "op f(X: f32[N, N]) -> y: f32 require N >= 1 { y = if argmax(i: X[0, i]) > 1 then X[0, argmax(j: "
            "X[j, 0]) - 2] else 0 }"
        )


@pytest.mark.parametrize(
    ("body", "dtype"),
    [
        ("c[i] = c[i - 1 | 0] + (if X[i] > 0 then 1 else 0)  for i in 0..N", "i64"),
        ("c[i] = if X[i] > 0 then c[i - 1 | 0] + 1 else c[i - 1 | 0]  for i in 0..N", "i64"),
        ("c[i] = if isnan(X[i]) then c[i - 1 | 0] + 1 else 0", "i64"),
        ("c[i] = c[i - 1 | 0] + (if q[i] > 0 and h[i] < 3 then 1 else -1)  for i in 0..N", "i64"),
        ("c[i] = max(c[i - 1 | 0], if X[i] > 0 then i else 0)", "i64"),
        ("c[i] = c[i - 1 | 0] + sum(j in 0..i where X[j] > 0: 1)  for i in 0..N", "i64"),
        ("c[i] = c[i - 1 | 0] + (if sum(j: X[j]) > X[i] then 1 else 0)", "i64"),
        ("c[i] = 0.5 * c[i - 1 | 0] + (if q[i] > 0 then 1.0 else 0.0)  for i in 0..N", "f64"),
        ("c[i] = c[i - 1 | 0] + h[p[i]]", "f32"),
        ("c[i] = c[i - 1 | 0] + (if X[i] > 0 then h[i] else 0)", "f32"),
        ("c[i] = if X[i] > 0 then h[i] else c[i - 1 | 0]", "f16"),
        ("c[i] = if X[i] > 0 then q[i] else c[i - 1 | 0]", "u8"),
        ("c[i] = c[i - 1 | 0] + f64(X[i])", "f64"),
        ("c[i] = c[i - 1 | false] or X[i] > 0", "bool"),
        ("c[i] = if X[i] > 0 then true else c[i - 1 | false]", "bool"),
    ],
)
def test_its_type_is_that_of_its_values_not_of_what_decides(body: str, dtype: str):
    head = "op f(X: f32[N], h: f16[N], q: u8[N], p: i32[N] in 0..N) -> Y: f32[N] { Y[i] = X[i]  "
    found = program(f"{head}{body} }}")
    (c,) = found.temporaries
    assert str(c.dtype) == dtype


@pytest.mark.parametrize(
    ("body", "message", "help"),
    [
        (
            "c[i] = c[i - 1 | 0] + X[i] + d[i]",
            "`+` needs two values of one type; found f32 and f64",
            "convert one of them: f64(c[i - 1 | 0] + X[i])",
        ),
        (
            "c[i] = c[i - 1 | 0] + X[i] + i",
            "`+` needs two values of one type; found f32 and i64",
            "convert one of them: f32(i)",
        ),
        (
            "c[i] = c[i - 1 | 0] + (if b[i] > 0 then 1 else 0)",
            "found an integer where bool is needed",
            "convert it: bool(...)",
        ),
        ("c[i] = b[i] or c[i - 1 | false] or X[i]", "a condition is a bool; found f32", "compare: X[i] != 0"),
    ],
)
def test_types_that_do_not_meet_beside_it_are_what_is_said(body: str, message: str, help: str):
    with pytest.raises(tx.Error) as e:
        program(f"op f(X: f32[N], d: f64[N], b: bool[N]) -> Y: f32[N] {{ Y[i] = X[i]  {body} }}")
    assert (str(e.value).splitlines()[0], str(e.value).splitlines()[-1]) == (
        f"error[dtype]: {message}",
        f"  help: {help}",
    )


@pytest.mark.parametrize(
    ("body", "declared"),
    [
        ("c[i] = d[i - 1 | 0] + (if x[i] > 0 then 1 else 0)  d[i] = c[i]", "let c: i64[N]"),
        ("c[i] = d[i - 1 | 0] * k[i]  d[i] = c[i]", "let c: i32[N]"),
        ("c[i] = d[i - 1 | 0] * 0.5  d[i] = c[i]", "let c"),
    ],
)
def test_help_declares_the_type_of_the_values(body: str, declared: str):
    with pytest.raises(tx.Error) as e:
        program(f"op f(x: f32[N], k: i32[N]) -> Y: f32[N] {{ {body}  Y[i] = x[i] }}")
    assert str(e.value).splitlines()[-1] == f"  help: a recurrence needs a declaration: {declared}"


def test_counts_go_beyond_the_whole_numbers_of_f32():
    f = tx.op("""op f(b: f32[N]; start = 16777214) -> n: i64[N] {
  c[i] = c[i - 1 | start] + (if b[i] > 0 then 1 else 0)  for i in 0..N
  n[i] = c[i]
}""")
    b = np.ones(5, "f4")
    right = [16777215, 16777216, 16777217, 16777218, 16777219]
    assert f(b).tolist() == right and tx.interpret(f, b).tolist() == right

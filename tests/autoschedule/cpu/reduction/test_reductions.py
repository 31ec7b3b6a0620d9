"""What becomes of reductions that are easily computed the slow way: each was, once."""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
from bench.inner.assembly import inner_loops

WIDE = "x86-64-v4"
TRIANGLE = """op lower(A: f32[N, K], B: f32[K, M]) -> Y: f32[N, M] {
  Y[i, j] = if j <= i then sum(k: A[i, k] * B[k, j]) else 0
}"""
NEAREST = """op nearest(X: f32[N, D], Z: f32[M, D]) -> Y: i64[N] {
  Y[i] = argmin(j: sum(d: (X[i, d] - Z[j, d]) * (X[i, d] - Z[j, d])))
}"""


def test_sums_of_a_triangle_ask_nothing_for_each_term():
    s = tx.schedule(tx.op(TRIANGLE), N=65, K=67, M=69).auto(WIDE)
    updates = str(s).split("Y_acc[")[1:]
    assert len(updates) > 2 and not re.search(r"if [^\n]*\n\s*Y_acc\w*\[[^\n]*\+=", str(s))
    assert all("(%rsp" not in "".join(n) for n in inner_loops(s.compile(WIDE).asm))


@pytest.mark.parametrize(
    "condition", ["j <= i", "i > j", "j < i + 2", "i == j", "j <= 3", "j <= i and i < 4", "i + j < 9"]
)
def test_triangles_are_what_they_were(condition: str):
    operator = tx.op(TRIANGLE.replace("j <= i", condition))
    a, b = (np.random.default_rng(k).standard_normal((11, 11), dtype="f4") for k in range(2))
    np.testing.assert_allclose(operator(a, b), tx.interpret(operator, a, b), rtol=1e-5, atol=1e-5)


def test_one_column_of_a_product_is_computed_alone():
    """A condition that few elements fulfil stays: without it all of them would be computed."""
    text = str(tx.schedule(tx.op(TRIANGLE.replace("j <= i", "j == 0")), N=65, K=67, M=69))
    assert re.search(r"if j == 0\n\s*Y_acc\[i, j\] \+= ", text)


def test_equal_sums_of_an_equation_are_computed_once():
    operator = tx.op(NEAREST)
    text = str(tx.schedule(operator, N=9, M=7, D=5))
    assert "let Y_sum: f32[9, 7]" in text and "Y_sum_:" not in text
    x, z = (np.random.default_rng(k).standard_normal((n, 5), dtype="f4") for k, n in enumerate((9, 7)))
    np.testing.assert_array_equal(operator(x, z), ((x[:, None] - z) ** 2).sum(-1).argmin(1))


def test_sums_that_differ_are_told_apart():
    operator = tx.op("""op f(X: f32[N, M], Z: f32[N, M]) -> Y: f32[N, M] {
      Y[i, j] = sum(k: X[i, k]) * sum(l: X[i, l]) + sum(k: Z[i, k]) - sum(k where k > 0: X[i, k]) + sum(k: X[k, j])
    }""")
    text = str(tx.schedule(operator, N=3, M=4))
    assert [
        line.split(":")[0].strip() for line in text.splitlines() if re.match(r"\s*let Y_sum_*:", line)
    ] == [f"let Y_sum{'_' * k}" for k in range(4)]
    x, z = (np.random.default_rng(k).standard_normal((3, 4), dtype="f4") for k in range(2))
    np.testing.assert_allclose(operator(x, z), tx.interpret(operator, x, z), rtol=1e-5)


@pytest.mark.parametrize(
    "dtype, n, place",
    [
        ("f32", 255, "u8"),
        ("f32", 256, "u32"),
        ("u8", 256, "u16"),
        ("u8", 65535, "u16"),
        ("u8", 65536, "u32"),
        ("i16", 300, "u16"),
        ("f64", 300, "i64"),
    ],
)
def test_places_are_as_narrow_as_they_may_be(dtype: str, n: int, place: str):
    """Along columns: many elements that lie side by side are looked at in blocks, which are
    short.
    """
    operator = tx.op(f"op f(X: {dtype}[N, M]) -> y: i64[M] {{ y[j] = argmax(i: X[i, j]) }}")
    assert f"y_acc: {place}" in str(tx.schedule(operator, N=n, M=1)) or place == "i64"
    for last in (0, n - 1):
        x = np.zeros((n, 1), f"{dtype[0]}{int(dtype[1:]) // 8}")
        x[last] = 1
        assert operator(x) == last
    assert operator(np.full((n, 1), np.iinfo(x.dtype).max if x.dtype.kind in "iu" else np.inf, x.dtype)) == 0


def test_rows_of_a_packed_operand_are_one_tile():
    """Panels of 6 rows that lie side by side: all sums of two vectors are in registers."""
    text = """op panels(U: f32[P, C, 6], V: f32[C, T]) -> M: f32[P, 6, T] {
      M[k, i, t] = sum(c: U[k, c, i] * V[c, t])
    }"""
    s = tx.schedule(tx.op(text), P=9, C=33, T=48).auto("x86-64-v3")
    assert 'unroll("M.i")' in s.script() and 'split("M.k"' not in s.script()
    assert all("(%rsp" not in "".join(n) for n in inner_loops(s.compile("x86-64-v3").asm))
    longer = tx.op(text.replace("6", "9"))
    assert 'unroll("M.i")' not in tx.schedule(longer, P=9, C=33, T=48).auto("x86-64-v3").script()


COLORS = "op colors(X: f32[N, C]) -> Y: f32[N] { Y[n] = sum(c: exp(X[n, c])) }"


@pytest.mark.parametrize("channels", (3, 4, 5, 7))
def test_rows_of_few_terms_are_lanes(channels: int):
    """Vectors of terms would be mostly empty, and those of every third element are not far apart."""
    schedule = tx.schedule(tx.op(COLORS), N=200, C=channels).auto(WIDE)
    assert "Y: LanesOverElements" in schedule.explain()
    assert "reassociated" not in str(schedule.certificate())


def test_rows_far_from_each_other_are_no_lanes():
    schedule = tx.schedule(tx.op(COLORS.replace("[N, C]", "[N, 16, C]").replace("[n,", "[n, 0,")), N=200, C=4)
    assert "Y: LanesOverTerms" in schedule.auto(WIDE).explain()

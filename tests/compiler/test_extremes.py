"""max and min in vectors of every length: NaN goes through, -0 is below +0; and their reductions."""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx

CORNERS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, 5e-324, -1e-45, 3e38]


def same(found: np.ndarray, expected: np.ndarray) -> bool:
    """Equal bits, whatever a NaN's are."""
    return bool((((found == expected) & (np.signbit(found) == np.signbit(expected))) | (np.isnan(found) & np.isnan(expected))).all())


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("which", ["max", "min"])
def test_extremes_of_pairs(which, dtype, lanes):
    op = tx.op(f"op f(A: {dtype}[N], B: {dtype}[N]) -> Y: {dtype}[N] {{ Y[i] = {which}(A[i], B[i]) }}")
    a, b = (x.ravel().astype(np.dtype(dtype.replace("f", "float"))) for x in np.meshgrid(CORNERS, CORNERS))
    s = tx.schedule(op, N=len(a)).split("i", lanes, tail="peel").vectorize("ii")
    assert same(s.compile()(a, b), tx.interpret(op, a, b))


@pytest.mark.parametrize("call", ["(X[i], {})", "({}, X[i])"])
@pytest.mark.parametrize("number", ["0", "-0.0", "6", "-1.5"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("which", ["max", "min"])
def test_extremes_beside_a_number(which, dtype, number, call):
    op = tx.op(f"op f(X: {dtype}[N]) -> Y: {dtype}[N] {{ Y[i] = {which}{call.format(number)} }}")
    x = np.array(CORNERS * 4, np.dtype(dtype.replace("f", "float")))
    for length in (len(x), 7, 1):
        for first in range(len(CORNERS)):
            given = x[first:][:length]
            assert same(op(given), tx.interpret(op, given))


@pytest.mark.parametrize("terms", [1, 15, 16, 64, 100])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("which", ["max", "min"])
def test_extremes_of_rows(which, dtype, terms):
    op = tx.op(f"op f(X: {dtype}[M, N]) -> y: {dtype}[M] require N >= 1 {{ y[i] = {which}(j: X[i, j]) }}")
    generator = np.random.default_rng(terms)
    X = generator.choice(np.array(CORNERS, np.dtype(dtype.replace("f", "float"))), (40, terms))
    X[:20] = np.where(np.isnan(X[:20]), 0, X[:20])
    X[:4] = np.where(generator.random((4, terms)) < 0.5, -0.0, 0.0)
    assert same(op(X), tx.interpret(op, X))


def test_an_extreme_is_few_instructions():
    op = tx.op("op f(A: f32[N], B: f32[N]) -> Y: f32[N] { Y[i] = max(A[i], B[i]) }")
    asm = tx.schedule(op, N=16).vectorize("i").compile("x86-64-v4").asm
    body = re.search(r"texpr_f:(.*?)retq", asm, re.S)
    assert body and "vrangeps" in body[1]
    assert re.findall(r"vcmp\w+|vadd\w+|vmax\w+|vblend\w+|vmov[ad]\w+", body[1]) == ["vcmpunordps", "vaddps"]


@pytest.mark.parametrize(("call", "expected"), [
    ("max(X[i], 0)", ["vcmpnleps", "vmovaps"]), ("min(6, X[i])", ["vminps"]), ("max(X[i], 1)", ["vmaxps"])])
def test_an_extreme_beside_a_number_is_fewer(call: str, expected: list[str]):
    op = tx.op(f"op f(X: f32[N]) -> Y: f32[N] {{ Y[i] = {call} }}")
    body = re.search(r"texpr_f:(.*?)retq", tx.schedule(op, N=16).vectorize("i").compile("x86-64-v4").asm, re.S)
    assert body and re.findall(r"vcmp\w+|vadd\w+|vmax\w+|vmin\w+|vrange\w+|vblend\w+|vmovap\w+", body[1]) == expected

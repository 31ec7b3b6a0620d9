"""max and min in vectors of every length: NaN goes through, -0 is below +0; and their
reductions.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
from bench.inner.assembly import inner_loops

CORNERS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, 5e-324, -1e-45, 3e38]


def same(found: np.ndarray, expected: np.ndarray) -> bool:
    """Equal bits, whatever a NaN's are."""
    return bool(
        (
            ((found == expected) & (np.signbit(found) == np.signbit(expected)))
            | (np.isnan(found) & np.isnan(expected))
        ).all()
    )


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


@pytest.mark.parametrize("terms", [1, 3, 7, 10, 15, 16, 20, 33, 64, 100, 333, 1024])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("which", ["max", "min"])
def test_extremes_of_rows(which, dtype, terms):
    op = tx.op(f"op f(X: {dtype}[M, N]) -> y: {dtype}[M] require N >= 1 {{ y[i] = {which}(j: X[i, j]) }}")
    generator = np.random.default_rng(terms)
    X = generator.choice(np.array(CORNERS, np.dtype(dtype.replace("f", "float"))), (40, terms))
    X[:20] = np.where(np.isnan(X[:20]), 0, X[:20])
    X[:4] = np.where(generator.random((4, terms)) < 0.5, -0.0, 0.0)
    X[4:12, generator.integers(terms)] = np.nan
    assert same(op(X), tx.interpret(op, X))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_nan_in_any_of_several_loops_goes_through(dtype):
    """Each loop remembers what the one before it left; signalling NaN, which the machine's
    extreme gives once, are NaN too.
    """
    op = tx.op(f"op f(X: {dtype}[M, N]) -> y: {dtype}[M] {{ y[i] = max(j: X[i, j]) }}")
    lanes = 16 if dtype == "f32" else 8
    X = np.random.default_rng(0).standard_normal((25, 24 * lanes)).astype(dtype.replace("f", "float"))
    bits = X.view("u4" if dtype == "f32" else "u8")
    for row in range(24):
        bits[row, row * lanes + row % lanes] = (
            (0x7FA00000, 0x7FF4000000000000)[dtype == "f64"] if row % 2 else np.iinfo(bits.dtype).max
        )
    s = tx.schedule(op, M=25, N=24 * lanes).split("j", lanes).split("jo", 8).rfactor("ji", reassoc=True)
    s = s.reorder("joo", "joi", "ji").vectorize("ji").vectorize("ji_sum").unroll("joo")
    assert re.search(r"vcmpord\S+\t.*\{%k\d\}", s.compile("x86-64-v4").asm), (
        "this is where they are remembered"
    )
    found = s.compile()(X)
    assert np.isnan(found[:24]).all() and found[24] == X[24].max()


def test_extremes_of_many_are_two_instructions_each():
    op = tx.op("op f(X: f32[N]) -> y: f32 { y = max(i: X[i]) }")
    asm = tx.schedule(op, N=4096).auto("x86-64-v4").compile("x86-64-v4").asm
    main = max(inner_loops(asm), key=len)
    found = [n.split()[0] for n in main if re.match(r"v(?!mov)", n)]
    assert found.count("vrangeps") == found.count("vcmpordps") > 1 and set(found) == {
        "vrangeps",
        "vcmpordps",
    }, main


@pytest.mark.parametrize(("lanes", "kind"), [(1, "ss"), (4, "ps"), (8, "ps"), (16, "ps")])
def test_an_extreme_is_few_instructions(lanes: int, kind: str):
    op = tx.op("op f(A: f32[N], B: f32[N]) -> Y: f32[N] { Y[i] = max(A[i], B[i]) }")
    s = tx.schedule(op, N=lanes)
    asm = (s.vectorize("i") if lanes > 1 else s).compile("x86-64-v4").asm
    body = re.search(r"texpr_f:(.*?)retq", asm, re.S)
    assert body and f"vrange{kind}" in body[1]
    found = re.findall(r"vcmp\w+|vadd\w+|vmax\w+|vblend\w+|vmov[ad]\w+", body[1])
    assert sorted(found) == [f"vadd{kind}", f"vcmpunord{kind}"]


def test_the_extreme_of_a_short_row_asks_once_for_nan():
    op = tx.op("op f(X: f32[M, N]) -> Y: f32[M] require N >= 1 { Y[i] = max(j: X[i, j]) }")
    asm = tx.schedule(op, M=100, N=8).auto("x86-64-v4").compile("x86-64-v4").asm
    (main,) = (n for n in inner_loops(asm) if any("vrangeps" in line for line in n))
    count = {n: sum(n in line for line in main) for n in ("vrangeps", "vaddps", "vmax")}
    assert count == {"vrangeps": 4, "vaddps": 1, "vmax": 0}, "one beside the start, three of eight lanes"


@pytest.mark.parametrize(
    ("call", "expected"),
    [("max(X[i], 0)", ["vcmpnleps", "vmovaps"]), ("min(6, X[i])", ["vminps"]), ("max(X[i], 1)", ["vmaxps"])],
)
def test_an_extreme_beside_a_number_is_fewer(call: str, expected: list[str]):
    op = tx.op(f"op f(X: f32[N]) -> Y: f32[N] {{ Y[i] = {call} }}")
    body = re.search(
        r"texpr_f:(.*?)retq", tx.schedule(op, N=16).vectorize("i").compile("x86-64-v4").asm, re.S
    )
    assert (
        body
        and re.findall(r"vcmp\w+|vadd\w+|vmax\w+|vmin\w+|vrange\w+|vblend\w+|vmovap\w+", body[1]) == expected
    )


@pytest.mark.parametrize("other", ["{}(k[i])", "abs({}(k[i]))", "-0.0"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("which", ["max", "min"])
def test_signalling_nan_is_nan_beside_what_cannot_be_one(which, dtype, other):
    """Without lanes and with; LLVM's own code for AVX-512 asks about quiet NaN only where the
    other operand is known to be a number.
    """
    bits = (
        np.array([0x7FA00001, 0xFF800001, 0x7FC00000, 0x3F800000], "u4")
        if dtype == "f32"
        else np.array([0x7FF0000000000001, 0xFFF0000000000001, 0x7FF8000000000000, 0x3FF0000000000000], "u8")
    )
    a, k = np.tile(bits, 5).view(dtype.replace("f", "float")), np.tile(np.array([3, -3], "i4"), 10)
    for pair in ("A[i], " + other, other + ", A[i]"):
        op = tx.op(
            f"op f(A: {dtype}[N], k: i32[N]) -> Y: {dtype}[N] {{ Y[i] = {which}({pair.format(dtype)}) }}"
        )
        for s in (tx.schedule(op), tx.schedule(op, N=20).split("i", 4).vectorize("ii")):
            assert same(s.compile()(a, k), tx.interpret(op, a, k))
        assert "fpclass" not in tx.schedule(op).compile("x86-64-v4").asm

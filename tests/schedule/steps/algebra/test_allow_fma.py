"""`allow_fma`: which of two products is joined with their sum does not depend on the loops
around; default schedules join sums alone.
"""

from __future__ import annotations

import platform
import re

import numpy as np
import pytest

import texpr as tx
from tests.schedule.steps.cases import listing
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import equal
from texpr.lang import parse_kernel
from texpr.runtime import host

RANDOM = np.random.default_rng(5)
pytestmark = pytest.mark.skipif(
    platform.machine() == "x86_64" and "fma" not in host.cpu_features(), reason="nothing is joined here"
)


def rounded_once(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, sign: float) -> np.ndarray:
    """a*b + sign*c*d in f32, the second product not rounded: exact in f64, whose 53 bits hold
    it.
    """
    first = (a * b).astype(np.float64)
    return (first + sign * c.astype(np.float64) * d.astype(np.float64)).astype(np.float32)


@pytest.mark.parametrize(
    ("value", "sign"),
    [("A[i]*B[i] + C[i]*D[i]", 1), ("A[i]*B[i] - C[i]*D[i]", -1), ("A[i]*B[i] + -(C[i]*D[i])", -1)],
)
@pytest.mark.parametrize(
    "steps",
    ["", 'split("Y.i", 8)\nvectorize("Y.ii")', 'split("Y.i", 3, tail="peel")\nunroll("Y.ii")'],
    ids=["scalar", "vector", "unrolled"],
)
def test_the_second_of_two_products_is_not_rounded(value: str, sign: float, steps: str):
    op = tx.op(
        f"op f(A: f32[N], B: f32[N], C: f32[N], D: f32[N]) -> (Y: f32[N], Z: f32[N]) {{ Y[i] = {value}\nZ[i] "
        f"= A[i]*B[i] }}"
    )
    schedule = tx.schedule(op).replay("allow_fma()\n" + steps)
    arrays = [RANDOM.normal(size=100).astype(np.float32) for _ in range(4)]
    found, product = schedule.compile()(*arrays)
    assert np.array_equal(found, rounded_once(*arrays, sign))
    assert np.array_equal(product, arrays[0] * arrays[1])


# Default schedules: multiply-adds of sums alone.

EVERYWHERE = ("x86-64-v3", "x86-64-v4", "aarch64", "aarch64+sve", "sm_80", "sm_90a")
FUSED = r"\bvfn?m(add|sub)|\bfn?ml[as]\b|\bfn?m(add|sub|ad|sb)\b|\bfma\."
SUMS = {
    "product": (
        "op f(A: f32[M, N], B: f32[N, M]) -> C: f32[M, M] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
        {"M": 32, "N": 64},
    ),
    "dot": ("op f(A: f64[N], B: f64[N]) -> C: f64 { C = sum(k: A[k] * B[k]) }", {"N": 4096}),
    "squares": (
        "op f(A: f32[M, N]) -> C: f32[M] { C[i] = sum(k: (A[i, k] - 1) * (A[i, k] - 1)) }",
        {"M": 64, "N": 256},
    ),
    "scattered": (
        "op f(A: f32[N, M], p: i32[N] in 0..M) -> C: f32[M, M] { C[i, j] = 0\nC[p[n], m] += A[n, m] * A[n, "
        "m] }",
        {"M": 32, "N": 64},
    ),
    "running": (
        "op f(A: f32[M, N], x: f32[M]) -> Y: f32[M] { Y[0] = x[0]  Y[c] = Y[c - 1] * x[c] + sum(k: A[c, k]) "
        "for c in 1..M }",
        {"M": 32, "N": 64},
    ),
}
TWICE = {
    "difference": "Y[i] = A[i] * A[i] - B[i] * B[i]",
    "named": "T[i] = A[i] * A[i]\nY[i] = T[i] - B[i] * B[i]",
    "negated": "Y[i] = -(A[i] * A[i]) + B[i] * B[i]",
    "recurrence": "Y[i] = Y[i - 1 | 0] * A[i] + B[i]",
    "update": "Y[i] = A[i] * A[i]\nY[i] += -(B[i] * B[i])",
    "beside a sum": "Y[i] = sum(k: A[k]) - A[i] * B[i]",
}


def code(text: str, target: str, **sizes: int) -> str:
    kernel = tx.schedule(tx.op(text), **sizes).auto(target).compile(target)
    return kernel.ptx if target.startswith("sm_") else kernel.asm


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_products_are_fused(name, target):
    text, sizes = SUMS[name]
    if name == "scattered" and target.startswith("sm_"):
        return  # an atomic addition, which has no product
    assert re.search(FUSED, code(text, target, **sizes))


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("name", TWICE)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_a_product_and_a_difference_are_rounded_twice(name, target, dtype):
    text = f"op f(A: {dtype}[N], B: {dtype}[N]) -> Y: {dtype}[N] {{\n{TWICE[name]} }}"
    found = code(text, target, N=1000)
    assert not re.search(FUSED, found)
    if target.startswith("sm_"):  # the assembler fuses what does not say how it is rounded
        assert re.search(r"mul\.rn\.f", found) and not re.search(r"\bmul\.f(32|64)", found)


@pytest.mark.parametrize("name", TWICE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_default_schedules_give_the_bits_of_the_interpreter_where_nothing_is_summed(name, dtype):
    t = {4: "f32", 8: "f64", 2: "f16"}[np.dtype(dtype).itemsize]
    op = tx.op(f"op f(A: {t}[N], B: {t}[N]) -> Y: {t}[N] {{\n{TWICE[name]} }}")
    a = RANDOM.normal(size=301).astype(dtype)
    if name != "beside a sum":
        np.testing.assert_array_equal(op(a, a), tx.interpret(op, a, a))


def test_softmax_of_scaled_logits_is_a_row_of_probabilities():
    """x * c at the maximum, less the maximum of x * c, is 0: NumPy gives one-hot rows."""
    softmax = tx.op("""op f(X: f32[B, N], c: f32) -> Y: f32[B, N] {
      Z[b, i] = X[b, i] * c
      m[b] = max(i: Z[b, i])
      e[b, i] = exp(Z[b, i] - m[b])
      Y[b, i] = e[b, i] / sum(k: e[b, k]) }""")
    x = (np.random.default_rng(0).standard_normal((3, 64)) * 1e14).astype(np.float32)
    assert np.array_equal(softmax(x, np.float32(1 / 0.3)), np.eye(64, dtype=np.float32)[x.argmax(1)])


def test_the_option_fuses_all():
    text = "op f(A: f32[N], B: f32[N]) -> Y: f32[N] { Y[i] = sqrt(A[i] * A[i] - B[i] * B[i]) }"
    a = RANDOM.normal(size=1000).astype(np.float32)
    with tx.options(fma=True):
        s = tx.schedule(tx.op(text)).auto()
        assert s.script().startswith("allow_fma()\n")
        assert np.isnan(tx.op(text)(a, a)).any()
    assert tx.schedule(tx.op(text)).auto().script().startswith('allow_fma("sums")\n')
    assert not np.isnan(tx.op(text)(a, a)).any()


def test_both_names_of_the_step():
    product = tx.op(SUMS["product"][0])
    old, new = tx.schedule(product).replay("contract()"), tx.schedule(product).allow_fma()
    assert old.steps == new.steps == tx.schedule(product).contract().steps and old.script() == "allow_fma()\n"
    assert (
        tx.schedule(product)
        .replay('{"version": 1, "steps": [{"step": "contract", "args": [], "options": {}}]}')
        .steps
        == old.steps
    )
    assert equal(parse_kernel(str(new).replace(" allow_fma\n", " contract\n")), new.kernel)
    sums = tx.schedule(product).allow_fma("sums")
    assert str(sums).splitlines()[0].endswith(') allow_fma("sums")') and equal(
        parse_kernel(show_kernel(sums.kernel)), sums.kernel
    )
    assert new.allow_fma("sums").kernel.fma == "all" and sums.allow_fma().kernel.fma == "all"
    assert sums.certificate().rounding.endswith("a * b + c is rounded once")
    with pytest.raises(tx.ScheduleError, match="allow_fma is for sums or for all, not for 'products'"):
        tx.schedule(product).allow_fma("products")


LISTINGS = {
    "allow_fma": ("matmul", {}, "s.allow_fma()"),
    "allow_fma_of_sums": ("matmul", {}, 's.allow_fma("sums")'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])

"""AVX2 gets no instruction of AVX-512: floats of 16 bits are as many f32 as fill 512 bits."""

from __future__ import annotations

import pytest

import texpr as tx

BODIES = {
    "extremes": "op f(X: {t}[N], Z: {t}[N]) -> (hi: {t}[N], lo: {t}[N]) {{ hi[i] = max(X[i], Z[i])  lo[i] = "
    "min(X[i], Z[i]) }}",
    "extremes of rows": "op f(X: {t}[M, N]) -> Y: {t}[M] {{ Y[i] = max(j: X[i, j]) }}",
    "extremes of columns": "op f(X: {t}[M, N]) -> Y: {t}[N] {{ Y[j] = max(i: X[i, j]) }}",
    "extremes as f32": "op f(X: {t}[M, N]) -> Y: f32[N] {{ Y[j] = max(i: f32(X[i, j])) }}",
    "softmax": "op f(X: {t}[M, N]) -> Y: {t}[M, N] {{ m[i] = max(j: X[i, j])  Y[i, j] = exp(X[i, j] - m[i]) "
    "}}",
    "absolute values": "op f(X: {t}[N]) -> Y: {t}[N] {{ Y[i] = abs(X[i]) + tanh(X[i]) }}",
}


@pytest.mark.parametrize("t", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", BODIES)
def test_no_intrinsic_of_a_later_processor(name: str, t: str):
    kernel = tx.schedule(tx.op(BODIES[name].format(t=t))).auto("x86-64-v3").compile("x86-64-v3")
    assert "avx512" not in kernel.text
    assert "zmm" not in kernel.asm

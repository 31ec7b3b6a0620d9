"""Which kernels carry values from iteration to iteration in memory, and that LLVM keeps those in
registers.
"""

from __future__ import annotations

import re

import pytest

import texpr as tx
from texpr.targets.emit.loop_carried import carries

RECURRENCE = "op scan(X: f32[N]) -> Y: f32[N] { Y[i] = 0.5 * Y[i-1 | 0] + X[i] }"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RECURRENCE, True),
        ("op rows(X: f32[N, M]) -> Y: f32[N, M] { Y[i, j] = Y[i, j-2 | 0] + X[i, j] }", True),
        ("op total(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }", False),
        (
            "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
            False,
        ),
        ("op blur(X: f32[N]) -> Y: f32[N] { Y[i] = X[i-1 | 0] + X[i] }", False),
    ],
)
def test_what_is_read_at_a_distance_in_the_same_loop_is_carried(text: str, expected: bool):
    assert carries(tx.schedule(tx.op(text)).kernel) is expected


def test_a_carried_value_stays_in_a_register():
    code = tx.schedule(tx.op(RECURRENCE), N=1000).auto().compile().llvm
    blocks = [block for block in code.split("\n\n") if "phi float" in block]
    assert blocks and all(len(re.findall(r" load float", block)) == 1 for block in blocks)

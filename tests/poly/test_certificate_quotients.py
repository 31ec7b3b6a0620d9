"""Quotients by sizes: where the certificate has no form for one, it refuses."""

from __future__ import annotations

import pytest

import texpr as tx

TWO = """
op f(X1: f32[M, M]) -> (Y: f32[M, M, M], t0: f32[M, M]) {
  t0[i, j] = sum(r1 in 0..M where r1 != 1: X1[i, j + 2 | clamp] * abs(0))
  Y[i, j, k] = sum(r2 in 0..M where r2 != 1: X1[2 * i + j - 1, i | clamp] * X1[i, k])
}
"""
STEPS = """split("Y.j", 2, tail="peel")
reorder("Y.jo", "k", "r2", "Y.ji")
vectorize("Y.ji")
fuse("jo", "k", name="both")
split("both", 2)
unroll("bothi")"""


def test_a_quotient_by_a_size_is_refused_and_nothing_breaks():
    s = tx.schedule(tx.op(TWO)).replay(STEPS)
    with pytest.raises(tx.ScheduleError) as error:
        s.certificate()
    assert error.value.code == "certificate"

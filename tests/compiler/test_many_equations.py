"""Operators of many inputs and equations: what it takes to compile them grows with their number,
and not with its square.
"""

from __future__ import annotations

import sys
from types import FrameType

import numpy as np

import texpr as tx


def _sum_of(n: int) -> tx.Op:
    inputs = ", ".join(f"A{k}: f32[N]" for k in range(n))
    sums = " ".join(f"C{k}[i] = C{k - 1}[i] + A{k}[i]" for k in range(1, n))
    return tx.op(f"op f({inputs}) -> C: f32[N] {{ C0[i] = A0[i] {sums} C[i] = C{n - 1}[i] }}")


def _calls(op: tx.Op, n: int) -> int:
    """Calls of functions written in Python while the default schedule is chosen: unlike time,
    they are the same each time.
    """
    count = 0

    def note(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        tx.schedule(op, N=n).auto().script()
    finally:
        sys.setprofile(None)
    return count


def test_schedules_take_as_long_as_there_are_equations():
    few, many = (_calls(_sum_of(n), 33) for n in (60, 120))
    assert many < 2.6 * few, (few, many)


def test_sums_of_many_inputs():
    n = 120
    X = np.random.default_rng(0).integers(-9, 9, (n, 5)).astype("f4")
    assert np.array_equal(_sum_of(n)(*X), X.sum(0))

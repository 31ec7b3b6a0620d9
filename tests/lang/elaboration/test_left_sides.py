"""Left sides with every form of index are printed as text that reads back to the same program."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.ir.printing.tensor import show_program

INDICES = [
    "i",
    "k[i]",
    "k[k[i]]",
    "N - 1 - i",
    "(i + 1) % N",
    "i // 2",
    "min(i, k[i])",
    "max(0, i - 1)",
    "if i > 0 then k[i] else i",
    "d[i]",
    "abs(i - i)",
    "i - i",
    "0*i",
    "i*0 + k[i] - k[i]",
    "k[i] * 1 + 0",
    "u * 2 - i | clamp",
    "k[i] + 1 | drop",
    "i - N | drop",
    "2*i - u | drop",
    "-i | drop",
    "-(i - u) | drop",
    "u - (u - i) | drop",
    "u - u - i | drop",
    "i * u | drop",
    "d[i] + d[i] | drop",
    "i64(X[i]) | drop",
    "shl(i, 1) | drop",
    "i - i + N - 1",
    "-1 - i + N",
    "i + 1 | wrap",
    "i + k[i] | drop",
]
HEAD = "op f(X: f32[N], u: i64, k: i64[N] in 0..N, d: i32[N] in 0..N) -> Y: f32[N] require N >= 2"
UPDATES = ["+= X[i]", "max= X[i] where X[i] > 0", "min= -X[i]"]


@pytest.mark.parametrize("left", INDICES)
def test_printed_left_sides(left: str):
    for update in UPDATES:
        f = tx.op(f"{HEAD} {{ Y[j] = 0  Y[{left}] {update} }}")
        printed = show(f)
        again = tx.op(printed)
        assert show(again) == printed
        arrays = np.array([0.5, 2.0, -3.0], "f4"), np.int64(1), np.array([2, 0, 2]), np.array([1, 1, 0], "i4")
        assert np.array_equal(tx.interpret(f, *arrays), tx.interpret(again, *arrays))


def test_an_index_that_only_counts():
    f = tx.op("op f(X: f32[N]) -> Y: f32[N] require N >= 1 { Y[j] = 0  Y[j - j] += 2.0 for j in 0..3 }")
    assert show(f).splitlines()[3] == "  Y[0 + 0 * j] += 2.0  for j in 0..3"
    assert tx.interpret(tx.op(show(f)), np.zeros(2, "f4")).tolist() == [6.0, 0.0]


def show(f: tx.Op) -> str:
    return show_program(f.program())

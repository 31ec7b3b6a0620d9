"""Sums that each iteration of a loop up to data starts anew: they run for the same iterations as
their start.
"""

from __future__ import annotations

import pytest

import texpr as tx
from tests.poly.certificate.tables import refused
from texpr.ir.printing.loop import full_listing

ROWS = """op f(P: i64[Q] in 0..Z + 1, X: f64[Z, D], W: f64[Q, D]) -> Y: f64[Z] require Q >= 1 {
  Y[k] = 0
  Y[k + 0 * i] += sum(d: X[k, d] * W[i, d])  for i in 0..Q - 1, k in P[i]..P[i + 1]
}"""
OTHERS = """op f(P: i64[Q] in 0..Z + 1, X: f64[Z]) -> Y: f64[Z] require Q >= 1 {
  Y[k] = 0
  Y[k + 0 * i] += prod(l in P[i]..P[i + 1] where l != k: X[l])  for i in 0..Q - 1, k in P[i]..P[i + 1]
}"""
WINDOWS = OTHERS.replace("P[i + 1]", "P[i] + 2").replace("in 0..Z + 1", "in 0..Z - 1")


@pytest.mark.parametrize("text", [ROWS, OTHERS, WINDOWS])
def test_rows_are_proven(text: str):
    plain = tx.schedule(tx.op(text))
    assert plain.certificate().bit_exact
    plain.auto().certificate()


def test_partial_sums_in_rows_are_proven():
    s = tx.schedule(tx.op(ROWS)).split("d", 4).rfactor("di", reassoc=True)
    assert not s.certificate().bit_exact


LOOPS = full_listing(tx.schedule(tx.op(ROWS)).kernel)
PARTS = full_listing(tx.schedule(tx.op(ROWS)).split("d", 4).rfactor("di", reassoc=True).kernel)
CHANGES = {
    "fewer terms": ("in 0..D\n", "in 0..D - 1\n"),
    "terms of other rows": ("W[i, d]", "W[0, d]"),
    "shorter rows": ("P[i + 1] - P[i]\n", "P[i + 1] - P[i] - 1\n"),
    "rows with other ends": ("P[i + 1] - P[i]\n", "P[i + 1] - P[0]\n"),
    "fewer terms in some iterations": ("1.d in 0..D\n", "1.d in 0..min(D, k)\n"),
    "as many terms as data say": ("1.d in 0..D\n", "1.d in 0..min(D, P[i])\n"),
    "as many terms as other data say": ("1.d in 0..D\n", "1.d in 0..min(D, P[0])\n"),
    "the start of another row": ("Y_acc[i] = 0.0", "Y_acc[0] = 0.0"),
    "the sum of another row": ("+= Y_acc[i]", "+= Y_acc[0]"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_other_loops_are_refused(name: str):
    old, new = CHANGES[name]
    assert old in LOOPS and not refused(ROWS, LOOPS)
    assert refused(ROWS, LOOPS.replace(old, new))


@pytest.mark.parametrize(
    "condition", ["k > 0", "P[i] > 0", "k < P[i]", "P[0] < 2", "k + 1 < P[i + 1] - P[i]"]
)
@pytest.mark.parametrize("parts", [False, True])
def test_conditions_in_one_place_are_refused(parts: bool, condition: str):
    """A start, a sum of terms, or a use that does not run for all elements of a row."""
    lines = (PARTS if parts else LOOPS).splitlines()
    first = next(n for n, line in enumerate(lines) if "for Y.1.k" in line) + 1
    blocks = [n for n in range(first, len(lines)) if lines[n].startswith("      ") and lines[n][6] != " "]
    assert len(blocks) == (6 if parts else 3) - parts
    for begin, end in zip(blocks, [*blocks[1:], len(lines)]):
        inner = [f"  {line}" for line in lines[begin:end]]
        changed = [*lines[:begin], f"      if {condition}", *inner, *lines[end:]]
        assert refused(ROWS, "\n".join(changed) + "\n"), f"line {begin}"


def test_starts_in_a_loop_of_their_own_are_refused():
    lines = LOOPS.splitlines()
    at = next(n for n, line in enumerate(lines) if "Y_acc[i] = 0.0" in line)
    again = lines[at - 1].replace("Y.1.k", "Y.1.m")
    start = lines[at].replace("k + P", "m + P")
    assert refused(ROWS, "\n".join([*lines[: at - 1], again, start, lines[at - 1], *lines[at + 1 :]]) + "\n")

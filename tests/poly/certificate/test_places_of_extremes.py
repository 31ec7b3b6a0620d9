"""Stores at places of extremes: they exist as the program says, and loops that write at others
are refused.
"""

from __future__ import annotations

import pytest

import texpr as tx
from tests.poly.certificate.tables import refused
from texpr.ir.printing.loop import full_listing

HEAD = "op f(Z: f64[N], X: f64[K]) -> Y: f64[N]\n  require N >= 1, K >= 1 {\n"
PLACES = {
    "an argmin": "  a[i] = argmin(r: Z[r] * X[i])\n",
    "an argmax under a condition": "  a[i] = if X[i] > 2 then argmax(r: Z[r] * X[i]) else 0\n",
    "under two conditions": "  b[i] = if i < 2 then argmin(r: Z[r] * X[i]) else 0\n  a[i] = if X[i] > 2 then "
    "b[i] else 0\n",
    "the further of two": "  b[i] = argmin(r: Z[r] * X[i])\n  c[i] = argmax(r: Z[r] + X[i])\n  a[i] = "
    "max(b[i], c[i])\n",
}
STEPS = {"none": lambda s: s, "split": lambda s: s.split("Y.1.i", 4), "default": lambda s: s.auto()}


def scattered(places: str, at: str = "a[i]", more: str = "") -> str:
    return f"{HEAD}{places}  Y[r] = 0\n  Y[{at}] += X[i]{more}\n}}"


def loops(op: str, steps: str) -> str:
    return full_listing(STEPS[steps](tx.schedule(tx.op(op))).kernel)


@pytest.mark.parametrize("more", ["", "  where i < 2", "  where X[i] < 5"])
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("name", PLACES)
def test_loops_are_proven(name: str, steps: str, more: str):
    STEPS[steps](tx.schedule(tx.op(scattered(PLACES[name], more=more)))).certificate()


@pytest.mark.parametrize("steps", ["none", "split"])
@pytest.mark.parametrize("other", ["N - 1 - a[i]", "a[K - 1 - i]", "max(a[i] - 1, 0)", "min(i, 0)"])
@pytest.mark.parametrize("name", PLACES)
def test_other_places_are_refused(name: str, other: str, steps: str):
    said = scattered(PLACES[name])
    assert not refused(said, loops(said, steps))
    assert refused(said, loops(scattered(PLACES[name], other), steps))


@pytest.mark.parametrize(
    ("old", "new"),
    [("+= X[i]", "+= X[K - 1 - i]"), ("argmin(r: Z[r] *", "argmin(r: Z[r] +"), ("argmin", "argmax")],
)
def test_other_data_at_places_is_refused(old: str, new: str):
    said = scattered(PLACES["an argmin"])
    assert refused(said, loops(said.replace(old, new), "none"))


def test_places_in_loops_of_one_iteration():
    """`max(i - 1, 0)` is 0 there, whichever way it is written."""
    f = tx.op("""op f(X: f64[M], Z: f64[K], p: i64[M + 1] in 0..K + 1) -> Y: f64[K] {
  Y[k] = 0
  Y[p[r + i - 1 | clamp] | drop] += X[i] * Z[0 | 1]  for i in 0..M, r in 0..M
}""")
    for sizes in ({}, {"M": 1, "K": 1}, {"M": 1, "K": 3}, {"M": 2, "K": 2}):
        tx.schedule(f, **sizes).certificate()
        tx.schedule(f, **sizes).auto().certificate()


READ = """op f(X: f64[L, S], change: f64[S, S]) -> (Y: f64[L, S]) {
  p[t, s] = argmax(r: X[t, r] + change[r, s])
  Y[t, s] = X[t, s] + (if t > 0 then Y[t - 1, p[t - 1, s]] else 0)
}"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("Y[t, s] = X[t, s]", "Y[t, s] = X[t, s] * 1"),
        ("for Y.s in 0..S", "for Y.s in 0..S - 1"),
        ("Y[t - 1, p[t - 1, s]]", "Y[t, p[t - 1, s]]"),
        ("Y[t - 1, p[t - 1, s]]", "Y[t - 1, p[t - 1, s] + 1]"),
        ("Y[t - 1, p[t - 1, s]]", "Y[t - 1, p[0, s]]"),
    ],
)
def test_elements_of_a_recurrence_at_places(old: str, new: str):
    """Where the program reads them they exist, and what exists was computed the row before."""
    for steps in ("none",) if old else ("none", "default"):
        said = loops(READ, steps)
        assert old in said
        assert bool(refused(READ, said.replace(old, new))) == bool(old)

"""Ranges up to data at guarded places: the loops look up the same data, wherever choices lead."""

from __future__ import annotations

import pytest

import texpr as tx
from tests.poly.certificate.tables import refused
from texpr.ir.printing.loop import full_listing

RANGES = {
    "a guarded index": "0..p[q[i] | 0]",
    "a clamped index": "0..p[q[i] | clamp]",
    "half of it": "0..p[q[i] | 0] // 2",
    "from it on": "p[q[i] | 0]..M",
    "between two": "p[q[i] | 0]..p[q[i] + 1 | 0]",
    "guarded data": "0..p[q[i] | s[i + 1 | 0]]",
    "a guard in a guard": "0..p[q[s[i] | 0] | 1]",
    "three guards": "0..p[q[s[q[i] | 0] | 1] | 2]",
}
STEPS = {
    "none": lambda s: s,
    "split": lambda s: s.split("r", 4),
    "written out": lambda s: s.split("r", 4).unroll("ri"),
    "parallel": lambda s: s.parallel("i").split("r", 8),
    "default": lambda s: s.auto(),
}


def sums(over: str) -> str:
    return f"""op f(x: f64[M], p: i64[N] in 0..M, q: i64[K], s: i64[K] in 0..M) -> y: f64[K] {{
  y[i] = sum(r in {over}: x[r | 0] * x[r | 0])
}}"""


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("name", RANGES)
def test_loops_are_proven(name: str, steps: str):
    STEPS[steps](tx.schedule(tx.op(sums(RANGES[name])))).certificate()


def loops(over: str, steps: str) -> str:
    return full_listing(STEPS[steps](tx.schedule(tx.op(sums(over)))).kernel)


@pytest.mark.parametrize(
    ("said", "others"),
    [
        (
            "0..p[q[i] | 0]",
            ["0..p[q[i] | 1]", "0..p[q[i] | clamp]", "0..p[q[i] + 1 | 0]", "0..p[q[i] | s[i]]"],
        ),
        ("p[q[i] | 0]..M", ["p[q[i] | 1]..M", "p[q[i] | clamp]..M"]),
        (
            "0..p[q[s[i] | 0] | 1]",
            ["0..p[q[s[i] | 1] | 1]", "0..p[q[s[i] | 0] | 2]", "0..p[q[s[i] + 1 | 0] | 1]", "0..p[s[i] | 1]"],
        ),
    ],
)
@pytest.mark.parametrize("steps", ["none", "split"])
def test_other_data_is_refused(said: str, others: list[str], steps: str):
    assert not refused(sums(said), loops(said, steps))
    assert all([refused(sums(said), loops(run, steps)) for run in others])

"""Lanes of updates of the elements of rows."""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.autoschedule.driver import auto
from texpr.ir.machine import Machine

ROWS = """op f(P: i64[Q] in 0..Z + 1, C: i64[Z] in 0..Z, X: f32[Z]) -> Y: f32[Z] require Q >= 1 {{
  Y[k] = 0
  Y[{place} + 0 * i] += X[k]  for i in 0..Q - 1, k in P[i]..P[i + 1]
}}"""
WIDE = Machine(vector_bytes=32, vector_registers=16, caches=(32 << 10, 1 << 20), cores=2)


@pytest.mark.parametrize(("place", "lanes"), [("k", True), ("C[k]", False)])
def test_rows_of_data_are_cut_for_lanes_alone(place: str, lanes: bool):
    steps = [str(s) for s in auto(tx.schedule(tx.op(ROWS.format(place=place))).kernel, WIDE)[0]]
    assert any(s.startswith('split("Y.1.k"') for s in steps) == lanes
    assert ('vectorize("Y.1.ki")' in steps) == lanes


@pytest.mark.parametrize("step, inlined", [(1, True), (4, False)])
def test_a_padded_row_that_is_read_with_steps_is_stored(step: int, inlined: bool):
    """Its conditions would be asked for each lane."""
    operator = tx.op(f"""op apart(X: f32[C, 60]) -> Y: f32[C, 15] {{
      let P: f32[C, 64]
      P[c, i] = X[c, i - 1 | 0]
      Y[c, x] = P[c, {step}*x + 1] * 2  for x in 0..15
    }}""")
    s = tx.schedule(operator, C=40).auto("x86-64-v3")
    assert ('inline("P")' in s.script()) == inlined

"""An axis that nests have in common becomes the outermost loop of all of them."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.compiler.schedule import Schedule
from texpr.graph.fusion.winograd_operators import Tiling, output_operator, window_operator

SUMS_OF_ROWS = """op turned(X: f32[R, C, T]) -> V: f32[2, C, R, T] {
  let E: f32[R, C, T]
  E[0, c, t] = X[0, c, t] * 2
  E[r, c, t] = X[r, c, t] + X[0, c, t]  for r in 1..R
  V[0, c, r, t] = E[r, c, t] + E[0, c, t]
  V[1, c, r, t] = E[r, c, t] - %s
}"""
SIZES = {"R": 6, "C": 64, "T": 1024}


def outermost(listing: str) -> list[str]:
    """The loops that stand in no other one."""
    return [line.strip() for line in listing.splitlines() if line.startswith("  ") and line[2:5] == "for"]


def test_slices_are_computed_together():
    """1.5 MiB of an intermediate would go through the caches; 24 KiB of it stay."""
    text = SUMS_OF_ROWS % "E[0, c, t]"
    s = tx.schedule(tx.op(text), **SIZES).auto("x86-64-v3")
    (loop,) = outermost(str(s))
    assert "parallel" in loop and "64" in loop and 'reorder("E.1.c", "E.1.r")' in s.script()
    x = np.random.default_rng(0).standard_normal((6, 64, 1024), dtype="f4")
    found = tx.schedule(tx.op(text), **SIZES).auto("native").compile()(x)
    np.testing.assert_allclose(found, tx.interpret(tx.op(text), x), rtol=1e-6)


@pytest.mark.parametrize(
    ("read", "sizes"),
    [
        ("E[r, 0, t]", SIZES),
        ("E[r, (c + 1) % C, t]", SIZES),
        ("E[r, c, t]", {"R": 6, "C": 64, "T": 16}),
        ("E[r, c, t]", {"R": 2, "C": 4096, "T": 64}),
        ("sum(k in 0..R: E[k, c, t])", SIZES),
    ],
    ids=["another slice", "the next slice", "near as it is", "short slices", "sums"],
)
def test_others_keep_their_loops(read: str, sizes: dict[str, int]):
    script = tx.schedule(tx.op(SUMS_OF_ROWS % read), **sizes).auto("x86-64-v3").script()
    assert 'reorder("E.1.c", "E.1.r")' not in script


@pytest.mark.parametrize("operator", [window_operator, output_operator])
def test_transforms_of_convolutions_are_one_loop(operator):
    tiling = Tiling(1, 32, 56, 56, 64, (3, 3), (1, 1), 56, 56, (4, 4), 8, 6)
    s = Schedule(operator(tiling)).auto("x86-64-v3")
    (loop,) = outermost(str(s))
    assert "parallel" in loop and s.certificate()

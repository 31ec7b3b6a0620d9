"""Convolutions over images of one column have the schedule of those over one axis."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

IMAGES = tx.op("""op images(X: f32[N, C, H, W], F: f32[K, C, R, S]) -> Y: f32[N, K, H - R + 1, W - S + 1]
  require R <= H + 1, S <= W + 1 {
  Y[n, k, i, j] = sum(c, r, s: X[n, c, i + r, j + s] * F[k, c, r, s])
}""")
ROWS = tx.op("""op rows(X: f32[N, C, H], F: f32[K, C, R]) -> Y: f32[N, K, H - R + 1] require R <= H + 1 {
  Y[n, k, i] = sum(c, r: X[n, c, i + r] * F[k, c, r])
}""")
SIZES = {"N": 1, "C": 64, "H": 516, "K": 128, "R": 5}


def templates(schedule) -> list[str]:
    """The template of each nest."""
    return [line for line in schedule.explain().splitlines() if line.startswith("  Y: ")]


def test_one_column_is_one_axis():
    images = tx.schedule(IMAGES, **SIZES, W=1, S=1).auto("x86-64-v3")
    rows = tx.schedule(ROWS, **SIZES).auto("x86-64-v3")
    steps = images.script().splitlines()
    assert [s for s in steps if s.startswith("fuse")] == [
        'fuse("Y.r", "Y.s", name="rs")',
        'fuse("Y.i", "Y.j", name="ij")',
    ]
    named = [s.replace("ij", "i").replace("rs", "r") for s in steps if not s.startswith(("fuse", "layout"))]
    assert [s.replace("d3", "d2") for s in named] == [
        s for s in rows.script().splitlines() if not s.startswith("layout")
    ]
    assert templates(images) == templates(rows) == ["  Y: DirectConvolution"]


@pytest.mark.parametrize(
    "sizes",
    [
        {"N": 2, "C": 3, "H": 9, "W": 1, "K": 5, "R": 3, "S": 1},
        {"N": 1, "C": 2, "H": 1, "W": 1, "K": 3, "R": 1, "S": 1},
        {"N": 1, "C": 3, "H": 1, "W": 40, "K": 17, "R": 1, "S": 3},
        {"N": 1, "C": 20, "H": 40, "W": 3, "K": 17, "R": 3, "S": 3},  # three columns, one place
    ],
    ids=lambda sizes: "x".join(map(str, sizes.values())),
)
def test_values(sizes):
    rng = np.random.default_rng(0)
    x = rng.normal(size=[sizes[n] for n in "NCHW"]).astype(np.float32)
    f = rng.normal(size=[sizes[n] for n in "KCRS"]).astype(np.float32)
    schedule = tx.schedule(IMAGES, **sizes).auto()
    np.testing.assert_allclose(schedule.compile()(x, f), tx.interpret(IMAGES, x, f), 1e-5, 1e-5)

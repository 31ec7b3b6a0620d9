"""What the tests tune, and the times of a schedule that somebody else measured."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path

from texpr.tune.space import Knob, Point, Space

MATMUL = "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
SUMS = "op sums(X: f32[M, N]) -> Y: f32[M] { T[i, j] = X[i, j] * 2  Y[i] = sum(j: T[i, j]) }"
CHOICES: dict[str, tuple[object, ...]] = {
    "rows": (1, 2, 3, 4, 6, 8, 12, 16),
    "columns": (8, 16, 32, 48, 64, 96, 128),
    "depth": (8, 32, 64, 128),
    "order": ("ijk", "jik"),
    "unrolled": (False, True),
}


def tiled(s, rows, columns, depth, order, unrolled):
    """A matrix product in tiles, as it was measured."""
    s.contract().split("i", rows, tail="peel").split("j", columns, tail="peel").split("k", depth, tail="peel")
    s.reorder(*{"ijk": ("io", "jo", "ko"), "jik": ("jo", "io", "ko")}[order], "ki", "ii", "ji")
    if unrolled:
        s.unroll("ii")
    s.vectorize("ji")


def landscape() -> tuple[Space, dict[Point, float]]:
    """The space of `tiled` for M=144, N=192, K=128, and microseconds of all its points, on one
    Cascade Lake core that other work shared.
    """
    space = Space(tuple(Knob(n, v) for n, v in CHOICES.items()), tiled)
    times = json.loads(Path(__file__).with_name("landscape.json").read_text(encoding="utf-8"))
    return space, {space.point(n): inf if t is None else t for n, t in enumerate(times)}

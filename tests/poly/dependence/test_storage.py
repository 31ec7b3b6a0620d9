"""How few places a temporary does with: known answers, one body after the other."""

from __future__ import annotations

import pytest

from texpr.lang import parse_kernel
from texpr.poly import Storage

KERNEL = """kernel k(X: f32[N], a: i64) -> Y: f32[N]
  let T: f32[N + 8]
  for i in 0..N
    {0}
"""
DEPTHS = {
    "the element at hand": ("T[i] = X[i]\n    Y[i] = T[i]", 1),
    "the one before": ("T[i] = X[i]\n    if 1 <= i\n      Y[i] = T[i - 1]", 2),
    "two on": ("T[i + 2] = X[i]\n    Y[i] = T[i]", 3),
    "backwards": ("T[N - i] = X[i]\n    if 1 <= i\n      Y[i] = T[N - i + 1]", 2),
    "before it is written over": ("Y[i] = T[i]\n    T[i + 1] = X[i]", 1),
    "every second": ("T[2 * i] = X[i]\n    if 1 <= i\n      Y[i] = T[2 * i - 2]", 3),
    "all": ("for j in 0..N\n      T[j] = X[j]\n    for r in 0..N\n      Y[r] = T[r]", None),
    "a sum": ("T[i] = 0.0\n    for j in 0..N\n      T[i] += X[j]\n    Y[i] = T[i]", 1),
    "written again": ("T[i + 1] = X[i]\n    T[i] = X[i]\n    Y[i] = T[i]", 1),
    "written again too late": ("T[i + 1] = X[i]\n    Y[i] = T[i]\n    T[i] = X[i]", 2),
    "written again where data say so": (
        "T[i + 1] = X[i]\n    if X[i] < 1.0\n      T[i] = X[i]\n    Y[i] = T[i]",
        2,
    ),
    "written again where a number says so": (
        "T[i + 1] = X[i]\n    if a < 5\n      T[i] = X[i]\n    Y[i] = T[i]",
        2,
    ),
    "written again in one iteration alone": (
        "if 3 <= i\n      T[i + 1] = X[i]\n      if i == 3\n        T[i] = X[i]\n      Y[i] = T[i]",
        2,
    ),
    "another one written again": ("T[i + 1] = X[i]\n    T[i + 2] = X[i]\n    Y[i] = T[i]", 3),
}


@pytest.mark.parametrize("name", DEPTHS)
def test_depth(name: str):
    body, depth = DEPTHS[name]
    k = parse_kernel(KERNEL.format(body))
    storage = Storage(k, next(t for t in k.temporaries if t.name == "T"), 0)
    assert storage.depth(5) == depth
    if depth is not None:
        assert storage.depth(depth) == depth and storage.depth(depth - 1) is None
    if depth is not None and depth > 1:
        wrong = storage.overwrite(depth - 1)
        assert wrong is not None and abs(wrong.element[0] - wrong.other[0]) == depth - 1

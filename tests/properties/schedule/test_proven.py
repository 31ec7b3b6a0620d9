"""Schedules of the library whose kernels are certified as a whole, each for something that the
certificate has to see.
"""

from __future__ import annotations

import pytest

import texpr as tx
from tests.poly.certificate.tables import refused
from texpr import ops

SCHEDULES = {
    "tiles of a recurrence": ("cumsum", {}, 'cache_write("Y", "i")'),
    "tiles of tiles of one": (
        "cumsum",
        {},
        'cache_write("Y", "a")\ncache_write("Y_tile", "a")\nskew("Y_tile_tile.d2", "Y_tile_tile.d1", 2)',
    ),
    "tiles of a recurrence by digits": (
        "cummax",
        {},
        'cache_write("Y", "i")\nlayout("Y_tile", "a b c -> c/2 c%2 b%2 a b/2")',
    ),
    "tiles of what a fold starts from": ("segment_sum", {"S": 4}, 'cache_write("Y", "Y.0.d")'),
    "tiles of what is folded where data says": (
        "histogram_float",
        {"bins": 8},
        'split("s", 2, tail="peel")\ncache_write("h", "si")',
    ),
    "digits of joined loops": (
        "scatter",
        {},
        'fuse("last.0.n", "last.0.b")\nlayout("last", "a b c -> b c/3 c%3 a")',
    ),
    "sums in tiles of joined loops": (
        "logsumexp",
        {},
        'fuse("m.a", "m.b", name="both")\nsplit("both", 4)\nsplit("bothi", 2)',
    ),
    "sums in lanes of joined loops": ("maxpool1d", {}, 'fuse("c", "x", name="both")\nvectorize("both")'),
    "sums in lanes of tiles of joined loops": (
        "reduce_argmax",
        {},
        'fuse("Y_max.a", "Y_max.b", name="both")\nsplit("both", 4, tail="mask")\nsplit("bothi", 2)',
    ),
    "sums in tiles that overlap": (
        "sum_square",
        {},
        'split("a", 4)\nvectorize("ai")\nsplit("b", 4, tail="overlap")',
    ),
    "windows by sizes that are constants": (
        "adaptive_avgpool2d",
        {"U": 2, "V": 3},
        'specialize("y", C=2, H=4)',
    ),
    "folds at sizes that are constants": ("embedding_offsets_max", {}, "specialize(V=6, B=5)"),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_certified(name: str):
    operator, constants, script = SCHEDULES[name]
    assert tx.schedule(getattr(ops, operator), **constants).replay(script).certificate() is not None


SPECIAL = "op f(X: f32[H]) -> Y: f32[2] { Y[i] = sum(r in 0..H where i * H <= r and r < i * H + H: X[r]) }"
BRANCHES = """
kernel f(X: f32[H]) -> (Y: f32[2])
  let s: f32[2]
  if H == 4
    for i in 0..2
      s[i] = 0.0  start  at[i]
    for j in 0..2
      for r in 0..4
        if j * 4 <= r and r < j * 4 + 4
          s[j] += X[r]  at[j, r]
    for k in 0..2
      Y[k] = s[k]  at[k]
  if not H == 4
    for i2 in 0..2
      s[i2] = 0.0  start  at[i2]
    for j2 in 0..2
      for r2 in 0..H
        if j2 * H <= r2 and r2 < j2 * H + H
          s[j2] += X[r2]  at[j2, r2]
    for k2 in 0..2
      Y[k2] = s[k2]  at[k2]
"""


@pytest.mark.parametrize(
    "old, new, obligation",
    [
        ("", "", ""),
        ("if H == 4", "if 4 <= H", "values"),
        ("if H == 4", "if H >= 4", "values"),
        ("r in 0..4", "r in 0..3", "sums"),
        ("not H == 4", "not H == 5", "sums"),
        ("j * 4 <=", "j * 3 <=", "values"),
        ("j * 4 + 4", "j * 4 + 3", "sums"),
    ],
)
def test_what_conditions_say_of_sizes_is_used_under_them_alone(old: str, new: str, obligation: str):
    assert refused(SPECIAL, BRANCHES.strip().replace(old, new) + "\n") == obligation

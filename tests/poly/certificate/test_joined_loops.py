"""Faults planted in loops that count the pairs of two others: the certificate refuses each; and
it needs no help from the step checks.
"""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.compiler.pass_pipeline import ready
from texpr.lang import parse_kernel
from texpr.poly.certificate import certify

OPS = {
    "copy": "op f(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = X[i, j] + 1.0 }",
    "sums": "op f(X: f32[M, N, K]) -> Y: f32[M, N] { Y[i, j] = sum(k: X[i, j, k]) }",
    "all": "op f(X: i32[M, N]) -> y: i32 { y = sum(i, j: X[i, j]) }",
    "rows": "op f(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = Y[i, j - 1 | 0] + X[i, j] }",
}
LOOPS = {
    "copy": """
kernel f(X: f32[M, N]) -> (Y: f32[M, N])
  for ij in 0..M * N parallel
    Y[ij // N, ij % N] = X[ij // N, ij % N] + 1.0  at[ij // N, ij % N]
""",
    "tiled copy": """
kernel f(X: f32[M, N]) -> (Y: f32[M, N])
  for o in 0..(M * N + 7) // 8 parallel
    for l in 0..8 vector
      if o * 8 + l < M * N
        Y[(o * 8 + l) // N, (o * 8 + l) % N] = X[(o * 8 + l) // N, (o * 8 + l) % N] + 1.0  at[(o * 8 + l) // N, (o * 8 + l) % N]
""",
    "sums": """
kernel f(X: f32[M, N, K]) -> (Y: f32[M, N])
  for ij in 0..M * N parallel
    let s: f32  stack
    s = 0.0  start  at[ij // N, ij % N]
    for k in 0..K
      s += X[ij // N, ij % N, k]  at[ij // N, ij % N, k]
    Y[ij // N, ij % N] = s  at[ij // N, ij % N]
""",
    "tiled sums": """
kernel f(X: f32[M, N, K]) -> (Y: f32[M, N])
  for o in 0..(M * N + 7) // 8
    for l in 0..8
      let s: f32  stack
      if o * 8 + l < M * N
        s = 0.0  start  at[(o * 8 + l) // N, (o * 8 + l) % N]
        for k in 0..K
          s += X[(o * 8 + l) // N, (o * 8 + l) % N, k]  at[(o * 8 + l) // N, (o * 8 + l) % N, k]
        Y[(o * 8 + l) // N, (o * 8 + l) % N] = s  at[(o * 8 + l) // N, (o * 8 + l) % N]
""",
    "all": """
kernel f(X: i32[M, N]) -> (y: i32)
  let s: i32
  s = 0  start
  for ij in 0..M * N
    s += X[ij // N, ij % N]  at[ij // N, ij % N]
  y = s
""",
    "rows": """
kernel f(X: f32[M, N]) -> (Y: f32[M, N])
  for ij in 0..M * N
    Y[ij // N, ij % N] = (if 1 <= ij % N then Y[ij // N, ij % N - 1] else 0.0) + X[ij // N, ij % N]  at[ij // N, ij % N]
""",
}
FAULTS = [
    ("copy", "0..M * N", "0..M * N - 1"),
    ("copy", "0..M * N", "0..M * (N + 1)"),
    ("copy", "0..M * N", "0..(M + 1) * N"),
    ("copy", "0..M * N", "0..(M - 1) * N"),
    ("copy", "0..M * N", "0..M * M"),
    ("copy", "= X[ij // N, ij % N]", "= X[ij // N, ij % M]"),
    ("copy", "= X[ij // N, ij % N]", "= X[ij // M, ij % N]"),
    ("copy", "= X[ij // N, ij % N]", "= X[ij % N, ij // N]"),
    ("copy", "Y[ij // N, ij % N] =", "Y[ij % N, ij // N] ="),
    ("copy", "at[ij // N, ij % N]", "at[ij % N, ij // N]"),
    ("copy", "ij % N", "ij % M"),
    ("copy", "ij // N", "ij // M"),
    ("copy", "ij % N", "(ij + 1) % N"),
    ("tiled copy", "(M * N + 7) // 8", "M * N // 8"),
    ("tiled copy", "(M * N + 7) // 8", "(M * N + 15) // 8"),
    ("tiled copy", "< M * N", "< M * N + 1"),
    ("tiled copy", "< M * N", "< M * N - 1"),
    ("tiled copy", "      if o * 8 + l < M * N\n", "      if true\n"),
    ("tiled copy", "l in 0..8", "l in 0..7"),
    ("tiled copy", "o * 8", "o * 7"),
    ("tiled copy", "o * 8 + l)", "o * 8 + l + l)"),
    ("tiled copy", "= X[(o * 8 + l) // N", "= X[(o * 8 + l + 1) // N"),
    ("sums", "    let s: f32  stack\n", ""),
    ("sums", "ij % N, k]  at", "ij % N, K - 1 - k]  at"),
    ("sums", "s += X[ij // N, ij % N", "s += X[ij // N, ij % M"),
    ("sums", "0..M * N", "0..M * N - 1"),
    ("tiled sums", "o in 0..(M * N + 7) // 8", "o in 0..M * N // 8"),
    ("tiled sums", "        s = 0.0", "        if 0 < l\n          s = 0.0"),
    ("tiled sums", "< M * N", "< M * N - 1"),
    ("all", "0..M * N\n", "0..M * N parallel\n"),
    ("all", "0..M * N\n", "0..M * N - 1\n"),
    ("all", "0..M * N\n", "0..M * (N + 1)\n"),
    ("all", "at[ij // N, ij % N]", "at[ij // N, 0]"),
    ("rows", "0..M * N\n", "0..M * N parallel\n"),
    ("rows", "ij % N - 1]", "ij % N]"),
    (
        "rows",
        "Y[ij // N, ij % N] = (if 1 <= ij % N then Y[ij // N, ij % N - 1]",
        "Y[ij // N, N - 1 - ij % N] = (if 1 <= N - 1 - ij % N then Y[ij // N, N - 2 - ij % N]",
    ),
]


def proven(name: str, text: str) -> None:
    certify(parse_kernel(text), ready(tx.op(OPS[name.removeprefix("tiled ")]).program()))


@pytest.mark.parametrize("name", LOOPS)
def test_sound_loops_are_proven(name: str):
    proven(name, LOOPS[name])


@pytest.mark.parametrize(("name", "old", "new"), FAULTS, ids=[f"{f[0]}-{k}" for k, f in enumerate(FAULTS)])
def test_a_fault_is_refused(name: str, old: str, new: str):
    assert old in LOOPS[name]
    text = LOOPS[name].replace(old, new)
    if "let s" in old:  # One for all threads.
        text = text.replace("  for ij", "  let s: f32\n  for ij", 1)
    with pytest.raises(tx.ScheduleError) as e:
        proven(name, text)
    assert e.value.code == "certificate" and "-->" in str(e.value), "the store is pointed at"


def test_what_an_example_names(golden):
    """The two numbers of a joined loop, as they are written."""
    with pytest.raises(tx.ScheduleError) as e:
        proven("rows", LOOPS["rows"].replace("0..M * N\n", "0..M * N parallel\n"))
    golden(str(e.value))

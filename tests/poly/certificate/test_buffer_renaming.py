"""Certificates of buffers whose elements hold one value after another: those of `fold_storage` and
`pipeline`, and faults planted in it; sums that leave a buffer and come back."""

from __future__ import annotations

from importlib import import_module

import pytest

import texpr as tx
from tests.poly.certificate.final_loops import REUSED as KERNELS
from texpr import autodiff
from texpr.compiler import load
from texpr.compiler.imports import LIBRARY
from texpr.compiler.pass_pipeline import ready
from texpr.lang import parse_kernel
from texpr.poly.certificate import certify
from texpr.tools.bench.certificates import usual

LAST = "is used where another value of it was written last"
NEVER = "is read where nothing was written"
SUM = "what is copied into {} is not proven to be the sum that is there, with more folded in"
FAULTS = {
    "window": [
        ("let T: f32[3]", "let T: f32[2]", "T is written outside its shape"),
        ("% 3", "% 2", f"T {LAST}"),  # the window is one too short
        ("T[i % 3]", "T[i % 2]", f"T {LAST}"),  # another modulus
        ("max(0, i - 1) % 3", "max(0, i - 2) % 3", f"T {LAST}"),
        (
            "(if i + 1 < N then T[(i + 1) % 3] else 0.0)",
            "(if i + 2 < N then T[(i + 2) % 3] else 0.0)",
            f"T {NEVER}",
        ),  # read before it is written
        (
            "  if 0 < N\n    T[0] = X[0] * 2.0  at[0]\n",
            "",
            f"T {NEVER}",
        ),  # nothing before the first iteration
        ("    T[0] = X[0] * 2.0  at[0]", "    T[1] = X[0] * 2.0  at[0]", f"T {NEVER}"),
        ("    T[0] = X[0] * 2.0  at[0]", "    T[0] = X[N - 1] * 2.0  at[N - 1]", f"T {LAST}"),
        ("    if i + 1 < N\n", "    if i + 2 < N\n", f"T {LAST}"),
        (
            "X[i + 1] * 2.0  at[i + 1]",
            "X[i + 1] * 2.0  at[i]",
            "the store computes `i + 1` where its equation says `i`",
        ),
        ("X[i + 1] * 2.0  at[i + 1]", "X[i] * 2.0  at[i]", f"T {LAST}"),
        ("for i in 0..N", "for i in 0..N parallel", "iterations of the parallel loop i use one element of T"),
    ],
    "turns": [
        ("% 2, j", "% 1, j", f"T {LAST}"),  # one buffer for both
        ("T[n % 2, j2]", "T[(n + 1) % 2, j2]", f"T {NEVER}"),  # the other buffer
        ("T[(n + 1) % 2, j1]", "T[(n + 1) % 2, 3 - j1]", f"T {LAST}"),
        ("X[n + 1, j1] * 2.0  at[n + 1, j1]", "X[n, j1] * 2.0  at[n, j1]", f"T {LAST}"),
        ("p in 0..min(N, 1)", "p in 0..min(N, 0)", f"T {NEVER}"),  # no prologue
        ("T[p % 2, j0]", "T[(p + 1) % 2, j0]", f"T {NEVER}"),
        ("j0 in 0..4", "j0 in 0..3", f"T {NEVER}"),
        ("if n + 1 < N", "if n + 2 < N", f"T {NEVER}"),
        ("n in 0..N", "n in 0..N - 1", "an element of Y is not computed"),
    ],
    "constant": [
        ("for e in 0..2", "for e in 0..1", "an element of Y is not computed"),  # no epilogue for the last
        ("for p in 0..2", "for p in 0..1", f"T {NEVER}"),
        ("% 3", "% 2", "the store computes `n % 2 + (n - (n + 2) % 2 + 2)` where its equation says `n`"),
        ("T[(n + 2) % 3, j1]", "T[(n + 1) % 3, j1]", f"T {LAST}"),
        (
            "T[(e + 4) % 3, j3] +",
            "T[(e + 3) % 3, j3] +",
            "the store computes `3` where its equation says `4`",
        ),
        ("for n in 0..4", "for n in 0..3", f"T {LAST}"),
        ("for j1 in 0..4", "for j1 in 0..3", f"T {NEVER}"),
    ],
    "carried": [
        ("if 1 <= t", "if 0 <= t", f"c {NEVER}"),
        (
            "(if 1 <= t then c[m0] else 0.0)",
            "(if 2 <= t then c[m0] else 0.0)",
            "the store computes `0.0` where its equation says "
            "`(if 0 <= t - 2 and t - 2 < N and 0 <= m0 and m0 < M then c[t - 2, m0] else 0.0) * 2.0 + X[t - "
            "1, m0]`",
        ),
        ("then c[m0]", "then c[M - 1 - m0]", f"c {LAST}"),
        (
            "= c[m1] * 3.0",
            "= c[M - 1 - m1] * 3.0",
            "the store computes `M - 1 - m1` where its equation says `m1`",
        ),
        ("m0 in 0..M", "m0 in 0..M - 1", f"c {NEVER}"),
        ("  let c: f32[M]\n  for t in 0..N\n", "  for t in 0..N\n    let c: f32[M]\n", f"c {NEVER}"),
        ("c[m0] = (if", "c[0] = (if", f"c {NEVER}"),
        ("for t in 0..N", "for t in 0..N parallel", "iterations of the parallel loop t use one element of c"),
        (
            "Y[t, m1] = c[m1] * 3.0  eq 1  at[t, m1]",
            "if 1 <= t\n        Y[t - 1, m1] = c[m1] * 3.0  eq 1  at[t - 1, m1]",
            "the store computes `t` where its equation says `t - 1`",
        ),  # a value too late
    ],
    "sums": [
        ("      acc[(n + 1) % 2] = 0.0  start  at[n + 1]\n", "", f"acc {NEVER}"),  # not started again
        (
            "        acc[(n + 1) % 2] += X",
            "        acc[(n + 1) % 2] = 0.0  start  at[n + 1]\n        acc[(n + 1) % 2] += X",
            "acc is started after an update",
        ),  # started again
        ("acc[(n + 1) % 2] += X", "acc[n % 2] += X", f"acc {LAST}"),  # continues from another sum
        ("  for p in 0..min(N, 1)", "  for p in 0..min(N, 0)", f"acc {NEVER}"),
        ("acc[0] = 0.0", "acc[1] = 0.0", f"acc {NEVER}"),
        ("Y[n] = acc[n % 2]", "Y[n] = acc[(n + 1) % 2]", f"acc {NEVER}"),
        ("% 2", "% 1", f"acc {LAST}"),
        ("for m1 in 0..M", "for m1 in 0..M - 1", "a contribution to acc is missing"),
        (
            "for m1 in 0..M\n        acc[(n + 1) % 2] += X[n + 1, m1]  at[n + 1, m1]",
            "for m1 in 0..M\n        acc[(n + 1) % 2] += X[n, m1]  at[n, m1]",
            f"acc {LAST}",
        ),
        (
            "    Y[n] = acc[n % 2]",
            "    if n + 1 < N\n      Y[n] = acc[n % 2]",
            "an element of Y is not computed",
        ),
    ],
    "copies": [
        ("p in 0..min(N, 1)", "p in 0..min(N, 0)", f"B {NEVER}"),
        ("B[n % 2, j2]", "B[(n + 1) % 2, j2]", f"B {NEVER}"),
        ("% 2", "% 1", f"B {LAST}"),
        ("B[n % 2, j2]", "B[n % 2, 3 - j2]", "the store computes `3 - j2` where its equation says `j2`"),
        ("= X[n + 1, j1]", "= X[n, j1]", f"B {LAST}"),
        ("if n + 1 < N", "if n + 2 < N", f"B {NEVER}"),
    ],
    "packed": [
        (
            "15 - ji",
            "ji",
            "the store computes `(3 - jo) * 16 + ji` where its equation says `63 - (jo * 16 + ji)`",
        ),
        (
            "P[3 - jo",
            "P[jo",
            "the store computes `jo * 16 + (15 - ji)` where its equation says `63 - (jo * 16 + ji)`",
        ),
        ("j0 % 16", "j0 % 8", f"P {NEVER}"),
        ("P[j0 // 16, k0", "P[(j0 + 1) // 16 % 4, k0", f"P {LAST}"),
        ("j0 in 0..64", "j0 in 0..63", f"P {NEVER}"),
    ],
    "nested": [
        ("inner = outer[n1]", "inner = outer[0]", SUM.format("acc")),  # comes back from another element
        ("outer[n1] = inner", "outer[3 - n1] = inner", SUM.format("acc")),
        ("acc[d1] = outer[d1]", "acc[d1] = outer[3 - d1]", SUM.format("acc")),
        ("inner = outer[n1]  copy", "inner = 0.0  start  at[b * 4 + n1]", SUM.format("acc")),  # starts again
        ("        outer[n1] = inner  copy\n", "", SUM.format("acc")),  # never comes back
        ("for d0 in 0..4", "for d0 in 0..3", SUM.format("acc")),
        ("for d1 in 0..4", "for d1 in 0..3", SUM.format("acc")),
        ("let outer: f32[4]", "let outer: f32[3]", SUM.format("acc")),
        ("for o in 0..(K + 7) // 8", "for o in 0..K // 8", "a contribution to acc is missing"),
        ("at[b * 4 + n1, o * 8 + k]", "at[b * 4 + n1, o * 8 + 7 - k]", "the equation has no such instance"),
    ],
}
CASES = [(name, *fault) for name, faults in FAULTS.items() for fault in faults]


def proven(name: str, text: str) -> None:
    certify(parse_kernel(text), ready(tx.op(KERNELS[name].op).program()))


@pytest.mark.parametrize("name", KERNELS)
def test_sound_loops_are_proven(name: str):
    proven(name, KERNELS[name].loops)


@pytest.mark.parametrize(
    ("name", "old", "new", "what"), CASES, ids=[f"{n}-{k}" for k, (n, *_) in enumerate(CASES)]
)
def test_a_fault_is_refused(name: str, old: str, new: str, what: str):
    text = KERNELS[name].loops
    assert old in text
    with pytest.raises(tx.ScheduleError) as e:
        proven(name, text.replace(old, new))
    assert e.value.code == "certificate"
    assert e.value.message.endswith(f"compute it: {what}"), str(e.value)
    assert "-->" in str(e.value), "the store is pointed at"


OVERWRITTEN = """
kernel over(X: f32[8]) -> (Y: f32[6])
  let T: f32[8]
  for j in 0..8
    T[j] = X[j] * 2.0  at[j]
  for i in 0..6
    Y[i] = T[i] + 1.0  eq 1  at[i]
    T[{}] = X[i + 2] * 2.0  at[i + 2]
"""


def test_an_earlier_iteration_overwrites_what_is_used():
    """All values are written, and to where they are used."""
    text = "op over(X: f32[8]) -> Y: f32[6] { T[i] = X[i] * 2  Y[i] = T[i] + 1 for i in 0..6 }"
    program = ready(tx.op(text).program())
    certify(parse_kernel(OVERWRITTEN.format("i")), program)
    with pytest.raises(tx.ScheduleError, match=f"T {LAST}"):
        certify(parse_kernel(OVERWRITTEN.format("i + 1")), program)


def test_many_buffers_are_told_apart_at_once(monkeypatch: pytest.MonkeyPatch):
    """The gradient of a recurrence of three gates has a dozen: a proof for each of them, one
    after the other, ran into the quota.
    """
    proofs = []
    module = import_module("texpr.poly.certificate.certify")
    once = module._certified
    monkeypatch.setattr(module, "_certified", lambda *given: proofs.append(given) or once(*given))
    operators = vars(load(str(LIBRARY / "recurrent.tx"), prove=False))
    program = autodiff.grad(usual(operators["gru"]))
    assert tx.Schedule(program, dict.fromkeys(program.sizes, 17)).auto().certificate()
    assert len(proofs) <= 4

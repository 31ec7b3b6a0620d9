"""Faults planted in final loops, as a wrong step or pass would make them: every one is refused,
for the right reason, with an example.
"""

from __future__ import annotations

import pytest

import texpr as tx
from tests.poly.certificate.final_loops import KERNELS
from texpr.compiler.pass_pipeline import ready
from texpr.lang import parse_kernel
from texpr.poly.certificate import certify

FAULTS = {
    "matmul": [
        ("A[io * 8 + i1, k]", "A[io * 8 + i1, k + 1]", "bounds"),  # an index off by one
        ("B[k, j]", "B[j, k]", "bounds"),
        ("* B[k, j]", "* B[k, N - 1 - j]", "values"),
        ("+= A[io * 8 + i1, k] * B[k, j]", "+= A[io * 8 + i1, k] + B[k, j]", "values"),
        ("for k in 0..K", "for k in 0..K - 1", "sums"),  # an extent too short
        ("for k in 0..K", "for k in 0..K + 1", "bounds"),
        ("for i2 in 0..8", "for i2 in 0..7", "covered"),
        ("for i2 in 0..8", "for i2 in 0..9", "bounds"),
        (
            "        if io * 8 + i2 < M\n          C[",
            "        if true\n          C[",
            "bounds",
        ),  # a guard dropped
        ("        if io * 8 + i0 < M\n", "        if true\n", None),  # sums past the end, which nothing takes
        ("        if io * 8 + i1 < M\n", "        if true\n", "bounds"),
        ("        if io * 8 + i1 < M\n", "        if io * 8 + i1 < M - 1\n", "sums"),
        ("acc[i0] = 0.0", "acc[i0] = 1.0", "values"),  # another start
        ("for i0 in 0..8", "for i0 in 0..7", "initialised"),
        ("let acc: f32[8]", "let acc: f32[7]", "bounds"),  # a buffer one too small
        ("for k in 0..K", "for k in 0..K parallel", "races"),  # a mark on a loop that carries
        ("for k in 0..K", "for k in 0..K vector", "races"),
        ("at[io * 8 + i1, j, k]", "at[io * 8 + i1, j, K - 1 - k]", "values"),  # a wrong instance
        ("at[io * 8 + i1, j, k]", "at[io * 8 + i1, j, 0]", "values"),
        ("at[io * 8 + i2, j]", "at[j, io * 8 + i2]", "values"),
        ("C[io * 8 + i2, j] = acc[i2]", "C[io * 8 + i2, j] = acc[7 - i2]", "initialised"),
        ("acc[i1] += A[io * 8 + i1, k]", "acc[i1] += A[io * 8 + i1, K - 1 - k]", "values"),
        ("acc[i1] += ", "acc[7 - i1] += ", "initialised"),
        ("io in 0..(M + 7) // 8", "io in 0..M // 8", "covered"),
        ("io * 8", "io * 4", "covered"),
    ],
    "filled": [  # terms past the end of a sum
        ("then A[i, a] else 0.0", "then A[i, a] else 1.0", "values"),  # 1 * 0 is 0, but inf * 0 is not
        ("then A[i, a] else 0.0", "then A[i, a] else -0.0", "values"),
        ("j] else 0.0)", "j] else -0.0)", "values"),
        ("row[o * 8 + k] * (", "(", "values"),
        ("row[o * 8 + k] *", "A[i, o * 8 + k] *", "bounds"),
        (
            "row[o * 8 + k] *",
            "row[if o * 8 + k < K then o * 8 + k else 0] *",
            "values",
        ),  # 0 times another element
        ("acc = 0.0", "acc = -0.0", "values"),
        ("if o * 8 + k < K then", "if o * 8 + k + 1 < K then", "values"),
        ("in 0..(K + 7) // 8\n", "in 0..K // 8\n", "sums"),
    ],
    "parts": [
        ("l2 in 0..8", "l2 in 0..7", "sums"),
        ("  for r in 0..N % 8\n    part[r] += X[N // 8 * 8 + r]  at[N // 8 * 8 + r]\n", "", "sums"),
        ("total += part[l2]  reassoc", "total += part[l2]", "order"),  # reassociated, and nothing permits it
        ("    part[l0] = 0.0", "    part[l0] = 2.0", "values"),
        ("X[N // 8 * 8 + r]  at[N // 8 * 8 + r]", "X[r]  at[r]", "sums"),  # one contribution twice
        ("o in 0..N // 8", "o in 0..N // 8 parallel", "races"),
    ],
    "parts of rows": [
        ("part[i2, l2]", "part[M - 1 - i2, l2]", "sums"),  # the parts of another row
        (
            "if o * 8 + l1 < N",
            "if o * 8 + l1 < N and m[o * 8 + l1] > 0",
            "sums",
        ),  # data says which terms are there
        (
            "      total[i2] += part",
            "      if i2 < N and m[i2] > 0\n        total[i2] += part",
            "sums",
        ),  # or which parts
    ],
    "private histograms": [
        ("part[o, v1] = -0.0", "part[o, v1] = 0.0", "values"),  # -0.0 + 0.0 is 0.0
        ("v1 in 0..16", "v1 in 0..15", "initialised"),
        ("v2 in 0..16", "v2 in 0..15", "sums"),  # what the last bin got is forgotten
        ("= -0.0  part eq 1  at[v1]", "= -0.0  part eq 1  at[15 - v1]", "sums"),
        ("= -0.0  part eq 1", "= -0.0  start eq 1", "values"),
        ("part[p, v2]", "part[p, 15 - v2]", "sums"),  # the parts of another bin
        ("part[o, i64(X[o * 8 + l])]", "part[o, 15 - i64(X[o * 8 + l])]", "sums"),
        ("p in 0..(N + 7) // 8", "p in 0..N // 8", "sums"),
        ("  reassoc eq 1", "  eq 1", "order"),
        ("    for p in", "    for again in 0..2\n     for p in", "sums"),
        ("if o * 8 + l < N", "if o * 8 + l < N and m[o * 8 + l] > 0", "sums"),
        ("if o * 8 + l < N", "if o * 8 + l + 1 < N", "sums"),
        ("w[o * 8 + l]", "w[N - 1 - o * 8 - l]", "values"),
        ("  for o in 0..(N + 7) // 8 parallel\n    for v1", "  for o in 0..(N + 7) // 8\n    for v1", None),
        ("    for l in 0..8\n", "    for l in 0..8 parallel\n", "races"),
    ],
    "blur": [
        ("i0 in 0..5", "i0 in 0..4", "initialised"),  # a halo forgotten
        ("let T: f32[5]", "let T: f32[4]", "bounds"),
        ("then T[i1 + 1]", "then T[i1]", "values"),
        ("if o * 4 + i1 + 1 < N then", "if o * 4 + i1 < N then", "initialised"),
        ("X[o * 4 + i0] * 2.0", "X[o * 4 + i0] * 3.0", "values"),
        ("at[o * 4 + i0]", "at[o * 4 + i0 + 1]", "values"),
        ("    let T: f32[5]  stack\n", "", "races"),  # one buffer for all threads
    ],
    "padded": [
        ("1 <= p and p < N + 1", "1 <= p and p < N", "values"),
        ("1 <= p and p < N + 1", "0 <= p and p < N + 1", "bounds"),
        ("then X[p - 1] else 0.0", "then X[p - 1] else 1.0", "values"),
        ("P[i] + P[i + 2]", "P[i + 2] + P[i]", "values"),
        ("P[i] + P[i + 2]", "P[i] + P[i + 1]", "values"),
        ("for p in 0..N + 2\n", "for p in 0..N + 1\n", "initialised"),
        ("for i in 0..N\n", "for i in 0..N parallel\n", None),
    ],
    "scan": [
        ("for i in 0..N", "for i in 0..N parallel", "races"),
        (
            "Y[i] = (if 1 <= i then Y[i - 1] else 0.0) + X[i]  at[i]",
            "Y[N - 1 - i] = (if 1 <= N - 1 - i then Y[N - 2 - i] else 0.0) + X[N - 1 - i]  at[N - 1 - i]",
            "initialised",
        ),
        ("Y[i - 1] else", "Y[i] else", "initialised"),
    ],
    "scatter": [
        ("c[i64(idx[n])] += X[n]  eq 1  at[n]", "c[i64(idx[n])] += X[n]  eq 1  at[N - 1 - n]", "values"),
        (
            "c[i64(idx[n])] += X[n]  eq 1  at[n]",
            "c[i64(idx[N - 1 - n])] += X[N - 1 - n]  eq 1  at[N - 1 - n]",
            "order",
        ),
        ("c[i64(idx[n])]", "c[0]", "sums"),
        ("n in 0..N\n", "n in 0..N parallel\n", "races"),
        ("n in 0..N\n", "n in 1..N\n".replace("1..N", "0..N - 1"), "sums"),
        ("c[v] = 0.0", "c[v] = 1.0", "values"),
        ("v in 0..4", "v in 0..3", "covered"),
    ],
    "chosen": [
        ("m: bool[N]) -> (y", "m: bool[M]) -> (y", "bounds"),
        ("    if m[i]\n      total += X[i]  at[i]", "    total += X[i]  at[i]", "values"),
        ("if m[i]", "if not m[i]", "values"),
        ("if m[i]", "if m[N - 1 - i]", "values"),
        ("if m[i]", "if m[i] and X[i] > 0.0", "sums"),
    ],
    "gathered": [
        ("E[i64(idx[n]), d]", "E[n, d]", "bounds"),
        ("E[i64(idx[n]), d]", "E[i64(idx[N - 1 - n]), d]", "values"),
        ("E[i64(idx[n]), d]", "E[i64(idx[n]) + 1, d]", "bounds"),
    ],
    "shared": [
        ("      barrier\n", "", "initialised"),
        ("S[31 - t]", "S[t]", "values"),
        ("S[31 - t]", "S[30 - t]", "bounds"),
        (
            "      barrier\n      Y[n, t] = S[31 - t]  at[n, t]\n",
            "      Y[n, t] = S[31 - t]  at[n, t]\n      barrier\n",
            "initialised",
        ),
        ("    let S: f32[32]\n", "", "races"),  # shared by all blocks
    ],
    "products": [
        # Nothing is required of M * K.
        (
            "M * N <= t\n      S[t - M * N] = X[t - M * N]",
            "M * K <= t\n      S[t - M * K] = X[t - M * K]",
            "races",
        )
    ],
    "rounds": [
        ("      barrier\n    y[t]", "    y[t]", "races"),  # the next round writes what this one still reads
        ("acc += S[31 - t]  at[t, k]", "acc += S[31 - t]  at[t, 7 - k]", "values"),
        ("for k in 0..8", "for k in 0..7", "sums"),
    ],
    "lanes": [
        ("best max= X[n, i]", "best min= X[n, i]", "values"),
        ("best = -inf", "best = 0.0", "values"),
        ("    let best: f32  stack\n", "", "races"),
    ],
    "borrowed": [
        ("for a in 0..2", "for a in 0..1", "once"),
        ("for c in 0..2", "for c in 0..1", "once"),
        ("let tile: f32[2]", "let tile: f32[1]", "once"),
        ("for a in 0..2\n", "for a in 0..3\n", "bounds"),
        ("for c in 0..2\n", "for c in 0..3\n", "once"),
        ("acc[h * 2 + c] = tile[c]", "acc[h * 2 + c] = tile[1 - c]", "once"),
        ("acc[h * 2 + c] = tile[c]", "acc[h + c] = tile[c]", "once"),
        ("acc[h * 2 + c] = tile[c]", "acc[h * 2 + c] += tile[c]", "sums"),
        ("tile[a] = acc[h * 2 + a]", "tile[a] += acc[h * 2 + a]", "once"),
        ("tile[a] = acc[h * 2 + a]", "tile[a] = acc[a]", "once"),
        ("for h in 0..2", "for h in 0..1", "sums"),
        ("for o in 0..2", "for o in 0..2 parallel", "races"),
        ("at[h * 2 + b, o * 3 + k]", "at[h * 2 + b, o * 3 + 2 - k]", "values"),
    ],
    "past": [
        ("let T: f32[M, 24]", "let T: f32[M, 20]", "bounds"),
        (
            "        T[i0, o * 8 + l] =",
            "        T[i0, (o * 8 + l) % 20] =",
            "values",
        ),  # past the end, where a real one lives
        ("at[i0, o * 8 + l]", "at[i0, (o * 8 + l) % 20]", "values"),
        ("at[i0, o * 8 + l]", "at[i0, o * 8 + l - 4]", "values"),
        ("T[i1, 19 - j]", "T[i1, 20 - j]", "values"),  # takes one that is no value of the program
        ("l in 0..8", "l in 0..6", "initialised"),
        ("o in 0..3", "o in 0..2", "initialised"),
        ("+ 1 < 20 then", "+ 1 < 24 then", "bounds"),
        ("    for j in 0..20", "    for j in 0..24", "bounds"),
    ],
    "ends": [
        ("for i in 0..6", "for i in 0..8", "bounds"),
        (
            "for i in 0..6\n    T[i] = X[i]",
            "for i in 0..8\n    T[i] = X[i % 6]",
            "values",
        ),  # past the end, where others live
    ],
    "into": [
        ("for i in 0..4", "for i in 0..8", "values"),  # totals past the end, in elements that exist
        ("    Y[i] += acc  eq 1  at[i]", "    if i < 3\n      Y[i] += acc  eq 1  at[i]", "sums"),
    ],
    "folded": [
        ("    for m in 0..M\n", "    for m in 0..M - 1\n", "initialised"),
        ("Y[n1, m1] = T[n1, m1]", "Y[n1, m1] = T[n1, M - 1 - m1]", "values"),
        ("T[n, m] = X[n, m] + 1.0  at[n, m]", "T[n, m] = X[n, m] + 1.0  eq 1  at[n, m]", "values"),
        ("let T: f32[N, M]", "let T: f32[M, N]", "bounds"),
        (
            "Y[n1, m1] = T[n1, m1] * 2.0  eq 1  at[n1, m1]",
            "Y[n1, m1] = T[n1, m1] * 2.0  eq 5  at[n1, m1]",
            "values",
        ),
        (
            "Y[n1, m1] = T[n1, m1] * 2.0  eq 1  at[n1, m1]",
            "Y[n1, m1] = T[n1, m1] * 2.0  eq 1  at[n1]",
            "values",
        ),
    ],
    "signs": [
        ("k[i] * k[0] < 0 or m * n < 0", "m * n < 0", "values"),  # products of data may be negative
        ("k[i] * k[0] < 0 or m * n < 0", "k[i] * k[0] < 0", "values"),
    ],
    "wrapping": [
        ("k[i] + 1 > k[i] and ", "", "values"),  # the largest number has no successor
        ("b[i] + 1 > b[i]", "true", "values"),
        ("abs(k[i]) >= 0 and ", "", "values"),  # the least number has no opposite
        ("(k[i] // -1 > 0 or k[i] >= 0) and ", "", "values"),
    ],
    "permuted": [
        ("for r in 0..2\n", "for r in 0..2 parallel\n", "races"),  # distinct along the last dimension
        ("p: i32[N] in 0..N distinct", "p: i32[N] in 0..N", None),  # the program says what its inputs are
        ("Y[i64(p[i1])] += X[i1]  eq 1  at[i1]", "Y[i64(p[i1 // 2])] += X[i1]  eq 1  at[i1]", "sums"),
        ("Y[i64(q[r, i2])]", "Y[i64(q[0, i2])]", "sums"),
    ],
    "guarded": [
        ("for i in 0..N", "for i in 0..N parallel", "races")  # what is not there is not distinct
    ],
    "lengths": [
        ("for j in 0..n[i]", "for j in 0..n[0]", "values"),
        ("for j in 0..n[i]", "for j in 0..n[i + 1]", "bounds"),
        ("for j in 0..n[i]", "for j in 0..n[i] - 1", "sums"),
        ("for j in 0..n[i]", "for j in 0..n[i] + 1", "values"),
        ("for j in 0..n[i]", "for j in 0..M", "values"),
    ],
    "tiles": [
        ("C[0, d0] = E[i64(k[b]), d0]", "C[0, d0] = E[i64(k[0]), d0]", "values"),
        ("C[0, d0] = E[i64(k[b]), d0]", "C[0, d0] = E[i64(k[B - 1 - b]), d0]", "values"),
        ("for d0 in 0..D", "for d0 in 0..min(D, B - b)", "initialised"),
        ("for b in 0..B", "for b in 0..B parallel", "races"),
    ],
    "successors": [
        ("    if k[i] + 1 > k[i]\n      total += X[i]  at[i]", "    total += X[i]  at[i]", "values")
    ],
    "stencils": [
        ("max(0, min(i, N - 2))", "min(i, N - 2)", "bounds"),  # at N = 1
        ("max(0, min(i, N - 2))", "i", "values"),
        ("max(0, min(i, N - 2))", "max(0, min(i, N - 1))", "values"),
        ("min(i + 1, N - 1)", "i + 1", "bounds"),
        ("min(i + 1, N - 1)", "min(i + 1, max(0, N - 2))", "values"),
        ("max(0, i - 1)", "if i < 2 then 0 else i - 1", None),
        ("max(0, i - 1)", "if i < 3 then 0 else i - 1", "values"),
        ("max(0, i - 1)", "if i == 0 then 0 else if i == 7 then 7 else i - 1", "values"),
    ],
}
CASES = [(name, *fault) for name, faults in FAULTS.items() for fault in faults]


def proven(name: str, text: str) -> None:
    certify(parse_kernel(text), ready(tx.op(KERNELS[name].op).program()))


def planted(name: str, old: str, new: str) -> str:
    text = KERNELS[name].loops
    assert old in text, f"{name} has no {old}"
    text = text.replace(old, new)
    if new == "" and old.lstrip().startswith("let "):  # The buffer moves out of all loops.
        head, rest = text.split("\n", 2)[1], text.split("\n", 2)[2]
        text = f"\n{head}\n  {old.strip().removesuffix('stack').strip()}\n{rest}"
    return text


@pytest.mark.parametrize("name", KERNELS)
def test_sound_loops_are_proven(name: str):
    proven(name, KERNELS[name].loops)


@pytest.mark.parametrize(
    ("name", "old", "new", "obligation"), CASES, ids=[f"{n}-{k}" for k, (n, *_) in enumerate(CASES)]
)
def test_a_fault_is_refused(name: str, old: str, new: str, obligation: str | None):
    text = planted(name, old, new)
    if obligation is None:
        proven(name, text)
        return
    with pytest.raises(tx.ScheduleError) as e:
        proven(name, text)
    assert e.value.code == "certificate"
    assert e.value.label == obligation, str(e.value)
    assert "-->" in str(e.value), "the store is pointed at"

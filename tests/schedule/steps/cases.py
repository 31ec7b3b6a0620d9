"""Operators and runs that the tests of single steps share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import TEXTS, Scheduled, check, random_arrays
from texpr.ir.interpreter.loop import ORDERS
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import equal
from texpr.lang import parse_kernel
from texpr.passes.loop.place_buffers import place
from texpr.passes.loop.simplify_guards import drop_guards

Case = tuple[str, dict[str, int], str]
"""An operator by name, its sizes, and the steps."""
OPS = {
    name: tx.op(text)
    for name, text in {
        **TEXTS,
        **{
            "shifted": """op shifted(X: f32[M]) -> Y: f32[M] {
    Y[i] = X[i]
    Y[i] += X[M - 1 - i] for i in 0..M }""",
            "delayed": """op delayed(E: f32[N, M], idx: i32[K] in 0..N) -> Y: f32[K, M] {
    Y[k, d] = if k > 0 then E[idx[k - 1], d] else 0 }""",
            "filtered": """op filtered(X: f32[M, N], keep: bool[N]) -> Y: f32[M] {
    Y[i] = sum(j where j % 2 == 0 and keep[j] and i < M - 1: X[i, j]) + sum(n where n * n < i: X[i, n]) }""",
            "lengths": "op lengths(X: f32[M, K], n: i32[M] in 0..K + 1) -> y: f32[M] { y[i] = sum(j in "
            "0..n[i]: X[i, j]) }",
            "halves_of": "op halves_of(X: f32[N]) -> Y: f32[N] { h[i] = X[i] * 2  Y[i] = h[i // 2] + h[N - 1 "
            "- i] }",
            "evens": """op evens(X: f32[N]) -> Y: f32[2 * N] {
        let t: f32[2 * N]
        t[2 * i] = X[i]
        t[2 * i + 1] = X[i] * 2  for i in 0..N
        Y[k] = t[2 * N - 1 - k] }""",
            "half": "op half(X: f16[N]) -> Y: f16[N] { h[i] = f16(X[i] * 1.1)  Y[i] = f16(h[i] * h[i] + h[i "
            "- 1 | 0]) }",
            "brain": "op brain(X: bf16[N]) -> Y: f32[N] { h[i] = bf16(X[i] * 1.1)  Y[i] = f32(h[i]) * 3 }",
            "masked": "op masked(X: f32[M, N]) -> Y: f32[M] { h[i, j] = X[i, j] * 2  Y[i] = sum(j where h[i, "
            "j] > 0: h[i, j]) }",
            "sums": "op sums(X: f32[N]) -> (a: f32[N], b: f32[N]) { a[i] = X[i] + 1  b[i] = a[i] * a[N - 1 - "
            "i] }",
            "running": "op running(X: f32[N]) -> Y: f32[N] { let h: f32[N]  h[i] = h[i - 1 | 0] + X[i]  Y[i] "
            "= h[i] * 2 }",
            "deep": """op deep(X: f32[N]) -> Y: f32[N] {
        a[i] = X[i - 2 | 0] + X[i - 1 | 0] + X[i] + X[i + 1 | 0] + X[i + 2 | 0]
        b[i] = a[i - 2 | 0] + a[i - 1 | 0] + a[i] + a[i + 1 | 0] + a[i + 2 | 0]
        c[i] = b[i - 2 | 0] + b[i - 1 | 0] + b[i] + b[i + 1 | 0] + b[i + 2 | 0]
        d[i] = c[i - 2 | 0] + c[i - 1 | 0] + c[i] + c[i + 1 | 0] + c[i + 2 | 0]
        Y[i] = d[i - 2 | 0] + d[i - 1 | 0] + d[i] + d[i + 1 | 0] + d[i + 2 | 0] }""",
            "flip": "op flip(X: f32[N]) -> Y: f32[N] { h[i] = X[i] * 2  Y[i] = h[N - 1 - i] }",
            "keeps": "op keeps(X: f32[N]) -> (a: f32[N], b: f32[N]) { a[i] = X[i] + 1  b[i] = a[i] * a[i - 1 "
            "| 0] }",
            "both": "op both(X: f32[N]) -> Y: f32[N] { g[i] = X[i] + 1  h[i] = X[i] * 2  Y[i] = g[i] * h[i] "
            "}",
            "transposed": "op transposed(X: f32[N, N]) -> Y: f32[N, N] { h[i, j] = X[i, j] * 2  Y[i, j] = "
            "h[j, i] + h[i, j] }",
            "rest": "op rest(X: f32[N]) -> z: f32[N] { h[i] = X[i] * 2  y[i] = h[i] * 3  z[i] = y[i] + h[i + "
            "1 | 0] + y[0] }",
            "fibonacci": """op fibonacci(X: f32[M, N]) -> y: f32[M] {
        let h: f32[M, N]
        h[t, n] = h[t - 1, n | 0] + h[t - 2, n | 0] + X[t, n]
        y[t] = sum(n: h[t, n]) }""",
            "vectors": "op vectors(X: f32[8]) -> Y: f32[8] { t[i] = X[i] * 2  Y[i] = t[i] + 1 }",
            "valid": "op valid(X: f32[N]) -> Y: f32[N - 2] require N >= 2 { h[i] = X[i] * 2  Y[i] = h[i] + "
            "h[i + 1] + h[i + 2] }",
            "downwards": "op downwards(X: f32[N]) -> Y: f32[N] { h[i] = X[i] * 2  Y[i] = h[N - 1 - i] + h[N "
            "- 2 - i | 0] }",
            "chain_of_sums": """op chain_of_sums(A: f32[M, K], B: f32[K, N]) -> (Y: f32[M, N], z: f32) {
        D[i, j] = sum(k: A[i, k] * B[k, j])
        Y[i, j] = max(0, D[i, j])
        z = sum(i, j: D[i, j]) }""",
            "decay": """op decay(X: f32[M, N]) -> h: f32[M, N] {
        g[t, n] = X[t, n] + 0.5 * h[t - 1, n | 0] for t in 0..M, n in 0..N
        h[t, n] = if g[t, n] > 1 then 1 else g[t, n] }""",
            "every_other": """op every_other(X: f32[M, N]) -> h: f32[M, N] {
        g[t, n] = X[t, n] + h[t - 2, n | 0] for t in 0..M, n in 0..N
        h[t, n] = g[t, n] * 0.5 }""",
            "every_fourth": """op every_fourth(X: f32[M, N]) -> h: f32[M, N] {
        g[t, n] = X[t, n] + h[t - 4, n | 0] for t in 0..M, n in 0..N
        h[t, n] = g[t, n] * 0.5 }""",
            "windows": """op windows(X: f32[M, N]) -> Y: f32[M, N] {
        h[i, j] = sum(k in 0..3: X[i, j + k | 0]) + X[i, j]
        Y[i, j] = h[i, j] + h[i + 2, j | 0] }""",
            "matmul_relu": """op matmul_relu(A: f32[M, K], B: f32[K, N]) -> Y: f32[M, N] {
        D[i, j] = sum(k: A[i, k] * B[k, j])
        Y[i, j] = max(0, D[i, j]) }""",
            "pooled": "op pooled(X: f32[N]) -> Y: f32[N // 2] { h[i] = X[i] * 2  Y[i] = max(h[2 * i], h[2 * "
            "i + 1]) }",
            "doubled": "op doubled(X: f32[N]) -> Y: f32[2 * N] { h[i] = X[i] * 2  Y[k] = h[k // 2] * 3 for k "
            "in 0..2 * N }",
            "six": """op six(X: f32[M, N]) -> Y: f32[M, N] {
        a[i, j] = X[i, j - 1 | clamp] + X[i, j] + X[i, j + 1 | clamp]
        b[i, j] = a[i - 1, j | clamp] + a[i, j] + a[i + 1, j | clamp]
        c[i, j] = b[i, j] * b[i, j]
        d[i, j] = sum(u in 0..3, v in 0..3: c[i + u - 1, j + v - 1 | 0]) + c[i, j]
        e[i, j] = d[i, j] - 0.5 * c[i, j]
        Y[i, j] = if e[i, j] > 0 then e[i, j] else 0 }""",
            "two_readers": """op two_readers(X: f32[N]) -> (Y: f32[N], Z: f32[N]) {
        h[i] = X[i] * 2
        Y[i] = h[i] + h[i + 1 | 0]
        Z[i] = h[i] }""",
            "tally": "op tally(X: f32[N], idx: i32[N] in 0..N) -> Y: f32[N] { let h: f32[N]  h[i] = 1  "
            "h[idx[i]] += X[i]  Y[i] = h[i] * 2 }",
            "conv": """op conv(X: f32[M, N], F: f32[3, 3]) -> Y: f32[M, N] {
        Y[y, x] = sum(p, q: X[y + p - 1, x + q - 1 | 0] * F[p, q]) }""",
            "twice": "op twice(X: f32[M]) -> Y: f32[M] { Y[i] = X[i - 1 | 0] + X[i + 1 | 1] }",
            "narrow": "op narrow(A: f16[M, K], B: f16[K, N]) -> C: f16[M, N] { C[i, j] = sum(k: A[i, k] * "
            "B[k, j]) }",
            "interleaved": "op evens(X: f32[N]) -> Y: f32[2 * N] { Y[2 * i + 1] = X[i]  Y[2 * i] = X[i] * 2 "
            "}",
            "thirds": "op thirds(X: f32[M]) -> Y: f32[M // 3] { Y[i] = X[3 * i] + X[3 * i - 3 | 1] }",
            "wrapped": "op wrapped(X: f32[M], p: i64[M]) -> Y: f32[M] { Y[i] = X[2 * p[i] | 0] }",
            "gram": "op gram(A: f32[M, K]) -> C: f32[M, M] { C[i, j] = sum(k: A[i, k] * A[j, k]) }",
            "prefix": "op prefix(X: f32[M]) -> Y: f32[M] { Y[i] = X[i] + Y[i - 1 | 0] }",
        },
    }.items()
}
SIZES = (0, 1, 3, 4, 5, 9)
"""Around tiles of 4 and of 8."""
TILED = 's.split("Y.i", 4).split("Y.j", 8).reorder("Y.io", "Y.jo", "Y.ii", "Y.ji")\n'
TILES = 's.split("i", 8).split("j", 16).split("k", 4).reorder("io", "jo", "ko", "ii", "ki", "ji")'
EIGHT = {"M": 8, "N": 8, "K": 8}
SQUARE = {"M": 64, "N": 64, "K": 64}
LARGE = {"M": 100_000, "N": 100_000, "K": 4096}


def scheduled(op: str, sizes: dict[str, int], text: str) -> tx.Schedule:
    """The schedule of an operator after the steps of a text."""
    s = tx.schedule(OPS[op], **sizes)
    exec(text, {"s": s})
    return s


def listing(golden: Any, op: str, sizes: dict[str, int], text: str) -> tx.Schedule:
    """The listing after the steps is the golden one, and the script gives it again."""
    s = scheduled(op, sizes, text)
    golden(f"{text}\n\n{s}\n\n{s.script()}")
    again = tx.schedule(OPS[op], **sizes).replay(s.script())
    assert show_kernel(again.kernel) == show_kernel(s.kernel)
    return s


def exact(golden: Any, op: str, sizes: dict[str, int], text: str) -> None:
    """The listing, and every bit at every size."""
    s = listing(golden, op, sizes, text)
    for n in SIZES if op != "valid" else (2, 3, 5, 6, 7):
        keeps_every_bit(s, {v: sizes.get(v.name, n) for v in s.program.sizes})


def keeps_every_bit(s: tx.Schedule, sizes: dict) -> None:
    """In any order of concurrent iterations, before and after guards are dropped."""
    arrays = random_arrays(s.program, sizes)
    case = Scheduled(s.program, sizes, s.kernel, s.steps)
    with np.errstate(all="ignore"):
        check(case, s.kernel, arrays, "shuffled")
        check(case, drop_guards(place(s.kernel)), arrays, "reversed")


def buffered(golden: Any, op: str, sizes: dict[str, int], text: str) -> None:
    """The listing, which reads back; and the certificate, for these sizes and for all."""
    s = listing(golden, op, sizes, text)
    assert equal(parse_kernel(show_kernel(s.kernel)), s.kernel)
    assert s.certificate().bit_exact and scheduled(op, {}, text).certificate().bit_exact


def tiles_of_any_size(size: int, op: str, sizes: dict[str, int], text: str) -> None:
    """Every bit, with sizes in the kernel and without."""
    for given in ({}, dict.fromkeys(sizes, size)):
        s = scheduled(op, given, text)
        bound = dict.fromkeys(s.program.sizes, size)
        if op == "gather" and size == 0:
            continue
        for order in ORDERS[: 1 if size in (0, 1) else 3]:
            check(
                Scheduled(s.program, bound, s.kernel, s.steps),
                s.kernel,
                random_arrays(s.program, bound),
                order,
            )


def refusals(cases: Sequence[Case]) -> str:
    """What refused steps say, the steps on top of each."""
    return "\n".join(refusal(*case) for case in cases)


def refusal(op: str, sizes: dict[str, int], text: str) -> str:
    """What the last of some steps says, which must be refused."""
    return complaint(tx.schedule(OPS[op], **sizes), text)


def complaint(s: tx.Schedule, text: str) -> str:
    """What a step of a schedule says that must be refused, the step on top."""
    with pytest.raises((tx.ScheduleError, tx.ResourceError)) as error:
        exec(text, {"s": s, "handle": s.loops[0] if s.loops else None})
    return f"# {text}\n{error.value}\n"

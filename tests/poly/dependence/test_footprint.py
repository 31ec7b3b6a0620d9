"""The box that one iteration of a loop touches: pictures of known tiles, and the law that it
holds every access.
"""

from __future__ import annotations

from collections import OrderedDict

import pytest
from hypothesis import given

import texpr as tx
from tests.poly.nests import evaluate, events
from tests.profiles import examples
from tests.properties.poly.test_verdicts import kernels
from texpr.ir.expr import Expr, Tensor
from texpr.ir.loop import For, Kernel
from texpr.ir.printing.expr import show
from texpr.ir.traverse import walk
from texpr.poly import footprint, permutable
from texpr.poly.constraints import solver
from texpr.poly.dependence import kernel_model as nest
from texpr.poly.dependence import permutable_band as band
from texpr.schedule.structure.loops import find_loops, loops_around


def nest_of(k: Kernel, loop: str) -> list[For]:
    at = find_loops(k, loop)[-1]
    return [*loops_around(k, at), at]


def picture(k: Kernel, tensor: str, loop: str, **options) -> str:
    """`A[base +: extent, ...]`"""
    t = next(t for t in (*k.inputs, *k.outputs, *k.temporaries) if t.name == tensor)
    box = footprint(k, t, nest_of(k, loop), **options)
    assert box is not None
    return f"{tensor}[{', '.join(f'{show(b)} +: {show(n)}' for b, n in zip(box.bases, box.extents))}]"


MATMUL = "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
CONV = """op conv(X: f32[H, W], F: f32[P, Q]) -> Y: f32[(H - P) // 2 + 1, W] require P <= H {
    Y[y, x] = sum(p, q: X[2 * y + p, x + q - 1 | 0] * F[p, q]) }"""
BLUR = "op blur(X: f32[N]) -> Y: f32[N] { Y[i] = X[i - 1 | clamp] + X[i] + X[i + 1 | clamp] }"
GATHER = "op gather(E: f32[N, M], idx: i32[K] in 0..N) -> Y: f32[K, M] { Y[k, d] = E[idx[k], d] }"
TRIANGLE = "op triangle(X: f32[M, M]) -> Y: f32[M] { Y[i] = sum(j in 0..i + 1: X[i, j]) }"
REVERSED = "op reversed(X: f32[M]) -> Y: f32[M] { Y[i] = X[M - 1 - i] }"

QUOTIENT = "op f(Z: f32[N], X: f32[4 * N]) -> Y: f32[4 * N] {{ Y[i] = X[{} | 0] }}"
ENDS = "op f(X: f32[N], Z: f32[M]) -> Y: f32[M] require N > 0 {{ Y[i] = sum(j: X[j] * X[{}] * Z[i]) }}"
SPANS = "op f(X: f32[N + 1], Z: f32[N], V: f32[M]) -> Y: f32[M] require N > 0 {{ Y[i] = sum(j in 0..N: {}) }}"
SCATTER = """op f(at: i32[N] in 0..N, m: i32[N], X: f32[N]) -> Y: f32[N] {
    Y[i] = 0.0
    Y[at[i]] += X[i] for i in 0..N where m[i] > 0 }"""
WINDOWS = """op f(Z: f32[N], off: i32[K] in 0..N, X: f32[N + 8], V: f32[M]) -> Y: f32[M] require M <= K {
    Y[k] = sum(j in 0..8: X[off[k] + j]) }"""

RAGGED = "op f(n: i32[N] in 0..5) -> Y: i32[N] { Y[i] = sum(j in 0..n[i]: n[i + j | 0]) }"

TILES = {
    "matmul": (
        MATMUL,
        {},
        's.split("i", 8).split("k", 16).reorder("io", "ko", "j", "ii", "ki")',
        "A",
        "C.ko",
        "A[io * 8 +: 8, ko * 16 +: 16]",
    ),
    "whole rows": (MATMUL, {}, 's.split("i", 8)', "A", "io", "A[io * 8 +: 8, 0 +: K]"),
    "all of it": (MATMUL, {}, 's.split("i", 8)', "B", "io", "B[0 +: K, 0 +: N]"),
    "lanes": (
        MATMUL,
        {"M": 64, "K": 64},
        's.split("i", 16).split("k", 8).reorder("io", "ko", "ii", "ki").fuse("ii", "ki").split("iiki", 32)',
        "A",
        "ko",
        "A[io * 16 +: 16, ko * 8 +: 8]",
    ),
    "a clipped tile": (
        MATMUL,
        {"K": 20},
        's.split("k", 16).reorder("ko", "i", "j", "ki")',
        "A",
        "ko",
        "A[0 +: M, ko * 16 +: 16]",
    ),
    "strided": (
        CONV,
        {"P": 3, "Q": 3},
        's.split("y", 4).split("x", 16).reorder("yo", "xo", "yi", "xi", "p", "q")',
        "X",
        "xo",
        "X[yo * 8 +: 9, xo * 16 - 1 +: 18]",
    ),
    "clamped": (BLUR, {}, 's.split("i", 8)', "X", "io", "X[io * 8 - 1 +: 10]"),
    "gathered": (GATHER, {}, 's.split("d", 8).reorder("do", "k", "di")', "E", "do", "E[0 +: N, do * 8 +: 8]"),
    "triangle": (TRIANGLE, {}, "s", "X", "i", "X[i +: 1, 0 +: M]"),
    "reflected": (
        "op f(X: f32[N]) -> Y: f32[N] require N >= 2 { Y[i] = X[i - 1 | reflect] + X[i + 1 | reflect] }",
        {},
        's.split("i", 8)',
        "X",
        "io",
        "X[io * 8 - 1 +: 10]",
    ),
    "quotients": (QUOTIENT.format("i // 4"), {}, 's.split("i", 8)', "X", "io", "X[io * 2 +: 2]"),
    "twice quotients": (QUOTIENT.format("2 * (i // 4)"), {}, 's.split("i", 8)', "X", "io", "X[io * 4 +: 3]"),
    "quotients backwards": (
        QUOTIENT.format("N - 1 - i // 4"),
        {},
        's.split("i", 8)',
        "X",
        "io",
        "X[N - io * 2 - 2 +: 2]",
    ),
    "two quotients": (QUOTIENT.format("i // 4 + i // 2"), {}, 's.split("i", 8)', "X", "io", "X[io * 6 +: 5]"),
    "quotients that tiles cut": (
        QUOTIENT.format("i // 4"),
        {},
        's.split("i", 6)',
        "X",
        "io",
        "X[0 +: N * 4]",
    ),
    "quotients by a size": (QUOTIENT.format("i // N"), {}, 's.split("i", 8)', "X", "io", "X[0 +: N * 4]"),
    "quotients from outside": (
        "op f(X: f32[M, N]) -> Y: f32[4 * M, N] { Y[i, j] = X[i // 4, j] }",
        {},
        's.split("j", 8)',
        "X",
        "jo",
        "X[i // 4 +: 1, jo * 8 +: 8]",
    ),
    "several uses": (
        "op f(Z: f32[N], X: f32[N + 4]) -> Y: f32[N] { Y[i] = X[i + 4] + X[i] + X[i + 2] }",
        {},
        's.split("i", 8)',
        "X",
        "io",
        "X[io * 8 +: 12]",
    ),
    "uses far from each other": (
        "op f(Z: f32[N], X: f32[2 * N]) -> Y: f32[N] { Y[i] = X[i] + X[i + N] }",
        {},
        's.split("i", 8)',
        "X",
        "io",
        "X[0 +: N * 2]",
    ),
    "uses that begin apart": (
        SPANS.format("V[i] * X[N] * X[N - j] * X[N - 1]"),
        {},
        "s",
        "X",
        "i",
        "X[0 +: N + 1]",
    ),
    "two uses that begin apart": (SPANS.format("V[i] * X[N] * X[N - j]"), {}, "s", "X", "i", "X[0 +: N + 1]"),
    "uses that end apart": (SPANS.format("V[i] * X[0] * X[j] * X[1]"), {}, "s", "X", "i", "X[0 +: N + 1]"),
    "two uses that end apart": (SPANS.format("V[i] * X[0] * X[j]"), {}, "s", "X", "i", "X[0 +: N + 1]"),
    "rows of a length that is no box": (
        "op f(X: f32[N], Z: f32[M], V: f32[N]) -> Y: f32[N] require M > 0 { Y[i] = sum(j in 0..i // M + 1: "
        "X[j | 0] * V[i]) }",
        {},
        "s",
        "X",
        "i",
        "X[0 +: N]",
    ),
    "a use that is no box": (
        "op f(Z: f32[N], X: f32[4 * N]) -> Y: f32[4 * N] { Y[i] = X[i] + X[i // N | 0] + X[i] }",
        {},
        's.split("i", 8)',
        "X",
        "io",
        "X[0 +: N * 4]",
    ),
    "the last": (ENDS.format("N - 1"), {}, "s", "X", "i", "X[0 +: N]"),
    "the first": (ENDS.format("0"), {}, "s", "X", "i", "X[0 +: N]"),
    "held back": (
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[min(i + 2, N - 1)] }",
        {},
        's.split("i", 8)',
        "X",
        "io",
        "X[0 +: N]",
    ),
    "indices": (SCATTER, {}, 's.split("Y.1.i", 8)', "at", "Y.1.io", "at[io * 8 +: 8]"),
    "conditions": (SCATTER, {}, 's.split("Y.1.i", 8)', "m", "Y.1.io", "m[io * 8 +: 8]"),
    "where data say": (WINDOWS, {}, "s", "X", "k", "X[i64(off[k]) +: 8]"),
    "where data say, in a tile that an edge cuts": (
        WINDOWS,
        {},
        's.split("k", 4)',
        "X",
        "j",
        "X[i64(off[ko * 4 + ki]) + j +: 1]",
    ),
    "where data say, beside that edge": (WINDOWS, {}, 's.split("k", 4)', "X", "ki", "X[0 +: N + 8]"),
    "an extent outside": (RAGGED, {}, "s", "n", "j", "n[i + j +: 1]"),
    "reversed": (REVERSED, {"M": 64}, 's.split("i", 8)', "X", "io", "X[56 - io * 8 +: 8]"),
}


@pytest.mark.parametrize("name", TILES)
def test_tile(name):
    text, sizes, steps, tensor, loop, expected = TILES[name]
    s = tx.schedule(tx.op(text), **sizes)
    eval(steps, {"s": s})
    assert picture(s.kernel, tensor, loop) == expected


def test_what_is_written():
    s = tx.schedule(tx.op(MATMUL)).split("i", 8).split("j", 4).reorder("io", "jo", "ii", "ji")
    assert picture(s.kernel, "C", "jo", kinds=("write",)) == "C[io * 8 +: 8, jo * 4 +: 4]"
    assert footprint(s.kernel, s.kernel.outputs[0], nest_of(s.kernel, "jo"), kinds=("read",)) is None


def held(t: Tensor, box: list[tuple[Expr, Expr]], values: dict, element: tuple[int, ...]) -> bool:
    """Whether an element lies in the box. Along a dimension that is the whole tensor nothing is
    claimed: these indices may leave it.
    """
    return all(
        n is size or 0 <= i - evaluate(b, values, {}, set()) < evaluate(n, values, {}, set())
        for i, (b, n), size in zip(element, box, t.shape)
    )


@examples(30)
@given(kernels())
def test_every_access_lies_in_the_box(k: Kernel):
    for n in [x for x in walk(k) if isinstance(x, For)]:
        loops = [*loops_around(k, n), n]
        variables = tuple(x.var for x in loops)
        inside = [x for x in events(k, {}) if x.loops[: len(loops)] == variables]
        for t in {t for x in inside for t, _ in x.reads | x.writes if t.rank}:
            box = footprint(k, t, loops)
            assert box is not None
            for x in inside:
                values = dict(zip(x.loops, x.iteration))
                assert all(
                    held(t, list(zip(box.bases, box.extents)), values, e)
                    for u, e in x.reads | x.writes
                    if u is t
                )


def test_out_of_quota(monkeypatch):
    """A question that took too long leaves nothing for the next one to pay; a box that takes too
    long is the whole tensor.
    """
    s = tx.schedule(
        tx.op(
            "op f(X: f32[M]) -> Y: f32[M] { T[i] = X[i] * 2 Y[i] = max(k in 0..3: T[i + k - 1 | clamp]) "
            "for i in 0..M }"
        )
    )
    s.peel("Y.i", 1, 1)
    monkeypatch.setattr(solver, "ROWS", 3)
    monkeypatch.setattr(nest, "_MEMO", OrderedDict())
    monkeypatch.setattr(nest, "_SHARED", OrderedDict())
    assert picture(s.kernel, "T", "Y.i") == "T[0 +: M]"
    assert not solver._LOOKED_AT[0]


def test_out_of_quota_is_no_band(monkeypatch):
    """What distances leave open is asked: element j + 9 is of no row, which only the ranges of
    the loops tell.
    """
    s = tx.schedule(tx.op("op f(X: f32[N]) -> A: f32[N, 8] { A[i, j] = A[i-1, j+9 | 0] + X[i] }"))
    assert permutable(s.kernel, [[find_loops(s.kernel, name)[0].var] for name in "ij"])
    monkeypatch.setattr(solver, "ROWS", 3)
    monkeypatch.setattr(band, "_MEMO", OrderedDict())
    assert not permutable(s.kernel, [[find_loops(s.kernel, name)[0].var] for name in "ij"])

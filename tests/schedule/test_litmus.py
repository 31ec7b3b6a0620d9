"""Pairs of a program and a schedule: illegal ones must be refused, legal ones accepted, and those then keep every bit in any order."""

from __future__ import annotations

import pytest

import texpr as tx
from tests.schedule.drawing import TEXTS, Scheduled, check, random_arrays
from texpr.ir.interpret_loop import ORDERS

OPS = {name: tx.op(text) for name, text in TEXTS.items()} | {
    "pairs": tx.op("op pairs(A: f32[N]) -> B: f32[N] { B[i] = 0  B[i // 2] += A[i] }"),
    "rows": tx.op("op rows(X: f32[M, N], idx: i32[M, N] in 0..N) -> H: f32[M, N] { H[i, j] = 0  H[i, idx[i, j]] += X[i, j] }"),
    "unique": tx.op("op unique(X: f32[N], idx: i32[N] in 0..N distinct) -> Y: f32[N] { Y[i] = 0  Y[idx[i]] += X[i] }"),
    "evens": tx.op("op evens(X: f32[N]) -> Y: f32[2 * N] { Y[2 * i] = X[i]  Y[2 * i + 1] = X[i] * 2  for i in 0..N }"),
    "skewed": tx.op("op skewed(X: f32[N, M]) -> Y: f32[N + M] { Y[i] = 0  Y[i + j] += X[i, j] }"),
    "ahead": tx.op("op ahead(X: f32[N]) -> Y: f32[N] { h[i] = X[i] * 2  Y[i] = h[i] + h[i + 1 | 0] }"),
    "flip": tx.op("op flip(X: f32[N]) -> Y: f32[N] { h[i] = X[i] * 2  Y[i] = h[N - 1 - i] }"),
    "transposed": tx.op("op transposed(X: f32[N, N]) -> Y: f32[N, N] { h[i, j] = X[i, j] * 2  Y[i, j] = h[j, i] }"),
    "column": tx.op("op column(X: f32[N, M]) -> Y: f32[N, M] { h[i, j] = X[i, j] * 2  Y[i, j] = h[i, 0] + h[i, j] }"),
}

ILLEGAL = [
    ("matmul", {}, 's.parallel("k")'),
    ("matmul", {"K": 8}, 's.vectorize("k")'),
    ("matmul", {}, 's.split("k", 4).reorder("ki", "ko")'),
    ("pairs", {}, 's.parallel("B.1.i")'),
    ("pairs", {"N": 8}, 's.vectorize("B.1.i")'),
    ("pairs", {}, 's.split("B.1.i", 3).parallel("B.1.io")'),
    ("scatter", {}, 's.parallel("i")'),
    ("scatter", {}, 's.split("i", 4).reorder("ii", "io")'),
    ("rows", {}, 's.parallel("H.1.j")'),
    ("rows", {"N": 8}, 's.reorder("H.1.j", "H.1.i").vectorize("H.1.j")'),
    ("skewed", {}, 's.reorder("j", "Y.1.i")'),
    ("skewed", {}, 's.parallel("Y.1.i")'),
    ("ahead", {}, 's.compute_at("h", "Y.i")'),
    ("flip", {}, 's.compute_at("h", "Y.i")'),
    ("transposed", {}, 's.compute_at("h", "Y.i")'),
    ("transposed", {}, 's.compute_at("h", "Y.j")'),
    ("lag", {}, 's.compute_at("h", "Y.i").parallel("Y.i")'),
    ("lag", {}, 's.parallel("Y.i").compute_at("h", "Y.i")'),
    ("column", {}, 's.compute_at("h", "Y.j").parallel("Y.j")'),
    ("column", {}, 's.reorder("Y.j", "Y.i").reorder("h.j", "h.i").compute_at("h", "Y.j").parallel("Y.j")'),
    ("halves", {}, 's.parallel("Y.1.i")'),
    ("updates", {}, 's.parallel("z.1.i")'),
    ("integers", {}, 's.parallel("s.j")'),
    ("integers", {}, 's.parallel("p.i")'),
]

LEGAL = [
    ("pairs", {}, 's.split("B.1.i", 2).parallel("B.1.io")'),
    ("matmul", {}, 's.reorder("k", "j", "i")'),
    ("matmul", {}, 's.split("i", 3).split("j", 5).reorder("io", "jo", "k", "ii", "ji").parallel("io")'),
    ("matmul", {}, 's.split("k", 4).reorder("i", "ko", "j", "ki")'),
    ("matmul", {"N": 6}, 's.fuse("i", "j").parallel("ij")'),
    ("stencil", {"N": 8}, 's.reorder("j", "i").parallel("j")'),
    ("stencil", {"N": 8}, 's.vectorize("j").parallel("i")'),
    ("evens", {}, 's.parallel("Y.0.i").parallel("Y.1.i")'),
    ("unique", {}, 's.parallel("Y.1.i")'),
    ("unique", {"N": 6}, 's.vectorize("Y.1.i")'),
    ("rows", {}, 's.parallel("H.1.i")'),
    ("rows", {"M": 6}, 's.reorder("H.1.j", "H.1.i").vectorize("H.1.i")'),
    ("exact", {"K": 6}, 's.rfactor("k").vectorize("C.k")'),
    ("exact", {}, 's.split("k", 4).reorder("ki", "ko")'),
    ("largest", {"K": 6}, 's.reorder("k", "j")'),
    ("largest", {"M": 2}, 's.peel("i", 0, 1).reorder("j", "i").reorder("j", "k")'),
    ("repeat", {}, 's.split("k", 2, tail="peel").split("y.ki", 2, tail="peel").split("l", 3, tail="peel").parallel("j")'),
    ("updates", {}, 's.split("Y.1.i", 2).reorder("Y.1.ii", "Y.1.io")'),
    ("lag", {}, 's.compute_at("h", "Y.i")'),
    ("column", {}, 's.compute_at("h", "Y.i").parallel("Y.i")'),
    ("column", {}, 's.compute_at("h", "Y.j")'),
    ("chain", {}, 's.compute_at("z", "Y.i").compute_at("t", "Y.i").parallel("Y.i")'),
    ("softmax", {}, 's.compute_at("Y_sum", "Y.i").compute_at("e", "Y.i").compute_at("m", "Y.i").parallel("Y.i")'),
    ("softmax", {"M": 8}, 's.vectorize("m.i").parallel("e.j")'),
    ("padded", {}, 's.parallel("t.2.i").parallel("Y.i")'),
    ("skewed", {}, 's.reorder("Y.1.i", "j")'),
    ("ragged", {}, 's.parallel("i").split("j", 2)'),
]


@pytest.mark.parametrize("op, sizes, steps", ILLEGAL)
def test_illegal(op, sizes, steps):
    s = tx.schedule(OPS[op], **sizes)
    with pytest.raises(tx.ScheduleError) as error:
        exec(steps, {"s": s})
    assert error.value.code == "order"
    assert error.value.witness


@pytest.mark.parametrize("op, sizes, steps", LEGAL)
def test_legal(op, sizes, steps):
    s = tx.schedule(OPS[op], **sizes)
    exec(steps, {"s": s})
    bound = {v: sizes.get(v.name, 6) for v in s.program.sizes}
    arrays = random_arrays(s.program, bound)
    if op == "unique":
        arrays[1][:] = [3, 1, 5, 0, 2, 4]
    for order in ORDERS:
        check(Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, arrays, order)


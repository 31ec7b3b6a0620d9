"""`rfactor` where data says what is added to: private copies, joined; laws at sizes around a
tile, certificates, complaints.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import Scheduled, check, random_arrays
from tests.schedule.steps.cases import complaint
from texpr.ir.interpreter.loop import ORDERS
from texpr.passes.loop.place_buffers import place
from texpr.passes.loop.simplify_guards import drop_guards

OPS = {
    "histogram": "op histogram(X: i32[N] in 0..5) -> H: i32[5] { H[v] = 0  H[X[i]] += 1 }",
    "rows": "op rows(X: i32[M, N] in 0..5) -> H: i32[M, 5] { H[r, v] = 7  H[r, X[r, i]] += 1 }",
    "largest": "op largest(X: f32[N], idx: i32[N] in 0..M, b: f32[M]) -> Y: f32[M] { Y[n] = b[n]  Y[idx[i]] "
    "max= X[i] }",
    "sums": "op sums(X: f32[N], idx: i32[N] in 0..M, b: f32[M]) -> Y: f32[M] { Y[n] = b[n]  Y[idx[i]] += "
    "X[i] }",
    "halves": "op halves(X: f32[M, N]) -> Y: f32[M] { Y[i] = 1  Y[(i + j) // 2 | drop] max= X[i, j] }",
    "bytes": "op bytes(X: i32[N] in 0..5) -> H: u8[5] { H[v] = 3  H[X[i]] *= u8(X[i]) }",
    "totals": "op totals(A: f32[N, M], idx: i32[N] in 0..M, b: f32[M]) -> Y: f32[M] { Y[n] = b[n]  Y[idx[i]] "
    "+= sum(k: A[i, k]) * 2 }",
    "apart": "op apart(X: i32[N], idx: i32[N] in 0..M distinct, b: i32[M]) -> Y: i32[M] { Y[n] = 0  "
    "Y[idx[i]] += X[i] }",
    "evens": "op evens(X: i32[N]) -> Y: i32[2 * N] { Y[k] = 1 for k in 0..2 * N  Y[2 * i] += X[i] }",
}
SCHEDULES = [
    ("histogram", {}, 's.split("i", 4).rfactor("io").parallel("io")'),
    ("histogram", {"N": 9}, 's.split("i", 4).rfactor("ii").unroll("ii")'),
    ("histogram", {}, 's.rfactor("i").parallel("i")'),
    ("rows", {}, 's.split("i", 4).rfactor("io").parallel("io")'),
    ("rows", {}, 's.split("H.1.r", 4).split("i", 4).rfactor("io").parallel("H.1.ro").parallel("io")'),
    ("largest", {}, 's.split("i", 4).rfactor("io").parallel("io")'),
    ("sums", {}, 's.split("i", 4).rfactor("io", reassoc=True).parallel("io")'),
    ("totals", {}, 's.split("i", 4).rfactor("io", reassoc=True).parallel("io")'),
    ("totals", {}, 's.split("i", 4).rfactor("io", reassoc=True).split("k", 3).rfactor("ki", reassoc=True)'),
    ("totals", {}, 's.rfactor("k", reassoc=True).rfactor("i", reassoc=True).parallel("i")'),
    ("sums", {}, 's.split("i", 4).split("ii", 2).rfactor("io", reassoc=True).rfactor("iio", reassoc=True)'),
    ("halves", {}, 's.rfactor("j").parallel("j")'),
    ("bytes", {}, 's.split("i", 4, tail="peel").rfactor("io")'),
    ("bytes", {}, 's.split("i", 4, tail="clip").rfactor("ii")'),
]
SIZES = (0, 1, 3, 4, 5, 9)


@pytest.mark.parametrize("op, constant, text", SCHEDULES)
def test_every_bit_at_every_size(op, constant, text):
    s = tx.schedule(tx.op(OPS[op]), **constant)
    exec(text, {"s": s})
    s.certificate()
    for n in SIZES:
        sizes = {v: constant.get(v.name, max(n, int(v.name == "M"))) for v in s.program.sizes}
        arrays = random_arrays(s.program, sizes)
        if op in ("sums", "totals"):
            arrays = [
                np.rint(a) if a.dtype.kind == "f" else a for a in arrays
            ]  # exact in any order, and -0.0 among them
        case = Scheduled(s.program, sizes, s.kernel, s.steps)
        for order in ORDERS:
            check(case, s.kernel, arrays, order)
        check(case, drop_guards(place(s.kernel)), arrays)


def test_step(golden):
    s = tx.schedule(tx.op(OPS["rows"])).split("i", 8).rfactor("io").parallel("io")
    golden(f"{s}\n{s.script()}")


def test_private_copies_run_at_once():
    s = tx.schedule(tx.op(OPS["histogram"])).split("i", 64).rfactor("io").parallel("io")
    X = np.random.default_rng(0).integers(0, 5, 1000).astype(np.int32)
    np.testing.assert_array_equal(s.compile()(X), np.bincount(X, minlength=5))


REFUSED = {
    "histogram": ['s.rfactor("v")', 's.split("i", 8).parallel("io")'],
    "sums": ['s.rfactor("i")', 's.parallel("i")'],
    "rows": ['s.rfactor("H.1.r")'],
    "apart": ['s.rfactor("Y.1.i")'],
    "evens": ['s.split("i", 4).rfactor("io")'],
}


@pytest.mark.parametrize("op", REFUSED)
def test_refused(op, golden):
    golden("\n".join(complaint(tx.schedule(tx.op(OPS[op])), text) for text in REFUSED[op]))

"""Nested parallel loops that share out the iterations of both: the same values, whatever the
sizes.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import TEXTS, Scheduled, check, random_arrays
from texpr.ir.interpreter.loop import ORDERS
from texpr.ir.loop import For
from texpr.ir.loop_kind import PARALLEL
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import walk
from texpr.ir.verifier.program import verify_kernel
from texpr.passes.loop import balance_nested_parallel as share
from texpr.passes.loop.balance_nested_parallel import share_nests

SCHEDULES = {
    "stencil": 's.parallel("i").parallel("j")',
    "matmul": 's.tile("i", "j", sizes=(2, 4)).parallel("io").parallel("jo")',
    "gather": 's.parallel("k").parallel("d")',
    "bordered": 's.parallel("Y.i").parallel("Y.j").parallel("t.i").parallel("t.j")',
}


@pytest.mark.parametrize("grain", [1, 3, 8])
@pytest.mark.parametrize("op", SCHEDULES)
def test_every_bit_at_every_size(op, grain):
    s = tx.schedule(tx.op(TEXTS[op]))
    exec(SCHEDULES[op], {"s": s})
    assert s.certificate()
    with mock.patch.object(share, "GRAIN", grain):
        shared = share_nests(s.kernel)
    verify_kernel(shared)
    assert not any(
        isinstance(inner, For) and inner.kind == PARALLEL
        for n in walk(shared)
        if isinstance(n, For) and n.kind == PARALLEL
        for inner in walk(*n.body)
    )
    for m, n in [(0, 3), (3, 0), (1, 1), (2, 7), (7, 2), (5, 5)]:
        sizes = {v: {"M": m, "N": n}.get(v.name, 3) for v in s.program.sizes}
        if op == "gather" and sizes[next(v for v in sizes if v.name == "N")] == 0:
            continue
        for order in ORDERS:
            check(
                Scheduled(s.program, sizes, shared, s.steps), shared, random_arrays(s.program, sizes), order
            )


def test_picture(golden):
    s = tx.schedule(tx.op(TEXTS["stencil"])).parallel("i").parallel("j")
    golden(show_kernel(share_nests(s.kernel)))


@pytest.mark.parametrize("shape", [(2, 50_000), (50_000, 2), (0, 7), (1, 16_385)])
def test_compiled(shape):
    X = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    op = tx.op("op f(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = X[i, j] * 2 + 1 }")
    with tx.options(certify=True):
        np.testing.assert_array_equal(tx.schedule(op).parallel("i").parallel("j").compile()(X), X * 2 + 1)


def test_loops_that_stay_as_they_are():
    """The inner loop depends on the outer one; the outer one is long enough; something stands
    beside the inner one.
    """
    ragged = (
        tx.schedule(
            tx.op(
                "op f(X: f32[M, M]) -> Y: f32[M, M] { Y[i, j] = X[i, j] * 2 for i in 0..M, j in 0..i + 1  "
                "Y[i, j] = 0 for i in 0..M, j in i + 1..M }"
            )
        )
        .parallel("Y.0.i")
        .parallel("Y.0.j")
    )
    long = tx.schedule(tx.op(TEXTS["stencil"]), M=1000).parallel("i").parallel("j")
    beside = tx.schedule(tx.op(TEXTS["chain"])).compute_at("z", "Y.i").parallel("Y.i").parallel("Y.j")
    for s in (ragged, long, beside):
        assert share_nests(s.kernel) is s.kernel

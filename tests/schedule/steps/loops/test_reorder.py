"""`reorder(..., reassoc=True)`: terms of float sums change places, where that is said, and
nothing else does.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.schedule.steps.cases import EIGHT, listing, refusals
from texpr.support.errors import ScheduleError

BOX = "op box(X: f32[N, M], W: f32[K, N, M]) -> Y: f32[K] { Y[k] = sum(i, j: X[i, j] * W[k, i, j]) }"
PREFIX = (
    "op prefix(X: f32[N, M]) -> Y: f32[N, M] { Y[i, j] = X[i, j] + (if i > 0 and j + 1 < M then Y[i - 1, j + "
    "1] else 0) }"
)


def test_terms_change_places():
    s = tx.schedule(tx.op(BOX), N=3, M=5, K=4).reorder("j", "i", reassoc=True)
    assert s.certificate().reassociated == ("Y",) and s.script() == 'reorder("j", "i", reassoc=True)\n'
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((3, 5)).astype("f4"), rng.standard_normal((4, 3, 5)).astype("f4")
    total = np.zeros(4, "f4")
    for j in range(5):
        for i in range(3):
            total += x[i, j] * w[:, i, j]
    np.testing.assert_array_equal(s.compile()(x, w), total)


def test_not_unless_it_is_said():
    with pytest.raises(ScheduleError, match="reverses a dependence"):
        tx.schedule(tx.op(BOX), N=3, M=5, K=4).reorder("j", "i")


def test_what_is_read_stays_in_order():
    with pytest.raises(ScheduleError, match="reverses a dependence"):
        tx.schedule(tx.op(PREFIX), N=6, M=6).reorder("j", "i", reassoc=True)


def test_other_orders_keep_their_roundings():
    """Loops over elements change places: sums are what they were."""
    product = tx.op(
        "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
    )
    assert tx.schedule(product, M=4, N=4, K=8).reorder("j", "i").certificate().reassociated == ()


def test_what_it_takes():
    with pytest.raises(ScheduleError, match="`reassoc` is True or False, not 1"):
        tx.schedule(tx.op(BOX), N=3, M=5, K=4).reorder("j", "i", reassoc=1)  # pyright: ignore[reportArgumentType]


LISTINGS = {
    "reorder": ("stencil", {}, 's.reorder("j", "i")'),
    "reorder_distributes": ("matmul", {}, 's.reorder("i", "k", "j")'),
    "reorder_outward": ("matmul", {}, 's.reorder("k", "i", "j")'),
    "reorder_triangle": ("ragged", {}, 's.reorder("j", "i")'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.reorder("i", "i")'),
    ("matmul", EIGHT, 's.reorder("i", "z")'),
    ("diagonal", {}, 's.reorder("j", "i")'),
    ("scalar", {}, "s.reorder('i', 'j')"),
]


def test_refusals(golden):
    golden(refusals(REFUSED))

"""Prefetches of operands that come from beyond the second cache once, in the loop over the terms."""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.autoschedule.driver import auto
from texpr.ir.machine import Machine

MACHINE = Machine(vector_bytes=32, vector_registers=16, caches=(32 << 10, 256 << 10), cores=1)
PRODUCTS = """op products(U: f32[A, K, C, 6], V: f32[A, C, T]) -> M: f32[A, K, 6, T] {
  M[a, k, i, t] = sum(c: U[a, k, c, i] * V[a, c, t])
}"""


def script(**sizes: int) -> str:
    steps, _ = auto(tx.schedule(tx.op(PRODUCTS), **sizes).kernel, MACHINE)
    return "\n".join(map(str, steps))


@pytest.mark.parametrize("terms", [256, 300, 512])
def test_weights_that_one_tile_uses(terms: int):
    """Of six elements each term takes 24 bytes: 64 terms ahead is the distance."""
    assert 'prefetch("U", "M.c", 64)' in script(A=8, K=16, C=terms, T=16)


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param({"A": 2, "K": 4, "C": 256, "T": 16}, id="stays in the second cache"),
        pytest.param({"A": 8, "K": 16, "C": 256, "T": 64}, id="several tiles use a panel"),
        pytest.param({"A": 40, "K": 20, "C": 60, "T": 16}, id="few terms"),
    ],
)
def test_others(sizes: dict[str, int]):
    assert "prefetch" not in script(**sizes)

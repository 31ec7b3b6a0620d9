"""Loops over rows that become one: products of all rows of all images, with sums in registers
and copies in panels.
"""

from __future__ import annotations

import pytest

import texpr as tx
from bench.inner.assembly import inner_loops, on_stack, products
from tests.properties.schedule.drawing import Scheduled, check, random_arrays
from texpr.autoschedule.cpu.gemm import large_contraction, packed
from texpr.autoschedule.cpu.gemm.gemm_costs import GemmCosts
from texpr.autoschedule.driver import auto
from texpr.ir.machine import Machine

TINY = Machine(vector_bytes=16, vector_registers=32, caches=(64, 128), cores=2)
"""Caches so small that every product is a large one."""
LAST = (
    "op last(X: f32[N, H, W, C], F: f32[C, K]) -> Y: f32[N, H, W, K] { Y[n, y, x, k] = sum(c: X[n, y, x, c] "
    "* F[c, k]) }"
)
FIRST = (
    "op first(X: f32[N, C, H, W], F: f32[K, C]) -> Y: f32[N, K, H, W] { Y[n, k, y, x] = sum(c: X[n, c, y, x] "
    "* F[k, c]) }"
)
ONE = "op one(X: f32[H, W, C], F: f32[C, K]) -> Y: f32[H, W, K] { Y[y, x, k] = sum(c: X[y, x, c] * F[c, k]) }"
SKIPS = (
    "op skips(X: f32[N, H, W, C], F: f32[C, K]) -> Y: f32[N, H, W//2, K] { Y[n, y, x, k] = sum(c: X[n, y, "
    "2*x, c] * F[c, k]) }"
)
PADDED = (
    "op padded(X: f32[N, H, W, C], F: f32[C, K]) -> Y: f32[N, H, W, K] { Y[n, y, x, k] = sum(c: X[n, y - 1, "
    "x, c | 0] * F[c, k]) }"
)
USED = (
    "op used(X: f32[N, H, W, C], F: f32[C, K]) -> Y: f32[N, H, W, K] { S[n, y, x, k] = sum(c: X[n, y, x, c] "
    "* F[c, k])\n"
    "Y[n, y, x, k] = exp(S[n, y, x, k]) + S[n, H - 1 - y, x, k] }"
)
SIZES = {"N": 3, "H": 9, "W": 7, "C": 64, "K": 37}


def scheduled(text: str, machine: Machine = TINY, **sizes: int) -> tx.Schedule:
    s = tx.schedule(tx.op(text), **{k: v for k, v in (SIZES | sizes).items() if k in text.partition("{")[0]})
    s.steps[:], s.kernel = auto(s.kernel, machine)
    return s


def correct(s: tx.Schedule, sizes: dict[str, int]) -> None:
    bound = {v: sizes[v.name] for v in s.program.sizes}
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "shuffled"
    )
    assert "every sum has all its terms" in str(s.certificate())


@pytest.mark.parametrize("depth", [1024, 32], ids=["whole sums", "blocks of terms"])
@pytest.mark.parametrize(
    "text, joined", [(LAST, "n y ny x"), (FIRST, "y x"), (ONE, "y x")], ids=["last", "first", "one"]
)
def test_loops_that_walk_through_memory_as_one_are_one(text: str, joined: str, depth: int, monkeypatch):
    costs = GemmCosts(block_terms=depth, collapsed_lane_rows=32)
    for module in (large_contraction, packed):
        monkeypatch.setattr(module, "GEMM_COSTS", costs)
    s = scheduled(text)
    assert [n for step in s.steps if step.name == "fuse" for n in step.args] == [
        f"Y.{n}" for n in joined.split()
    ]
    assert ("cache_write" in s.script()) == (depth == 32) and "cache_read" in s.script(), s.script()
    correct(s, SIZES)


@pytest.mark.parametrize("text", [SKIPS, PADDED, USED], ids=["every second one", "edges", "of another nest"])
def test_others_are_not(text: str):
    s = scheduled(text)
    assert not any(step.name == "fuse" and "y" in str(step.args) for step in s.steps), s.script()
    correct(s, SIZES)


@pytest.mark.parametrize("channels", [256, 2048], ids=["whole sums", "blocks of terms"])
def test_their_sums_are_in_registers(channels: int):
    """Tiles that begin in one image and end in the next: 6 rows of 4 registers, two terms an
    iteration.
    """
    s = tx.schedule(tx.op(LAST), N=8, H=15, W=15, C=channels, K=64).auto("x86-64-v4")
    main = max(inner_loops(s.compile("x86-64-v4").asm), key=products)
    assert products(main) == 48 and not on_stack(main), main


STEPS = """fuse("Y.n", "Y.y", name="ny")
fuse("Y.ny", "Y.x", name="r")
split("Y.r", 8)
reorder("Y.ro", "Y.c", "Y.ri", "Y.k")
"""


@pytest.mark.parametrize(
    "step, buffer",
    [
        ('cache_read("X", "Y.ro")', "X_cache: f32[8, 64]"),
        ('cache_write("Y_acc", "Y.c")', "Y_acc_tile: f32[8, 37]"),
    ],
    ids=["read", "write"],
)
def test_buffers_of_tiles_of_joined_loops_are_boxes(step: str, buffer: str):
    s = tx.schedule(tx.op(LAST), **SIZES).replay(STEPS + step)
    assert f"let {buffer}" in str(s), str(s)
    correct(s, SIZES)


def test_what_is_read_beyond_an_edge_is_no_neighbour_in_memory():
    """Behind the end of a row the next one begins: there the copy has the next one, and reads
    keep their conditions.
    """
    op = tx.op("op f(X: f32[4, 6]) -> Y: f32[4, 6] { Y[i, j] = X[i, j + 1 | 0] * 2 }")
    s = tx.schedule(op).fuse("i", "j").split("ij", 8).cache_read("X", "ijo")
    correct(s, {})

"""Convolutions on a GPU: boxes of positions in shared memory, sums in registers, whatever the
rank, the strides and the layout.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.runtime.emulator.test_fibers import SM80, emulated, lowered
from tests.targets.cases import CONV2D, Case, assert_close, problem
from tests.targets.gpu.test_barriers import CALL, without_barrier
from tests.targets.gpu.test_ptx import assemble
from texpr.targets import compile_kernel

PLAIN = CONV2D.replace(", b: f32[K]", "").replace("b[k] + ", "")
LAST = """
op last(X: f32[N, H, W, C], F: f32[R, Q, C, K]; S = 1, P = 0) -> Y: f32[N, (H + 2*P - R)//S + 1, (W + 2*P - Q)//S + 1, K]
  require S >= 1, R <= H + 2*P, Q <= W + 2*P {
  Y[n, y, x, k] = sum(r, q, c: X[n, S*y + r - P, S*x + q - P, c | 0] * F[r, q, c, k])
}"""
GROUPS = """
op groups(X: f32[N, G, C, H, W], F: f32[G, K, C, R, Q]) -> Y: f32[N, G, K, H - R + 1, W - Q + 1] require R <= H, Q <= W {
  Y[n, g, k, y, x] = sum(c, r, q: X[n, g, c, y + r, x + q] * F[g, k, c, r, q])
}"""
DILATED = """
op dilated(X: f32[N, C, H, W], F: f32[K, C, R, Q]) -> Y: f32[N, K, H - 2*R + 2, W - 2*Q + 2] require 2*R <= H + 1, 2*Q <= W + 1 {
  Y[n, k, y, x] = sum(c, r, q: X[n, c, y + 2*r, x + 2*q] * F[k, c, r, q])
}"""
LINES = """
op lines(X: f32[N, C, L], F: f32[K, C, R]; S = 1, P = 0) -> Y: f32[N, K, (L + 2*P - R)//S + 1] require S >= 1, R <= L + 2*P {
  Y[n, k, x] = sum(c, r: X[n, c, S*x + r - P | 0] * F[k, c, r])
}"""
SPACES = """
op spaces(X: f32[N, C, D, H, W], F: f32[K, C, P, R, Q]) -> Y: f32[N, K, D - P + 1, H - R + 1, W - Q + 1] require P <= D, R <= H, Q <= W {
  Y[n, k, z, y, x] = sum(c, p, r, q: X[n, c, z + p, y + r, x + q] * F[k, c, p, r, q])
}"""
WEIGHTS = """
op weights(X: f32[N, C, H, W], G: f32[N, K, H - 2, W - 2]) -> D: f32[K, C, 3, 3] require H >= 3, W >= 3 {
  D[k, c, r, q] = sum(n, y, x: X[n, c, y + r, x + q] * G[n, k, y, x])
}"""

CASES = [
    Case("bias", CONV2D, ((2, 5, 14, 14), (24, 5, 3, 3), (24,)), {"S": 1, "P": 1}),
    Case("even", PLAIN, ((2, 16, 9, 9), (16, 16, 3, 2)), {"S": 2, "P": 0}),
    Case("point", PLAIN, ((2, 20, 9, 9), (16, 20, 1, 1)), {"S": 2, "P": 0}),
    Case("last", LAST, ((2, 11, 9, 8), (3, 3, 8, 16)), {"S": 2, "P": 1}),
    Case("groups", GROUPS, ((1, 2, 4, 10, 10), (2, 10, 4, 3, 3))),
    Case("dilated", DILATED, ((1, 4, 12, 14), (16, 4, 3, 3))),
    Case("lines", LINES, ((2, 6, 75), (12, 6, 5)), {"S": 2, "P": 2}),
    Case("spaces", SPACES, ((1, 3, 5, 7, 9), (8, 3, 2, 3, 3))),
    Case("weights", WEIGHTS, ((2, 9, 7, 8), (2, 16, 5, 6))),
]

HALF = (
    LAST.replace("op last", "op half")
    .replace("X: f32", "X: bf16")
    .replace("F: f32", "F: bf16")
    .replace("c | 0]", "c | 0])")
    .replace("X[n, S", "f32(X[n, S")
    .replace("F[r, q, c, k])", "f32(F[r, q, c, k]))")
)
POINTS = (
    "op points(X: f16[N, H, W, C], F: f16[K, C]) -> Y: f32[N, H, W, K] { Y[n, y, x, k] = sum(c: f32(X[n, y, "
    "x, c]) * f32(F[k, c])) }"
)
WARPS = [
    Case("half", HALF, ((1, 9, 14, 16), (3, 2, 16, 32)), {"S": 1, "P": 1}),
    Case("half", HALF, ((2, 17, 16, 24), (3, 3, 24, 32)), {"S": 2, "P": 1}),
    Case("points", POINTS, ((2, 7, 7, 16), (40, 16))),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_emulated_and_proven(case: Case):
    """Some hundred products of normal numbers of size 2, added in the order of the text: 1e-4."""
    plan = tx.Schedule(problem(case).program, problem(case).sizes).auto("sm_80")
    assert "shared" in plan.script()
    plan.certificate()
    np.testing.assert_allclose(emulated(case)[0], problem(case).expected[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", WARPS, ids=str)
def test_channels_last_on_tensor_cores(case: Case):
    """Rows of a tile are positions along one loop or two, of which copies hold what lies beyond
    the edges, too.
    """
    plan = tx.Schedule(problem(case).program, problem(case).sizes).auto("sm_80")
    assert ', "mma_' in plan.script()
    np.testing.assert_allclose(emulated(case)[0], problem(case).expected[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "shapes", (((1, 9, 14, 16), (3, 2, 16, 32)), ((2, 17, 16, 24), (3, 3, 24, 32))), ids=str
)
def test_rounded_factors(shapes: tuple[tuple[int, ...], ...]):
    """Channels last in f32, where tf32 is permitted: 11 bits of both factors, of some hundred
    products of normal numbers of size 2.
    """
    case = Case("last", LAST, shapes, {"S": 2, "P": 1})
    with tx.options(tf32=True):
        plan = tx.Schedule(problem(case).program, problem(case).sizes).auto("sm_80")
    assert (
        ', "mma_tf32"' in plan.script()
        and "tf32: factors are rounded to tf32 in Y" in plan.certificate().rounding
    )
    (found,), (exact,) = emulated(case, plan), problem(case).expected
    apart = np.abs(found - exact).max()
    assert 1e-4 < apart < 4 * 2.0**-10 * np.sqrt(27 * 24) * 4


def test_tensor_cores_are_proven():
    plan = tx.Schedule(problem(WARPS[1]).program, problem(WARPS[1]).sizes).auto("sm_80")
    assert plan.certificate().reassociated == ("Y",)


def test_a_barrier_matters():
    case = CASES[1]
    assert lowered(case)[1].count(CALL) == 2
    assert not np.allclose(emulated(case, change=without_barrier(0))[0], problem(case).expected[0], rtol=1e-3)


def test_what_few_products_have():
    """Neither channels nor positions enough for a block: a thread for each element."""
    case = Case("few", PLAIN, ((1, 3, 5, 5), (4, 3, 3, 3)), {"S": 1, "P": 1})
    assert "shared" not in tx.Schedule(problem(case).program, problem(case).sizes).auto("sm_80").script()


@pytest.mark.parametrize(
    ("text", "sizes", "most"),
    [
        (PLAIN, {"N": 8, "C": 64, "H": 56, "W": 56, "K": 64, "R": 3, "Q": 3}, 80),
        (WEIGHTS, {"N": 8, "C": 64, "H": 56, "W": 56, "K": 64}, 80),
    ],
)
def test_sums_stay_in_registers(text: str, sizes: dict[str, int], most: int, tmp_path: Path):
    from texpr.compiler import pass_pipeline

    plan = tx.schedule(tx.op(text), **sizes).auto("sm_80")
    ptx = compile_kernel(pass_pipeline.prepared(plan.kernel, SM80), SM80).assembly
    said = assemble(ptx, "sm_80", tmp_path)
    assert ".local" not in ptx and ptx.count("bar.sync") == 2
    assert " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said
    assert int(re.findall(r"Used (\d+) registers", said)[0]) <= most


def test_picture(golden):
    golden(tx.schedule(tx.op(PLAIN), N=8, C=64, H=56, W=56, K=64, R=3, Q=3, S=1, P=1).auto("sm_80").script())


@pytest.mark.parametrize(("rows", "columns"), [(8, 32), (32, 8)])
def test_one_tile_is_all_there_is(rows: int, columns: int):
    """The gradient of a small layer: no loop is left around the tile, so nothing is copied for
    it.
    """
    given = Case(
        "weights",
        "op weights(X: f32[N, T, I], Y: f32[N, T, J]) -> W: f32[I, J] { W[i, j] = sum(n, t: X[n, t, i] * "
        "Y[n, t, j]) }",
        ((2, 4, rows), (2, 4, columns)),
    )
    assert_close(emulated(given), problem(given).expected)

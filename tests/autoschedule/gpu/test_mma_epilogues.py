"""What becomes of sums on tensor cores of sm_80: computed in the lanes that hold them, by the
launch that adds them up.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.autoschedule.gpu.test_gemm import compiled
from tests.autoschedule.gpu.test_warpgroup_gemm import LAYER, right
from tests.runtime.emulator.test_fibers import SM80, emulated
from tests.targets.cases import Case, kernel_of, problem
from tests.targets.gpu.sass import count, instructions
from tests.targets.gpu.test_ptx import assemble
from texpr.support.errors import CompileError
from texpr.targets import emit_llvm

RESIDUAL = """
op residual(A: f16[H, M, K], B: f16[H, K, N], R: f32[H, M, N]) -> Y: f16[H, M, N] {
  Y[h, i, j] = f16(R[h, i, j] + tanh(sum(k: f32(A[h, i, k]) * f32(B[h, k, j]))))
}"""
SCALED = """
op scaled(A: i8[M, K], B: i8[N, K], s: f32[N]) -> Y: f32[M, N] { Y[i, j] = f32(sum(k: i32(A[i, k]) * i32(B[j, k]))) * s[j] }"""
DOUBLE = """
op double(A: f64[M, K], B: f64[K, N], b: f64[N]) -> Y: f64[M, N] { Y[i, j] = max(b[j] + sum(k: A[i, k] * B[k, j]), 0) }"""
SINGLE = DOUBLE.replace("f64", "f32").replace("op double", "op single")
WINDOW = """
op window(X: bf16[N, H, W, C], F: bf16[R, Q, C, K], b: f32[K]; S = 1, P = 0) -> Y: bf16[N, (H + 2*P - R)//S + 1, (W + 2*P - Q)//S + 1, K]
  require S >= 1, R <= H + 2*P, Q <= W + 2*P {
  Y[n, y, x, k] = bf16(max(b[k] + sum(r, q, c: f32(X[n, S*y + r - P, S*x + q - P, c | 0]) * f32(F[r, q, c, k])), 0))
}"""
WHOLE = Case("layer", LAYER, ((128, 64), (64, 64), (64,)))
ODD = Case("layer", LAYER, ((70, 50), (37, 50), (37,)))
CASES = [
    WHOLE,
    ODD,
    Case("layer", LAYER, ((33, 21), (40, 21), (40,)), fixed=False),
    Case("residual", RESIDUAL, ((2, 64, 64), (2, 64, 72), (2, 64, 72))),
    Case("scaled", SCALED, ((70, 64), (64, 64), (64,))),
    Case("double", DOUBLE, ((64, 32), (32, 66), (66,))),
    Case("window", WINDOW, ((1, 9, 14, 16), (3, 2, 16, 32), (32,)), {"S": 1, "P": 1}),
    Case("window", WINDOW, ((2, 19, 40, 16), (3, 3, 16, 40), (40,)), {"S": 2, "P": 0}),
]


def scheduled(given: Case) -> tx.Schedule:
    return tx.Schedule(problem(given).program, problem(given).sizes if given.fixed else {}).auto("sm_80")


@pytest.mark.parametrize("given", CASES, ids=str)
def test_emulated(given: Case):
    """Any type, any number of rows and columns, rows along one loop or two; neighbours are
    computed and stored together.
    """
    s = scheduled(given)
    script = s.script()
    assert ', "mma_' in script and '.lane", "thread.x")' in script and "store_mma" not in script
    assert right(emulated(given, s)[0], problem(given).expected[0])


def test_rounded_factors():
    """Sums of 64 products whose factors have 11 bits each."""
    given = Case("single", SINGLE, ((64, 64), (64, 72), (72,)))
    with tx.options(tf32=True):
        s = scheduled(given)
        script = s.script()
    assert ', "mma_tf32"' in script and '.lane", "thread.x")' in script
    np.testing.assert_allclose(emulated(given, s)[0], problem(given).expected[0], atol=64 * 4 * 2.0**-10)


@pytest.mark.parametrize("given", (ODD, *CASES[2:]), ids=str)
def test_certified(given: Case):
    certificate = scheduled(given).certificate()
    assert certificate.reassociated == (() if given.name == "scaled" else ("Y",))


@pytest.mark.parametrize(
    ("correct", "wrong", "said"),
    [
        (
            'split("Y.jiii", 2,',
            'split("Y.jiii", 4,',
            "which thread uses which element differs between its uses",
        ),
        ('split("Y.iiii", 8,', 'split("Y.iiii", 4,', "threads use the same elements of it"),
    ],
)
def test_other_lanes_are_refused(correct: str, wrong: str, said: str):
    script = scheduled(WHOLE).script()
    assert script.count(correct) == 1
    with pytest.raises(CompileError, match=said):
        emit_llvm(kernel_of(WHOLE, SM80, script.replace(correct, wrong)), SM80)


def test_on_tensor_cores(tmp_path: Path):
    """One launch without spills, which reads and stores two neighbours at once: 64 sums of a
    lane are 32 pairs in 4 columns.
    """
    ptx = compiled(LAYER, 4096, 4096, 4096)
    assert ptx.count(".entry") == 1 and ".local" not in ptx
    assert " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in assemble(
        ptx, "sm_80", tmp_path
    )
    code = instructions(ptx, "sm_80", tmp_path)
    assert (
        count(code, "HMMA.16816.F32.BF16") == 32
        and count(code, "STG.E") == 32
        and count(code, "LDG.E.64.CONSTANT") == 4
    )


def test_picture(golden):
    golden(tx.schedule(tx.op(LAYER), M=4096, N=4096, K=4096).auto("sm_80").script())

"""Attention on tensor cores: exponentials stay in the registers in which the first product left
the scores.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.runtime.emulator.test_fibers import SM80, emulated
from tests.targets.cases import Case, problem
from tests.targets.gpu.sass import count, instructions, loops
from tests.targets.gpu.test_barriers import OF_WARP, without_barrier
from texpr.compiler import pass_pipeline
from texpr.ir.loop import Wait
from texpr.ir.traverse import rewrite
from texpr.support.errors import ScheduleError
from texpr.targets import compile_kernel, emit_llvm

HALF = """
op half(Q: bf16[H, S, D], K: bf16[H, T, D], V: bf16[H, T, E]) -> O: f32[H, S, E] {
  s[h, i, j] = sum(d: f32(Q[h, i, d]) * f32(K[h, j, d])) * 0.25
  m[h, i] = max(j: s[h, i, j])
  e[h, i, j] = exp(s[h, i, j] - m[h, i])
  O[h, i, v] = sum(j: f32(bf16(e[h, i, j])) * f32(V[h, j, v])) / sum(j: e[h, i, j])
}"""
CAUSAL = HALF.replace(
    "sum(d: f32(Q[h, i, d]) * f32(K[h, j, d])) * 0.25",
    "if j <= i then sum(d: f32(Q[h, i, d]) * f32(K[h, j, d])) * 0.25 else -inf",
)
RANGES = """
op ranges(Q: bf16[H, L, D], K: bf16[H, L, D], V: bf16[H, L, E]) -> O: f32[H, L, E] {
  let e: f32[H, L, L]
  s[h, i, j] = sum(d: f32(Q[h, i, d]) * f32(K[h, j, d])) * 0.25
  m[h, i] = max(j in 0..i + 1: s[h, i, j])
  e[h, i, j] = exp(s[h, i, j] - m[h, i])  for j in 0..i + 1
  O[h, i, v] = sum(j in 0..i + 1: f32(bf16(e[h, i, j])) * f32(V[h, j, v])) / sum(j in 0..i + 1: e[h, i, j])
}"""
CASES = [
    Case("half", HALF, ((1, 64, 16), (1, 128, 16), (1, 128, 16))),
    Case("causal", CAUSAL.replace("bf16", "f16"), ((1, 128, 16), (1, 128, 16), (1, 128, 16))),
    Case("ranges", RANGES, ((1, 128, 16), (1, 128, 16), (1, 128, 16))),
]


@cache
def scheduled(case: Case) -> tx.Schedule:
    return tx.Schedule(problem(case).program, problem(case).sizes).auto("sm_80")


@pytest.mark.parametrize("case", CASES[1:], ids=str)
def test_emulated(case: Case):
    """Of scores beyond the diagonal too, or up to there; exponentials are rounded relative to
    another maximum.
    """
    script = scheduled(case).script()
    assert (
        script.count("mma_") == 4
        and "quad_max_f32" in script
        and ("mask_to_zero(" in script) == (case.name == "ranges")
    )
    np.testing.assert_allclose(
        emulated(case, scheduled(case))[0], problem(case).expected[0], rtol=2e-3, atol=2e-3
    )


def test_certified():
    said = scheduled(CASES[0]).certificate().rounding
    assert (
        "exp(a - m) * exp(m - n) = exp(a - n) in O_sum, O_sum_" in said
        and "flushed: denormal numbers are zeros in s, O_sum_run" in said
    )


def test_a_barrier_matters():
    """What a warp has found out of its rows is read by other lanes than wrote it."""
    found = emulated(CASES[0], scheduled(CASES[0]), change=without_barrier(3, OF_WARP))[0]
    assert np.isnan(found).any()


def test_a_wait_matters():
    """Of the copies of a block, the next one's may be under way, its own may not."""
    kernel = scheduled(CASES[0]).kernel
    late = replace(
        kernel,
        body=tuple(
            rewrite(s, lambda n: Wait(n.pending + 1) if isinstance(n, Wait) else None) for s in kernel.body
        ),
    )
    with pytest.raises(ScheduleError, match="not proven to have arrived"):
        pass_pipeline.certificate(late, problem(CASES[0]).program, problem(CASES[0]).sizes)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (
            'swizzle("K_cache", 8, 2, 64)',
            'swizzle("K_cache", 4, 2, 64)',
            "8 neighbours of K_cache are used at once",
        ),
        ('split("s.ji", 2, tail="exact")', 'split("s.ji", 4, tail="exact")', "lives in registers, and"),
    ],
)
def test_faults_are_refused(right: str, wrong: str, said: str):
    """Units of a swizzle that rows do not fit, lanes that hold other elements than the
    instruction does.
    """
    given, script = problem(CASES[0]), scheduled(CASES[0]).script()
    assert right in script
    other = tx.Schedule(given.program, given.sizes).replay(script.replace(right, wrong))
    with pytest.raises(tx.Error, match=said):
        emit_llvm(pass_pipeline.prepared(other.kernel, SM80), SM80)


def test_on_tensor_cores(tmp_path: Path):
    """64 products of tiles for a block of terms, whose factors come from 32 loads of rows and
    from registers: scores are not stored.
    """
    plan = tx.schedule(tx.op(HALF), H=16, S=512, T=512, D=64, E=64).auto("sm_80")
    ptx = compile_kernel(pass_pipeline.prepared(plan.kernel, SM80), SM80).assembly
    assert ptx.count(".entry") == 1
    code = instructions(ptx, "sm_80", tmp_path)
    hot = max(loops(code), key=lambda body: count(body, "HMMA"))
    assert count(code, "LDL") == count(code, "STL") == 0
    assert count(hot, "HMMA.16816.F32.BF16") == count(code, "HMMA") == 64 and count(hot, "SHFL") == 8
    assert count(hot, "LDSM") <= 36 and count(hot, "LDGSTS.E.BYPASS.128") == 8 and count(hot, "STG") == 0


def test_other_attention_is_several_launches():
    """Exponentials that are not rounded, a sum that ends at a diagonal, rows that fill no tile,
    sums that registers do not hold.
    """
    exact = HALF.replace("f32(bf16(e[h, i, j]))", "e[h, i, j]")
    for text, sizes in ((exact, {"S": 64, "E": 64}), (HALF, {"S": 60, "E": 64}), (HALF, {"S": 64, "E": 256})):
        assert "quad_" not in tx.schedule(tx.op(text), H=1, T=64, D=64, **sizes).auto("sm_80").script()


def test_picture(golden):
    golden(tx.schedule(tx.op(HALF), H=16, S=1024, T=1024, D=64, E=64).auto("sm_80").script())

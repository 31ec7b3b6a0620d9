"""Attention on a GPU: one kernel that walks along blocks of terms, with scores, weights and sums
in registers and shared memory.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.runtime.emulator.test_fibers import SM80, emulated, lowered
from tests.targets.cases import Case, problem
from tests.targets.gpu.test_barriers import CALL, without_barrier
from tests.targets.gpu.test_ptx import assemble
from texpr.compiler import pass_pipeline
from texpr.targets import compile_kernel

HEADS = """
op heads(Q: f32[H, S, D], K: f32[H, T, D], V: f32[H, T, E]) -> O: f32[H, S, E] {
  s[h, i, j] = sum(d: Q[h, i, d] * K[h, j, d])
  m[h, i] = max(j: s[h, i, j])
  e[h, i, j] = exp(s[h, i, j] - m[h, i])
  O[h, i, v] = sum(j: e[h, i, j] * V[h, j, v]) / sum(j: e[h, i, j])
}"""
SCALED = """
op scaled(Q: bf16[S, D], K: bf16[T, D], V: bf16[T, E]) -> O: f32[S, E] {
  s[i, j] = sum(d: f32(Q[i, d]) * f32(K[j, d])) * 0.125
  m[i] = max(j: s[i, j])
  e[i, j] = exp(s[i, j] - m[i])
  z[i] = sum(j: e[i, j])
  O[i, v] = sum(j: e[i, j] * f32(V[j, v])) / z[i]
}"""
CHOSEN = HEADS.replace(
    "sum(d: Q[h, i, d] * K[h, j, d])", "if j <= i then sum(d: Q[h, i, d] * K[h, j, d]) * 2.0 else -inf"
)
TRIANGLE = """
op triangle(Q: f32[H, L, D], K: f32[H, M, D], V: f32[H, M, E]) -> O: f32[H, L, E] require L <= M {
  let e: f32[H, L, M]
  s[h, i, j] = sum(d: Q[h, i, d] * K[h, j, d])
  m[h, i] = max(j in 0..i + M - L + 1: s[h, i, j])
  e[h, i, j] = exp(s[h, i, j] - m[h, i])  for j in 0..i + M - L + 1
  O[h, i, v] = sum(j in 0..i + M - L + 1: e[h, i, j] * V[h, j, v]) / sum(j in 0..i + M - L + 1: e[h, i, j])
}"""
CASES = [
    Case("heads", HEADS, ((2, 64, 32), (2, 100, 32), (2, 100, 32))),
    Case("scaled", SCALED, ((70, 36), (128, 36), (128, 40))),
    Case("chosen", CHOSEN, ((1, 100, 33), (1, 100, 33), (1, 100, 32))),
    Case("triangle", TRIANGLE, ((1, 70, 33), (1, 140, 33), (1, 140, 32))),
    Case("terms", SCALED.replace("bf16", "f32"), ((64, 33), (100, 33), (100, 32))),
]


@pytest.mark.parametrize("case", CASES[:3], ids=str)
def test_emulated(case: Case):
    """Exponentials of scores up to some tens, of which f32 knows 1e-5."""
    s = tx.Schedule(problem(case).program, problem(case).sizes).auto("sm_80")
    assert s.script().startswith('allow_fma("sums")\nonline_softmax("m", 64, reassoc=True)\n')
    np.testing.assert_allclose(emulated(case, s)[0], problem(case).expected[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", CASES[1:3], ids=str)
def test_certified(case: Case):
    certificate = tx.Schedule(problem(case).program, problem(case).sizes).auto("sm_80").certificate()
    assert "exp(a - m) * exp(m - n) = exp(a - n)" in str(certificate)


@pytest.mark.parametrize(("text", "sizes"), [(HEADS, "HST"), (CHOSEN, "HST"), (TRIANGLE, "HLM")])
def test_one_launch_without_spills(text: str, sizes: str, tmp_path: Path):
    plan = tx.schedule(tx.op(text), **dict(zip(sizes, (16, 512, 512))), D=64, E=64).auto("sm_80")
    ptx = compile_kernel(pass_pipeline.prepared(plan.kernel, SM80), SM80).assembly
    said = assemble(ptx, "sm_80", tmp_path)
    assert said.count("Compiling entry function") == 1 and ".local" not in ptx
    assert " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said
    assert int(re.findall(r"Used (\d+) registers", said)[0]) <= 128


def test_a_barrier_matters():
    """What a block reads of K is there before its scores are computed."""
    case = CASES[4]
    assert lowered(case)[1].count(CALL) == 2
    found = emulated(case, change=without_barrier(1))[0]
    assert not np.allclose(found, problem(case).expected[0], rtol=1e-3)


def test_blocks_above_the_diagonal_are_not_computed():
    """Block io of rows walks along io + 1 of 8 blocks of terms; what is chosen after its sums is
    computed for all, without conditions.
    """
    rows = str(tx.schedule(tx.op(TRIANGLE), H=2, L=512, M=512, D=64, E=64).auto("sm_80"))
    chosen = str(tx.schedule(tx.op(CHOSEN), H=2, S=512, T=512, D=64, E=64).auto("sm_80"))
    assert "for O_sum__run.1.c in 0..io + 1  #" in rows and "for O_sum__run.1.c in 0..8  #" in chosen
    product = next(line for line in chosen.splitlines() if "s_acc[" in line and "+=" in line)
    assert "if" not in chosen.splitlines()[chosen.splitlines().index(product) - 1]


def test_a_block_has_the_shared_memory_that_it_uses():
    said = str(tx.schedule(tx.op(HEADS), H=2, S=512, T=512, D=64, E=64).auto("sm_80"))
    assert (
        "blocks of 256 threads, 65792 bytes of shared memory, 2 at once" in said
    )  # 64 x 64 of Q, K, V, e, and 64 of padding


def test_rows_and_terms_of_any_number():
    """One kernel for all lengths, of which neither rows nor terms fill their blocks; proven for
    all of them.
    """
    case = CASES[3]
    s = tx.schedule(tx.op(TRIANGLE), D=33, E=32).auto("sm_80")
    assert 'online_softmax("m", 64, rows=64, reassoc=True)' in s.script()
    assert s.certificate().rewrites["online_softmax"] == ("O_sum", "O_sum_")
    np.testing.assert_allclose(
        s.compile("sm_80").emulate(*problem(case).inputs), problem(case).expected[0], rtol=1e-4, atol=1e-4
    )


def test_other_maxima_are_left_alone():
    """No scores, or too few terms: sums of rows as ever."""
    few = Case("few", SCALED, ((16, 8), (16, 8), (16, 8)))
    softmax = """op softmax(X: f32[M, N]) -> Y: f32[M, N] {
  m[i] = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}"""
    assert (
        "online_softmax" not in tx.Schedule(problem(few).program, problem(few).sizes).auto("sm_80").script()
    )
    assert "online_softmax" not in tx.schedule(tx.op(softmax), M=64, N=256).auto("sm_80").script()


def test_picture(golden):
    golden(tx.schedule(tx.op(HEADS), H=16, S=1024, T=1024, D=64, E=64).auto("sm_80").script())

"""Updates that meet on a GPU: blocks share nothing, threads of a block wait for each other, and
the sums are those of the plain loops.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.runtime.emulator.test_fibers import SM80, emulated, lowered
from tests.targets.cases import Case, kernel_of, problem
from tests.targets.gpu.test_barriers import CALL, without_barrier
from texpr.compiler.imports import LIBRARY
from texpr.poly.constraints.solver import effort
from texpr.targets import compile_kernel

LINES = """
op lines(X: f32[N, C, W], F: f32[C, K, Q]; S = 1) -> Y: f32[N, K, S*(W - 1) + Q] require S >= 1, W >= 1, Q >= 1 {
  Y[n, k, x] = 0
  Y[n, k, S*x + q] += sum(c: X[n, c, x] * F[c, k, q])
}"""
PLANES = """
op planes(X: f32[N, C, H, W], F: f32[C, K, R, Q]) -> Y: f32[N, K, H + R - 3, W + Q - 3] require H + R >= 3, W + Q >= 3 {
  Y[n, k, y, x] = 1
  Y[n, k, y + r - 1, x + q - 1 | drop] += sum(c: X[n, c, y, x] * F[c, k, r, q])
}"""
WHOLE = "op whole(X: i32[N, W], F: i32[Q]) -> Y: i32[N, W + Q] { Y[n, x] = 0  Y[n, x + q] += X[n, x] * F[q] }"
CASES = [
    Case("lines", LINES, ((2, 3, 9), (3, 5, 4)), {"S": 1}),
    Case("apart", LINES, ((2, 3, 9), (3, 5, 4)), {"S": 2}),
    Case("planes", PLANES, ((2, 3, 6, 5), (3, 4, 3, 3))),
    Case("many", PLANES, ((1, 2, 3, 3), (2, 2, 20, 20))),
    Case("whole", WHOLE, ((40, 9), (3,))),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_emulated_and_proven(case: Case):
    """Some products of normal numbers of size 2, added in the order of the text: 1e-5."""
    plan = tx.Schedule(problem(case).program, problem(case).sizes).auto("sm_80")
    plan.certificate()
    np.testing.assert_allclose(emulated(case)[0], problem(case).expected[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("case", "steps"),
    (
        (CASES[2], ('bind("Y.1.nk", "block.x")', 'bind("Y.1.rq", "thread.x")')),
        (CASES[3], ('split("Y.1.rq", 256)', 'bind("Y.1.rqi", "thread.x")')),
        (CASES[4], ('bind("Y.1.n", "block.x")', 'bind("Y.1.q", "thread.x")')),
    ),
    ids=str,
)
def test_windows_are_blocks_and_their_places_threads(case: Case, steps: tuple[str, ...]):
    script = tx.Schedule(problem(case).program, problem(case).sizes).auto("sm_80").script()
    assert all(step in script for step in steps), script


def test_a_barrier_matters():
    """Without it a thread would run ahead: an element would get its terms in another order."""
    assert lowered(CASES[2])[1].count(CALL) == 1
    assert not np.array_equal(emulated(CASES[2], change=without_barrier(0))[0], emulated(CASES[2])[0])


def test_many_loops_are_decided_by_few_constraints():
    """Six loops that meet in three dimensions: as one loop they took isl minutes. A quota of
    several times what is looked at today.
    """
    op = tx.load(LIBRARY / "convolution.tx").conv_transpose3d
    program = op.program()
    plan = tx.Schedule(program, {v: 4 for v in program.sizes})
    before = effort()
    assert 'bind("Y.1.or_1q", "thread.x")' in plan.auto("sm_80").script()
    assert effort() - before < 10_000


def test_it_becomes_code():
    kernel = kernel_of(CASES[0], SM80)
    assert "bar" in compile_kernel(kernel, SM80).assembly

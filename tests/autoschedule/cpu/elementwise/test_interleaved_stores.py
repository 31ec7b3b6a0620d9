"""Elements that lie between each other are computed side by side and written by whole vectors."""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
from texpr.autoschedule.core.cost_model import COSTS


def apart(step: int, size: int) -> tx.Op:
    """An equation for each remainder of the places in a row."""
    lines = [
        f"  D[r, {step}*i + {k}] = A[r, i] * {k + 1} + B[r, {step}*i + {k}] for i in 0..{size}"
        for k in range(step)
    ]
    return tx.op(
        f"op apart(A: f32[R, {size}], B: f32[R, {step * size}]) -> D: f32[R, {step * size}] {{\n"
        + "\n".join(lines)
        + "\n}"
    )


@pytest.mark.parametrize("step", [2, 4])
@pytest.mark.parametrize("size", [5, 12, 32, 75])
def test_they_have_the_values_of_the_equations(step: int, size: int):
    s = tx.schedule(apart(step, size), R=3).auto()
    A, B = (np.random.default_rng(0).integers(-4, 5, (3, n)).astype("f4") for n in (size, step * size))
    factors = np.tile(np.arange(1, step + 1, dtype="f4"), size)
    assert (
        np.array_equal(np.asarray(s.compile()(A, B)), np.repeat(A, step, axis=1) * factors + B)
        and s.certificate()
    )


def test_one_loop_writes_them():
    s = tx.schedule(apart(2, 64), R=8).auto("x86-64-v4")
    assert 'compute_at("D.0", "D.1.i", recompute=False)' in s.script()
    assert not re.search("vscatter|vextractps|vpextr", s.compile("x86-64-v4").asm)


def test_those_that_no_vectors_weave_are_written_alone():
    script = tx.schedule(apart(3, 64), R=8).auto("x86-64-v4").script()
    assert 'compute_at("D.0", "D.2.i"' not in script and 'vectorize("D.0' in script


def test_threads_share_what_is_little_in_each_nest_and_much_together():
    """The work of all nests that are stored at once decides whether threads are worth waking."""
    phases = "\n".join(f"Y[c, 8*x + {k}] = X[c, x] * {k + 1}  for x in 0..160" for k in range(8))
    operator = tx.op(f"op woven(X: f32[C, 160]) -> Y: f32[C, 1280] {{ {phases} }}")
    each, whole = 160 * 60, 1280 * 60
    assert each < COSTS.parallel_work < whole
    assert "parallel" in tx.schedule(operator, C=60).auto("x86-64-v3").script()
    assert "parallel" not in tx.schedule(operator, C=40).auto("x86-64-v3").script()

"""Sums whose terms lie in short runs go through memory in its order, block by block."""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
from texpr.autoschedule.driver import auto
from texpr.ir.machine import Machine

CHANNELS = "op channels(X: f32[N, C, H, W]) -> Y: f32[C] { Y[c] = sum(n, h, w: X[n, c, h, w]) }"
NEAR = Machine(vector_bytes=64, vector_registers=32, caches=(32 << 10, 1 << 20), cores=2)


@pytest.mark.parametrize(
    ("sizes", "block"),
    [
        ((32, 32, 32, 32), 8),
        ((64, 24, 24, 24), 6),  # as many blocks as give each of two cores two
        ((32, 32, 8, 8), 0),  # the second cache holds them
        ((8, 32, 128, 128), 0),  # long runs
        ((32, 7, 64, 64), 0),
    ],
)  # too few sums
def test_blocks_of_sums_stand_inside_of_what_leaps(sizes, block):
    s = tx.schedule(tx.op(CHANNELS), **dict(zip("NCHW", sizes)))
    script = [str(step) for step in auto(s.kernel, NEAR)[0]]
    assert (f'split("Y.c", {block}, tail="exact")' in script) is bool(block)
    assert any(
        re.match(r'reorder\("Y.co", ("Y.n"|"Y.no", "Y.ni"), "Y.ci", ', step) for step in script
    ) is bool(block)


def test_they_are_what_they_were():
    sizes = {"N": 20, "C": 16, "H": 40, "W": 48}
    X = np.random.default_rng(0).integers(-4, 5, [*sizes.values()]).astype("f4")
    s = tx.schedule(tx.op(CHANNELS), **sizes).auto()
    assert "Y.ci" in s.script() and s.certificate()
    assert np.array_equal(np.asarray(s.compile()(X)), X.sum((0, 2, 3)))


def test_tensors_of_a_shape_are_computed_in_one_loop():
    """The last one is dearer to compute: all have as many registers as that."""
    op = tx.op("""op adam(m: f32[N], v: f32[N], p: f32[N], g: f32[N]) -> (M: f32[N], V: f32[N], P: f32[N]) {
      M[i] = 0.9 * m[i] + 0.1 * g[i]
      V[i] = 0.99 * v[i] + 0.01 * g[i] * g[i]
      P[i] = p[i] * 0.999 - 0.01 * M[i] / (sqrt(V[i]) / 0.5 + 1e-8) / (1.0 + g[i])
    }""")
    s = tx.schedule(op, N=1 << 16).auto("x86-64-v4")
    outside = [line for line in str(s).splitlines() if line.startswith("  for ")]
    assert len(outside) == 1
    assert {'compute_at("M", "P.io", recompute=False)', 'compute_at("V", "P.io", recompute=False)'} <= set(
        map(str, s.steps)
    )

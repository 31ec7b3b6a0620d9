"""Default schedules where extents are multiples of nothing, and where conditions ask for
iterations.
"""

from __future__ import annotations

import re

import pytest

import texpr as tx
from bench.inner.assembly import inner_loops


def test_threads_share_a_loop_of_several_iterations():
    """55 lanes are less than a tile: the loop over blocks of tiles has one iteration."""
    sizes = {"L": 33, "B": 23, "I": 45, "H": 55}
    gru = tx.schedule(tx.ops.gru_bidirectional, **sizes).auto("x86-64-v4")
    assert 'split("x.j", 64, tail="pad")' in gru.script() and 'parallel("x.q")' in gru.script()
    assert not re.search(r"in 0\.\.1 parallel", str(gru))


def test_rows_that_a_condition_asks_for_are_not_joined():
    """Joined, each lane would divide for its row; the rows of a plain copy are joined."""
    text = "op f(X: f32[N, M], Z: f32[N, M], p: i64 in 0..N) -> Y: f32[N, M] {{ Y[i, j] = {} }}"
    asks = tx.schedule(tx.op(text.format("if i < p then X[i, j] else Z[i, j]")), N=85, M=69).auto()
    plain = tx.schedule(tx.op(text.format("X[i, j] + Z[i, j]")), N=85, M=69).auto()
    assert "fuse" not in asks.script() and "fuse" in plain.script()
    short = tx.schedule(tx.op(text.format("if i < p then X[i, j] else Z[i, j]")), N=1000, M=3).auto()
    assert "fuse" in short.script()  # rows shorter than lanes


@pytest.mark.parametrize("channels", [19, 53])
def test_sums_of_lanes_that_are_left_out_stay_in_registers(channels: int):
    """Channels that are no multiple of the lanes, in one group: nothing is stored in the loops
    over terms.
    """
    operator = tx.ops.conv2d_grouped
    s = tx.schedule(operator, G=1, N=2, C=13, K=channels, H=20, W=40, R=3, Q=5).auto("x86-64-v4")
    loops = [
        body for body in inner_loops(s.compile("x86-64-v4").asm) if any(n.startswith("vfmadd") for n in body)
    ]
    assert loops and not any(re.match(r"vmov\w+\s+%[xyz]mm\d+, .*\(", n) for body in loops for n in body), (
        loops
    )

"""Handles of loops: steps take them, and they print as names."""

from __future__ import annotations

import pickle

import texpr as tx

TWO = """
op two(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {
  P[i, j] = sum(k: A[i, k] * B[k, j])
  C[i, j] = max(P[i, j], 0)
}"""


def test_handles_print_as_names():
    s = tx.schedule(tx.op(TWO))
    assert repr(s.loops) == "loops(P.i, P.j, k, C.i, C.j)"
    assert repr(s.split("C.i", 8).loops) == "loops(i, P.j, k, io, ii, C.j)"


def test_a_step_takes_a_handle():
    s = tx.schedule(tx.op(TWO))
    handle = s.loops[3]
    assert s.unroll(handle, 4).script() == 'unroll("C.i", 4)\n'


def test_handles_are_a_tuple():
    loops = tx.schedule(tx.op(TWO)).loops
    again = pickle.loads(pickle.dumps(loops))
    assert isinstance(again, tuple) and repr(again) == repr(loops)

"""What the code for x86-64 is made of."""

from __future__ import annotations

import pytest

import texpr as tx

CHOICE = """op choice(X: f32[N, C], t: i64[N] in 0..C, d: f32[N]) -> Y: f32[N, C] {
  Y[n, c] = (if c == t[n] then -d[n] else 0) + exp(X[n, c])
}"""


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_powers_of_two_stay_in_vectors_beside_wider_indices(dtype: str):
    """Indices of 64 bits leave half of the lanes to f32: its exponentials are still of whole vectors."""
    s = tx.schedule(tx.op(CHOICE.replace("f32", dtype)), N=64, C=1024).auto()
    asm = s.compile(target="x86-64-v4").asm
    assert "vscalefp" in asm
    assert "vcvttss2si" not in asm and "vcvttsd2si" not in asm

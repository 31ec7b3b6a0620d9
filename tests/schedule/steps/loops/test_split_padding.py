"""`split(tail="pad")` of a reduction: what may be added past its end, and that it changes no
bit.
"""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

import texpr as tx

PRODUCT = "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
REFUSED = {
    "one operand": (
        "op one(A: f32[M, K], b: f32[M]) -> c: f32[M] { c[i] = sum(k: A[i, k] * b[i]) }",
        "c_acc",
    ),
    "no product": ("op no(A: f32[M, K]) -> c: f32[M] { c[i] = sum(k: A[i, k] + 1) }", "c_acc"),
    "longer": (
        "op longer(A: f32[M, K], B: f32[M, K + 3]) -> c: f32[M] { c[i] = sum(k in 0..K: A[i, k] * B[i, k]) }",
        "c_acc",
    ),
    "negative": ("op negative(A: f32[M, K]) -> c: f32[M] { c[i] = sum(k: -A[i, k]) }", "c_acc"),
    "function": ("op function(A: f32[M, K]) -> c: f32[M] { c[i] = sum(k: exp(A[i, k])) }", "c_acc"),
}
MOST = {
    "largest": ("op largest(A: f32[M, K]) -> c: f32[M] { c[i] = max(k: A[i, k]) }", "c_acc"),
    "product of all": ("op whole(A: f32[M, K]) -> c: f32[M] { c[i] = prod(k: A[i, k]) }", "c_acc"),
}


@pytest.mark.parametrize("k", (1, 5, 8, 11))
def test_no_bit_changes(k: int):
    """Infinities, NaN and zeros of both signs, in sums that are all there is of a row, too."""
    s = tx.schedule(tx.op(PRODUCT)).split("k", 4, tail="pad")
    assert "bit-exact" in str(s.certificate())
    odd = np.array([inf, -inf, nan, -0.0, 0.0, -1.0, 1e-45, 3e38], np.float32)
    a, b = (np.random.default_rng(seed).choice(odd, shape) for seed, shape in enumerate([(9, k), (k, 7)]))
    assert s.compile()(a, b).tobytes() == tx.schedule(tx.op(PRODUCT)).compile()(a, b).tobytes()


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_a_product_of_zeros(name: str):
    text, total = REFUSED[name]
    with pytest.raises(tx.ScheduleError, match="that are not products of zeros") as error:
        tx.schedule(tx.op(text)).split("k", 4, tail="pad")
    assert f"iterations past the end of `k` would add terms to {total}" in str(error.value)
    assert 'help: tail="guard" and tail="peel" are always legal' in str(error.value)


@pytest.mark.parametrize("name", MOST)
def test_other_reductions(name: str):
    text, total = MOST[name]
    with pytest.raises(tx.ScheduleError, match=f"would write elements of {total} that are in use"):
        tx.schedule(tx.op(text)).split("k", 4, tail="pad")

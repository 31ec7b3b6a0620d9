"""`tf32(x)`: ten bits of fraction, halves away from zero, as the tensor cores of GPUs take f32."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx

ENDS = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1 + 2.0**-11,
    1 + 2.0**-11 - 2.0**-23,
    -1 - 2.0**-11,
    3.4e38,
    3.402e38,
    1e-40,
    2.0**-126,
    2.0**-137,
    2.0**-138,
    -(2.0**-137),
    2.0**-149,
]


def rounding(dtype: str) -> tx.Op:
    return tx.op(f"op rounded(X: {dtype}[N]) -> Y: {dtype}[N] {{ Y[i] = tf32(X[i]) }}")


def bits(x: np.ndarray) -> np.ndarray:
    """f32 rounded by its bits."""
    near = (x.view(np.uint32).astype(np.uint64) + 0x1000 & 0xFFFFE000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), x, near)


def numbers(dtype: type) -> np.ndarray:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 1 << 32, 20000, dtype=np.uint64).astype(np.uint32)
    finite = words.view(np.float32)[words << 1 < 0xFF000000]
    return np.concatenate(
        [np.array(ENDS, dtype), finite.astype(dtype), rng.standard_normal(2000).astype(dtype)]
    )


def test_of_f32():
    x = numbers(np.float32)
    for found in (tx.interpret(rounding("f32"), x), tx.schedule(rounding("f32")).auto().compile()(x)):
        np.testing.assert_array_equal(found, bits(x))
        assert (np.signbit(found) == np.signbit(x))[~np.isnan(x)].all()


@given(st.floats(allow_nan=False))
def test_of_f64(x: float):
    """Rounded once, to the same numbers: no other is nearer."""
    (found,) = tx.interpret(rounding("f64"), np.array([x]))
    assert not abs(found) <= 3.41e38 or float(bits(np.array([found], "f4"))[0]) == found
    if 2.0**-126 <= abs(x) <= 3.4e38:
        assert abs(found - x) <= 2.0**-11 * abs(x)


def test_compiled_f64_is_the_interpreter():
    x = np.concatenate(
        [numbers(np.float64), np.ldexp(1 + np.arange(1, 4096) / 4096, -140), [1e300, -1e300, 1e-300]]
    )
    found = tx.schedule(rounding("f64")).auto().compile()(x)
    np.testing.assert_array_equal(found, tx.interpret(rounding("f64"), x))


def test_narrower_types_stay():
    x = np.random.default_rng(0).standard_normal(100).astype("f2")
    for found in (tx.interpret(rounding("f16"), x), tx.schedule(rounding("f16")).auto().compile()(x)):
        np.testing.assert_array_equal(found, x)


def test_the_derivative_is_that_of_a_conversion():
    """A rounding has none of its own."""
    x = np.array([0.1, 2.0], "f4")
    np.testing.assert_array_equal(tx.grad(rounding("f32"))(x, np.array([3, 4], "f4")), np.array([3, 4], "f4"))

"""Floats of 8 bits: what all bits stand for, and what every number becomes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.compare import same_numbers
from tests.ir.interpreter.test_arithmetic import both
from texpr.ir.dtypes import (
    BF16,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I32,
    I64,
    ML_DTYPES,
    U64,
    DType,
    as_bits,
    bits_of,
    from_numpy,
    most,
    numbers_of,
    numpy_dtype,
    readable,
    round_float,
    stored,
)
from texpr.ir.expr import Add, Cast, Mul
from texpr.ir.interpreter.arithmetic import cast, identity, quiet, store

SMALL = pytest.mark.parametrize("t", (F8E4M3, F8E5M2), ids=str)
BITS = np.arange(256, dtype=np.uint8)


def value(bits: int, t: DType) -> float:
    """What bits stand for, by the definition: sign, exponent, fraction."""
    fraction, bias = (3, 7) if t == F8E4M3 else (2, 15)
    exponent, rest = bits >> fraction & (0x7F >> fraction), bits & (1 << fraction) - 1
    sign = -1.0 if bits >> 7 else 1.0
    if t == F8E4M3 and bits & 0x7F == 0x7F:
        return np.nan
    if t == F8E5M2 and exponent == 31:
        return np.nan if rest else sign * np.inf
    return sign * (
        rest / 2**fraction * 2.0 ** (1 - bias)
        if exponent == 0
        else (1 + rest / 2**fraction) * 2.0 ** (exponent - bias)
    )


def nearest(x: float, t: DType) -> int:
    """The bits of the nearest of all numbers, of two equally near the one whose last bit is 0;
    what is too large is beyond all.
    """
    numbers = [value(b, t) for b in range(0x7F if t == F8E4M3 else 0x7C)]
    step = numbers[-1] - numbers[-2]
    numbers.append(numbers[-1] + step)  # where the next number would be
    sign = 0x80 if np.signbit(x) else 0
    above = int(np.searchsorted(numbers, abs(x)))
    if above == len(numbers):
        best = len(numbers) - 1
    else:
        below = max(above - 1, 0)
        up, down = numbers[above] - abs(x), abs(x) - numbers[below]
        best = above if up < down or up == down and above % 2 == 0 else below
    return best | sign if best < len(numbers) - 1 or t == F8E5M2 else 0x7F


@SMALL
def test_all_bits(t: DType):
    numbers = numbers_of(BITS, t)
    np.testing.assert_array_equal(numbers, np.array([value(int(b), t) for b in BITS], np.float32))
    np.testing.assert_array_equal(np.signbit(numbers), BITS >= 0x80)
    np.testing.assert_array_equal(bits_of(numbers, t), BITS)
    np.testing.assert_array_equal(readable(BITS, t).astype(np.float32), numbers)
    assert readable(BITS, t).dtype == getattr(ml_dtypes, ML_DTYPES[t])


def near_all(t: DType) -> np.ndarray:
    """All numbers, what lies between two of them, and what lies next to either, nearer than f32
    tells.
    """
    numbers = np.array([value(b, t) for b in range(0x7F if t == F8E4M3 else 0x7C)])
    ends = np.append(numbers, 2 * numbers[-1] - numbers[-2])
    middles = (ends[1:] + ends[:-1]) / 2
    off = (0, 2.0**-23, -(2.0**-24), 2.0**-45, -(2.0**-45))
    positive = np.concatenate([x * (1 + d) for x in (numbers, middles) for d in off])
    return np.concatenate([positive, -positive, [1e30, -1e30, 1e-30, -1e-30, 1e300, 5e-324]])


@SMALL
@pytest.mark.parametrize("source", (F64, F32, F16, BF16), ids=str)
def test_rounding(t: DType, source: DType):
    """Once, to the nearest, ties to even: f64 next to a tie too, which f32 would make one."""
    with quiet():
        generator = np.random.default_rng(0)
        values = np.concatenate(
            [near_all(t), generator.standard_normal(5000) * 10.0 ** generator.integers(-8, 6, 5000)]
        )
        held = cast(values, F64, source)
        exact = np.asarray(held, np.float64)
        inside = np.isfinite(exact)
        found = store(cast(held[inside], source, t), t)
    np.testing.assert_array_equal(found, np.array([nearest(float(x), t) for x in exact[inside]], np.uint8))


@SMALL
@pytest.mark.parametrize("source", (I32, I64, U64), ids=str)
def test_integers_are_rounded_once(t: DType, source: DType):
    limits = np.iinfo(numpy_dtype(source))
    numbers = (*range(-520, 521), 61439, 61440, 61441, -61440, 2**62 + 1, limits.max, limits.min)
    whole = [n for n in numbers if limits.min <= n <= limits.max]
    found = store(cast(np.array(whole, numpy_dtype(source)), source, t), t)
    np.testing.assert_array_equal(found, np.array([nearest(float(n), t) for n in whole], np.uint8))


@SMALL
def test_as_ml_dtypes_has_it(t: DType):
    """From f32, on random bits: overflow, denormal numbers, NaN and infinities. (From f64 that
    package rounds twice.)
    """
    values = (
        np.random.default_rng(0)
        .integers(0, 2**32, 200_000, dtype=np.uint64)
        .astype(np.uint32)
        .view(np.float32)
    )
    usual = (np.random.default_rng(1).standard_normal(50_000) * 300).astype(np.float32)
    values = np.concatenate([values, usual, np.array([np.inf, -np.inf, np.nan], np.float32)])
    with np.errstate(all="ignore"):
        expected = values.astype(getattr(ml_dtypes, ML_DTYPES[t])).view(np.uint8)
        same_numbers(stored(values, t), expected, t)


def test_too_large():
    """f8e4m3 has no infinity: what is too large is NaN there. In f8e5m2 it is infinite."""
    with quiet():
        large = np.array([448.0, 464.0, 464.1, -1e9, np.inf])
        np.testing.assert_array_equal(
            numbers_of(stored(large, F8E4M3), F8E4M3), [448, 448, np.nan, np.nan, np.nan]
        )
        large = np.array([57344.0, 61439.0, 61440.0, -1e9, np.inf])
        np.testing.assert_array_equal(
            numbers_of(stored(large, F8E5M2), F8E5M2), [57344, 57344, np.inf, -np.inf, np.inf]
        )
    assert (most(F8E4M3), most(F8E5M2), most(F32)) == (448.0, np.inf, np.inf)
    assert np.isnan(round_float(500.0, F8E4M3)) and round_float(465.0, F8E5M2) == 448.0
    assert (identity("max", F8E4M3), identity("min", F8E4M3), identity("max", F8E5M2)) == (
        -448.0,
        448.0,
        -np.inf,
    )


@SMALL
def test_arithmetic_rounds_once(t: DType):
    """All pairs: sums and products are exact in f64."""
    a, b = np.repeat(BITS, 256), np.tile(BITS, 256)
    with quiet():
        x, y = (numbers_of(v, t).astype(np.float64) for v in (a, b))
    for kind, exact in ((Add, np.add), (Mul, np.multiply)):
        with quiet():
            expected = stored(exact(x, y), t)
        for found in both(t, (t, t), kind, [a, b]):
            same_numbers(found, expected, t)


@SMALL
def test_copies_keep_every_bit(t: DType):
    """Of NaN too."""
    for found in both(t, (t,), lambda a: Cast(a, dtype=t), [BITS]):
        np.testing.assert_array_equal(found, BITS)


@SMALL
def test_arrays_of_ml_dtypes(t: DType):
    given = BITS.view(getattr(ml_dtypes, ML_DTYPES[t]))
    assert from_numpy(given.dtype) == t and as_bits(given, t).dtype == np.uint8
    assert from_numpy(np.dtype(ml_dtypes.float8_e4m3b11fnuz)) is None

"""Comparing arrays."""

from __future__ import annotations

import numpy as np

from texpr.ir.dtypes import DType, numbers_of


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal shape, type and bits; any NaN equals any NaN."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    unsigned = f"u{found.dtype.itemsize}"
    both_nan = np.isnan(found) & np.isnan(expected)
    differs = ~both_nan & (found.reshape(-1).view(unsigned) != expected.reshape(-1).view(unsigned)).reshape(
        found.shape
    )
    count = np.count_nonzero(differs)
    assert not count, (
        f"{count} of {differs.size} differ, first {found[differs][0]!r}, not {expected[differs][0]!r}"
    )


def same_numbers(found: np.ndarray, expected: np.ndarray, t: DType) -> None:
    """As `assert_same_bits`, of arrays as `t` is stored, whose bits NumPy takes for integers
    where it lacks the type.
    """
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert_same_bits(*(np.asarray(numbers_of(x, t)) if t.as_bits else x for x in (found, expected)))


def same_bf16(found: np.ndarray, expected: np.ndarray) -> bool:
    """bf16 arrays, as their 16 bits, hold the same numbers."""
    nan = [(x & 0x7FFF) > 0x7F80 for x in (found, expected)]
    return bool(np.all((found == expected) | (nan[0] & nan[1])))

"""Short correlations by fewer products: the transforms are right for all data."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from texpr.graph.fusion.cook_toom import Transforms, is_correlation, transforms

SIZES = [(2, 3), (4, 3), (2, 5), (3, 2), (3, 4)]


@pytest.mark.parametrize("outputs, taps", SIZES)
def test_every_coefficient_is_right(outputs: int, taps: int):
    found = transforms(outputs, taps)
    n = outputs + taps - 1
    assert is_correlation(found)
    assert [len(found.output), len(found.taps), len(found.window)] == [outputs, n, n]


@pytest.mark.parametrize("part", ["output", "taps", "window"])
@given(st.data())
def test_one_wrong_number_is_seen(part: str, data: st.DataObject):
    right = transforms(4, 3)
    rows = [list(row) for row in getattr(right, part)]
    k = data.draw(st.integers(0, len(rows) - 1))
    j = data.draw(st.integers(0, len(rows[0]) - 1))
    rows[k][j] += data.draw(st.sampled_from([Fraction(1, 64), Fraction(-1), Fraction(2)]))
    assert not is_correlation(replace(right, **{part: tuple(map(tuple, rows))}))


def correlation(given: Transforms, taps: list[Fraction], window: list[Fraction]) -> list[Fraction]:
    """Outputs by the products."""
    products = [
        sum((g * x for g, x in zip(left, taps, strict=True)), Fraction(0))
        * sum((v * x for v, x in zip(right, window, strict=True)), Fraction(0))
        for left, right in zip(given.taps, given.window, strict=True)
    ]
    return [sum((a * p for a, p in zip(row, products, strict=True)), Fraction(0)) for row in given.output]


fractions = st.fractions(-9, 9, max_denominator=8)


@given(st.sampled_from(SIZES), st.data())
def test_outputs_are_those_of_plain_sums(size: tuple[int, int], data: st.DataObject):
    outputs, taps = size
    weights = data.draw(st.lists(fractions, min_size=taps, max_size=taps))
    window = data.draw(st.lists(fractions, min_size=outputs + taps - 1, max_size=outputs + taps - 1))
    plain = [sum(window[y + r] * weights[r] for r in range(taps)) for y in range(outputs)]
    assert correlation(transforms(outputs, taps), weights, window) == plain


def test_factors_of_images_are_exact_in_f32():
    for outputs, taps in SIZES:
        found = transforms(outputs, taps)
        for row in (*found.window, *found.output):
            for x in row:
                assert x.denominator & (x.denominator - 1) == 0 and abs(x.numerator) < 1 << 24

"""Times and rates with units."""

from __future__ import annotations

from argparse import ArgumentTypeError
from math import inf

import pytest

from texpr.tools.units import duration, rate, said_rate, said_time


@pytest.mark.parametrize(
    "text, seconds", [("2us", 2e-6), ("2 µs", 2e-6), (".5ms", 5e-4), ("1e3ns", 1e-6), ("3s", 3), ("0", 0)]
)
def test_times(text: str, seconds: float):
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text, bytes_a_second",
    [
        ("12GB/s", 12e9),
        ("1.5 MB/s", 1.5e6),
        ("100Gbit/s", 12.5e9),
        ("25Gbps", 3.125e9),
        ("8b/s", 1),
        ("1GiB/s", 2**30),
        ("inf", inf),
    ],
)
def test_rates(text: str, bytes_a_second: float):
    assert rate(text) == bytes_a_second


@pytest.mark.parametrize("text", ["2", "us", "-2us", "2 us us", "2m", "1e999s", "nans", "infs", ""])
def test_wrong_times(text: str):
    with pytest.raises(ArgumentTypeError) as error:
        duration(text)
    assert str(error.value) == f"{text}: expected a time with its unit, ns, us, ms or s: 2us"


@pytest.mark.parametrize("text", ["12", "12GB", "0GB/s", "-1GB/s", "12 Gs", "1e999B/s", "nan", ""])
def test_wrong_rates(text: str):
    with pytest.raises(ArgumentTypeError) as error:
        rate(text)
    assert str(error.value) == (
        f"{text}: expected a rate above 0 with its unit, bytes or bits a second: 12GB/s, 100Gbit/s"
    )


def test_they_are_said_with_the_unit_that_fits():
    assert [said_time(t) for t in (0, 2e-9, 2e-6, 0.0015, 3)] == ["0 ns", "2 ns", "2 us", "1.5 ms", "3 s"]
    assert [said_rate(r) for r in (5, 12e9, 1.25e6, inf)] == ["5 B/s", "12 GB/s", "1.25 MB/s", "unlimited"]

"""The tools of benchmarks: turns, medians, tables, the roof."""

from __future__ import annotations

import math

import pytest

from bench.machine import Limits
from bench.tables import geometric_mean, percent, ratio, seconds
from bench.timing import Sample, in_turns, typical, undisturbed
from texpr.support.table import aligned


def test_candidates_take_turns_and_nobody_is_always_first():
    order: list[str] = []

    def sample(name: str):
        def run() -> Sample:
            order.append(name)
            return Sample(1.0)

        return run

    found = in_turns({name: sample(name) for name in "abc"}, least=3, most=3, budget=0)
    assert "".join(order) == "abcbcacab"
    assert {name: len(samples) for name, samples in found.items()} == {"a": 3, "b": 3, "c": 3}


def test_disturbed_samples_are_taken_again():
    dirty = iter([False, False, True, True, True])
    found = in_turns({"a": lambda: Sample(1.0, next(dirty))}, least=3, most=9, budget=0.0)
    assert [s.clean for s in found["a"]] == [False, False, True]  # without a budget nothing is taken again
    dirty = iter([False, False, True, True, True])
    found = in_turns({"a": lambda: Sample(1.0, next(dirty))}, least=3, most=5, budget=60.0)
    assert [s.clean for s in found["a"]] == [False, False, True, True, True]


def test_the_typical_time_is_the_median_of_clean_samples():
    clean = [Sample(t) for t in (3.0, 1.0, 2.0)]
    assert typical([*clean, Sample(100.0, False), Sample(100.0, False)]) == 2.0
    assert typical([*clean[:2], *[Sample(100.0, False)] * 3]) == 100.0
    assert undisturbed(clean) and undisturbed([*clean, Sample(1.0, False)]) and undisturbed(clean[:1])
    assert not undisturbed([*clean[:2], Sample(1.0, False)])


def test_means_of_ratios():
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert geometric_mean([4.0, 9.0]) == pytest.approx(6.0)
    assert math.isnan(geometric_mean([]))


def test_a_table_is_aligned():
    rows = [
        ["gemm", seconds(0.0123), ratio(1.5), percent(0.5)],
        ["x", seconds(2e-7), ratio(None), percent(None)],
    ]
    assert (
        aligned([["kernel", "texpr", "ratio", "of limit"], *rows], "<>")
        == """\
kernel    texpr  ratio  of limit
gemm    12.3 ms   1.50       50%
x        200 ns      -         -"""
    )


def test_the_least_time_is_that_of_the_scarcer_resource():
    limits = Limits(1, {"f64": 100.0}, {10: 50.0, 1000: 5.0})
    assert limits.seconds(1000.0, "f64", 20.0) == 10.0  # arithmetic
    assert limits.seconds(1.0, "f64", 20.0) == 20.0 / 50.0  # bytes that fit the cache
    assert limits.seconds(1.0, "f64", 21.0) == 21.0 / 5.0  # that do not
    assert limits.seconds(1.0, "f64", 5000.0) == 5000.0 / 5.0  # more than was measured
    assert limits.seconds(1000.0, "i32", 0.0) == 0.0  # no limit is known

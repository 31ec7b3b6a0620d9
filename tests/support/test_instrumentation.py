"""Passes are printed, timed and verified on request."""

from __future__ import annotations

import time

import pytest

from texpr.support.instrumentation import collect, run_passes, timed
from texpr.support.options import options


def double(x: int) -> int:
    return 2 * x


def increment(x: int) -> int:
    return x + 1


def _never(value: int) -> None:
    raise AssertionError(f"{value} is odd")


def _even(value: int) -> None:
    assert value % 2 == 0, f"{value} is odd"


def test_passes_are_printed_where_asked(capsys: pytest.CaptureFixture[str]):
    with options(print="after:double"):
        assert run_passes("numbers", [double, increment, double], 5, str, _never) == 22
    assert capsys.readouterr().err == "-- numbers: after double\n10\n-- numbers: after double\n22\n"


def test_a_star_prints_after_all_and_nothing_is_printed_otherwise(capsys: pytest.CaptureFixture[str]):
    with options(print="after:*"):
        run_passes("numbers", [double, increment], 1, str, _never)
    run_passes("numbers", [double], 1, str, _never)
    assert capsys.readouterr().err == "-- numbers: after double\n2\n-- numbers: after increment\n3\n"


def test_results_are_verified_where_asked():
    with options(verify=True), pytest.raises(AssertionError, match="3 is odd"):
        run_passes("numbers", [double, increment], 1, str, _even)


def test_times_are_collected():
    with collect() as trace:
        run_passes("numbers", [double, increment, double], 1, str, _never)
    assert list(trace.seconds) == [("numbers", "double"), ("numbers", "increment")]
    assert all(seconds >= 0 for seconds in trace.seconds.values()) and "numbers.double" in str(trace)


def test_what_runs_inside_of_a_stage_counts_once():
    with collect() as trace, timed("outer", "whole"):
        with timed("inner", "part"):
            _work(0.02)
        with timed("inner", "part"):
            _work(0.02)
    assert list(trace.seconds) == [("inner", "part"), ("outer", "whole")]
    assert trace.seconds["inner", "part"] >= 0.04 > 0.02 > trace.seconds["outer", "whole"]


def _work(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

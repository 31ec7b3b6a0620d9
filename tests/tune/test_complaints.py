"""Whole texts of what `tx.tune` says of calls that make no sense."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

import texpr as tx
from texpr.support.errors import Error

SUMS = "op sums(X: f32[M, N]) -> Y: f32[M] { Y[i] = sum(j: X[i, j]) }"
SIZES = {"M": 8, "N": 16}


def tiled(s: tx.Schedule, tile: int) -> None:
    s.split("i", tile)


CALLS: Mapping[str, Mapping[str, object]] = {
    "no such strategy": {**SIZES, "strategy": "luck"},
    "no trials": {**SIZES, "trials": 0},
    "no time": {**SIZES, "timeout": True},
    "a size is missing": {"M": 8},
    "a size is 0": {"M": 8, "N": 0},
    "a space without a function": {**SIZES, "space": {"tile": [4]}},
    "a function without a space": {**SIZES, "schedule": tiled},
    "no function": {**SIZES, "schedule": "split", "space": {"tile": [4]}},
    "another parameter": {**SIZES, "schedule": tiled, "space": {"width": [4]}},
    "no values": {**SIZES, "schedule": tiled, "space": {"tile": []}},
    "values that are no numbers": {**SIZES, "schedule": tiled, "space": {"tile": [None]}},
    "no executor": {**SIZES, "executor": 4},
    "a class of executors": {**SIZES, "executor": ThreadPoolExecutor},
    "values that occur twice": {**SIZES, "schedule": tiled, "space": {"tile": [4, 4]}},
}


def test_what_tune_says(golden):
    said = []
    for name, options in CALLS.items():
        with pytest.raises(Error) as raised:
            tx.tune(tx.op(SUMS), progress=False, keep=False, **options)
        said.append(f"==== {name}\n{raised.value}\n")
    golden("\n".join(said))


def test_arrays_that_no_memory_holds_are_not_tried():
    with pytest.raises(tx.ResourceError, match=r"the arrays of sums need 69632\.0 GiB; this machine has"):
        tx.tune(tx.op(SUMS), progress=False, keep=False, M=1 << 40, N=16)

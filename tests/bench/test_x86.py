"""The classes of rows: texpr's operators and NumPy's candidates against the references, the
workers, the tables.
"""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest

from bench.machine import Limits, instructions, product_rate
from bench.serving import serve
from bench.timing import measure_processor
from bench.x86 import report
from bench.x86.candidate import Candidate
from bench.x86.parent import Found, Library, Settings, measure
from bench.x86.peers import with_numpy, with_peak, with_texpr
from bench.x86.rows import (
    BOUNDS,
    CLASSES,
    LINE,
    Class,
    Row,
    conv,
    depthwise,
    gemm,
    gemm_batched,
    gradient,
    matrix,
    rowwise,
)
from bench.x86.worker import Worker

SMALL = (
    gemm("f32", 9, 11, 13),
    gemm("f64", 9, 11, 13, "f64"),
    gemm("bf16", 9, 11, 13, "bf16"),
    gemm("i8", 9, 11, 13, "i8"),
    gemm_batched("batched", 3, 5, 7, 9),
    conv("3x3", 2, 3, 8, 5, 3),
    conv("7x7/2", 1, 3, 11, 4, 7, 2),
    conv("1x1", 1, 4, 5, 6, 1),
    depthwise("3x3", 2, 5, 8),
    depthwise("3x3/2", 1, 5, 8, 2),
    rowwise("softmax", 7, 19),
    rowwise("layernorm", 7, 19, "g", "b"),
    rowwise("rms_norm", 7, 19, "g"),
    gradient("rms_norm", 7, 19),
    rowwise("gelu", 7, 19, "b"),
    rowwise("gelu_tanh", 7, 19, "b"),
    rowwise("bias_relu", 7, 19, "b"),
    matrix("transpose", 7, 19, 7 * 19),
    matrix("total", 7, 19, 1, mean=1.0),
    matrix("row_sums", 7, 19, 7),
    matrix("column_sums", 7, 19, 19),
    matrix("blur", 7, 19, 5 * 17),
    Row("heads", "attention", dict.fromkeys("QKV", (2, 9, 5)), 90),
    Row("causal", "attention_causal", dict.fromkeys("QKV", (2, 9, 5)), 90),
    Row("add", "add", dict.fromkeys("AB", (16,)), 16),
)


def test_every_kind_has_a_small_row():
    kinds = {row.kind for each in CLASSES for row in each.rows}
    assert kinds == {row.kind for row in SMALL} == set(with_texpr.columns(1)["texpr"])


@pytest.mark.parametrize("row", SMALL, ids=lambda row: f"{row.kind} {row.name}")
def test_texpr_and_numpy_agree_with_the_reference(row: Row):
    arrays = row.arrays()
    makers = [kinds[row.kind] for kinds in with_texpr.columns(1).values() if row.kind in kinds]
    makers += [with_numpy.KINDS[row.kind]] if row.kind in with_numpy.KINDS else []
    found = [candidate for make in makers if (candidate := make(row, arrays)) is not None]
    assert found
    for candidate in found:
        assert candidate.result is not None
        result = candidate.result(candidate.run())
        assert result.size == row.outputs
        assert row.error(arrays, result) <= BOUNDS[row.dtype]
        spoiled = np.where(
            np.arange(result.size).reshape(result.shape) == result.size - 1, result + 1, result
        )
        assert row.error(arrays, spoiled) > BOUNDS[row.dtype], "an error in the last element is not found"


def test_as_many_products_as_a_row_has_take_as_long_as_the_rate_says():
    rate = product_rate(instructions()["f32"], 1)
    row = gemm("large", 1024, 1024, 512)
    peak = with_peak.columns(1)["peak"]["gemm"](row, {})
    assert peak is not None and with_peak.columns(2)["peak"]["gemm"](gemm("short", 64, 64, 64), {}) is None
    best = min(measure_processor(peak.run).seconds for _ in range(5))
    assert 0.3 * row.flops / rate < best < 3 * row.flops / rate, (
        "a loop that is left out, or is run by each of several threads, shows"
    )


@pytest.mark.parametrize("dtype", BOUNDS)
def test_arrays_begin_at_a_line(dtype: str):
    """Those of NumPy begin where they may, and libraries differ in what that costs them."""
    arrays = Row("x", "gemm", {"A": (5, 3), "B": (3, 7)}, 35, dtype=dtype).arrays()
    assert [a.ctypes.data % LINE for a in arrays.values()] == [0, 0]


def test_names_are_unique_in_a_class():
    for each in CLASSES:
        assert len({row.name for row in each.rows}) == len(each.rows)


def wrong(row: Row, arrays: dict[str, np.ndarray]) -> Candidate:
    return Candidate(lambda: arrays["A"] - arrays["B"])


def broken(row: Row, arrays: dict[str, np.ndarray]) -> Candidate:
    raise ValueError("not here")


def test_a_worker_answers_line_by_line():
    name = "add of 16 floats"
    questions = io.StringIO(
        "\n".join([json.dumps({"prepare": ["call", name]}), json.dumps({"sample": "numpy", "seconds": 1e-4})])
        + "\n"
    )
    answers = io.StringIO()
    columns = {"numpy": with_numpy.KINDS, "other": {"add": wrong}, "bad": {"add": broken}, "none": {}}
    serve(Worker(columns, "wall"), questions, answers)
    prepared, sample = map(json.loads, answers.getvalue().splitlines())
    assert prepared["numpy"]["correct"] and prepared["numpy"]["error"] < 1e-6
    assert not prepared["other"]["correct"]
    assert prepared["bad"] == {"failed": "ValueError: not here"} and set(prepared) == {
        "numpy",
        "other",
        "bad",
    }
    assert 0 < sample["seconds"] < 1


def test_a_row_is_measured_in_processes():
    settings = Settings(1, sys.executable, limit=100.0, budget=0.0, rounds=3)
    libraries = [Library("numpy", settings), Library("nothing", settings)]
    try:
        assert libraries[0].version == np.__version__ and "nothing" in libraries[1].absent
        found = measure("call", CLASSES[-1].rows[0], libraries[:1], settings)
        assert found.seconds["numpy"] > 0 and found.details["numpy"]["correct"]
        libraries[0].close()  # it begins anew
        assert libraries[0].ask(prepare=["call", CLASSES[-1].rows[0].name])["numpy"]["correct"]
    finally:
        for library in libraries:
            library.close()


def test_a_table_has_ratios_and_what_failed():
    of = Class(
        "call",
        0.9,
        (1.0, 1.2),
        (Row("a", "add", {"A": (4,), "B": (4,)}, 4), Row("b", "add", {"A": (4,), "B": (4,)}, 4)),
    )
    right, bad = {"first": 0.5, "error": 0.0, "correct": True}, {"first": 0.5, "error": 1.0, "correct": False}
    found = [
        Found(
            "a",
            {"texpr": 2e-6, "numpy": 4e-6, "torch": 1e-6, "peak": 5e-7},
            {"texpr": right, "numpy": right, "torch": bad, "peak": {"first": 0.1}},
        ),
        Found(
            "b",
            {"texpr": 8e-6, "numpy": 4e-6},
            {"texpr": right, "numpy": right, "jax": {"failed": "no"}},
            clean=False,
        ),
    ]
    assert (
        report.table(of, found, Limits(1, {"f32": 1e9}, {1 << 20: 48e6}))
        == """\
call  numpy  torch    peak  texpr  ratio  of peak  of limit   first         notes
a      4 us   1 us  500 ns   2 us   2.00      25%       50%  500 ms  wrong: torch
b      4 us      -       -   8 us   0.50        -       12%  500 ms     disturbed
geometric mean 1.00, bar 1.00; 1 of 2 at least 0.90
failed: b, jax: no
"""
    )
    line = "call 2 1.00 1.00 0.50 0.90 no".split()
    assert report.summary({"call": (of, found)}, 1).splitlines()[1].split() == line
    assert (
        report.summary({"call": (of, found[:1])}, 2).splitlines()[1].split()
        == "call 1 2.00 1.20 2.00 0.90 yes".split()
    )

"""The command that measures gradients."""

from __future__ import annotations

from argparse import Namespace

import pytest

from texpr import ops
from texpr.tools.bench import gradient_cost
from texpr.tools.bench.gradient_cost import CASES, Case, bench_gradients, rows

SMALL = (Case(ops.matmul, ((8, 9), (9, 7)), alike=("A", "B")), Case(ops.cross_entropy, ((4, 5), (4,))))


def test_rows_are_gradients_of_the_inputs_asked_for():
    found = list(rows(1, SMALL))
    assert [(title, what, bar) for title, what, _, _, bar in found] == [
        ("matmul 8x9 9x7", "A", 1.25),
        ("matmul 8x9 9x7", "B", 1.25),
        ("cross_entropy 4x5 4", "all", None),
    ]
    assert all(forward > 0 and gradient > 0 for _, _, forward, gradient, _ in found)


def test_what_is_over_its_bar_is_said(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(
        gradient_cost, "rows", lambda runs: [("f", "X", 1e-3, 2e-3, 1.25), ("f", "W", 1e-3, 1e-3, 1.25)]
    )
    assert bench_gradients(Namespace(runs=1)) == 1
    _, first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["f", "X", "1.000", "2.000", "2.00", "1.25", "over"]
    assert second.split()[-2:] == ["1.00", "1.25"]


def test_convolutions_with_strides_are_measured():
    assert {case.constants.get("SH") for case in CASES} >= {1, 2}

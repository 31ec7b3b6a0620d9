"""The fuzzer of default schedules: what it draws, what it would find, and how a finding is tried
again.
"""

from __future__ import annotations

import importlib
from collections import Counter
from random import Random

import pytest

import texpr as tx
from texpr.__main__ import main
from texpr.support.errors import Error, ScheduleError
from texpr.tools.fuzz import defaults
from texpr.tools.fuzz.cases import Case
from texpr.tools.fuzz.defaults import drawn, examine, one, shown
from texpr.tools.fuzz.structures import short_text, structured_text

auto_module = importlib.import_module("texpr.autoschedule.driver")
SUM = Case("op f(X: f32[M, N]) -> Y: f32[M] { Y[i] = sum(j: X[i, j]) }", (("M", 3), ("N", 40)))


def test_nothing_is_found_among_some_default_schedules():
    counts: Counter[str] = Counter()
    for number in range(25):
        case, target = drawn(11, number)
        finding = examine(case, target, number % 5 == 0, counts)
        assert finding is None, f"{number}\n{shown(case, target)}\n{finding}"
    assert sum(n for what, n in counts.items() if what.startswith("default schedules")) >= 20


def test_cases_have_empty_and_single_extents_and_every_target():
    cases = [drawn(1, k) for k in range(400)]
    assert {target for _, target in cases} == {"native", *defaults.OTHERS}
    assert cases[:3] == [drawn(1, k) for k in range(3)] != [drawn(2, k) for k in range(3)]
    assert {n for case, _ in cases for _, n in case.sizes} >= {0, 1, 33, 1000}


def test_structured_operators_mean_something():
    def means(text: str) -> bool:
        try:
            return bool(tx.op(text))
        except Error:
            return False

    assert all(means(draw(Random(k))) for k in range(60) for draw in (structured_text, short_text))


def test_contractions_and_convolutions_of_every_rank_with_short_axes():
    """Some of those of `texpr fuzz --only default`: extents of 1 to 3 in any axis, one example and
    many, one axis of 2,048.
    """
    ranks: Counter[int] = Counter()
    for k in range(40):
        rng = Random(f"short {k}")
        case, target = Case(short_text(rng)), rng.choice(("native", "x86-64-v4", "aarch64", "sm_80"))
        finding = examine(case, target, k % 10 == 0, Counter())
        assert finding is None, f"{k}\n{shown(case, target)}\n{finding}"
        ranks[len(case.text.partition("-> ")[2].partition("]")[0].split(","))] += 1
    assert set(ranks) >= {1, 2, 3, 4, 5, 6}


@pytest.mark.parametrize("target", ["native", "x86-64-v3", "x86-64-v4", "aarch64"])
@pytest.mark.parametrize("batch", [1, 8])
def test_a_long_convolution_in_one_dimension(target: str, batch: int):
    text = (
        f"op f(X: f32[{batch}, 64, 2052], W: f32[96, 64, 5]) -> Y: f32[{batch}, 96, 2048] "
        "{ Y[n, k, y] = sum(c, r: X[n, c, y + r] * W[k, c, r]) }"
    )
    assert examine(Case(text), target, False, Counter()) is None


def test_an_exception_is_found(monkeypatch):
    def raises(*_: object) -> None:
        raise ScheduleError("there is no loop `i`")

    monkeypatch.setattr(defaults, "auto", raises)
    finding = examine(SUM, "native", False, Counter())
    assert finding is not None and finding.kind.startswith("auto() raises: ScheduleError in ")


@pytest.mark.parametrize("target", ["x86-64-v3", "sm_80"])
def test_a_part_that_is_given_up_is_found(monkeypatch, target):
    def raises(*_: object) -> None:
        raise IndexError("tuple index out of range")

    monkeypatch.setattr(auto_module, "choose_rewrites", raises)
    finding = examine(SUM, target, False, Counter())
    assert (
        finding is not None
        and finding.kind == "auto() gives a part up: IndexError in autoschedule/core/builder.py:attempt"
    )
    assert "tuple index out of range" in finding.detail


def test_a_case_is_tried_again(tmp_path):
    path = tmp_path / "one.default"
    path.write_text(shown(SUM, "sm_80"))
    assert path.read_text().startswith("# target sm_80\n") and one(path.read_text(), True) is None
    assert main(["fuzz", "--replay", str(path)]) == 0


def test_the_command(tmp_path, capsys):
    assert (
        main(["fuzz", "--only", "default", "--defaults", "3", "--seed", "4", "--findings", str(tmp_path)])
        == 0
    )
    assert "3 default schedules, 0 kinds of findings" in capsys.readouterr().out

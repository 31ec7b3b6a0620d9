"""`replay()` at the sizes of a real layer: smaller ones show the difference, or it says that
none was found.
"""

from __future__ import annotations

import pytest

import texpr as tx

SCAN = tx.op(
    "op scan(X: f32[B, T, C], a: f32[C]) -> Y: f32[B, T, C] { Y[b, t, c] = Y[b, t - 1, c | 0] * a[c] + X[b, "
    "t, c] }"
)
SUM = tx.op("op total(X: f32[B, T, C]) -> Y: f32[B, C] { Y[b, c] = sum(t: X[b, t, c]) }")
COUNT = tx.op("op count(X: f32[B, T]) -> Y: f32[B] { Y[b] = sum(t: f32(if X[b, t] > 0 then 1 else 0)) }")
PARTS = tx.op("op parts(X: f32[T, 4]) -> Y: f32[T] require T >= 100 { Y[t] = Y[t - 1 | 0] + X[t, 0] }")
REAL = {"B": 8, "T": 1000, "C": 32}


def replayed(s: tx.Schedule, steps: str):
    with pytest.raises(tx.ScheduleError) as e:
        eval(steps, {"s": s})
    return e.value.replay()


@pytest.mark.parametrize(
    ("op", "steps", "sizes"),
    [
        (SCAN, 's.parallel("t")', {"B": 2, "T": 2, "C": 2}),
        (SCAN, 's.split("t", 16).parallel("to")', {"B": 2, "T": 17, "C": 2}),
        (SCAN, 's.reverse("t")', {"B": 2, "T": 2, "C": 2}),
        (SUM, 's.split("t", 64).reorder("b", "c", "ti", "to")', {"B": 2, "T": 65, "C": 2}),
    ],
)
def test_smaller_sizes_show_it(op: tx.Op, steps: str, sizes: dict[str, int]):
    shown = replayed(tx.schedule(op, **REAL), steps)
    assert shown.tensor == "Y" and repr(shown.expected) != repr(shown.found)
    assert shown.sizes == sizes
    assert str(shown).startswith(f"at {', '.join(f'{k}={v}' for k, v in sizes.items())}: Y[")


def test_sizes_that_stay_symbolic_are_shown_beside_the_smaller_ones():
    shown = replayed(tx.schedule(SCAN, T=300_000), 's.parallel("t")')
    assert (shown.tensor, shown.sizes) == ("Y", {"T": 2, "B": 1, "C": 1})


def test_requirements_of_the_program_hold():
    shown = replayed(tx.schedule(PARTS, T=300_000), 's.parallel("t")')
    assert (shown.tensor, shown.sizes) == ("Y", {"T": 129})


def test_no_difference_is_said():
    """Sums of few ones are exact in every order."""
    shown = replayed(tx.schedule(COUNT, B=8, T=100_000), 's.split("t", 4).reorder("b", "ti", "to")')
    assert shown.tensor == "" and shown.smaller
    assert (
        str(shown)
        == f"at B=8, T=100000: none of {shown.runs} runs on random data, some at smaller sizes, shows a "
        f"difference; "
        "other data may"
    )


def test_nothing_that_can_be_run():
    large = tx.op("op big(X: f32[T]) -> Y: f32[T] require T >= 250000 { Y[t] = Y[t - 1 | 0] + X[t] }")
    shown = replayed(tx.schedule(large, T=300_000), 's.parallel("t")')
    assert (
        str(shown)
        == "at T=300000: nothing was run: there are more than 200,000 statements, and no smaller sizes are "
        "refused"
    )

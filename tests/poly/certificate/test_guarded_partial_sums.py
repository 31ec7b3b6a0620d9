"""Partial sums under conditions on data or functions of indices: begun, added to and joined
under the same one.
"""

from __future__ import annotations

import pytest

import texpr as tx
from tests.poly.certificate.tables import refused
from texpr.ir.printing.loop import full_listing

CONDITIONS = {
    "a function of an index": "sin(f64(3 - j)) > 0.3",
    "a function and an index": "j*2 < K and sin(f64(3 - j)) > 0.3",
    "data": "p[j] > 3",
    "data and an index": "p[j] > 3 and j > 2",
    "floats": "X[j] * X[j] > 0.3",
}
PARTS = "sum(r in 0..8: X[r | 0] * X[j])"


def choice(condition: str) -> str:
    return f"op f(X: f64[K], p: i64[K]) -> Y: f64[K] {{ Y[j] = if {condition} then {PARTS} else 0 }}"


def parted(condition: str) -> tx.Schedule:
    return tx.schedule(tx.op(choice(condition))).split("r", 4).rfactor("ri", reassoc=True)


@pytest.mark.parametrize("name", CONDITIONS)
def test_parts_are_proven(name: str):
    plain = tx.schedule(tx.op(choice(CONDITIONS[name])))
    for s in (plain, plain.auto(), parted(CONDITIONS[name]), parted(CONDITIONS[name]).parallel("j")):
        s.certificate()


@pytest.mark.parametrize(
    ("old", "new"), [("3 - j", "4 - j"), ("> 0.3", "> 0.2"), ("sin(", "cos("), ("3 - j", "2 - j")]
)
@pytest.mark.parametrize("place", range(4))
def test_another_condition_in_one_place_is_refused(place: int, old: str, new: str):
    """Where the parts begin, are added to, are joined, or are used."""
    op = choice(CONDITIONS["a function of an index"])
    pieces = full_listing(parted(CONDITIONS["a function of an index"]).kernel).split(old)
    assert len(pieces) == 5 and not refused(op, old.join(pieces))
    assert refused(op, old.join(pieces[: place + 1]) + new + old.join(pieces[place + 1 :]))


@pytest.mark.parametrize("old", ["Y_acc_part[j, ri] = 0.0", "Y_acc_part[j, ri] +=", "Y_acc_part[j, ri_sum]"])
def test_parts_of_another_iteration_are_refused(old: str):
    op = choice(CONDITIONS["a function of an index"])
    assert refused(
        op,
        full_listing(parted(CONDITIONS["a function of an index"]).kernel).replace(
            old, old.replace("[j", "[0")
        ),
    )

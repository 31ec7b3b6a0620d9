"""Whatever an expression reads is found, and with it the condition under which it is read."""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.support.errors import CheckError

OPERATOR = """op f(X: f32[N], Z: f32[N], V: i32[N] in 0..N, W: i32[N] in 0..4) -> Y: f32[N] {{
    Y[i] = {}
}}"""
PLACES = {
    "an operand": "Z[i] + exp(X[{}])",
    "an index": "X[V[{}]]",
    "a condition": "if X[{}] > 0 then 1.0 else 2.0",
    "what is chosen": "if Z[i] > 0 then X[{}] else 2.0",
    "what is chosen else": "if Z[i] > 0 then 2.0 else X[{}]",
    "the first of and": "if X[{}] > 0 and Z[i] > 0 then 1.0 else 2.0",
    "the second of and": "if Z[i] > 0 and X[{}] > 0 then 1.0 else 2.0",
    "the first of or": "if X[{}] > 0 or Z[i] > 0 then 1.0 else 2.0",
    "the second of or": "if Z[i] > 0 or X[{}] > 0 then 1.0 else 2.0",
    "not": "if not (X[{}] > 0) then 1.0 else 2.0",
    "a term": "sum(k in 0..4: X[{}] * f32(k))",
    "where a sum begins": "sum(k in W[{}]..4: Z[i])",
    "where a sum ends": "sum(k in 0..W[{}]: Z[i])",
    "where the second axis of a sum ends": "sum(k in 0..4, j in 0..W[{}]: Z[i])",
    "where a sum of some terms begins": "sum(k in W[{}]..4 where Z[i] > f32(k): Z[i])",
    "where a sum of some terms ends": "sum(k in 0..W[{}] where Z[i] > f32(k): Z[i])",
    "some terms": "sum(k in 0..4 where Z[i] > f32(k): X[{}])",
    "of which terms": "sum(k in 0..4 where X[{}] > f32(k): Z[i])",
    "what stands outside": "Z[i - 1 | X[{}]]",
    "the index of what has something outside": "Z[V[{}] - 1 | 0.0]",
}
HELD_OFF = {
    "what is chosen": "if i + 1 < N then X[i + 1] else 0.0",
    "what is chosen else": "if i + 1 >= N then 0.0 else X[i + 1]",
    "the second of and": "if i + 1 < N and X[i + 1] > 0 then 1.0 else 2.0",
    "the second of or": "if i + 1 >= N or X[i + 1] > 0 then 1.0 else 2.0",
    "a condition within": "if i + 1 < N then (if X[i + 1] > 0 then X[i + 1] else 1.0) else 0.0",
    "the ends of a sum": "sum(k in i..N: X[k])",
    "of which terms": "sum(k in 0..4 where i + k < N: X[i + k])",
    "a condition around the sum": "if i + 4 < N then sum(k in 0..4: X[i + k]) else 0.0",
    "the second axis of a sum": "sum(k in i..N, j in 0..k: X[j])",
    "what stands outside": "Z[i - 1 | X[-i]]",
}


def refused(value: str) -> bool:
    try:
        tx.op(OPERATOR.format(value))
    except CheckError as error:
        assert error.code == "bounds"
        return True
    return False


@pytest.mark.parametrize("name", PLACES)
def test_found(name: str):
    assert not refused(PLACES[name].format("i"))
    assert refused(PLACES[name].format("i + 1"))


@pytest.mark.parametrize("name", HELD_OFF)
def test_held_off(name: str):
    assert not refused(HELD_OFF[name])


def test_where_accesses_outside_go():
    """Each mode to an element that is there, and to the one that `interpret` takes."""
    turned = """op f(X: f32[N]) -> Y: f32[N] require N >= 3 {{
        let h: f32[N]
        h[i] = X[i] for i in {}
        Y[i] = {} }}"""
    for index, within in (
        ("i - 2 | clamp", "0..N"),
        ("i + 2 | clamp", "0..N"),
        ("i - 2 | wrap", "0..N"),
        ("i + 2 | wrap", "0..N"),
        ("i - 2 | reflect", "0..N"),
        ("i + 2 | reflect", "0..N"),
    ):
        tx.op(turned.format(within, f"h[{index}]"))
    for index, within, value in (
        ("i - 2 | clamp", "0..N - 2", "h[{0}]"),
        ("i + 2 | clamp", "2..N", "h[{0}]"),
        ("i - 1 | reflect", "0..N - 1", "if i > 1 then 0.0 else h[{0}]"),
        ("i + 1 | reflect", "1..N", "if i + 2 < N then 0.0 else h[{0}]"),
        ("i - 1 | wrap", "2..N", "if i > 0 then 0.0 else h[{0}]"),
        ("i + 1 | wrap", "0..2", "if i + 1 < N then 0.0 else h[{0}]"),
        ("i + 1 | wrap", "1..N", "if i + 1 < N then h[{0}] else 0.0"),
        ("i + 2 | wrap", "1..2", "if i + 1 < N then 0.0 else h[{0}]"),
    ):
        tx.op(turned.format(within, value.format(index)))

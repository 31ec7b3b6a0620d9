"""Programs as JSON: what is read is what was written."""

from __future__ import annotations

import json
import math

import pytest

import texpr as tx
from texpr.ir.dtypes import F32
from texpr.ir.expr import Add, Const, Read, Tensor, Var, index, plain
from texpr.ir.json.program import Decoder, Encoder
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Program
from texpr.ir.traverse import equal, walk

NAMES = sorted(tx.ops.__all__)[::9]


def again(value: object, known: tuple[object, ...] = ()) -> object:
    encoder = Encoder(known)
    written = encoder.item(value)
    rows, item = json.loads(json.dumps([encoder.rows, written]))
    return Decoder(rows, known).item(item)


@pytest.mark.parametrize("name", NAMES)
def test_operators_and_their_gradients_stay_the_same(name: str):
    operator = getattr(tx.ops, name)
    if not isinstance(operator, tx.Op):
        pytest.skip("a function of several operators")
    program = operator.program()
    found = again(program)
    assert isinstance(found, Program) and equal(found, program)
    assert show_program(found, with_callees=True) == show_program(program, with_callees=True)


def test_what_is_shared_stays_shared_and_what_is_known_is_not_made_again():
    x = Tensor("x", F32, plain(index(4)))
    read = Read(x, (Var("i"),))
    found = again((Add(read, read), (read,)), (x,))
    total, (alone,) = found  # type: ignore[misc]
    assert total.lhs is total.rhs is alone and alone is not read and alone.tensor is x
    assert sum(isinstance(n, Read) for n in walk(total)) == 1


@pytest.mark.parametrize(
    "value", [0.1, -0.0, math.inf, -math.inf, math.nan, 5e-324, True, False, 0, -(1 << 70)]
)
def test_literals_keep_every_bit(value: object):
    found = again(Const(value, dtype=F32))  # type: ignore[arg-type]
    assert isinstance(found, Const) and type(found.value) is type(value) and repr(found.value) == repr(value)
    assert not isinstance(value, float) or math.copysign(1, found.value) == math.copysign(1, value)


def test_ten_thousand_nested_nodes():
    value = Const(1.0, dtype=F32)
    for _ in range(10_000):
        value = Add(value, Const(2.0, dtype=F32))
    assert equal(again(value), value)


def test_what_has_no_text_is_refused():
    with pytest.raises(ValueError, match="set has no text"):
        Encoder().item((Var("i"), {1}))


@pytest.mark.parametrize(
    ("rows", "item"),
    [
        ([["Nothing"]], 0),
        ([["Var", "ti64"]], 0),
        ([["Dim", [5], False, None]], 0),
        ([], 3),
        ([], -1),
        ([], "tq9"),
        ([], "x"),
    ],
)
def test_what_is_damaged_is_refused(rows: list, item: object):
    with pytest.raises(ValueError):
        Decoder(rows).item(item)

"""Spaces: what may be chosen, and what makes no sense."""

from __future__ import annotations

import pytest

import texpr as tx
from tests.tune.cases import MATMUL
from texpr.support.errors import CallError
from texpr.tune.space import Knob, Space, space_of_function, space_of_script


def default(text=MATMUL, **sizes):
    return tx.schedule(tx.op(text), **sizes).auto()


def test_the_default_schedule_is_the_default_point():
    for sizes in ({"M": 64, "N": 64, "K": 64}, {"M": 600, "N": 700, "K": 800}):
        s = default(**sizes)
        space = space_of_script(s.steps)
        again = tx.schedule(tx.op(MATMUL), **sizes)
        space.apply(again, space.values(space.default))
        assert again.script() == s.script()


def test_points_are_counted():
    space = Space((Knob("a", (1, 2)), Knob("b", (1, 2, 3)), Knob("c", (5,))), lambda *_: None)
    assert space.size == 6
    assert len({space.point(n) for n in range(6)}) == 6
    assert space.values((1, 2, 0)) == {"a": 2, "b": 3, "c": 5}


def test_panels_are_cut_as_the_tiles_that_read_them():
    s = default(M=600, N=700, K=800)
    assert "layout" in s.script()
    space = space_of_script(s.steps)
    knob = next(k for k in space.knobs if k.name.endswith("split(C.j)"))
    for at in range(len(knob.values)):
        point = tuple(at if k is knob else k.default for k in space.knobs)
        changed = tx.schedule(tx.op(MATMUL), M=600, N=700, K=800)
        try:
            space.apply(changed, space.values(point))
        except tx.ScheduleError:
            continue
        width = knob.values[at]
        assert (
            f"b/{width} a b%{width}" in changed.script()
            and f'split("B_cache.d1", {width}' in changed.script()
        )


def test_steps_can_be_left_out():
    space = space_of_script(default(M=64, N=64, K=64).steps)
    optional = [k for k in space.knobs if k.values == (False, True)]
    assert {k.name.partition("(")[0].partition(".")[2] for k in optional} >= {"unroll", "parallel"}
    point = tuple(0 if k in optional else k.default for k in space.knobs)
    s = tx.schedule(tx.op(MATMUL), M=64, N=64, K=64)
    space.apply(s, space.values(point))
    assert "parallel" not in s.script() and "unroll" not in s.script()


@pytest.mark.parametrize(
    "function, choices, message",
    [
        ("text", {"a": [1]}, "a function of a schedule and its parameters"),
        (lambda s, a: s, None, "needs `space`"),
        (lambda s, a: s, {}, "needs `space`"),
        (lambda s, a: s, [1, 2], "needs `space`"),
        (lambda s, a: s, {"a": []}, "the values of `a` are \\[\\]"),
        (lambda s, a: s, {"a": "abc"}, "the values of `a` are 'abc'"),
        (lambda s, a: s, {"a": 5}, "the values of `a` are 5"),
        (lambda s, a: s, {"a": [object()]}, "numbers or text"),
        (lambda s, a: s, {"a": [1, 1]}, "occur twice"),
        (lambda s, a: s, {"b": [1]}, "does not fit the function"),
        (lambda s, a, b: s, {"b": [1]}, "does not fit the function"),
    ],
)
def test_spaces_that_make_no_sense(function, choices, message):
    with pytest.raises(CallError, match=message):
        space_of_function(function, choices)

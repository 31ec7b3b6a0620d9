"""Inputs declared `distinct` are checked at the call, row by row."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.graph import Capture, Plan
from texpr.ir.dtypes import F32, I32
from texpr.runtime.call.spec import DistinctCheck

UNIQUE = tx.op("op place(X: f32[N], p: i32[N] in 0..N distinct) -> Y: f32[N] { Y[p[i]] = X[i] }")
ROWS = tx.op("op rows(p: u8[*S, N] distinct) -> y: u8[*S] { y[*s] = p[*s, 0] }")
ALL = tx.op("op all_of(p: i8[*S] distinct) -> Y: i8[*S] { Y[*s] = p[*s] }")
X = np.arange(4, dtype=np.float32)


def complaint(call, *arrays: object) -> str:
    with pytest.raises(tx.CallError) as caught:
        call(*arrays)
    return str(caught.value)


def test_a_permutation():
    np.testing.assert_array_equal(UNIQUE(X, np.array([3, 1, 0, 2], np.int32)), [2, 1, 3, 0])
    assert UNIQUE(X[:0], np.zeros(0, np.int32)).shape == (0,)


@pytest.mark.parametrize(
    "compiled", [UNIQUE, tx.schedule(UNIQUE).compile(), tx.schedule(UNIQUE, N=4).compile()]
)
def test_a_value_twice(compiled):
    expected = "error[distinct]: `p[1]` and `p[3]` are both 2, expected distinct values"
    assert complaint(compiled, X, np.array([0, 2, 1, 2], np.int32)) == expected
    assert complaint(compiled, X, np.array([0, 2, 1, 4], np.int32)).startswith("error[range]")


def test_rows():
    """Equal values in different rows are fine."""
    p = np.array([[[0, 255], [9, 8]], [[0, 255], [7, 7]]], np.uint8)
    assert (
        complaint(ROWS, p)
        == "error[distinct]: `p[1, 1, 0]` and `p[1, 1, 1]` are both 7, expected distinct values"
    )
    np.testing.assert_array_equal(ROWS(p[:1]), p[:1, :, 0])


def test_packs_are_one_row():
    p = np.array([[-128, 127], [0, 1]], np.int8)
    np.testing.assert_array_equal(ALL(p), p)
    p[1, 0] = 127
    assert (
        complaint(ALL, p) == "error[distinct]: `p[0, 1]` and `p[1, 0]` are both 127, expected distinct values"
    )
    every = np.random.default_rng(0).permutation(np.arange(-128, 128).astype(np.int8)).reshape(16, 16)
    np.testing.assert_array_equal(ALL(every), every)
    every[15, 15] = every[0, 0]
    assert complaint(ALL, every).startswith("error[distinct]: `p[0, 0]` and `p[15, 15]`")


def test_captured_calls():
    capture = Capture()
    x, p = capture.input("x", (4,), F32), capture.input("p", (4,), I32)
    with capture:
        plan = Plan(capture, [UNIQUE(x, p)])
    np.testing.assert_array_equal(plan(X, np.array([3, 1, 0, 2], np.int32))[0], [2, 1, 3, 0])
    assert (
        complaint(plan, X, np.array([3, 1, 3, 2], np.int32))
        == "error[distinct]: `p[0]` and `p[2]` are both 3, expected distinct values"
    )


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("rows", [1, 3])
def test_every_integer_type(dtype, rows):
    """Marks for values that lie close together, sorting for others; near both ends of the type,
    in any layout.
    """
    info = np.iinfo(dtype)
    check = DistinctCheck(0, "p", 50)
    close = np.random.default_rng(0).permutation(50).astype(dtype)
    for least in (info.min, 0, info.max - 49):
        good = np.tile((close.astype(object) + int(least)).astype(dtype), (rows, 1))
        bad = good.copy()
        bad[-1, 49] = bad[-1, 20]
        for layout in (
            lambda a: a,
            np.asfortranarray,
            lambda a: a.astype(a.dtype.newbyteorder()),
            lambda a: a[:, ::-1],
        ):
            check([layout(good)], {})
            with pytest.raises(tx.CallError, match="expected distinct values"):
                check([layout(bad)], {})
    spread = np.full((rows, 50), info.max, dtype)
    spread[:, :49] = np.arange(49)
    check([spread], {})
    spread[0, 3] = info.max
    with pytest.raises(tx.CallError, match=r"`p\[0, 3\]` and `p\[0, 49\]` are both"):
        check([spread], {})


@pytest.mark.parametrize("of, refused", [("p", False), ("q", True)])
def test_two_permutations_are_not_one(of: str, refused: bool):
    s = tx.schedule(
        tx.op(f"""op f(X: f32[N], p: i32[N] in 0..N distinct, q: i32[N] in 0..N distinct) -> W: f32[N] {{
  let Y: f32[N]
  Y[p[i]] = X[i] + f32(q[i])
  W[i] = Y[{of}[i]] }}""")
    )
    if refused:
        with pytest.raises(tx.ScheduleError, match="reverses a dependence"):
            s.compute_at("Y", "W.i", recompute=False)
    else:
        s.compute_at("Y", "W.i", recompute=False)

"""Squares that are turned in registers, of elements of every size."""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
from texpr import ops
from texpr.ir.expr import Read
from texpr.ir.loop import For, If, Store
from texpr.ir.loop_kind import VECTOR
from texpr.ir.traverse import statements, walk
from texpr.passes.analysis.row_major import flat_index
from texpr.schedule.structure.loops import paths

WIDE, NARROW = "x86-64-v4", "x86-64-v3"
TYPES = ["u8", "i8", "bool", "i16", "f16", "bf16", "i32", "i64", "f8e4m3"]


def filled(t: str, *shape: int) -> np.ndarray:
    bits = np.random.default_rng(0).integers(0, 100, shape)
    return bits.astype(
        {"bool": "bool", "bf16": "u2", "f8e4m3": "u1"}.get(
            t, f"{t[0]}{int(t[1:]) // 8 if t[1:].isdigit() else 1}"
        )
    )


@pytest.mark.parametrize("target", [WIDE, NARROW, "x86-64", "aarch64"])
@pytest.mark.parametrize("t", TYPES)
def test_squares_of_every_type_are_turned_in_registers(t: str, target: str):
    operator = tx.op(f"op turn(X: {t}[N, M]) -> Y: {t}[M, N] {{ Y[j, i] = X[i, j] }}")
    s = tx.schedule(operator, N=67, M=37).auto(target)
    assert "transpose" in s.script() and s.certificate()
    assert re.search("zip1" if target == "aarch64" else "unpck", s.compile(target).asm)
    if target == WIDE:
        x = filled(t, 67, 37)
        np.testing.assert_array_equal(tx.schedule(operator, N=67, M=37).auto().compile()(x), x.T)


@pytest.mark.parametrize("target", [WIDE, NARROW, "aarch64"])
@pytest.mark.parametrize("side", [8, 16, 24, 32, 48])
def test_lanes_of_packed_images_lie_beside_each_other(side: int, target: str):
    """Where a tile of lanes is a row of an image, rows and columns of the copy are dimensions of
    their own still.
    """
    sizes = {"N": 1, "C": 64, "K": 256, "H": side, "W": side, "R": 1, "Q": 1}
    ones = {"SH": 1, "SW": 1, "PH": 0, "PW": 0, "DH": 1, "DW": 1}
    schedule = tx.schedule(ops.conv2d, **sizes, **ones, bias=None).auto(target)
    lanes = {n.var for n in statements(*schedule.kernel.body) if isinstance(n, For) and n.kind == VECTOR}
    for s in statements(*schedule.kernel.body):
        if isinstance(s, Store) and s.update == "add":
            for read in (n for n in walk(s.value) if isinstance(n, Read)):
                places = flat_index(read.tensor, read.indices)
                assert all(places.coefficient(v) in (0, 1) for v in lanes), schedule
    schedule.certificate()


TURNED = (
    "op turned(X: f32[N, C, H, W], F: f32[C, K]) -> Y: f32[N, H, W, K] { "
    "Y[n, h, w, k] = sum(c: X[n, c, h, w] * F[c, k]) }"
)


@pytest.mark.parametrize("images, side", [(4, 4), (4, 5), (1, 6)])
def test_rows_of_packed_images_lie_beside_each_other(images: int, side: int):
    """The same of a tile of rows: the row of an image is read from one element to the next."""
    s = tx.schedule(tx.op(TURNED), N=images, C=256, H=side, W=side, K=256).auto("x86-64-v3")
    rows = {n.var for n in statements(*s.kernel.body) if isinstance(n, For) and n.var.name == "hwi"}
    sums = [n for n in statements(*s.kernel.body) if isinstance(n, Store) and n.update == "add"]
    packed = [n for each in sums for n in walk(each.value) if isinstance(n, Read) and "X" in n.tensor.name]
    places = [flat_index(n.tensor, n.indices).coefficient(v) for n in packed for v in rows]
    assert 1 in places and set(places) <= {0, 1}, s  # 0: of loops over other rows
    s.certificate()


WEIGHTS = "op f(A: f32[N, M], B: f32[N, K]) -> Y: f32[M, K] { Y[i, j] = sum(n: A[n, i] * B[n, j]) }"


@pytest.mark.parametrize("rows", [512, 128, 129])
def test_whole_panels_are_packed_without_conditions(rows: int):
    """Blocks of rows that end in different places: those of one block are fewer."""
    s = tx.schedule(tx.op(WEIGHTS), N=1024, M=rows, K=512 * 128 // rows).auto("x86-64-v3")
    copies = [
        (above, n) for above, n in paths(s.kernel) if isinstance(n, Store) and n.tensor.name == "A_cache"
    ]
    asked = [n for above, n in copies if any(isinstance(around, If) for around in above)]
    assert len(copies) > len(asked)
    s.certificate()

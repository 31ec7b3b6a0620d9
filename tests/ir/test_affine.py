"""Bounds of extents, against all values of their variables."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from texpr.ir.affine import ceiling
from texpr.ir.build import floordiv, maximum, minimum, sub
from texpr.ir.expr import Expr, Var, index
from texpr.ir.shapes import evaluate_size

ROW, COLUMN = Var("i"), Var("j")
EXTENTS: dict[str, tuple[Callable[[], Expr], int | None]] = {
    "a tile that is clipped": (lambda: minimum(index(8), sub(index(20), ROW)), 8),
    "a window at an edge": (lambda: sub(minimum(index(5), ROW), maximum(index(1), COLUMN)), 4),
    "halves of one": (lambda: sub(minimum(floordiv(ROW, index(2)), index(5)), maximum(index(0), COLUMN)), 5),
    "an end that nothing bounds": (lambda: sub(ROW, maximum(index(0), COLUMN)), None),
    "a start that nothing bounds": (lambda: sub(minimum(index(5), ROW), minimum(index(0), COLUMN)), None),
}


@pytest.mark.parametrize("name", EXTENTS)
def test_extents_are_below_their_ceiling(name: str):
    make, expected = EXTENTS[name]
    extent = make()
    assert ceiling(extent) == expected
    if expected is not None:
        values = [evaluate_size(extent, {ROW: i, COLUMN: j}) for i, j in product(range(-3, 30), repeat=2)]
        assert max(values) == expected

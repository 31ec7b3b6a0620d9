"""Transposed convolutions of planes whose size is a power of two: what the sums read lies in
rows, one image at a time.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.ir.loop import For, Store
from texpr.ir.loop_kind import VECTOR
from texpr.ir.traverse import walk

SIZES = dict(N=16, C=64, H=32, W=32, K=16, R=4, Q=4, G=1, SH=2, SW=2, PH=1, PW=1, DH=1, DW=1, EH=0, EW=0)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64"])
@pytest.mark.parametrize("side", [16, 32, 33])
def test_sums_go_along_rows_of_an_image(target, side):
    """Lanes are positions. The terms of a sum lie a plane apart, which are the same sets of a
    cache where a plane has 4 KiB.
    """
    s = tx.schedule(tx.ops.conv_transpose2d, **SIZES | {"H": side, "W": side}).auto(target)
    assert 'compute_at("P", "Y.1.n", recompute=False)' in s.script()  # the products of one image at a time
    added = [
        n
        for loop in walk(*s.kernel.body)
        if isinstance(loop, For) and loop.kind == VECTOR and loop.tensor == "P"
        for n in walk(*loop.body)
        if isinstance(n, Store) and n.update == "add"
    ]
    assert added


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("side", [0, 1, 4, 5])
def test_elements_are_added_where_they_belong(rank, groups, side):
    """One by one, in float64."""
    g = np.random.default_rng(rank)
    x, w = g.standard_normal((2, 2 * groups, *[side] * rank)), g.standard_normal((2 * groups, 3, *[3] * rank))
    b = g.standard_normal(3 * groups)
    stride, pad = 2, 1
    count = stride * (side - 1) + 3 - 2 * pad
    if count < 0:
        return
    whole = np.zeros((2, 3 * groups, *[stride * max(side - 1, 0) + 3] * rank))
    for at in np.ndindex(*x.shape):
        n, c, place = at[0], at[1], at[2:]
        k = c // 2 * 3
        window = tuple(slice(stride * p, stride * p + 3) for p in place)
        whole[(n, slice(k, k + 3), *window)] += x[at] * w[c]
    names = "WHU"[:rank]
    constants = {f"S{i}": stride for i in names} | {f"P{i}": pad for i in names} | {"G": groups}
    found = getattr(tx.ops, f"conv_transpose{rank}d")(x, w, b, **constants)
    expected = whole[(slice(None), slice(None), *[slice(pad, pad + count)] * rank)] + b.reshape(
        -1, *[1] * rank
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)

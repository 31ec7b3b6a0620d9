"""Features of loops mean what they say."""

from __future__ import annotations

import pytest

import texpr as tx
from tests.tune.cases import MATMUL
from texpr.ir.machine import Machine
from texpr.tune.features import describe

MACHINE = Machine(64, 32, (1 << 15, 1 << 20), 4)
NAMES = ("instances", "vector", "unroll", "parallel", "buffers", "first", "second")


def features(*steps, **sizes):
    s = tx.schedule(tx.op(MATMUL), **sizes)
    for name, *arguments in steps:
        getattr(s, name)(*arguments)
    return {n: 2**v - 1 for n, v in zip(NAMES, describe(s.kernel, MACHINE), strict=True)}


def test_instances_and_kinds_of_loops():
    plain = features(M=32, N=32, K=32)
    assert plain["instances"] == pytest.approx(32**3 + 2 * 32**2, rel=0.1)
    assert plain["vector"] < 1e5
    wide = features(
        ("split", "j", 16),
        ("reorder", "i", "jo", "k", "ji"),
        ("vectorize", "ji"),
        ("parallel", "i"),
        M=32,
        N=32,
        K=32,
    )
    assert wide["vector"] > 10 * plain["vector"] and wide["parallel"] > plain["parallel"]


def test_tiles_spare_traffic():
    """B does not fit the first cache: every row of A fetches all of it, unless rows are taken
    together.
    """
    naive = features(M=256, N=256, K=256)
    tiled = features(
        ("split", "i", 32), ("split", "j", 32), ("reorder", "io", "jo", "k", "ii", "ji"), M=256, N=256, K=256
    )
    assert naive["first"] > 4 * 256**3 * 0.9
    assert tiled["first"] < naive["first"] / 8
    assert naive["second"] < 4 * 3 * 256**2 * 4

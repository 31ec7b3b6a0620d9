"""The loops of TSVC: default schedules are certified, and kernels give what the interpreter
gives.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import texpr as tx

LOOPS = vars(tx.load(Path(__file__).parents[2] / "bench/tsvc/loops.tx", prove=False))


def test_the_loops():
    assert len(LOOPS) == 116


@pytest.mark.parametrize("name", sorted(LOOPS))
def test_certified(name: str):
    op = LOOPS[name]
    sizes = {v.name: 9 for v in op.program().sizes}
    assert tx.schedule(op, **sizes).auto().certificate()


@pytest.mark.parametrize("name", ["s116", "s123", "s161", "s221", "s258", "s277", "s322", "s4113", "vbor"])
def test_computed(name: str):
    op, random = LOOPS[name], np.random.default_rng(0)
    given = [
        random.permutation(9).astype("i4")
        if t.value_range is not None
        else np.asarray(random.standard_normal((9,) * t.rank), "f4")
        for t in op.program().inputs
    ]
    np.testing.assert_allclose(
        np.asarray(op(*given)), np.asarray(tx.interpret(op, *given)), rtol=2e-5, atol=1e-6
    )

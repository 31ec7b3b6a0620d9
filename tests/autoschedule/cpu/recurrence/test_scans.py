"""Results along rows that each follow from the one before: several rows run side by side."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.compiler.schedule import Schedule


@pytest.mark.parametrize("name", ["cummax", "cummin", "cumprod", "cumsum"])
def test_rows_of_running_results_run_side_by_side(name: str):
    """A dimension of extent 1 inside of them changes nothing, and their first elements have a
    loop of their own.
    """
    op = getattr(tx.ops, name)
    program = op.program({}, {"axis": 1})
    s = Schedule(program, dict(zip(program.sizes, (42, 70, 1)))).auto("x86-64-v4")
    assert {'peel("Y.i", 1, 0)', 'reorder("Y.i", "Y.ai")', 'unroll("Y.ai")'} <= set(
        s.script().split("\n")
    ) and s.certificate()
    assert "prefetch" not in s.script()
    X = np.random.default_rng(0).standard_normal((42, 70)).astype("f4")
    X[3, 7] = np.nan
    assert np.array_equal(np.asarray(op(X, axis=1)), np.asarray(tx.interpret(op, X, axis=1)), equal_nan=True)

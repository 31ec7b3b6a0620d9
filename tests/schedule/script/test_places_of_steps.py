"""A refused step says where it was called."""

from __future__ import annotations

import pytest

import texpr as tx

CALL = """
total = tx.op("op total(X: f32[K]) -> y: f32 { y = sum(k: X[k]) }")
tx.schedule(total).parallel("k")
"""


@pytest.mark.parametrize(
    "file, place",
    [
        ("work/product.py", "step 1, product.py:3: parallel"),
        ("tmp/ipykernel_17/3578.py", "step 1, line 3 of the cell: parallel"),
        ("<stdin>", "step 1, <stdin>:3: parallel"),
    ],
)
def test_file_or_cell_is_named(file: str, place: str):
    with pytest.raises(tx.ScheduleError) as caught:
        exec(compile(CALL, file, "exec"), {"tx": tx})
    assert place in str(caught.value)

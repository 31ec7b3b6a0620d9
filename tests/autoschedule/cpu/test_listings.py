"""Default schedules of small operators, and the loops that they end in."""

from __future__ import annotations

import pytest

import texpr as tx
from tests.schedule.steps.cases import OPS
from texpr.autoschedule.driver import auto
from texpr.ir.machine import Machine

MACHINE = Machine(vector_bytes=32, vector_registers=16, caches=(32 << 10, 1 << 20), cores=4)
"""The same wherever the tests run."""


@pytest.mark.parametrize(
    "op, sizes",
    [
        ("matmul", {"M": 64, "N": 64, "K": 64}),
        ("matmul", {}),
        ("softmax", {"M": 64, "N": 100}),
        ("blur", {"M": 200, "N": 300}),
        ("scalar", {}),
        ("scatter", {"M": 9, "N": 9}),
    ],
)
def test_auto(op, sizes, golden):
    s = tx.schedule(OPS[op], **sizes)
    s.steps[:], s.kernel = auto(s.kernel, MACHINE)
    golden(f"{s.script()}\n{s}")

"""Compiling leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

import texpr as tx
from texpr.targets import find_target
from texpr.targets.common.llvm_backend import machine, optimized


def resident() -> int:
    """Kilobytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_optimizing_frees_its_memory():
    text = tx.schedule(tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * 2.5 }")).compile().llvm
    native = find_target("native")
    tm = machine(native.triple, native.cpu, native.features)
    for _ in range(20):
        optimized(text, native.triple, tm)
    before = resident()
    for _ in range(100):
        optimized(text, native.triple, tm)
    assert resident() - before < 1000

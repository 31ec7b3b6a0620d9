"""Squares that are turned in registers, of elements of every size."""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx

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

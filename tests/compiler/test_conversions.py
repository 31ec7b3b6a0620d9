"""Every element type converted to every other: compiled as interpreted, bit for bit, whatever
the target has instructions for.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.compare import same_bf16, same_numbers
from texpr.ir.dtypes import BF16, DTYPES, F8E4M3, F8E5M2, DType, numbers_of, numpy_dtype

NEAR_TIES = [
    *(2**40 + 2**32 + d for d in (-1, 0, 1)),
    *(2**30 + 2**22 + d for d in (-1, 0, 1)),
    2**60 + 2**52 + 1,
    2**62 + 2**54 - 1,
    2**24 + 1,
]


def values(t: DType) -> np.ndarray:
    """Numbers over the whole range of a type, with those where rounding twice differs from
    rounding once.
    """
    generator, stored = np.random.default_rng(t.bits), numpy_dtype(t)
    if t.kind == "bool":
        return generator.integers(0, 2, 67).astype(bool)
    if t.bits == 8 and t.is_float:
        return np.arange(256, dtype=np.uint8)
    if t.bits == 16 and t.is_float:
        return np.arange(0, 65536, 7, dtype=np.uint16).view(stored)
    if t.is_int:
        info = np.iinfo(stored)
        ends = [
            info.min,
            info.max,
            0,
            1,
            *(n for n in NEAR_TIES if n <= info.max),
            *(-n for n in NEAR_TIES if -n >= info.min),
        ]
        spread = generator.integers(info.min, info.max, 200, stored)
        return np.array([*ends, *(int(n) >> k for k, n in enumerate(spread))], stored)
    ends = [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        300,
        -1,
        1e30,
        -1e30,
        65504,
        65519.99,
        65520,
        -129,
        255.5,
        2.0**63,
        2.0**64,
        1e-40,
        1e-45,
        -9e-8,
    ]
    small = np.concatenate(
        [numbers_of(np.arange(0x7C, dtype=np.uint8), each) for each in (F8E4M3, F8E5M2)]
    ).astype(np.float64)
    halfway = np.multiply.outer(
        (small[1:] + small[:-1]) / 2, [1, 1 + 2.0**-45, -1 + 2.0**-45, 1 - 2.0**-23]
    ).ravel()
    ends += [464, 464 + 2.0**-20, -465, 448, 61440, 61440 - 2.0**-8, -61439.99]
    ties = 1 + generator.integers(0, 4096, 400) / 4096 + 2.0**-30 * generator.integers(-1, 2, 400)
    spread = generator.standard_normal(400) * 10.0 ** generator.integers(-42, 42, 400)
    with np.errstate(over="ignore"):
        return np.concatenate([ends, halfway, ties, spread]).astype(stored)


@pytest.mark.parametrize("source", DTYPES)
def test_conversions(source: str):
    x = values(DTYPES[source])
    for name, t in DTYPES.items():
        convert = tx.op(f"op f(X: {source}[N]) -> Y: {name}[N] {{ Y[i] = {name}(X[i]) }}")
        found, expected = convert(x), tx.interpret(convert, x)
        same_numbers(np.asarray(found), np.asarray(expected), t)


def test_a_bf16_that_waits_in_a_register_keeps_its_denormals():
    """What a loop inside stores again and again: LLVM would hold it as a float, and x86 rounds
    those to zero.
    """
    op = tx.op("op f(X: f32[N], Z: f32[M]) -> Y: bf16[N, M] { Y[i, j] = X[i] * Z[0] }")
    x, z = (np.arange(-20, 20) * 2.0**-133).astype(np.float32), np.ones(5, np.float32)
    np.testing.assert_array_equal(op(x, z), tx.interpret(op, x, z))
    assert len(np.unique(tx.interpret(op, x, z))) == 40


@pytest.mark.parametrize("update", ["+=", "*=", "max=", "min="])
@pytest.mark.parametrize("lanes", [False, True])
def test_updates_of_bf16_round_once(update: str, lanes: bool):
    op = tx.op(
        f"op f(X: bf16[N], Z: bf16[N]) -> Y: bf16[N] {{ Y[i] = Z[i]  Y[k] {update} X[k] for k in 0..N }}"
    )
    s = tx.schedule(op)
    if lanes:
        s.vectorize("Y.1.k")
    x = values(BF16)
    z = np.random.default_rng(0).permutation(x)
    assert same_bf16(s.compile()(x, z), tx.interpret(op, x, z))


def test_bf16_updates_of_one_element_by_many():
    op = tx.op("op f(X: bf16[N], p: i32[N] in 0..3) -> Y: bf16[3] { Y[i] = 0  Y[p[k]] += X[k] }")
    x, p = values(BF16)[:40], (np.arange(40) % 3).astype(np.int32)
    assert same_bf16(op(x, p), tx.interpret(op, x, p))

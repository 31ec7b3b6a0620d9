"""Functions of the bits of integers: shifts by any number, and random numbers, which are the
blocks of words that `ir.interpreter.random` defines.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import numpy as np

from texpr.ir.dtypes import BOOL, F64, I32, I64, U32, U64, DType
from texpr.ir.interpreter.random import MULTIPLIERS, ROUNDS, WEYL
from texpr.onnx.writing.graph import Value, known
from texpr.onnx.writing.scalar_nodes import Scalars

_WORD = 0xFFFFFFFF
Words = tuple[Value, ...]


def shifted(s: Scalars, x: Value, by: Value, left: bool) -> Value:
    """x * 2^by, or the floor of x / 2^by; all bits are gone where `by` is not one of 0..bits."""
    wide = U64 if x.dtype.bits == 64 else U32
    bits, amount = s.graph.cast(x, wide), s.graph.cast(by, wide)
    inside = s.graph.cast(s.apply("Less", amount, s.number(x.dtype.bits, amount), dtype=BOOL), wide)
    amount = s.apply("Mul", amount, inside)
    if left or not x.dtype.is_signed:
        found = s.apply("BitShift", bits, amount, direction="LEFT" if left else "RIGHT")
        return s.graph.cast(s.apply("Mul", found, inside), x.dtype)
    signed = s.graph.cast(x, I64 if wide == U64 else I32)
    below = s.graph.cast(s.apply("Less", signed, s.number(0, signed), dtype=BOOL), wide)
    ones = s.apply("Mul", below, s.number((1 << wide.bits) - 1, below))  # of negative numbers
    found = s.apply("BitShift", s.apply("BitwiseXor", bits, ones), amount, direction="RIGHT")
    return s.graph.cast(s.apply("BitwiseXor", s.apply("Mul", found, inside), ones), x.dtype)


def drawn(s: Scalars, name: str, t: DType, seed: Value, indices: Sequence[Value]) -> Value:
    """`uniform` or `normal` of type `t` for every instance."""
    w = _block(s, seed, indices)
    if t == F64:
        u, v = (_fraction(s, _joined(s, w[k + 1], w[k]), 11, 53) for k in (0, 2))
    else:
        u, v = (_fraction(s, w[k], 8, 24) for k in (0, 1))
    if name == "uniform":
        return s.graph.cast(u, t)
    # sin(pi f) for cos(2 pi v), where f is exact: no digits are lost near the zeros.
    f = s.apply("Abs", s.apply("Sub", s.apply("Mul", v, s.number(2, v)), s.number(1, v)))
    f = s.apply("Mul", s.apply("Sub", f, s.number(0.5, f)), s.number(pi, f))
    log = s.apply("Log", s.apply("Sub", s.number(1, u), u))
    radius = s.apply("Sqrt", s.apply("Mul", log, s.number(-2, log)))
    return s.graph.cast(s.apply("Mul", radius, s.apply("Sin", f)), t)


def _joined(s: Scalars, high: Value, low: Value) -> Value:
    return s.apply("BitwiseOr", s.apply("BitShift", high, s.number(32, high), direction="LEFT"), low)


def _fraction(s: Scalars, word: Value, dropped: int, bits: int) -> Value:
    """The upper bits of a word, as a number of 0..1."""
    whole = s.graph.cast(_right(s, word, dropped), I64)  # signed ones are cast to floats everywhere
    number = s.graph.cast(whole, F64)
    return s.apply("Mul", number, s.number(2.0**-bits, number))


def _right(s: Scalars, x: Value, by: int) -> Value:
    return s.apply("BitShift", x, s.number(by, x), direction="RIGHT")


def _block(s: Scalars, seed: Value, indices: Sequence[Value]) -> Words:
    """The four words of a seed and any number of indices."""
    key, words = _split(s, seed), [_split(s, i) for i in indices]
    zero = known(np.zeros((1,) * len(seed.shape), np.uint64), U64)
    words += [(zero, zero)] * (2 if not words else len(words) % 2)
    result: Words = ()
    for first, second in zip(words[::2], words[1::2]):
        result = _philox(s, key, (*first, *second))
        key = result[:2]
    return result


def _split(s: Scalars, x: Value) -> Words:
    """The lower and the upper word of 64 bits."""
    if x.array is not None:
        bits = np.asarray(x.array).astype(np.uint64)
        return known(bits & np.uint64(_WORD), U64), known(bits >> np.uint64(32), U64)
    bits = s.graph.cast(x, U64)
    return _lower(s, bits), _right(s, bits, 32)


def _lower(s: Scalars, x: Value) -> Value:
    return s.apply("BitwiseAnd", x, s.number(_WORD, x))


def _philox(s: Scalars, key: Words, counter: Words) -> Words:
    """Four words from two and four of them, each word in 64 bits."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    for _ in range(ROUNDS):
        first = s.apply("Mul", c0, s.number(MULTIPLIERS[0], k0))
        second = s.apply("Mul", c2, s.number(MULTIPLIERS[1], k0))
        c0, c1, c2, c3 = (
            s.apply("BitwiseXor", s.apply("BitwiseXor", _right(s, second, 32), c1), k0),
            _lower(s, second),
            s.apply("BitwiseXor", s.apply("BitwiseXor", _right(s, first, 32), c3), k1),
            _lower(s, first),
        )
        k0, k1 = (_lower(s, s.apply("Add", k, s.number(w, k))) for k, w in zip((k0, k1), WEYL))
    return c0, c1, c2, c3

"""Random numbers without state: what `uniform(seed, i, j)` and `normal(seed, i, j)` are, on NumPy
arrays.

A block of four 32-bit words is Philox4x32-10 of a counter of four words and a key of two (Salmon et
al., Parallel random numbers: as easy as 1, 2, 3, SC 2011). The seed, a u64, is the key; two
indices, i64 each, are the counter; of every number the lower word comes first. A missing index is
0. Of more than two indices, each pair from the left makes the key of the next: the first two words
of its block. The last pair (or the last index alone) gives the block of words w0..w3 that the
number is made of:

    uniform, f32   (w0 >> 8) / 2^24                    0 <= u < 1
    uniform, f64   (w1 w0 >> 11) / 2^53                w0 is the lower half
    normal         sqrt(-2 log(1 - u)) cos(2 pi v)     Box and Muller 1958; u is the uniform number of this type, v one of the next
                                                       words: w1 in f32, w3 w2 in f64

So `uniform` and `normal` of the same arguments come from the same words: independent numbers take
another seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from texpr.ir.dtypes import F32, F64, DType, numpy_dtype

ROUNDS = 10
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
"""Increments of the key's words in each round: from the golden ratio, and from the square root of
3.
"""
RANDOM = ("uniform", "normal")
"""Their first argument is the seed, u64; the others are indices, i64; the result is f32 or f64."""

_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
Words = tuple[np.ndarray, ...]


def philox(key: Sequence[np.ndarray], counter: Sequence[np.ndarray]) -> Words:
    """Four words of 32 bits, in u64, from two and four of them."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    for _ in range(ROUNDS):
        first, second = c0 * np.uint64(MULTIPLIERS[0]), c2 * np.uint64(MULTIPLIERS[1])
        c0, c1, c2, c3 = (
            (second >> _HALF) ^ c1 ^ k0,
            second & _WORD,
            (first >> _HALF) ^ c3 ^ k1,
            first & _WORD,
        )
        k0, k1 = (k0 + np.uint64(WEYL[0])) & _WORD, (k1 + np.uint64(WEYL[1])) & _WORD
    return c0, c1, c2, c3


def block(seed: np.ndarray, indices: Sequence[np.ndarray]) -> Words:
    """The four words of a seed and any number of indices."""
    key, words = _split(np.asarray(seed)), [_split(np.asarray(i)) for i in indices]
    words += [_split(np.zeros((), np.uint64))] * (2 if not words else len(words) % 2)
    for first, second in zip(words[::2], words[1::2]):
        result = philox(key, (*first, *second))
        key = result[:2]
    return result


def draw(name: str, t: DType, seed: np.ndarray, indices: Sequence[np.ndarray]) -> np.ndarray:
    """`uniform` or `normal` of type `t` at every point."""
    w = block(seed, indices)
    if t == F64:
        u, v = ((((w[k + 1] << _HALF) | w[k]) >> np.uint64(11)).astype(np.float64) * 2.0**-53 for k in (0, 2))
    else:
        assert t == F32, f"no {name} of {t}"
        u, v = ((w[k] >> np.uint64(8)).astype(np.float64) * 2.0**-24 for k in (0, 1))
    if name == "uniform":
        return u.astype(numpy_dtype(t))
    # sin(pi f) for cos(2 pi v), where f is exact: no digits are lost near the zeros.
    turned = np.sin(np.pi * (np.abs(2 * v - 1) - 0.5))
    return (np.sqrt(-2 * np.log(1 - u)) * turned).astype(numpy_dtype(t))


def _split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lower and the upper word of 64 bits."""
    bits = x.astype(np.uint64)
    return bits & _WORD, bits >> _HALF

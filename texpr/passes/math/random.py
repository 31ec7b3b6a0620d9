"""`uniform` and `normal` over u32 arithmetic: the blocks that `ir.interpreter.random` defines,
the same bits wherever they are computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.build import literal
from texpr.ir.dtypes import F32, F64, I32, I64, U32, U64, DType
from texpr.ir.expr import Add, Call, Cast, Const, Expr, Mul
from texpr.ir.interpreter.random import MULTIPLIERS, ROUNDS, WEYL
from texpr.passes.math.coefficients import SIN_F64, SIN_PI_F32
from texpr.passes.math.logarithm import log
from texpr.passes.math.primitives import DOUBLE, Arithmetic

Words = tuple[Expr, ...]


def uniform(m: Arithmetic, seed: Expr, *indices: Expr) -> Expr:
    """The first 24 or 53 bits of the block as a fraction."""
    return _fraction(m.real, block(seed, indices), 0)


def normal(m: Arithmetic, seed: Expr, *indices: Expr) -> Expr:
    """sqrt(-2 log(1 - u)) cos(2 pi v). 1 - u is exact, and so is f = |2 v - 1| - 1/2, for which
    the cosine is sin(pi f).
    """
    words = block(seed, indices)
    u, v = _fraction(m.real, words, 0), _fraction(m.real, words, 1)
    radius = m.call("sqrt", m.mul(-2.0, log(m, m.sub(1.0, u))))
    f = m.sub(m.call("abs", m.sub(m.mul(2.0, v), 1.0)), 0.5)
    return m.mul(radius, _sine(m, f))


def _sine(m: Arithmetic, f: Expr) -> Expr:
    """sin(pi f) for |f| <= 1/2."""
    d = DOUBLE
    if m.real == F32:
        f = d.cast(f, F64)
        return d.cast(d.mul(d.polynomial(d.mul(f, f), SIN_PI_F32), f), F32)
    r = d.mul(f, 3.141592653589793)
    square = d.mul(r, r)
    return d.fma(d.mul(square, r), d.polynomial(square, SIN_F64), r)


def _fraction(t: DType, words: Words, which: int) -> Expr:
    """Fraction number `which` of a block. The integers are cast as signed ones, which processors
    convert faster.
    """
    if t == F32:
        bits = Call("shr", (words[which], literal(8, U32)))
        return Mul(Cast(Cast(bits, dtype=I32), dtype=F32), literal(2.0**-24, F32))
    low, high = (Cast(w, dtype=U64) for w in words[2 * which : 2 * which + 2])
    bits = Call("shr", (Call("bit_or", (Call("shl", (high, literal(32, U64))), low)), literal(11, U64)))
    return Mul(Cast(Cast(bits, dtype=I64), dtype=F64), literal(2.0**-53, F64))


def block(seed: Expr, indices: Sequence[Expr]) -> Words:
    """The four words of a seed and any number of indices."""
    key, words = _split(seed), [_split(Cast(i, dtype=U64)) for i in indices]
    words += [_split(literal(0, U64))] * (2 if not words else len(words) % 2)
    result: Words = ()
    for first, second in zip(words[::2], words[1::2]):
        result = philox(key, (*first, *second))
        key = result[:2]
    return result


def philox(key: Words, counter: Words) -> Words:
    """Philox4x32 of ten rounds over u32 expressions."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    first, second = (literal(value, U32) for value in MULTIPLIERS)
    for round_ in range(ROUNDS):
        if round_:
            k0, k1 = Add(k0, literal(WEYL[0], U32)), Add(k1, literal(WEYL[1], U32))
        c0, c1, c2, c3 = (
            _xor(Call("mulhi", (c2, second)), c1, k0),
            Mul(c2, second),
            _xor(Call("mulhi", (c0, first)), c3, k1),
            Mul(c0, first),
        )
    return c0, c1, c2, c3


def _xor(a: Expr, b: Expr, c: Expr) -> Expr:
    return Call("bit_xor", (Call("bit_xor", (a, b)), c))


def _split(x: Expr) -> Words:
    """The lower and the upper word of 64 bits."""
    if isinstance(x, Const):
        return literal(int(x.value), U32), literal(int(x.value) >> 32, U32)
    return Cast(x, dtype=U32), Cast(Call("shr", (x, literal(32, U64))), dtype=U32)

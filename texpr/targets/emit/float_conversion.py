"""Conversions of floats to narrower types with one rounding, by integer arithmetic: no target has
all of these conversions, some lose denormals.

Floats as integers, saturating, where a machine converts vectors but does not saturate.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from texpr.ir.dtypes import BF16, BOOL, F16, F32, F64, I32, U32, DType, Small, int_range, numpy_dtype, small
from texpr.targets.emit.function import Value, constant, register_type, vector_type

One = Callable[[str, DType, int], Value]
"""Emits an instruction: its text, the type of its elements, and its lanes."""


def narrowed(one: One, a: Value, t: DType) -> Value:
    """`a`, a float, as the narrower float type `t`; ties to even."""
    if t == F32:
        return _truncated(one, a, F32)
    near = _odd(one, a) if a.dtype == F64 else _cast(one, "fpext", a, F32) if a.dtype == F16 else a
    form = small(t)
    if form is not None:
        return _small(one, near, t, form)
    return _bf16(one, near) if t == BF16 else _truncated(one, near, t)


def widened(one: One, a: Value) -> Value:
    """A value of a type that LLVM lacks as the f32 that it is; of a bf16 the bits are the upper
    half.
    """
    bits = _cast(one, "zext", a, U32)
    form = small(a.dtype)
    if form is not None:
        return _of_small(one, bits, form)
    return _cast(one, "bitcast", one(f"shl {bits}, {constant(16, U32, a.lanes).text}", U32, a.lanes), F32)


def of_integer(one: One, a: Value, t: DType) -> Value:
    """An integer as a float that LLVM lacks, rounded once: by way of an f64, which no rounding
    harms.
    """
    word = "sitofp" if a.dtype.is_signed and a.dtype != BOOL else "uitofp"
    if a.dtype.bits < 64:
        return narrowed(one, _cast(one, word, a, F64), t)
    # The low bits become one bit that says whether there were any; the rest is exact in an f64.
    mask = one(f"and {a}, {constant(0xFFF, a.dtype, a.lanes).text}", a.dtype, a.lanes)
    some = one(f"icmp ne {mask}, {constant(0, a.dtype, a.lanes).text}", BOOL, a.lanes)
    high = one(f"and {a}, {constant(-0x1000, a.dtype, a.lanes).text}", a.dtype, a.lanes)
    sticky = one(f"or {high}, {constant(0x1000, a.dtype, a.lanes).text}", a.dtype, a.lanes)
    jammed = _cast(one, word, one(f"select {some}, {sticky}, {high}", a.dtype, a.lanes), F64)
    plain = _cast(one, word, a, F64)
    large = one(f"fcmp oge {_magnitude(one, plain)}, {constant(2.0**53, F64, a.lanes).text}", BOOL, a.lanes)
    return narrowed(one, one(f"select {large}, {jammed}, {plain}", F64, a.lanes), t)


def saturated(one: One, a: Value, t: DType) -> Value:
    """An f32 or f64 as an integer, towards zero, 0 for NaN: moved into the range of `t`,
    converted, and its ends set.
    """
    lo, hi = int_range(t)
    least, most = constant(float(lo), a.dtype, a.lanes), _largest_up_to(hi, a.dtype)
    # Comparisons in these directions are one instruction each, and take NaN to `lo`.
    above = one(f"fcmp ogt {a}, {least.text}", BOOL, a.lanes)
    a_low = one(f"select {above}, {a}, {least}", a.dtype, a.lanes)
    last = constant(most, a.dtype, a.lanes)
    below = one(f"fcmp olt {a_low}, {last.text}", BOOL, a.lanes)
    inside = one(f"select {below}, {a_low}, {last}", a.dtype, a.lanes)
    wide = t if t.bits >= 32 else I32
    whole = _cast(one, "fptosi" if wide.is_signed else "fptoui", inside, wide)
    whole = whole if wide == t else _cast(one, "trunc", whole, t)
    if int(most) < hi:
        beyond = one(f"fcmp oge {a}, {constant(float(hi + 1), a.dtype, a.lanes).text}", BOOL, a.lanes)
        whole = one(f"select {beyond}, {constant(hi, t, a.lanes)}, {whole}", t, a.lanes)
    if lo == 0:
        return whole
    number = one(f"fcmp ord {a}, {a.text}", BOOL, a.lanes)
    return one(f"select {number}, {whole}, {constant(0, t, a.lanes)}", t, a.lanes)


def _largest_up_to(hi: int, t: DType) -> float:
    """The largest number of float type `t` that is not above `hi`."""
    near = numpy_dtype(t).type(hi)
    return float(near if int(near) <= hi else np.nextafter(near, numpy_dtype(t).type(0)))


def _truncated(one: One, a: Value, t: DType) -> Value:
    return one(f"fptrunc {a} to {vector_type(register_type(t), a.lanes)}", t, a.lanes)


def _cast(one: One, word: str, a: Value, t: DType) -> Value:
    return one(f"{word} {a} to {vector_type(register_type(t), a.lanes)}", t, a.lanes)


def _odd(one: One, a: Value) -> Value:
    """An f64 as the f32 next to it in the direction of zero, its last bit set where that is not
    exact.

    Rounding that again to at most 22 bits gives what rounding once gives: Boldo and Melquiond, When
    double rounding is odd, 2005.
    """
    near = _truncated(one, a, F32)
    back = _cast(one, "fpext", near, F64)
    bits = _cast(one, "bitcast", near, U32)
    inexact = one(f"fcmp one {back}, {a.text}", BOOL, a.lanes)
    size, before = (_magnitude(one, v) for v in (back, a))
    above = one(f"fcmp ogt {size}, {before.text}", BOOL, a.lanes)
    down = one(f"sub {bits}, {_cast(one, 'zext', above, U32).text}", U32, a.lanes)
    odd = one(f"or {down}, {constant(1, U32, a.lanes).text}", U32, a.lanes)
    return _cast(one, "bitcast", one(f"select {inexact}, {odd}, {bits}", U32, a.lanes), F32)


def _magnitude(one: One, a: Value) -> Value:
    negative = one(f"fcmp olt {a}, {constant(0, a.dtype, a.lanes).text}", BOOL, a.lanes)
    opposite = one(f"fneg {a}", a.dtype, a.lanes)
    return one(f"select {negative}, {opposite}, {a}", a.dtype, a.lanes)


def _bf16(one: One, a: Value) -> Value:
    """An f32 as bf16: the upper half of its bits, rounded."""
    bits = _cast(one, "bitcast", a, U32)
    upper = one(f"lshr {bits}, {constant(16, U32, a.lanes).text}", U32, a.lanes)
    last = one(f"and {upper}, {constant(1, U32, a.lanes).text}", U32, a.lanes)
    half = one(f"add {last}, {constant(0x7FFF, U32, a.lanes).text}", U32, a.lanes)
    rounded = one(
        f"lshr {one(f'add {bits}, {half.text}', U32, a.lanes)}, {constant(16, U32, a.lanes).text}",
        U32,
        a.lanes,
    )
    is_nan = one(f"fcmp uno {a}, {a.text}", BOOL, a.lanes)
    chosen = one(f"select {is_nan}, {constant(0x7FC0, U32, a.lanes)}, {rounded}", U32, a.lanes)
    return _cast(one, "trunc", chosen, BF16)


def _small(one: One, a: Value, t: DType, form: Small) -> Value:
    """An f32 as a float of 8 bits.

    The exponent of a normal number moves to its new bias. To a smaller number one is added whose
    last bit has the worth of the smallest denormal one: what is added to its bits counts those.
    """
    shift, n = 23 - form.fraction, a.lanes
    bits = _cast(one, "bitcast", a, U32)
    sign = one(
        f"and {one(f'lshr {bits}, {constant(24, U32, n).text}', U32, n)}, {constant(0x80, U32, n).text}",
        U32,
        n,
    )
    size = one(f"and {bits}, {constant(0x7FFFFFFF, U32, n).text}", U32, n)
    last = one(
        f"and {one(f'lshr {size}, {constant(shift, U32, n).text}', U32, n)}, {constant(1, U32, n).text}",
        U32,
        n,
    )
    moved = (1 << shift - 1) - 1 - (126 + form.exponent << 23)
    half = one(f"add {last}, {constant(moved & 0xFFFFFFFF, U32, n).text}", U32, n)
    normal = one(f"lshr {one(f'add {size}, {half.text}', U32, n)}, {constant(shift, U32, n).text}", U32, n)
    unit = 2.0 ** (form.exponent - form.fraction + 23)
    total = one(f"fadd {_cast(one, 'bitcast', size, F32)}, {constant(unit, F32, n).text}", F32, n)
    few = one(f"sub {_cast(one, 'bitcast', total, U32)}, {constant(_bits(unit), U32, n).text}", U32, n)
    denormal = one(f"icmp ult {size}, {constant(_bits(2.0**form.exponent), U32, n).text}", BOOL, n)
    number = one(f"select {denormal}, {few}, {normal}", U32, n)
    endless = form.beyond == inf
    most = constant((0x7F << form.fraction if endless else form.nan) & 0x7F, U32, n)
    whole = one(f"select {one(f'icmp ult {number}, {most.text}', BOOL, n)}, {number}, {most}", U32, n)
    is_nan = one(f"fcmp uno {a}, {a.text}" if endless else f"icmp eq {whole}, {most.text}", BOOL, n)
    signed = one(f"or {whole}, {sign.text}", U32, n)
    return _cast(one, "trunc", one(f"select {is_nan}, {constant(form.nan, U32, n)}, {signed}", U32, n), t)


def _of_small(one: One, bits: Value, form: Small) -> Value:
    """The f32 of a float of 8 bits. A denormal number is the difference of the number with the
    exponent of the smallest normal number and that number.
    """
    shift, n = 23 - form.fraction, bits.lanes
    size = one(f"and {bits}, {constant(0x7F, U32, n).text}", U32, n)
    high = one(f"shl {size}, {constant(shift, U32, n).text}", U32, n)
    sign = one(
        f"shl {one(f'and {bits}, {constant(0x80, U32, n).text}', U32, n)}, {constant(24, U32, n).text}",
        U32,
        n,
    )
    normal = one(f"add {high}, {constant(126 + form.exponent << 23, U32, n).text}", U32, n)
    least = 2.0**form.exponent
    above = _cast(one, "bitcast", one(f"or {high}, {constant(_bits(least), U32, n).text}", U32, n), F32)
    few = _cast(one, "bitcast", one(f"fsub {above}, {constant(least, F32, n).text}", F32, n), U32)
    denormal = one(f"icmp ult {size}, {constant(1 << form.fraction, U32, n).text}", BOOL, n)
    number = one(f"select {denormal}, {few}, {normal}", U32, n)
    last = (0x7F << form.fraction) & 0x7F if form.beyond == inf else form.nan
    special = one(f"icmp uge {size}, {constant(last, U32, n).text}", BOOL, n)
    endless = one(f"or {high}, {constant(0x7F800000, U32, n).text}", U32, n)
    whole = one(f"select {special}, {endless}, {number}", U32, n)
    return _cast(one, "bitcast", one(f"or {whole}, {sign.text}", U32, n), F32)


def _bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))

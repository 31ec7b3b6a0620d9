"""Sums on data of 64 bits that never wrap: bounds in exact integers, with the ends of the type."""

from __future__ import annotations

from itertools import product

import pytest

from texpr.ir.build import maximum, minimum, sub
from texpr.ir.expr import Add, Expr, Mul, Neg, Var, index
from texpr.poly.certificate.engine.wrapping import fits_in_64_bits, is_bounded

N, K, A, B = (Var(name) for name in "NKab")
LEAST, MOST = -(1 << 63), (1 << 63) - 1
ZERO = index(0)


@pytest.mark.parametrize(
    ("e", "fitting"),
    [
        (sub(N, maximum(A, ZERO)), True),
        (sub(maximum(B, maximum(A, ZERO)), maximum(A, ZERO)), True),
        (sub(K, maximum(A, ZERO)), True),
        (Add(K, maximum(A, ZERO)), False),
        (Add(minimum(A, index(5)), K), False),
        (sub(N, A), False),
        (sub(minimum(A, N), maximum(B, ZERO)), False),
        (Neg(A), False),
        (Neg(maximum(A, ZERO)), True),
        (Add(A, index(1)), False),
    ],
)
def test_fits(e: Expr, fitting: bool):
    """Sizes and loops are not below 0, data are anything."""
    assert fits_in_64_bits(e, {A, B}.__contains__) is fitting
    ends = {N: (0, MOST), K: (0, MOST), A: (LEAST, -1, 0, 1, MOST), B: (LEAST, -1, 0, 1, MOST)}
    values = [_value(e, dict(zip(ends, each))) for each in product(*ends.values())]
    assert all(LEAST <= v <= MOST for v in values) is fitting


@pytest.mark.parametrize(
    ("e", "bounded"),
    [
        (N, True),
        (A, False),
        (maximum(A, ZERO), False),
        (minimum(A, N), False),
        (minimum(maximum(A, ZERO), N), True),
        (maximum(minimum(A, N), ZERO), True),
        (Mul(minimum(A, N), index(3)), False),
        (Mul(minimum(maximum(A, ZERO), N), index(3)), True),
        (Add(minimum(A, N), minimum(B, N)), False),
    ],
)
def test_bounded_on_both_sides(e: Expr, bounded: bool):
    """One bound alone is none: twice the least number is 0, in 64 bits."""
    assert is_bounded(e, {A, B}.__contains__) is bounded


def _value(e: Expr, at: dict[Var, int]) -> int:
    if isinstance(e, Var):
        return at[e]
    operands = [_value(c, at) for c in (getattr(e, n) for n in ("lhs", "rhs", "operand") if hasattr(e, n))]
    match type(e).__name__, operands:
        case "Const", _:
            return int(e.value)  # type: ignore[attr-defined]
        case "Add", (a, b):
            return a + b
        case "Sub", (a, b):
            return a - b
        case "Neg", (a,):
            return -a
        case "Max", (a, b):
            return max(a, b)
        case "Min", (a, b):
            return min(a, b)
    raise AssertionError(type(e).__name__)

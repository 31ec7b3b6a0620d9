"""The meaning of scalar operators: facts, and agreement of the two interpreters on all special
values.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.compare import assert_same_bits, same_numbers
from tests.programs import axis, names
from tests.strategies import special_values
from texpr.ir.dtypes import BF16, BOOL, DTYPES, F32, F64, I8, I32, I64, U8, U64, DType
from texpr.ir.expr import (
    Add,
    Binary,
    Call,
    Cast,
    Compare,
    Div,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Pow,
    Read,
    Select,
    Sub,
    Tensor,
    plain,
)
from texpr.ir.functions import FUNCTIONS
from texpr.ir.interpreter.arithmetic import binary, cast, fold, quiet, store
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.loop import For, Kernel, Store
from texpr.ir.tensor import Equation, Program
from texpr.ir.verifier.program import verify_kernel, verify_program


def both(result: DType, operands: tuple[DType, ...], make, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """`make(a, b, ...)` elementwise: by the interpreter of programs and by that of kernels."""
    n, i = names("N i")
    inputs = tuple(Tensor(f"X{k}", t, plain(n)) for k, t in enumerate(operands))
    out = Tensor("Y", result, plain(n))
    value: Expr = make(*(Read(x, (i,)) for x in inputs))
    program = Program("f", inputs, (out,), (Equation(out, (i,), (axis(i, n),), value),), (n,))
    kernel = Kernel("f", inputs, (out,), (), (n,), (For(i, n, (Store(out, (i,), value),)),))
    verify_program(program)
    verify_kernel(kernel)
    return [interpret(program, arrays)[0], interpret_kernel(kernel, arrays, {"N": len(arrays[0])})[0]]


def pairs(t: DType) -> list[np.ndarray]:
    values = special_values(t)
    return [np.repeat(values, len(values)), np.tile(values, len(values))]


def kinds(t: DType) -> list[type[Binary]]:
    if t == BOOL:
        return [Max, Min]
    return [Add, Sub, Mul, FloorDiv, Mod, Max, Min, *([Div, Pow] if t.is_float else [])]


@pytest.mark.parametrize("t", DTYPES.values(), ids=str)
def test_the_interpreters_agree_on_operators(t: DType):
    for kind in kinds(t):
        found, expected = both(t, (t, t), kind, pairs(t))
        same_numbers(found, expected, t)
    for op in ("<", "<=", ">", ">=", "==", "!="):
        assert_same_bits(*both(BOOL, (t, t), lambda a, b, op=op: Compare(op, a, b), pairs(t)))
    found, expected = both(t, (t, t), lambda a, b: Select(Compare("<", a, b), a, b), pairs(t))
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("t", DTYPES.values(), ids=str)
def test_the_interpreters_agree_on_functions_and_casts(t: DType):
    values = [special_values(t)]
    for function in FUNCTIONS.values():
        fits = {"float": t.is_float, "int": t.is_int, "num": t != BOOL}[function.domain]
        if fits and function.arity < 3:
            result = BOOL if function.result == "bool" else t
            found, expected = both(
                result,
                (t,) * function.arity,
                lambda *args, f=function, t=result: Call(f.name, args, dtype=t),
                values if function.arity == 1 else pairs(t),
            )
            same_numbers(found, expected, result)
    for target in DTYPES.values():
        found, expected = both(target, (t,), lambda a, target=target: Cast(a, dtype=target), values)
        same_numbers(found, expected, target)
    if t != BOOL:
        found, expected = both(t, (t,), Neg, values)
        same_numbers(found, expected, t)


@pytest.mark.parametrize(
    ("kind", "a", "b", "expected"),
    [
        (FloorDiv, -7, 2, -4),
        (Mod, -7, 2, 1),
        (Mod, 7, -3, -2),
        (FloorDiv, 1, 0, 0),
        (Mod, 1, 0, 0),
        (FloorDiv, -(2**31), -1, -(2**31)),
        (Mod, -(2**31), -1, 0),
        (Add, 2**31 - 1, 1, -(2**31)),
        (Mul, 2**30, 4, 0),
    ],
)
def test_integers_as_numpy_has_them(kind: type[Binary], a: int, b: int, expected: int):
    for result in both(I32, (I32, I32), kind, [np.array([a], np.int32), np.array([b], np.int32)]):
        assert result.tolist() == [expected]


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"),
    [
        (F32, I32, np.nan, 0),
        (F32, I32, 1e30, 2**31 - 1),
        (F32, I32, -1e30, -(2**31)),
        (F64, U8, 300.0, 255),
        (F64, U8, -0.9, 0),
        (F64, I64, 2.0**63, 2**63 - 1),
        (F64, U64, 2.0**64, 2**64 - 1),
        (F64, I8, -128.9, -128),
        (F32, I8, 126.7, 126),
        (I32, U8, -1, 255),
        (F32, BOOL, np.nan, True),
        (F32, BOOL, -0.0, False),
        (I64, F32, 2**24 + 1, 2.0**24),
    ],
)
def test_casts(source: DType, target: DType, value: float, expected: float):
    array = np.array([value], "f4" if source == F32 else "f8" if source == F64 else f"i{source.bytes}")
    for result in both(target, (source,), lambda a: Cast(a, dtype=target), [array]):
        assert result.tolist() == [expected]


def test_max_and_min_order_zeros_and_propagate_nan():
    a, b = (np.array(x, "f4") for x in ([0.0, -0.0, 0.0, np.nan, 1.0], [-0.0, 0.0, 0.0, 1.0, np.nan]))
    assert np.signbit(binary(Max, a, b, F32)).tolist()[:3] == [False, False, False]
    assert np.signbit(binary(Min, a, b, F32)).tolist()[:3] == [True, True, False]
    for kind in (Max, Min):
        assert np.isnan(binary(kind, a, b, F32)).tolist() == [False, False, False, True, True]


def nearest_bf16(x: np.ndarray) -> np.ndarray:
    """The definition: the nearest of all bf16 numbers, of two equally near the even one. As 16
    bits.
    """
    finite = np.arange(0x7F80, dtype=np.uint32)
    numbers = np.append(
        (finite << 16).astype(np.uint32).view(np.float32).astype(np.longdouble), np.longdouble(2) ** 128
    )
    above = np.searchsorted(numbers, np.abs(x), side="left").clip(0, len(numbers) - 1)
    below = (above - 1).clip(0)
    up, down = numbers[above] - np.abs(x), np.abs(x) - numbers[below]
    bits = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
    return (bits | np.where(np.signbit(x), 0x8000, 0)).astype(np.uint16)


def test_bf16_is_rounded_once_to_nearest_even():
    generator = np.random.default_rng(0)
    bits = generator.integers(0, 2**63, 20_000, dtype=np.uint64) * 2 + generator.integers(
        0, 2, 20_000, dtype=np.uint64
    )
    wide = bits.view(np.float64)
    exponents = generator.integers(-140, 130, 20_000)
    near = np.ldexp(generator.integers(0, 2**10, 20_000) / 2**9, exponents) * (
        1 + generator.integers(-1, 2, 20_000) * 2.0**-40
    )
    values = np.concatenate(
        [wide[np.isfinite(wide) & (np.abs(wide) < 2.0**128)], near[np.abs(near) < 2.0**128]]
    )
    with quiet():
        np.testing.assert_array_equal(
            store(cast(values, F64, BF16), BF16), nearest_bf16(values.astype(np.longdouble))
        )
    whole = generator.integers(-(2**63), 2**63 - 1, 5_000, dtype=np.int64) >> generator.integers(0, 60, 5_000)
    np.testing.assert_array_equal(
        store(cast(whole, I64, BF16), BF16), nearest_bf16(whole.astype(np.longdouble))
    )


def test_float_sums_are_sequential():
    values = np.array([1.0] + [2.0**-24] * 1000, np.float32)
    assert fold("sum", values[:, None], F32)[0] == 1.0 and values.sum() > 1.0


FUSED = [
    ("f64", 1 + 2.0**-27, 1 + 2.0**-27, -((1 + 2.0**-27) ** 2), 2.0**-54),  # glibc's fma
    ("f64", 1e200, 1e200, -np.inf, -np.inf),
    ("f64", 1e200, -1e200, 1.0, -np.inf),
    ("f64", 2.0**-1074, 0.5, 2.0**-1074, 2.0**-1073),  # halfway, to even
    ("f64", 2.0**-600, -(2.0**-600), 0.0, -0.0),
    ("f64", 3.0, 5.0, -15.0, 0.0),
    ("f64", -0.0, 5.0, -0.0, -0.0),
    ("f64", np.inf, 0.0, 1.0, np.nan),
    (
        "f32",
        1 + 2.0**-12,
        1 + 2.0**-12,
        2.0**-60,
        1 + 2.0**-11 + 2.0**-23,
    ),  # beyond halfway by less than f64 holds
    ("f32", 1 + 2.0**-12, 1 + 2.0**-12, 0.0, 1 + 2.0**-11),
    ("f32", 1 + 2.0**-12, 1 + 2.0**-12, -(2.0**-60), 1 + 2.0**-11),
    ("f32", -(1 + 2.0**-12), 1 + 2.0**-12, -(2.0**-60), -(1 + 2.0**-11 + 2.0**-23)),
    ("f32", 2.0**100, 2.0**100, -np.inf, -np.inf),
    ("f32", 2.0**127, 2.0, -(2.0**127), 2.0**127),
    ("f32", 2.0**-75, 2.0**-75, 2.0**-149, 2.0**-148),  # halfway, to even
]


@pytest.mark.parametrize(("dtype", "a", "b", "c", "right"), FUSED)
def test_fma_is_rounded_once(dtype: str, a: float, b: float, c: float, right: float):
    op = tx.op(
        f"op f(a: {dtype}[N], b: {dtype}[N], c: {dtype}[N]) -> y: {dtype}[N] {{ y[i] = fma(a[i], b[i], c[i]) "
        f"}}"
    )
    arrays = [np.array([x] * 3, dtype.replace("f", "float")) for x in (a, b, c)]
    loops = interpret_kernel(tx.schedule(op).kernel, arrays, {"N": 3})
    for found in (tx.interpret(op, *arrays), loops[0], op(*arrays)):
        assert_same_bits(found, np.array([right] * 3, arrays[0].dtype))


@pytest.mark.parametrize("sign", [1, -1])
def test_whole_numbers_of_a_text_are_rounded_once(sign: int):
    """2^53 + 2^29 + 1 is above the middle of two numbers of f32, and 2^53 + 2^29 in f64 is that
    middle.
    """
    op = tx.op(f"op f(x: f32[N]) -> y: f32[N] {{ y[i] = x[i] * {sign * (2**53 + 2**29 + 1)} }}")
    assert op(np.ones(1, "f4"))[0] == sign * (2.0**53 + 2.0**30)

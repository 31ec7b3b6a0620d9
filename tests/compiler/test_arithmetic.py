"""Values where arithmetic goes wrong: every operator gives what the interpreter gives, also in
vector lanes, and nothing traps or warns.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import texpr as tx
from tests.compiler.operators import operators
from tests.properties.compiler.test_values import check
from tests.strategies import special_values
from texpr.ir.dtypes import BF16, DTYPES

OPS = operators()
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
FLOATS = ["f2", "f4", "f8"]


def special(dtype: str) -> np.ndarray:
    names = {"i": "i", "u": "u", "f": "f"}
    return special_values(DTYPES[names[dtype[0]] + str(8 * int(dtype[1]))])


def pairs(values: np.ndarray, other: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Every combination, as two arrays of at least a vector's length."""
    x, z = np.meshgrid(values, values if other is None else other)
    return np.resize(x, 400).copy(), np.resize(z, 400).copy()


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype):
    x, z = pairs(special(dtype))
    for name in ("whole", "extremes", "compare", "add"):
        check(OPS[name], x, z)
    check(OPS["relu"], x)
    check(OPS["from_int"], x)
    for name in ("rows", "largest", "places"):
        check(OPS[name], x.reshape(8, 50))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_and_bits(dtype):
    width = 8 * int(dtype[1])
    amounts = np.array(
        [k for k in (0, 1, width - 1, width, width + 1, 100, -1, -width) if k >= 0 or dtype[0] == "i"]
    ).astype(dtype)
    check(OPS["bits"], *pairs(special(dtype), amounts))
    check(OPS["bits"], *pairs(special(dtype)))


def test_division_is_numpys():
    with np.errstate(all="ignore"):
        x, z = pairs(np.array([-7, 7, -1, 0, 1, -(2**31), 2**31 - 1, 3], np.int32))
        found = OPS["whole"](x, z)
        np.testing.assert_array_equal(found.q, np.floor_divide(x, z))
        np.testing.assert_array_equal(found.r, np.remainder(x, z))
    assert OPS["whole"](np.int32(-7), np.int32(2)).q == -4
    assert OPS["whole"](np.int32(-7), np.int32(3)).r == 2
    assert OPS["whole"](np.int32(5), np.int32(0))[:2] == (0, 0)
    assert OPS["whole"](np.int64(-(2**63)), np.int64(-1))[:2] == (-(2**63), 0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype):
    x, z = pairs(special(dtype))
    for name in ("extremes", "compare", "add"):
        check(OPS[name], x, z)
    check(OPS["relu"], x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_casts_of_floats_saturate(dtype):
    finite = [
        300.0,
        -300.0,
        255.5,
        127.9,
        -128.9,
        2.0**31,
        -(2.0**31),
        2.0**63,
        2.0**64,
        1e30,
        -1e30,
        0.9,
        -0.9,
        -0.0,
    ]
    with np.errstate(over="ignore"):
        x = np.concatenate([special(dtype), np.array(finite).astype(dtype)])
    check(OPS["from_float"], x)
    check(OPS["from_float"], x[:1])
    whole = OPS["from_float"](np.array([np.nan, np.inf, -np.inf, 300, -1], dtype))
    assert whole.a.tolist() == [0, 127, -128, 127, -1]
    assert whole.b.tolist() == [0, 255, 0, 255, 0]
    assert whole.e.tolist() == [0, 2**63 - 1, -(2**63), 300, -1]


def test_rounding_to_sixteen_bits():
    x = np.concatenate(
        [
            special("f4"),
            np.random.default_rng(0).standard_normal(300).astype(np.float32),
            np.float32(1) + np.arange(64, dtype=np.float32) * np.float32(2.0**-11),
        ]
    )
    check(OPS["rounded"], x)
    check(OPS["mixed"], special_values(BF16)[:12].reshape(3, 4), np.ones((4, 17), np.float16))


@pytest.mark.parametrize("n", [1, 3, 8, 33])
@pytest.mark.parametrize("dtype", FLOATS)
def test_maxima_propagate_nan_and_order_zeros(dtype, n):
    """NaN wins wherever it stands; -0 is below +0."""
    rows = [
        np.where(np.arange(n) == at, value, other)
        for at in {0, n // 2, n - 1}
        for value, other in (
            (np.nan, 1),
            (0.0, -0.0),
            (-0.0, 0.0),
            (-0.0, -1),
            (np.inf, np.nan),
            (-np.inf, -np.inf),
            (np.nan, -np.inf),
        )
    ]
    x = np.array(rows, dtype)
    check(OPS["largest"], x)
    check(OPS["places"], x)
    for name, rule in (("largest", np.max), ("places", np.argmax)):
        found = np.asarray(OPS[name](x)[0], np.float64)
        np.testing.assert_array_equal(found, rule(x, axis=1))


def test_softmax_of_infinities():
    x = np.array([[-np.inf] * 9, [np.inf] + [0] * 8, [-np.inf, 0] + [1] * 7, [np.nan] + [0] * 8], np.float32)
    found = OPS["softmax"](x, axis=1)
    assert np.isnan(found[0]).all() and np.isnan(found[1]).any() and np.isnan(found[3]).all()
    assert found[2, 0] == 0 and abs(found[2].sum() - 1) < 1e-6


def test_sums_keep_the_sign_of_zero_and_overflow_to_infinity():
    negative = np.full((5, 33), -0.0, np.float32)
    check(OPS["add"], negative, negative)
    assert np.signbit(OPS["add"](negative, negative)).all()
    huge = np.full((3, 40), 3e38, np.float32)
    assert np.isinf(OPS["rows"](huge)).all()
    check(OPS["rows"], np.full((3, 40), 2**31 - 1, np.int32))


@pytest.mark.parametrize(
    "text, x, expected",
    [
        ("X[i] * 2 * 2", 1.7e38, np.inf),
        ("X[i] * 0.1 * 3", 0.7, np.float32(np.float32(0.7) * np.float32(0.1)) * np.float32(3)),
        ("X[i] + 0", -0.0, 0.0),
        ("X[i] * 0", -1.0, -0.0),
        ("0 - X[i]", 0.0, 0.0),
        ("1 / X[i]", -0.0, -np.inf),
        ("X[i] - X[i]", np.inf, np.nan),
        ("X[i] / X[i]", 0.0, np.nan),
        ("sqrt(X[i])", -1.0, np.nan),
        ("log(X[i])", 0.0, -np.inf),
        ("exp(X[i])", 1000.0, np.inf),
        ("X[i] ** 0", np.nan, 1.0),
        ("max(X[i], 0)", np.nan, np.nan),
        ("-X[i]", 0.0, -0.0),
        ("abs(X[i])", -0.0, 0.0),
        ("(X[i] + 1) - X[i]", 1e8, 0.0),
        ("X[i] * (1 / 3)", 3.0, np.float32(3) * np.float32(1 / 3)),
    ],
)
@pytest.mark.parametrize("n", [1, 16])
def test_ieee_is_kept(text, x, expected, n):
    op = tx.op(f"op ieee(X: f32[N]) -> Y: f32[N] {{ Y[i] = {text} }}")
    found = op(np.full(n, x, np.float32))
    np.testing.assert_array_equal(found, np.full(n, expected, np.float32))
    np.testing.assert_array_equal(
        np.signbit(found), np.signbit(np.full(n, expected, np.float32)) | np.isnan(found) & np.signbit(found)
    )


WRAPPING = [
    "k[i] + 1 > k[i]",
    "k[i] - 1 < k[i]",
    "k[i] * 3 // 3 == k[i]",
    "k[i] * 4 // 2 == k[i] * 2",
    "(k[i] * 2 + 1) // 2 == k[i]",
    "k[i] * 6 > k[i] * 6 - 1",
    "min(k[i], k[i] + 1) == k[i]",
    "abs(k[i]) >= 0",
    "k[i] // -1 > 0 or k[i] >= 0",
    "k[i] % -1 == 0",
    "k[0] - 1 < k[0]",
    "sum<i64>(j: k[j]) + 1 > sum<i64>(j: k[j])",
]


@pytest.mark.parametrize("condition", WRAPPING)
def test_no_condition_on_data_of_64_bits_is_decided_as_if_nothing_wrapped(condition: str):
    op = tx.op(
        f"op wrapping(X: f32[N], k: i64[N]) -> Y: f32[N] {{ Y[i] = if {condition} then X[i] else X[i] * 2 }}"
    )
    k = np.array([0, 1, -1, 2**63 - 1, -(2**63), 2**62, -(2**62) - 1, 2**61], "i8")
    x = np.ones(len(k), "f4")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(op(x, k), tx.interpret(op, x, k))

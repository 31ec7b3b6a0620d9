"""lgamma, gamma, digamma, trigamma and erfinv: bounds on samples of every range, values at
poles, and the interpreter's meaning.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.passes.math.evaluate import evaluate, ulp_error
from tests.passes.math.reference import WIDE, erf, erfc
from texpr.ir.dtypes import F32, F64, DType, numpy_dtype
from texpr.ir.expr import Add, Call, Mul, Sub, Var
from texpr.ir.functions import FUNCTIONS
from texpr.ir.traverse import children, walk
from texpr.passes.math import SPECIAL, expand_math

BERNOULLI = [
    WIDE(a) / b for a, b in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510))
]
RANGES = ((1e-8, 0.5), (0.5, 0.9), (1.1, 1.4), (1.55, 1.9), (2.1, 8.5), (8.5, 40), (40, 170), (200, 1e6))
SPOTS = [0.0, -0.0, 1, 2, -1, -2, -3, np.inf, -np.inf, np.nan, -1e20, 1e30]


def compiled(name: str, t: DType, x: np.ndarray) -> np.ndarray:
    v = Var("x", dtype=t)
    return evaluate(expand_math(Call(name, (v,))), {v: x})


def shifted(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """y = x + n of at least 30, the logarithm of x (x + 1) ... (y - 1), and the sum of the
    inverses of the factors.
    """
    y = x.astype(WIDE)
    logs, inverses = np.zeros_like(y), np.zeros_like(y)
    for _ in range(30):
        low = y < 30
        logs, inverses = logs + np.where(low, np.log(y), 0), inverses + np.where(low, 1 / y, 0)
        y = np.where(low, y + 1, y)
    return y, logs, inverses


def lgamma(x: np.ndarray) -> np.ndarray:
    y, logs, _ = shifted(x)
    series = sum(b / (2 * k * (2 * k - 1)) / y ** (2 * k - 1) for k, b in enumerate(BERNOULLI, 1))
    return (y - 0.5) * np.log(y) - y + np.log(8 * np.arctan(WIDE(1))) / 2 + series - logs


def digamma(x: np.ndarray) -> np.ndarray:
    y, _, inverses = shifted(x)
    return (
        np.log(y)
        - 1 / (2 * y)
        - sum(b / (2 * k) / y ** (2 * k) for k, b in enumerate(BERNOULLI, 1))
        - inverses
    )


def trigamma(x: np.ndarray) -> np.ndarray:
    y, squares = x.astype(WIDE), np.zeros(x.shape, WIDE)
    for _ in range(30):
        low = y < 30
        squares, y = squares + np.where(low, 1 / (y * y), 0), np.where(low, y + 1, y)
    return 1 / y + 1 / (2 * y * y) + sum(b / y ** (2 * k + 1) for k, b in enumerate(BERNOULLI, 1)) + squares


REFERENCE = {"lgamma": lgamma, "gamma": lambda x: np.exp(lgamma(x)), "digamma": digamma, "trigamma": trigamma}
BOUND = {"lgamma": 5, "gamma": 8, "digamma": 24, "trigamma": 5, "erfinv": 4}


@pytest.mark.parametrize("t", [F32, F64])
@pytest.mark.parametrize("name", REFERENCE)
def test_bounds(name: str, t: DType):
    rng = np.random.default_rng(0)
    for lo, hi in RANGES:
        if name == "gamma" and hi > (35 if t == F32 else 100):
            continue
        x = rng.uniform(lo, hi, 1000).astype(numpy_dtype(t))
        found, exact = compiled(name, t, x), REFERENCE[name](x)
        error = ulp_error(found, exact)
        if name != "gamma" and t == F64:
            error = np.where(np.abs(found - exact) <= 4e-15, 0, error)  # near zeros
        assert error.max() <= (1 if t == F32 else BOUND[name]), (lo, hi, x[error.argmax()], error.max())


@pytest.mark.parametrize("t", [F32, F64])
def test_erfinv(t: DType):
    """One of Halley's steps in longdouble tells how far a result is from the exact one."""
    rng = np.random.default_rng(0)
    ends = 1 - 10.0 ** rng.uniform(-16 if t == F64 else -7, 0, 1000)
    x = np.concatenate([rng.uniform(-1, 1, 1000), ends, 10.0 ** rng.uniform(-15, 0, 500)]).astype(
        numpy_dtype(t)
    )
    x = x[np.abs(x) < 1]
    y = compiled("erfinv", t, x)
    a, exact = np.abs(x.astype(WIDE)), np.abs(y.astype(WIDE))
    for _ in range(2):
        error = np.where(a < 0.5, erf(exact) - a, 1 - a - erfc(exact))
        step = error * np.exp(exact * exact) * np.sqrt(np.arctan(WIDE(1)))
        exact = exact - step / (1 + exact * step)
    assert ulp_error(y, np.copysign(exact, x)).max() <= (1 if t == F32 else BOUND["erfinv"])


@pytest.mark.parametrize("t", [F32, F64])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values_and_the_interpreter(name: str, t: DType):
    x = np.concatenate([np.array(SPOTS), -np.random.default_rng(0).uniform(0, 20, 300)]).astype(
        numpy_dtype(t)
    )
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name].reference(x.astype(np.float64)).astype(numpy_dtype(t))
    found = compiled(name, t, x)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    tolerance = 1e-12 if t == F64 else 2e-7
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance if name != "gamma" else 1e-300)
    zero = expected == 0
    if name == "erfinv":
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


def test_what_is_known():
    assert compiled("gamma", F64, np.array([5.0, 0.5, 171.0])).tolist()[0] == 24
    np.testing.assert_allclose(
        compiled("gamma", F64, np.array([0.5, 11, 23])),
        [math.sqrt(math.pi), 3628800.0, float(math.factorial(22))],
        rtol=1e-15,
    )
    assert compiled("lgamma", F64, np.array([1.0, 2.0])).tolist() == [0, 0]
    np.testing.assert_allclose(
        compiled("lgamma", F64, np.array([1 + 2.0**-40])), [-0.5772156649015329 * 2.0**-40], rtol=1e-11
    )


@pytest.mark.parametrize("name", SPECIAL)
def test_no_product_is_the_operand_of_a_sum(name: str):
    root = expand_math(Call(name, (Var("x", dtype=F64),)))
    sums = [n for n in walk(root) if isinstance(n, Add | Sub) and n.dtype.is_float]
    assert not [n for n in sums if any(isinstance(c, Mul) for c in children(n))]

"""Functions of single elements, against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from statistics import NormalDist

import numpy as np

from tests.ops.table import Array, Case, between, given, normal, small, truth

SHAPES = ((3, 5), (), (2, 1, 33))
INTEGERS = ("i4", "i8", "u1", "i2")
BOTH = ("f4", "f8", "i4", "u1")

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Array:
    return np.log1p(np.exp(x))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.where(x > 0, x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "log_sigmoid": lambda x: np.log(sigmoid(x)),
    "softplus": softplus,
    "softsign": lambda x: x / (1 + abs(x)),
    "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "elu": lambda x: np.where(x > 0, x, np.exp(x) - 1),
    "celu": lambda x: np.where(x > 0, x, np.exp(x) - 1),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * (np.exp(x) - 1)),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "hardtanh": lambda x: np.clip(x, -1, 1),
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hardshrink": lambda x: np.where(abs(x) > 0.5, x, 0),
    "softshrink": lambda x: np.sign(x) * np.maximum(abs(x) - 0.5, 0),
    "tanhshrink": lambda x: x - np.tanh(x),
    "threshold": lambda x: np.where(x > 0, x, 0),
}

CONSTANTS: list[tuple[str, dict[str, object], Callable[[Array], Array]]] = [
    ("softplus", {"beta": 2.5}, lambda x: softplus(2.5 * x) / 2.5),
    ("swish", {"beta": 1.5}, lambda x: x * sigmoid(1.5 * x)),
    ("elu", {"alpha": 0.3}, lambda x: np.where(x > 0, x, 0.3 * (np.exp(x) - 1))),
    ("celu", {"alpha": 0.3}, lambda x: np.where(x > 0, x, 0.3 * (np.exp(x / 0.3) - 1))),
    ("leaky_relu", {"slope": 0.25}, lambda x: np.where(x > 0, x, 0.25 * x)),
    ("hardtanh", {"lo": -0.25, "hi": 0.5}, lambda x: np.clip(x, -0.25, 0.5)),
    ("threshold", {"limit": 0.1, "value": 20.0}, lambda x: np.where(x > np.float32(0.1), x, 20)),
]

ELEMENTARY: dict[str, tuple[tuple[float, float], Callable[[Array], Array]]] = {
    "exp": ((-9, 9), np.exp),
    "exp2": ((-9, 9), np.exp2),
    "expm1": ((-2, 2), np.expm1),
    "log": ((0.01, 9), np.log),
    "log2": ((0.01, 9), np.log2),
    "log10": ((0.01, 9), np.log10),
    "log1p": ((-0.9, 9), np.log1p),
    "sqrt": ((0.1, 9), np.sqrt),
    "rsqrt": ((0.1, 9), lambda x: x**-0.5),
    "reciprocal": ((0.1, 9), lambda x: 1 / x),
    "sin": ((-9, 9), np.sin),
    "cos": ((-9, 9), np.cos),
    "tan": ((-1.4, 1.4), np.tan),
    "sinh": ((-3, 3), np.sinh),
    "cosh": ((-3, 3), np.cosh),
    "asinh": ((-9, 9), np.arcsinh),
    "acosh": ((1.1, 9), np.arccosh),
    "atanh": ((-0.9, 0.9), np.arctanh),
    "erf": ((-3, 3), erf),
    "asin": ((-0.9, 0.9), np.arcsin),
    "acos": ((-0.9, 0.9), np.arccos),
    "atan": ((-9, 9), np.arctan),
    "cbrt": ((0.1, 9), np.cbrt),
    "erfc": ((-3, 3), np.vectorize(math.erfc, otypes=[np.float64])),
}


def harmonic(x: float) -> float:
    """digamma of a number above 0: the series of 1 / (k + 1) - 1 / (k + x), its rest by Euler
    and Maclaurin.
    """
    n = 2000
    k = np.arange(n)
    return (
        -0.5772156649015329
        + math.fsum(1 / (k + 1) - 1 / (k + x))
        + math.log((n + x - 0.5) / (n + 0.5))
        + 1 / 24 * (1 / (n + x - 0.5) ** 2 - 1 / (n + 0.5) ** 2)
    )


def quantile(x: float) -> float:
    """erfinv as a quantile of the normal distribution."""
    return NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2)


GAMMAS: dict[str, tuple[tuple[float, float], Callable[[Array], Array]]] = {
    name: (domain, np.vectorize(reference, otypes=[np.float64]))
    for name, domain, reference in (
        ("lgamma", (0.2, 9), math.lgamma),
        ("gamma", (0.1, 6), math.gamma),
        ("digamma", (0.1, 9), harmonic),
        ("erfinv", (-0.9, 0.9), quantile),
    )
}

ROUNDING: dict[str, Callable[[Array], Array]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
}

ARITHMETIC: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}

COMPARISONS: dict[str, Callable[..., Array]] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}

BITS: dict[str, Callable[..., Array]] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "floor_divide": np.floor_divide,
    "mod": np.mod,
}

STRANGE = given([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5, 3e8])


def functions() -> Iterator[Case]:
    for name, reference in ACTIVATIONS.items():
        yield from (Case(name, (normal(*s),), reference, slack=4) for s in SHAPES)
    for name, constants, reference in CONSTANTS:
        yield Case(name, (normal(3, 5),), reference, constants, slack=4)
    for name, (domain, reference) in ELEMENTARY.items():
        yield from (Case(name, (between(*domain, *s),), reference, slack=8) for s in SHAPES)
    for name, (domain, reference) in GAMMAS.items():
        yield from (Case(name, (between(*domain, *s),), reference, slack=8) for s in SHAPES)
    for name, reference in ROUNDING.items():
        yield from (Case(name, (between(-5, 5, *s),), reference) for s in SHAPES)
        yield Case(name, (given([0.5, -0.5, 1.5, 2.5, -0.0, np.inf, -np.inf, np.nan]),), reference)
    yield Case(
        "prelu", (normal(2, 3, 5), between(0.1, 0.9, 3)), lambda x, w: np.where(x > 0, x, w[:, None] * x)
    )
    yield Case("prelu", (normal(4, 2), between(0.1, 0.9, 2)), lambda x, w: np.where(x > 0, x, w * x))
    yield Case("glu", (normal(6, 5),), lambda x: x[:3] * sigmoid(x[3:]))
    yield Case("glu", (normal(2, 3, 10),), lambda x: x[..., :5] * sigmoid(x[..., 5:]), {"axis": 2})


def arithmetic() -> Iterator[Case]:
    for name, reference in ARITHMETIC.items():
        yield from (Case(name, (small(*s), small(*s)), reference, dtypes=BOTH) for s in SHAPES)
        yield Case(name, (STRANGE, given([-0.0, 0.0, 1, 2, 3, np.nan, 4, -3e8])), reference)
    yield from (Case("negative", (small(*s),), np.negative, dtypes=BOTH) for s in SHAPES)
    yield from (Case("square", (small(*s),), np.square, dtypes=BOTH) for s in SHAPES)
    yield from (Case("abs", (small(*s),), np.abs, dtypes=BOTH) for s in SHAPES)
    yield from (Case("sign", (small(*s),), np.sign, dtypes=BOTH) for s in SHAPES)
    yield from (Case("copy", (small(*s),), np.copy, dtypes=(*BOTH, "?", "f2")) for s in SHAPES)
    yield from (Case("divide", (normal(*s), between(0.5, 2, *s)), np.divide) for s in SHAPES)
    yield from (Case("pow", (between(0.2, 3, *s), between(-3, 3, *s)), np.power, slack=8) for s in SHAPES)
    yield Case(
        "pow", (given([-2.0, -2, 0, 0, 2, -8, 4, 1]), given([2.0, 3, 0, 2, -1, 1.5, 0.5, np.nan])), np.power
    )
    for exponent in (2, 3, 0.5, -1.5):
        yield Case(
            "power", (between(0.2, 3, 3, 5),), lambda x, e=exponent: x**e, {"exponent": exponent}, slack=8
        )
    for s in ((3, 5), (), (33,)):
        yield Case("affine", (normal(*s), normal(), normal()), lambda x, a, b: a * x + b)
        yield Case("addcdiv", (normal(*s), normal(*s), between(1, 2, *s)), lambda x, a, b: x + a / b)
        yield Case("lerp", (normal(*s), normal(*s), between(0, 1)), lambda a, b, w: a + w * (b - a))
        yield Case("clip_between", (normal(*s), given(-0.5), given(0.75)), np.clip)
    yield Case("addcmul", (normal(3, 5),) * 3, lambda x, a, b: x + a * b)
    yield Case("addcmul", (normal(7),) * 3, lambda x, a, b: x - 0.5 * a * b, {"scale": -0.5})
    yield Case("add_last", (small(2, 3, 5), small(5)), np.add, dtypes=BOTH)
    yield Case("add_last", (small(2, 3, 5), small(3, 5)), np.add)
    yield Case("multiply_last", (small(2, 3, 5), small(5)), np.multiply, dtypes=BOTH)
    yield Case("multiply_last", (small(4, 5), small()), np.multiply)
    yield Case("hypot", (normal(3, 5), normal(3, 5)), np.hypot)
    for s in SHAPES:
        yield Case("atan2", (normal(*s), normal(*s)), np.arctan2)
        yield Case("fmod", (between(1, 9, *s), between(1, 2, *s)), np.fmod)
        yield Case("copysign", (normal(*s), normal(*s)), np.copysign)
    yield Case("hypot", (given([0.0, 1e30, np.inf]), given([0.0, 1e30, 1])), np.hypot)
    for name, reference in BITS.items():
        yield from (Case(name, (small(*s), small(*s)), reference, dtypes=INTEGERS) for s in SHAPES)
    yield from (Case("bitwise_not", (small(*s),), np.invert, dtypes=INTEGERS) for s in SHAPES)
    for dtype in INTEGERS:
        places = given([0, 1, 3, 7])
        yield Case(
            "shift_left", (given([1, 2, 3, 1]), places), lambda x, by: np.left_shift(x, by), dtypes=(dtype,)
        )
        yield Case(
            "shift_right",
            (given([100, 7, 64, 127]), places),
            lambda x, by: np.right_shift(x, by),
            dtypes=(dtype,),
        )


def comparisons() -> Iterator[Case]:
    for name, reference in COMPARISONS.items():
        yield from (Case(name, (small(*s), small(*s)), reference, dtypes=BOTH) for s in SHAPES)
        yield Case(name, (STRANGE, given([-0.0, 0.0, np.inf, 2, np.nan, 1.5, 4, -3e8])), reference)
    for name, reference in (
        ("logical_and", np.logical_and),
        ("logical_or", np.logical_or),
        ("logical_xor", np.logical_xor),
    ):
        yield from (Case(name, (truth(*s), truth(*s)), reference, dtypes=("?",)) for s in SHAPES)
    yield from (Case("logical_not", (truth(*s),), np.logical_not, dtypes=("?",)) for s in SHAPES)
    for name, reference in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        yield Case(name, (STRANGE,), reference)
        yield Case(name, (normal(2, 17),), reference)
    close = given([1.0, 1.00001, 1.001, np.inf, np.nan, 0, 1e-9, np.inf])
    yield Case("isclose", (close, given([1.0, 1, 1, np.inf, np.nan, 1e-9, 0, 1])), np.isclose)
    yield Case(
        "isclose",
        (close, given([1.1, 0.9, 1, np.inf, 3, 0.01, 0, -np.inf])),
        lambda a, b: np.isclose(a, b, rtol=0.1, atol=0),
        {"rtol": 0.1, "atol": 0.0},
    )
    yield from (
        Case("select", (truth(*s), small(*s), small(*s)), np.where, dtypes=(*BOTH, "?")) for s in SHAPES
    )
    yield Case(
        "masked_fill", (normal(3, 5), truth(3, 5)), lambda x, m: np.where(m, -np.inf, x), {"value": -math.inf}
    )
    yield Case("masked_fill", (normal(4), truth(4)), lambda x, m: np.where(m, 0, x))
    yield Case("clip", (small(3, 5),), lambda x: np.clip(x, 0, 3), {"lo": 0, "hi": 3}, dtypes=BOTH)
    yield Case("clip", (normal(17),), lambda x: np.clip(x, -0.5, 0.75), {"lo": -0.5, "hi": 0.75})
    odd = given([0, 1, -2, 2.75, -2.75, 100], "f8")
    for name, kind in (
        ("to_f32", "f4"),
        ("to_f64", "f8"),
        ("to_i32", "i4"),
        ("to_i64", "i8"),
        ("to_bool", "?"),
    ):
        yield Case(name, (odd,), lambda x, kind=kind: x.astype(kind), dtypes=("f8",))
        yield Case(name, (small(3, 5),), lambda x, kind=kind: x.astype(kind), dtypes=("i4",))


CASES = (*functions(), *arithmetic(), *comparisons())

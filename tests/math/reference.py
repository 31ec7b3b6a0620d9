"""Reference values in longdouble, which has 64 bits of precision on the machines these tests need."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

WIDE = np.longdouble


def sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def erf(x: np.ndarray) -> np.ndarray:
    """2/sqrt(pi) exp(-x^2) x (1 + 2x^2/3 (1 + 2x^2/5 (...))): no cancellation."""
    a = np.minimum(np.abs(x), WIDE(6.5))
    total = term = np.ones_like(a)
    for k in range(1, 170):
        term = term * (2 * a * a / (2 * k + 1))
        total = total + term
    root_pi = np.sqrt(4 * np.arctan(WIDE(1)))
    return np.copysign(2 / root_pi * np.exp(-a * a) * a * total, x)


REFERENCE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log1p": np.log1p,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "sigmoid": sigmoid, "erf": erf,
}  # fmt: skip

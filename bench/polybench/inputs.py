"""What the inputs of the kernels are made of. No maker gives numbers whose results become tiny:
arithmetic on those is slow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Shape = tuple[int, ...]
Maker = Callable[[np.random.Generator, Shape], np.ndarray]


def uniform(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Numbers between -1 and 1."""
    return random.uniform(-1, 1, shape)


def positive(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Numbers that stay positive under averages."""
    return random.uniform(0.5, 1.5, shape)


def picture(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Grey values."""
    return random.random(shape, "f4")


def dominant(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """A matrix whose diagonal is larger than the rest of each row together: elimination needs no
    pivots.
    """
    return random.uniform(-1, 1, shape) + shape[0] * np.eye(shape[0])


def definite(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """A symmetric positive definite matrix."""
    half = dominant(random, shape)
    return (half + half.T) / 2


def decaying(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Autocorrelations: a Toeplitz matrix of 1 and these is definite."""
    k = np.arange(1.0, shape[0] + 1)
    return 0.3 * np.cos(k) / (k * k)


def counting(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """0, 1, 2, and so on."""
    return np.arange(float(shape[0]))


def distances(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Lengths of edges."""
    return random.integers(1, 1000, shape, "i4")


def bases(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """The four bases of a sequence."""
    return random.integers(0, 4, shape, "i1")


def constant(value: float) -> Maker:
    """A number."""
    return lambda random, shape: np.float64(value)  # type: ignore[return-value]


MAKERS: dict[str, Maker] = {
    "": uniform,
    "positive": positive,
    "picture": picture,
    "dominant": dominant,
    "definite": definite,
    "decaying": decaying,
    "counting": counting,
    "distances": distances,
    "bases": bases,
    "1.5": constant(1.5),
    "1.2": constant(1.2),
    "0.25": constant(0.25),
}
"""By the name that the table gives them."""

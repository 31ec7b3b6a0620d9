"""What the tests of the operator library share: what a case is, and how its inputs are made.

A case names an operator, says its inputs in words, its constants, and a NumPy formula that does not
know texpr. The formula gets floats in f64.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray
Make = Callable[[np.random.Generator, str], Array]


def normal(*shape: int) -> Make:
    """Floats around 0 of the type under test."""
    return lambda random, dtype: np.asarray(random.standard_normal(shape)).astype(dtype)


def between(lo: float, hi: float, *shape: int) -> Make:
    """Floats of a range."""
    return lambda random, dtype: np.asarray(random.uniform(lo, hi, shape)).astype(dtype)


def small(*shape: int) -> Make:
    """Small whole numbers of the type under test, not negative where it has no sign."""
    return lambda random, dtype: np.asarray(random.integers(0 if dtype[0] == "u" else -4, 5, shape)).astype(
        dtype
    )


def index(size: int, *shape: int) -> Make:
    """i64 from 0 to size - 1."""
    return lambda random, dtype: np.asarray(random.integers(0, size, shape))


def truth(*shape: int) -> Make:
    """Bools."""
    return lambda random, dtype: np.asarray(random.integers(0, 2, shape)).astype(bool)


def signs(*shape: int) -> Make:
    """-1 and 1 as floats."""
    return lambda random, dtype: np.asarray(2.0 * random.integers(0, 2, shape) - 1).astype(dtype)


def given(values: object, kind: str | None = None) -> Make:
    """These values, of type `kind` or the type under test."""
    return lambda random, dtype: np.array(values, kind or dtype)


@dataclass(frozen=True, slots=True)
class Case:
    """One call of an operator.

    Attributes:
        inputs: how each input is made.
        reference: the expected results from the inputs, floats as f64.
        constants: by name.
        dtypes: the types under test; the first is tried with every case, the others with the first
            case of the operator.
        slack: how much larger than usual rounding errors may be.
    """

    name: str
    inputs: tuple[Make, ...]
    reference: Callable[..., object]
    constants: Mapping[str, object] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ("f4", "f8")
    slack: float = 1.0

    def arrays(self, dtype: str) -> list[Array]:
        random = np.random.default_rng(zlib.crc32(repr((self.name, sorted(self.constants.items()))).encode()))
        return [make(random, dtype) for make in self.inputs]

    def expected(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]
        with np.errstate(all="ignore"):
            results = self.reference(*wide)
        return tuple(np.asarray(r) for r in (results if isinstance(results, tuple) else (results,)))

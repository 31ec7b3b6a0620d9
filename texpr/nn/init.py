"""Random first values, with torch.nn.init's formulas and one generator for the process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod, sqrt

import numpy as np

from texpr.support.errors import CallError


class _State(threading.local):
    """The generator of a thread; every thread begins with seed 0."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)


_state = _State()


def manual_seed(seed: int) -> np.random.Generator:
    """Start this thread's generator of first values anew. It begins with seed 0, so a program without seeds repeats itself too."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise CallError(f"the seed is {seed!r}, expected an integer of at least 0", code="seed")
    _state.generator = np.random.default_rng(int(seed))
    return _state.generator


def generator() -> np.random.Generator:
    """The generator that layers draw their first values from."""
    return _state.generator


def uniform(shape: Sequence[int], bound: float, dtype: np.dtype) -> np.ndarray:
    """Even over -bound <= x < bound; drawn in 64 bits, so that f32 and f64 models of one seed are alike."""
    return generator().uniform(-bound, bound, tuple(shape)).astype(dtype)


def fan_in(shape: Sequence[int]) -> int:
    """How many inputs one output of a layer with this weight (out, in, ...) has."""
    return prod(shape[1:])


def kaiming_uniform(shape: Sequence[int], dtype: np.dtype, a: float = sqrt(5)) -> np.ndarray:
    """Even within sqrt(6 / ((1 + a^2) fan_in)); torch's layers take the default `a`. He et al., Delving Deep into Rectifiers, 2015."""
    return uniform(shape, sqrt(6 / ((1 + a * a) * max(1, fan_in(shape)))), dtype)

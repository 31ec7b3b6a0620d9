"""Tensors of random numbers, and the generator of each thread that draws them and the first values of
layers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from texpr.graph.arrays.promotion import named
from texpr.graph.arrays.recording import active_capture
from texpr.graph.lazy.creation import extents, like
from texpr.graph.lazy.lazy_tensor import Tensor
from texpr.graph.lazy.making import of_bits, tensor
from texpr.ir.dtypes import stored
from texpr.support.errors import CallError
from texpr.support.options import current
from texpr.support.tracebacks import boundary


class _State(threading.local):
    """The generator of a thread; every thread begins with seed 0."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)


_state = _State()


@boundary
def manual_seed(seed: int) -> np.random.Generator:
    """Start this thread's generator anew: of `rand` and its kin, and of the initial values of
    layers.

    It begins with seed 0, so a program without seeds repeats itself too.

    Raises:
        CallError: no integer of at least 0.
    Example:
        >>> generator = tx.manual_seed(1)
        >>> first = tx.rand(3).tolist()
        >>> generator = tx.manual_seed(1)
        >>> tx.rand(3).tolist() == first
        True
    """
    _state.generator = _seeded(seed)
    return _state.generator


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """A block with a generator of its own: that of the thread goes on behind it as if nothing was
    drawn.
    """
    before = _state.generator
    _state.generator = _seeded(seed)
    try:
        yield
    finally:
        _state.generator = before


def generator() -> np.random.Generator:
    """The generator of this thread."""
    return _state.generator


def _seeded(seed: object) -> np.random.Generator:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise CallError(f"the seed is {seed!r}, expected an integer of at least 0", code="seed")
    return np.random.default_rng(int(seed))


@boundary
def rand(
    *shape: Any,
    seed: int | None = None,
    dtype: object = "f32",
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform random numbers: `0 <= x < 1`.

    Args:
        shape: the extents, as numbers or as one tuple.
        seed: of a generator of this call's own; None for the one of this thread (`manual_seed`).
    Raises:
        CallError: no shape, no seed, a dtype that is no float, no device of that name, or a call in a
            traced function.
    Example:
        >>> tx.rand(2, 3, seed=1).shape
        (2, 3)
    """
    return _floats(_source(seed).random(extents(shape)), dtype, device, requires_grad)


@boundary
def randn(
    *shape: Any,
    seed: int | None = None,
    dtype: object = "f32",
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal random numbers with mean 0 and variance 1; arguments as of `rand`.

    Raises:
        CallError: no shape, no seed, a dtype that is no float, no device of that name, or a call in a
            traced function.
    Example:
        >>> tx.randn(2, 3, seed=1).shape
        (2, 3)
    """
    return _floats(_source(seed).standard_normal(extents(shape)), dtype, device, requires_grad)


@boundary
def rand_like(
    x: Any,
    *,
    seed: int | None = None,
    dtype: object = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform random numbers in the shape, dtype and place of another tensor; arguments as of `rand`.

    Raises:
        CallError: no tensor, no seed, a dtype that is no float, no device of that name, or a call in a
            traced function.
    Example:
        >>> tx.rand_like(tx.zeros(2, 3)).shape
        (2, 3)
    """
    shape, t, place = like(x, dtype, device)
    return rand(shape, seed=seed, dtype=t, device=place, requires_grad=requires_grad)


@boundary
def randn_like(
    x: Any,
    *,
    seed: int | None = None,
    dtype: object = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal random numbers in the shape, dtype and place of another tensor; arguments as of `rand`.

    Raises:
        CallError: no tensor, no seed, a dtype that is no float, no device of that name, or a call in a
            traced function.
    Example:
        >>> tx.randn_like(tx.zeros(2, 3)).shape
        (2, 3)
    """
    shape, t, place = like(x, dtype, device)
    return randn(shape, seed=seed, dtype=t, device=place, requires_grad=requires_grad)


@boundary
def randint(
    low: int,
    high: int | None = None,
    size: Any = (),
    *,
    seed: int | None = None,
    dtype: object = "i64",
    device: str | None = None,
) -> Tensor:
    """Uniform random integers: `low <= n < high`, or below `low` if that is the only bound.

    Args:
        size: the shape.
    Raises:
        CallError: there is no integer between the bounds, or one does not fit `dtype`.
    Example:
        >>> n = tx.randint(1, 7, (100,))
        >>> bool((n >= 1).all()), bool((n <= 6).all())
        (True, True)
    """
    if isinstance(high, tuple | list):  # torch's randint(high, size)
        high, size = None, high
    lo, hi = (0, low) if high is None else (low, high)
    if hi <= lo:
        raise CallError(f"no integer n has {lo} <= n < {hi}", code="arguments")
    drawn = _source(seed).integers(lo, hi, extents((size,)) if size != () else ())
    t = named(dtype)
    return of_bits(stored(np.asarray(drawn), t), t, False, current().device if device is None else device)


@boundary
def randperm(n: int, *, seed: int | None = None, device: str | None = None) -> Tensor:
    """Random permutation of 0 to n - 1, i64.

    Raises:
        CallError: n is no integer of at least 0, no seed, no device of that name, or a call in a traced
            function.
    Example:
        >>> sorted(tx.randperm(4).tolist())
        [0, 1, 2, 3]
    """
    drawn = _source(seed).permutation(*extents((n,))).astype(np.int64)
    return of_bits(drawn, named("i64"), False, current().device if device is None else device)


@boundary
def bernoulli(input: Any, *, seed: int | None = None) -> Tensor:
    """1 with the probability that an element is, else 0, in its dtype. The probabilities are computed now.

    Raises:
        CallError: no probabilities, no seed, or a call in a traced function.
    Example:
        >>> tx.bernoulli(tx.tensor([0.0, 1.0], dtype="f32"))
        tensor([0., 1.], f32[2])
    """
    source, p = _source(seed), tensor(input).detach()
    values = _probabilities(p, 1.0)
    return tensor((source.random(values.shape) < values).astype("f8")).astype(p.dtype)


@boundary
def multinomial(
    input: Any, num_samples: int, replacement: bool = False, *, seed: int | None = None
) -> Tensor:
    """Places of the last axis, drawn with probabilities that are proportional to the elements: i64. These
    are computed now.

    Args:
        num_samples: how many of each row.
        replacement: a place may come again.
    Shapes:
        input: (classes,) or (rows, classes)
        output: (num_samples,) or (rows, num_samples)
    Raises:
        CallError: no weights, fewer places above 0 than samples, no seed, or a call in a traced function.
    Example:
        >>> tx.multinomial(tx.tensor([[0.0, 1.0], [2.0, 0.0]]), 1).tolist()
        [[1], [0]]
    """
    source, values = _source(seed), _probabilities(tensor(input).detach(), np.inf)
    if values.ndim not in (1, 2) or not (values.sum(-1) > 0).all():
        raise CallError(
            f"weights of shape {list(values.shape)}, expected one or two axes and a sum above 0",
            code="arguments",
            help="tx.multinomial(logits.softmax(-1), 1)",
        )
    if not replacement and ((values > 0).sum(-1) < num_samples).any():
        raise CallError(
            f"{num_samples} samples of fewer places above 0", code="arguments", help="replacement=True"
        )
    rows = np.atleast_2d(values)
    drawn = [source.choice(len(r), num_samples, replacement, r / r.sum()) for r in rows]
    return tensor(np.asarray(drawn, np.int64).reshape((*values.shape[:-1], num_samples)))


def _probabilities(p: Tensor, most: float) -> np.ndarray:
    values = p.astype("f64").numpy()
    if not ((values >= 0) & (values <= most)).all() or not np.isfinite(values).all():
        raise CallError(
            "an element is no probability" if most == 1 else "a weight is below 0 or not finite",
            code="arguments",
            help="x.sigmoid(), or x.softmax(-1), gives probabilities",
        )
    return values


def _source(seed: int | None) -> np.random.Generator:
    """The generator to draw from.

    Raises:
        CallError: while a function is traced, whose calls would all have the same numbers.
    """
    if active_capture.get() is not None:
        raise CallError(
            "random numbers inside of a function that is traced: each call would have the same",
            code="random",
            help="pass them as an argument, or a seed: ops.random_normal(...), nn.Dropout",
        )
    return generator() if seed is None else _seeded(seed)


def _floats(drawn: Any, dtype: object, device: str | None, requires_grad: bool) -> Tensor:
    t = named(dtype)
    if not t.is_float:
        raise CallError(f"random numbers as {t}", code="dtype", help="tx.randint draws integers")
    place = current().device if device is None else device
    return of_bits(stored(np.asarray(drawn), t), t, requires_grad, place)

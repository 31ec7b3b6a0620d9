"""Dropout, whose masks are functions of a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.graph import Symbolic
from texpr.graph.capture.protocol import CaptureLike
from texpr.nn import init
from texpr.nn.core.argument_checks import share
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Buffer
from texpr.support.errors import CallError


class Seeded(Module):
    """Base of layers that draw random numbers when they compute.

    The numbers are functions of `seed`, a u64 that every training step (and every call in training
    mode) increases by one. The first seed is drawn when the layer is made, so `nn.manual_seed`
    repeats all of them, whatever the schedules and the threads are.

    Shapes: those of the layer that is built on it.
    Raises: nothing of its own.
    Example:
        >>> isinstance(nn.Dropout(), nn.Seeded)
        True
    """

    def __init__(self) -> None:
        super().__init__()
        self.seed = Buffer(_first_seed(), persistent=False, name="seed")

    def reseed(self) -> None:
        """Draw another seed: a copy of a layer would go on like the original."""
        self.seed.data = _first_seed()

    def next_seed(self, capture: CaptureLike) -> Symbolic:
        """A seed that no other use has."""
        seed = capture.latest(self.seed)
        capture.assign(self.seed, ops.next_seed(seed))  # type: ignore[arg-type]
        return seed


def _first_seed() -> np.ndarray:
    return np.asarray(init.generator().integers(1 << 63, dtype=np.uint64))


class Dropout(Seeded):
    """Dropout: in training, every element is 0 with probability p, else divided by `1 - p`; in
    evaluation, the input as it is.

    Srivastava et al., Dropout, 2014.

    Args:
        p: the probability that an element, or a channel, is dropped; it may be 1.
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: `p` is not within 0..1, or the input is not of floats.
    Example:
        >>> layer = nn.Dropout(0.5)
        >>> set(layer(tx.ones(1000)).tolist()) == {0.0, 2.0}
        True
        >>> layer.eval()(tx.ones(3)).tolist()
        [1.0, 1.0, 1.0]
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = share(type(self).__name__, "p", p)

    def forward(self, input: Any) -> Any:
        return self._dropped(input, self.next_seed(input.capture)) if self.training and self.p > 0 else input

    def _dropped(self, x: Any, seed: Symbolic) -> Any:
        return ops.dropout(x, seed, p=self.p)

    def extra_repr(self) -> str:
        return f"p={self.p:g}"


class Dropout1d(Dropout):
    """Dropout of whole channels of sequences.

    Tompson et al., Efficient Object Localization, 2015.

    Args:
        p: the probability that an element, or a channel, is dropped; it may be 1.
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (batch, channels, length), or without the batch
        output: the shape of the input
    Raises:
        CallError: `p` is not within 0..1, or the input has another number of axes.
    Example:
        >>> nn.Dropout1d().eval()(tx.ones(2, 3, 4)).shape
        (2, 3, 4)
    """

    rank = 1

    def _dropped(self, x: Any, seed: Symbolic) -> Any:
        return ops.dropout_channels(x, seed, axis=_leading(self, x, self.rank), p=self.p)


class Dropout2d(Dropout1d):
    """Dropout of whole channels of images.

    Args:
        p: the probability that an element, or a channel, is dropped; it may be 1.
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: the shape of the input
    Raises:
        CallError: `p` is not within 0..1, or the input has another number of axes.
    Example:
        >>> nn.Dropout2d().eval()(tx.ones(2, 3, 4, 4)).shape
        (2, 3, 4, 4)
    """

    rank = 2


class Dropout3d(Dropout1d):
    """Dropout of whole channels of volumes.

    Args:
        p: the probability that an element, or a channel, is dropped; it may be 1.
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (batch, channels, depth, height, width), or without the batch
        output: the shape of the input
    Raises:
        CallError: `p` is not within 0..1, or the input has another number of axes.
    Example:
        >>> nn.Dropout3d().eval()(tx.ones(2, 3, 4, 4, 4)).shape
        (2, 3, 4, 4, 4)
    """

    rank = 3


class AlphaDropout(Dropout):
    """Dropout for SELU: dropped elements take the limit of `selu`, so that mean 0 and variance 1
    stay.

    Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Args:
        p: the probability that an element, or a channel, is dropped; it may be 1.
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: `p` is not within 0..1, or the input is not of floats.
    Example:
        >>> nn.AlphaDropout(0.2).eval()(tx.ones(3)).tolist()
        [1.0, 1.0, 1.0]
    """

    def _dropped(self, x: Any, seed: Symbolic) -> Any:
        return ops.alpha_dropout(x, seed, axis=x.ndim, p=self.p)


class FeatureAlphaDropout(Dropout):
    """AlphaDropout of whole channels.

    Args:
        p: the probability that an element, or a channel, is dropped; it may be 1.
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (batch, channels, ...)
        output: the shape of the input
    Raises:
        CallError: `p` is not within 0..1, or the input is not of floats.
    Example:
        >>> nn.FeatureAlphaDropout(0.2).eval()(tx.ones(2, 3, 4)).shape
        (2, 3, 4)
    """

    def _dropped(self, x: Any, seed: Symbolic) -> Any:
        return ops.alpha_dropout(x, seed, axis=2, p=self.p)


def _leading(layer: Module, x: Any, rank: int) -> int:
    """Number of axes that name a channel."""
    if x.ndim not in (rank + 1, rank + 2):
        raise CallError(
            f"{type(layer).__name__}: the input has {x.ndim} dimensions, expected {rank + 2}, or {rank + 1} "
            f"without a batch",
            code="rank",
        )
    return x.ndim - rank

"""Checks of the tokens that a language model is called with."""

from __future__ import annotations

from typing import Any

from texpr.support.errors import CallError


def text_length(tokens: Any, most: int | None = None) -> int:
    """Number of tokens of each text.

    Args:
        tokens: (batch, length).
        most: number of places that the network has weights for; None for any.
    Raises:
        CallError: the tokens have another rank, or texts are longer than `most`.
    """
    shape = tuple(tokens.shape)
    if len(shape) != 2:
        raise CallError(
            f"tokens have shape {list(shape)}, expected (batch, length)",
            code="shape",
            help="one text is a batch of one: tokens[None]" if len(shape) == 1 else "",
        )
    if most is not None and shape[1] > most:
        raise CallError(
            f"a text has {shape[1]} tokens, and the network has {most} positions",
            code="shape",
            help=f"keep the last ones: tokens[:, -{most}:]",
        )
    return int(shape[1])

"""Texts that go on: keys and values of a text are kept, so that a step computes one token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from texpr import ops
from texpr.nn.core.layer_operations import zeros
from texpr.nn.core.module import Module
from texpr.nn.pretrained.token_checks import text_length
from texpr.support.errors import CallError
from texpr.support.tracebacks import boundary

Held = tuple[Any, Any]
"""Keys and values of a layer, (batch, heads, places, features)."""
_SHORTEST = 32
"""Places that are kept at least."""


def attended(q: Any, k: Any, v: Any, place: Any = None, held: Held | None = None) -> tuple[Any, Any]:
    """Attention of each token to itself and to what is before it.

    Args:
        q: (batch, heads, length, features).
        k, v: the same, or with fewer heads, each for as many heads of queries in turn.
        place: that of the first token, a number that is not known yet.
        held: of all places; those of these tokens and behind are not read.
    Returns:
        the result, and keys and values with those of these tokens.
    """
    if held is None or place is None:
        k, v = (_repeated(y, q.shape[1]) for y in (k, v))
        return ops.attention_causal(q, k, v), None
    keys, values = (ops.cache_update(kept, new, place) for kept, new in zip(held, (k, v)))
    (batch, heads, length, size), (_, shared, places, _) = q.shape, keys.shape
    seen = np.arange(places) - np.arange(length)[:, None]  # which places are before, but for the first one
    rows = np.tile(seen, (heads // shared, 1))
    hidden = ops.mask_bias(q.capture.constant(rows) > place, zeros(q, ()))
    found = ops.attention_masks(q.reshape(batch, shared, -1, size), keys, values, mask=hidden)
    return found.reshape(batch, heads, length, size), (keys, values)


def _repeated(y: Any, heads: int) -> Any:
    """Heads of keys or values, each for several heads of queries."""
    batch, shared, length, size = y.shape
    if shared == heads:
        return y
    spread = y.expand_dims(2).broadcast_to(batch, shared, heads // shared, length, size)
    return spread.reshape(batch, heads, length, size)


def through(layers: Iterable[Module], x: Any, place: Any, held: Sequence[Held] | None) -> tuple[Any, Any]:
    """A text through all layers; with what each is to keep, where `held` is given."""
    if held is None:
        for layer in layers:
            x, _ = layer(x)
        return x, None
    found = []
    for layer, kept in zip(layers, held, strict=True):
        x, new = layer(x, place, kept)
        found.append(new)
    return x, found


class Writer(Module):
    """A language model that writes texts.

    Subclasses give logits for `forward(tokens)`, and for `forward(tokens, place, last, held)` logits of
    the token at `last` alone, with keys and values of each layer.

    Attributes:
        layers, shared, size: number of layers, heads of keys and values, and features of a head.
        longest: how many places keys and values can be kept for; None for any.
    """

    layers: int
    shared: int
    size: int
    longest: int | None = None

    @boundary
    def generate(
        self,
        tokens: Any,
        max_new_tokens: int = 20,
        temperature: float = 0.0,
        top_k: int | None = None,
        eos_token_id: int | None = None,
        seed: int | None = None,
    ) -> np.ndarray:
        """Texts with the tokens that follow.

        Keys and values of all layers are kept, so each token costs one pass over one token. Programs
        are compiled for lengths that are powers of two, one for the given text and one for a step.

        Args:
            tokens: integers, (batch, length).
            max_new_tokens: how many tokens follow at most.
            temperature: 0 takes the likeliest token; others draw from softmax(logits / temperature).
            top_k: draws from the likeliest alone.
            eos_token_id: ends a text. Where other texts of the batch go on, it fills this one up.
            seed: of the draws.
        Returns:
            integers, (batch, length + new).
        Raises:
            CallError: tokens of another rank or dtype, a text without tokens or longer than the
                network has positions, numbers that cannot be.
        """
        text = self._checked(np.asarray(tokens), max_new_tokens, temperature, top_k)
        rng = np.random.default_rng(seed)
        length, places = text.shape[1], _rounded(text.shape[1] + max_new_tokens, self.longest)
        empty = np.zeros((len(text), self.shared, places, self.size), np.float32)
        held: Sequence[Held] = [(empty, empty)] * self.layers
        given = np.pad(text, ((0, 0), (0, _rounded(length, places) - length)))
        place, last, ended = 0, length - 1, np.zeros(len(text), bool)
        while text.shape[1] < length + max_new_tokens and not ended.all():
            logits, held = self(given, np.array(place), np.array(last), held)
            new = _chosen(np.asarray(logits, np.float64), temperature, top_k, rng)
            if eos_token_id is not None:
                new = np.where(ended, eos_token_id, new)
                ended |= new == eos_token_id
            place, last, given = text.shape[1], 0, new[:, None]
            text = np.append(text, given, 1)
        return text

    @staticmethod
    def logits(head: Module, body: tuple[Any, Any], last: Any) -> Any:
        """Logits of all places; or of one, and what the layers keep."""
        x, held = body
        if held is None:
            return head(x)
        return ops.pick(head(ops.take(x, last.reshape(1), axis=1)), axis=1), held

    def _checked(self, text: np.ndarray, count: int, temperature: float, top_k: int | None) -> np.ndarray:
        length = text_length(text, self.longest)
        if text.dtype.kind not in "iu" or 0 in text.shape:
            raise CallError(
                f"generate: tokens are {text.dtype} of shape {list(text.shape)}, expected integers, at least one",
                code="arguments",
            )
        for name, value, least in (("max_new_tokens", count, 0), ("top_k", top_k, 1)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise CallError(
                    f"generate: {name} is {value!r}, expected a whole number from {least} on",
                    code="arguments",
                )
        if not 0 <= temperature < np.inf:
            raise CallError(
                f"generate: temperature is {temperature!r}, expected a number from 0 on", code="arguments"
            )
        if self.longest is not None and length + count > self.longest:
            raise CallError(
                f"generate: {length} tokens and {count} new ones, and the network has {self.longest} positions",
                code="shape",
                help=f"max_new_tokens={self.longest - length}, or a shorter text",
            )
        return text.astype(np.int64)


def _rounded(length: int, most: int | None) -> int:
    """A power of two from `_SHORTEST` on, so that few lengths are compiled; no more than `most`."""
    found = max(_SHORTEST, 1 << (length - 1).bit_length())
    return found if most is None else min(found, most)


def _chosen(
    logits: np.ndarray, temperature: float, top_k: int | None, rng: np.random.Generator
) -> np.ndarray:
    """A token for each row: the likeliest, or one that is drawn. Gumbel, Statistical Theory of Extreme
    Values, 1954: the largest of logits with such noise is a draw from their softmax.
    """
    if temperature == 0:
        return logits.argmax(-1)
    if top_k is not None and top_k < logits.shape[-1]:
        least = np.partition(logits, -top_k, -1)[:, -top_k, None]
        logits = np.where(logits >= least, logits, -np.inf)
    return (logits / temperature + rng.gumbel(size=logits.shape)).argmax(-1)

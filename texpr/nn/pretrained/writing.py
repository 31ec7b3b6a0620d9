"""Texts that go on: keys and values of a text are kept, so that a step computes one token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from texpr import ops
from texpr.compiler import op
from texpr.ir.dtypes import F16
from texpr.nn.core import pytree
from texpr.nn.core.layer_operations import zeros
from texpr.nn.core.module import Module
from texpr.nn.pretrained.token_checks import text_length
from texpr.support.errors import CallError
from texpr.support.tracebacks import boundary

Held = tuple[Any, Any]
"""Keys and values of a layer, (batch, heads, places, features)."""
_SHORTEST = 32
"""Places that are kept at least."""


_CONTINUED = op("""op attention_continued<T: float>(Q: T[N, H, L, D], K: T[N, H, M, D], V: T[N, H, M, D], k: T[N, H, J, D],
    v: T[N, H, J, D], hidden: T[M], mask: T[L, J], padding: T[N, M] = 0, padded: T[N, J] = 0) -> O: T[N, H, L, D] {
  p[n, h, i, j] = sum(d: Q[n, h, i, d] * K[n, h, j, d]) * rsqrt(T(D)) + hidden[j] + padding[n, j]
  q[n, h, i, j] = sum(d: Q[n, h, i, d] * k[n, h, j, d]) * rsqrt(T(D)) + mask[i, j] + padded[n, j]
  m[n, h, i] = max(max(j: p[n, h, i, j]), max(j: q[n, h, i, j]))
  e[n, h, i, j] = exp(p[n, h, i, j] - m[n, h, i])
  f[n, h, i, j] = exp(q[n, h, i, j] - m[n, h, i])
  O[n, h, i, c] = (sum(j: T(e[n, h, i, j]) * V[n, h, j, c]) + sum(j: T(f[n, h, i, j]) * v[n, h, j, c]))
    / (sum(j: e[n, h, i, j]) + sum(j: f[n, h, i, j]))
}""")
"""Attention to kept keys and values and to new ones, which need not be in one tensor for it."""


def attended(q: Any, k: Any, v: Any, place: Any = None, held: Held | None = None) -> tuple[Any, Any]:
    """Attention of each token to itself and to what is before it.

    Args:
        q: (batch, heads, length, features).
        k, v: the same, or with fewer heads, each for as many heads of queries in turn.
        place: that of the first token, as `split_place` takes it.
        held: of all places; those of these tokens and behind are not read. Without it, the first
            token is at place 0.
    Returns:
        the result; and keys and values of these tokens, or None where no place is given.
    """
    if place is None:
        k, v = (_repeated(y, q.shape[1]) for y in (k, v))
        return ops.attention_causal(q, k, v), None
    first, starts = split_place(place)
    (batch, heads, length, size), shared, zero = q.shape, k.shape[1], zeros(q, ())
    rows = q.reshape(batch, shared, -1, size)
    own = q.capture.constant(np.arange(length))
    later = np.tile(np.arange(length) > np.arange(length)[:, None], (heads // shared, 1))
    mask = ops.mask_bias(q.capture.constant(later), zero)
    if held is None:
        padding = {} if starts is None else {"padding": _before_texts(q, own, starts)}
        found = ops.attention_masks(rows, k, v, mask=mask, **padding)
    else:
        kept = q.capture.constant(np.arange(held[0].shape[2]))
        if starts is None:
            padding = {}
        else:
            padding = {
                "padding": _before_texts(q, kept, starts),
                "padded": _before_texts(q, own + first, starts),
            }
        found = _CONTINUED(rows, *held, k, v, ops.mask_bias(kept >= first, zero), mask, **padding)
    return found.reshape(batch, heads, length, size), (k, v)


def split_place(place: Any) -> tuple[Any, Any]:
    """The place of the first token, a number that is not known yet; and, where texts have several
    lengths, how many places before each text hold no token, of shape (batch,), else None.
    """
    return place if isinstance(place, tuple) else (place, None)


def _before_texts(q: Any, places: Any, starts: Any) -> Any:
    """Numbers that are added to the scores of places before a text, of shape (batch, places).

    Half of the lowest number, not -inf: tokens that fill up a text see only such places, and must not
    be NaN, which a weight of 0 would not take away.
    """
    lowest = np.finfo(np.float16 if q.dtype == F16 else np.float32).min / 2
    before = places.reshape(1, -1) < starts.reshape(-1, 1)
    return before.astype(q.dtype) * float(lowest)


def _repeated(y: Any, heads: int) -> Any:
    """Heads of keys or values, each for several heads of queries."""
    batch, shared, length, size = y.shape
    if shared == heads:
        return y
    spread = y.expand_dims(2).broadcast_to(batch, shared, heads // shared, length, size)
    return spread.reshape(batch, heads, length, size)


def through(layers: Iterable[Module], x: Any, place: Any, held: Sequence[Held] | None) -> tuple[Any, Any]:
    """A text through all layers; with keys and values of its tokens, where `place` is given."""
    found = []
    for k, layer in enumerate(layers):
        x, new = layer(x, place, None if held is None else held[k])
        found.append(new)
    return x, None if place is None else found


class Writer(Module):
    """A language model that writes texts.

    Subclasses give logits for `forward(tokens)`, and for `forward(tokens, place, last, held)` logits of
    the token at `last` alone, with keys and values of these tokens in each layer.

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
        attention_mask: Any = None,
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
            attention_mask: of texts of several lengths, (batch, length), 0 or False where a token
                fills up its text. Texts are filled up on the left, since new tokens follow on the
                right; each goes on as it does alone.
        Returns:
            integers, (batch, length + new), with the tokens that fill up.
        Raises:
            CallError: tokens of another rank or dtype, a text without tokens or longer than the
                network has positions, numbers that cannot be, a mask of another shape or of texts
                that are not filled up on the left.
        """
        text = self._checked(np.asarray(tokens), max_new_tokens, temperature, top_k)
        starts = None if attention_mask is None else _starts(np.asarray(attention_mask), text.shape)
        rng = np.random.default_rng(seed)
        length, places = text.shape[1], _rounded(text.shape[1] + max_new_tokens, self.longest)
        shape = (len(text), self.shared, places, self.size)
        kept = [(np.zeros(shape, np.float32), np.zeros(shape, np.float32)) for _ in range(self.layers)]
        given = np.pad(text, ((0, 0), (0, _rounded(length, places) - length)))
        place, last, ended = 0, length - 1, np.zeros(len(text), bool)
        while text.shape[1] < length + max_new_tokens and not ended.all():
            first: Any = np.array(place) if starts is None else (np.array(place), starts)
            logits, made = self(given, first, np.array(last), kept if place else None)
            for whole, part in zip(pytree.leaves(kept), pytree.leaves(made), strict=True):
                whole[:, :, place : text.shape[1]] = part[:, :, : last + 1]
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


def _starts(mask: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Number of places before each text; None where all texts begin at the first place.

    Raises:
        CallError: the mask has another shape or other numbers, or a text is not filled up on the left.
    """
    if mask.shape != shape or mask.dtype.kind not in "biu" or not np.isin(mask, (0, 1)).all():
        raise CallError(
            f"generate: attention_mask is {mask.dtype} of shape {list(mask.shape)}, expected 0 and 1 of shape "
            f"{list(shape)}",
            code="arguments",
        )
    seen = mask.astype(bool)
    wrong = np.flatnonzero(~seen[:, -1] | (seen[:, 1:] < seen[:, :-1]).any(1))
    if wrong.size:
        raise CallError(
            f"generate: attention_mask of text {wrong[0]} is {mask[wrong[0]].astype(int).tolist()}, expected "
            "zeros before ones",
            code="arguments",
            help='fill texts up on the left; tokenizers of transformers do with padding_side="left"',
        )
    starts = (~seen).sum(1)
    return starts if starts.any() else None


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

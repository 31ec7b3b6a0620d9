"""Data of 64 bits that conditions hold within bounds: arithmetic on it does not wrap where that is so.

The proofs have no largest integer, and kernels compute in 64 bits, so a sum of data of which nothing is known says nothing: `k[i] + 1` may
be the least number. Between two sums of a few sizes and small numbers data is far from both ends, at sizes below `ir.reach.USUAL_SIZE`;
calls with larger ones are looked at by `ir.reach`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from texpr.ir.expr import Mul, Var
from texpr.poly.forms import Form, Key, Piece

MOST_FACTORS = 16
"""Sizes and indices, counted as often as they are added, that a bound is made of."""
LARGEST_NUMBER = 1 << 40
"""The number beside them."""
SMALL = 1 << 8
"""Factor of data in a sum."""


def held(piece: Piece, is_wild: Callable[[Key], bool], known: frozenset[Key] = frozenset()) -> frozenset[Key]:
    """The keys, wild ones, that the constraints of a piece hold within bounds from both sides; `known` are."""
    above: set[Key] = set(known)
    below: set[Key] = set(known)
    grows = bool(piece)
    while grows:
        grows = False
        for form, equality in piece:
            wild = [(k, c) for k, c in form.terms if is_wild(k) and not (k in above and k in below)]
            if len(wild) != 1 or not _is_bound(form, wild[0][0]):
                continue
            key, factor = wild[0]
            for side in (above, below) if equality else (above,) if factor > 0 else (below,):
                grows = grows or key not in side
                side.add(key)
    return frozenset(above & below)


def _is_bound(form: Form, key: Key) -> bool:
    """Whether the rest of a form is a few sizes, indices and a number."""
    rest = [(k, c) for k, c in form.terms if k is not key]
    plain = all(type(k) is Var or not (k.opaque and isinstance(k.node, Mul)) for k, _ in rest)  # type: ignore[union-attr]
    return plain and sum(abs(c) for _, c in rest) <= MOST_FACTORS and abs(form.constant) <= LARGEST_NUMBER


def is_small(forms: Iterable[Form], wild: Iterable[Key]) -> bool:
    """Whether sums of data that is held stay far from 64 bits: each is added a few times."""
    keys = set(wild)
    return all(sum(abs(c) for k, c in form.terms if k in keys) <= SMALL for form in forms)

"""Data of 64 bits that conditions bound: arithmetic on it does not wrap there.

The proofs have no largest integer, and kernels compute in 64 bits, so a sum of data of which
nothing is known says nothing: `k[i] + 1` may be the least number. Between two sums of a few sizes
and small numbers data is far from both ends, at sizes below `ir.index.overflow.USUAL_SIZE`; calls with
larger ones are looked at by `ir.index.overflow`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from texpr.ir.expr import Mul, Var
from texpr.poly.constraints.linear_forms import Conjunction, Form, Key

MOST_FACTORS = 16
"""Number of sizes and indices, counted as often as they are added, in a bound."""
LARGEST_NUMBER = 1 << 40
"""Largest constant in a bound."""
SMALL = 1 << 8
"""Largest factor of data in a sum."""


_ROUNDS = 4
"""Rounds of bounds by way of other data: each round may add as much again."""


def bounded_keys(
    piece: Conjunction, is_unbounded: Callable[[Key], bool], known: frozenset[Key] = frozenset()
) -> frozenset[Key]:
    """The unbounded keys that the constraints of a piece bound from both sides; `known` are bounded
    already.
    """
    forms = [
        (f, unbounded)
        for c in piece
        for f in ((c.form, c.form.times(-1)) if c.equality else (c.form,))
        if (unbounded := [k for k, _ in f.terms if is_unbounded(k)]) and _is_bound(f, unbounded)
    ]
    from_below: set[Key] = set(known)
    from_above: set[Key] = set(known)
    for _ in range(_ROUNDS if forms else 0):
        before = len(from_below) + len(from_above)
        for form, unbounded in forms:
            for key, factor in form.terms:
                rest = ((k, c) for k, c in form.terms if k in unbounded and k is not key)
                if key in unbounded and all(k in (from_above if c > 0 else from_below) for k, c in rest):
                    (from_below if factor > 0 else from_above).add(key)
        if len(from_below) + len(from_above) == before:
            break
    return frozenset(from_below & from_above)


def _is_bound(form: Form, unbounded: Collection[Key]) -> bool:
    """True if a form that is at least 0 bounds one value of data by a few sizes, indices and a
    number.
    """
    rest = [(k, c) for k, c in form.terms if k not in unbounded]
    plain = all(type(k) is Var or not (k.opaque and isinstance(k.node, Mul)) for k, _ in rest)  # type: ignore[union-attr]
    return (
        plain and sum(abs(c) for _, c in form.terms) <= MOST_FACTORS and abs(form.constant) <= LARGEST_NUMBER
    )


def is_small(forms: Iterable[Form], unbounded: Iterable[Key]) -> bool:
    """True if sums of bounded data stay far from 64 bits: each value is added a few times."""
    keys = set(unbounded)
    return all(sum(abs(c) for k, c in form.terms if k in keys) <= SMALL for form in forms)

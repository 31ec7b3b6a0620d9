"""What else is equal where two elements are."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.expr import Read, Tensor
from texpr.poly.affine import Converter
from texpr.poly.forms import Form, Key, Unknown


def distinct_arguments(converter: Converter, at: Sequence[Form], to: Sequence[Form]) -> list[tuple[Form, Form]]:
    """What else is equal where two elements are: rows of a `distinct` tensor that nothing writes hold each value once.

    If an index is `p[a, i]` here and `p[b, j]` there, the two are equal, and so are `a` and `b` because they are indices
    themselves, then `i` equals `j`.
    """
    known = set(zip(at, to))
    found = []
    for i, j in zip(at, to):
        if len(i.terms) == len(j.terms) == 1 and i.constant == j.constant and i.terms[0][1] == j.terms[0][1]:
            here, there = (_elements_of_distinct(converter, f.terms[0][0]) for f in (i, j))
            if here and there and here[0] is there[0] and known.issuperset(zip(here[1][:-1], there[1][:-1])):
                found.append((here[1][-1], there[1][-1]))
    return found


def _elements_of_distinct(converter: Converter, key: Key) -> tuple[Tensor, list[Form]] | None:
    """The tensor and indices of a read from a distinct tensor, where the indices are plain forms."""
    match key:
        case Unknown(node=Read(tensor, args)) if tensor.distinct and tensor in converter.stable and args:
            cases = [converter.values(a).cases for a in args]
            if all(len(c) == 1 and not c[0][0] for c in cases):
                return tensor, [c[0][1] for c in cases]
    return None

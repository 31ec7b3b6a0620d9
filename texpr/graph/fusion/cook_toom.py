"""Short correlations by fewer products: `m` sums of `r` products each from `m + r - 1` products.

`Y[y] = sum(r: D[y + r] * G[r])` is `A (U G * V D)` with three small matrices, of which `U` and `V`
evaluate polynomials at `m + r - 2` points and at infinity, and `A` interpolates. Both are linear in
the data, so the same matrices serve each dimension of a window in turn.

All is computed in fractions, and the identity is checked for all data by its coefficients.

Sources: Toom, The complexity of a scheme of functional elements realizing the multiplication of
integers, 1963; Winograd, Arithmetic Complexity of Computations, SIAM, 1980. The points: Barabasz et
al., Error Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural Networks, ACM
TOMS 46, 2020, which finds that points whose quotients are near one keep errors small.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

from texpr.support.frozen_dataclass import frozen

Matrix = tuple[tuple[Fraction, ...], ...]

POINTS = {
    0: (),
    3: (0, 1, -1),
    5: (0, Fraction(3, 4), Fraction(-3, 4), Fraction(3, 2), Fraction(-3, 2)),
    7: (0, 1, -1, 2, -2, Fraction(1, 2), Fraction(-1, 2)),
}
"""Finite points by their number. Their powers and products are exact in binary floats, and errors
are small: with five of them smaller than those of the usual 0, 1, -1, 2 and -2 (`pytest
tests/graph/fusion/test_winograd.py -k points`)."""


@frozen
class Transforms:
    """The matrices of `m` outputs and `r` taps, with `n = m + r - 1` products.

    Attributes:
        output: m x n.
        taps: n x r.
        window: n x n.
    """

    output: Matrix
    taps: Matrix
    window: Matrix


@lru_cache
def transforms(outputs: int, taps: int) -> Transforms:
    """The matrices for so many outputs and taps.

    Raises:
        KeyError: there are no points for so many products.
    """
    return interpolated(POINTS[outputs + taps - 2], outputs, taps)


def interpolated(at: Sequence[int | Fraction], outputs: int, taps: int) -> Transforms:
    """The matrices that belong to `outputs + taps - 2` different finite points."""
    points = tuple(map(Fraction, at))
    others = {p: [q for q in points if q is not p] for p in points}
    scale = {p: prod((p - q for q in others[p]), start=Fraction(1)) for p in points}
    evaluated = [tuple(x / scale[p] for x in _powers(p, taps)) for p in points]
    found = Transforms(
        tuple(zip(*(_powers(p, outputs) for p in points), _unit(outputs))),
        (*evaluated, _unit(taps)),
        (*((*_polynomial(others[p]), Fraction(0)) for p in points), _polynomial(points)),
    )
    if not is_correlation(found):  # no `assert`: this is the proof
        raise AssertionError(f"{outputs} outputs of {taps} taps")
    return found


def is_correlation(given: Transforms) -> bool:
    """True if the matrices compute `sum(r: D[y + r] * G[r])` for all `D` and `G`: the coefficient of
    each `D[d] * G[r]` in each `Y[y]` is 1 where `d` is `y + r`, else 0.
    """
    return all(
        sum(a * g[r] * v[d] for a, g, v in zip(row, given.taps, given.window)) == (d == y + r)
        for y, row in enumerate(given.output)
        for r in range(len(given.taps[0]))
        for d in range(len(given.window))
    )


def _powers(point: Fraction, count: int) -> tuple[Fraction, ...]:
    return tuple(point**k for k in range(count))


def _unit(count: int) -> tuple[Fraction, ...]:
    """The value at infinity: the last coefficient alone."""
    return (Fraction(0),) * (count - 1) + (Fraction(1),)


def _polynomial(roots: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Coefficients of the product of all `x - root`, from the constant on."""
    found = [Fraction(1)]
    for root in roots:
        found = [a - root * b for a, b in zip([Fraction(0), *found], [*found, Fraction(0)])]
    return tuple(found)

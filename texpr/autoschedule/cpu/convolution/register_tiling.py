"""Tiles of positions whose windows overlap: what neighbours read in common is fetched once for all
taps of a row of the window.

The loop over these taps is copied for each of its iterations: a tile needs `positions + taps - 1`
values of the field where it would fetch `positions * taps`. They stay in registers beside the sums,
so there are fewer of these: enough to hide how long a product takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.numbers import nearly_even
from texpr.autoschedule.cpu.convolution.convolution_costs import CONVOLUTION_COSTS
from texpr.autoschedule.cpu.gemm.packing import ALIAS, WAYS
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.loop import For
from texpr.schedule.analysis.access import Access, unclamped


def last_taps(nest: Nest, field: Access, x: For) -> For | None:
    """The innermost loop over terms, if it runs along a window whose neighbours along `x`
    overlap.
    """
    last = nest.reduction[-1]
    beside = [
        form
        for i in field.indices
        if (form := linear(unclamped(i))).coefficient(x.var) and form.coefficient(last.var)
    ]
    return last if len(beside) == 1 and 1 < constant_extent(last) <= CONVOLUTION_COSTS.unrolled_taps else None


def reach(field: Access, along: For, loops: Iterable[For]) -> int:
    """Elements of a dimension of the field, that which moves with the loop `along`, that some loops
    walk through.
    """
    form = next(f for i in field.indices if (f := linear(unclamped(i))).coefficient(along.var))
    return 1 + sum(abs(form.coefficient(n.var)) * (constant_extent(n) - 1) for n in loops)


def position_step(field: Access, n: For) -> int:
    """Distance of neighbouring positions, in elements of its dimension."""
    return max(1, *(abs(linear(unclamped(i)).coefficient(n.var)) for i in field.indices))


def most_rows(field: Access, x: For) -> int:
    """Neighbouring positions that a first cache holds at a time: of what lies a multiple of
    `ALIAS` apart it has few places.
    """
    step = (field.stride(x.var) or 1) * field.tensor.dtype.bytes
    return (WAYS - 1) * (ALIAS // gcd(step, ALIAS))


def tile_width(size: int, lanes: int) -> int:
    """Two vectors, which need the fewest loads for each product; three where that leaves nothing
    over.
    """
    vectors = 3 if size % (3 * lanes) == 0 and size % (2 * lanes) else 2
    return min(vectors, size // lanes) * lanes


def tile_height(most: int, xs: int, ys: int) -> tuple[int, int]:
    """Of at most so many positions, those along x and y: whole rows, or parts of one size if
    there are, else parts of which the last is little shorter.
    """
    if xs <= most:
        return xs, max(n for n in range(1, most // xs + 1) if ys % n == 0)
    divisors = [n for n in range(most, most // 2, -1) if xs % n == 0]
    return (divisors[0] if divisors else nearly_even(xs, most)), 1


def tile_with_taps(
    registers: int, vectors: int, sizes: tuple[int, int], step: int, taps: int
) -> tuple[int, tuple[int, int]] | None:
    """Numbers of vectors, and of positions along x and y, of a tile whose sums and values all stay
    in registers; None if that is none.

    Args:
        vectors: of lanes, at most; fewer leave room for more positions.
        sizes: positions along x and y.
        step: elements of the field from a position along x to the next.
        taps: of a row of the window.
    """
    xs, ys = sizes
    for wide in range(vectors, 0, -1):
        tiles = [(h, 1) for h in range(1, xs) if xs % h == 0] + [
            (xs, n) for n in range(1, ys + 1) if ys % n == 0
        ]
        fitting = [
            (h, n)
            for h, n in tiles
            if CONVOLUTION_COSTS.tile_sums <= h * n * wide
            and (h * wide + (h - 1) * step + taps) * n + wide <= registers
        ]
        if fitting:
            return wide, max(fitting, key=lambda tile: tile[0] * tile[1])
    return None


def share_outside(field: Access, term: For, nest: Nest) -> float:
    """The share of a loop's terms that lie outside of the field, counted along the position that
    they slide along.
    """
    for i, size in zip(field.indices, field.tensor.shape):
        form, length = linear(unclamped(i)), integer(size)
        slid = [n for n in nest.loops if n is not term and form.coefficient(n.var)]
        if form.coefficient(term.var) and len(slid) == 1 == len(form.terms) - 1 and length is not None:
            step, tap = form.coefficient(slid[0].var), form.coefficient(term.var)
            places = [
                form.constant + step * p + tap * t
                for p in range(constant_extent(slid[0]))
                for t in range(constant_extent(term))
            ]
            return sum(not 0 <= p < length for p in places) / len(places)
    return 0.0

"""Line search: the length of a step in a direction."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

from texpr.graph.lazy import Tensor
from texpr.support.frozen_dataclass import frozen

ENOUGH, FLAT = 1e-4, 0.9
"""Share of the slope that a step must gain, and how flat the end must be compared with the
beginning.
"""


@frozen
class Point:
    """A point of the search: the loss, its gradient, and the slope in the direction."""

    at: float
    loss: float
    gradient: Tensor
    slope: float


def strong_wolfe(
    look: Callable[[float], Point], start: Point, first: float, least: float, most: int
) -> tuple[Point, int]:
    """A point that is low enough and flat enough, and how many points were looked at.

    Args:
        look: the point at a distance.
        first: the distance to begin with.
        least: brackets that are narrower are not searched any further.
        most: points to look at after the first; the lowest is taken when these are used up.
    Source: Nocedal and Wright, Numerical Optimization, 2006, algorithms 3.5 and 3.6.
    """
    before, here, trials = start, look(first), 0
    while trials < most:
        if (
            _is_high(here, start)
            or (trials > 1 and here.loss >= before.loss)
            or here.slope >= 0
            and not _is_flat(here, start)
        ):
            return _zoomed(look, start, (before, here), trials, least, most)
        if _is_flat(here, start):
            return here, trials + 1
        at = cubic_minimum(before, here, here.at + 0.01 * (here.at - before.at), 10 * here.at)
        before, here, trials = here, look(at), trials + 1
    return min(start, here, key=lambda p: p.loss), trials + 1


def _zoomed(
    look: Callable[[float], Point],
    start: Point,
    ends: tuple[Point, Point],
    trials: int,
    least: float,
    most: int,
) -> tuple[Point, int]:
    """Search between two points of which one is better and the other too high, or past the
    minimum.
    """
    low, high = sorted(ends, key=lambda p: p.loss)
    looked, near_an_end = trials + 1, False
    while trials < most and abs(high.at - low.at) >= least:
        left, right = sorted((low, high), key=lambda p: p.at)
        at, margin = cubic_minimum(left, right, left.at, right.at), 0.1 * (right.at - left.at)
        near = min(right.at - at, at - left.at) < margin
        if near and (near_an_end or not left.at < at < right.at):
            at = right.at - margin if abs(at - right.at) < abs(at - left.at) else left.at + margin
            near = False
        near_an_end = near
        here, trials, looked = look(at), trials + 1, looked + 1
        if _is_high(here, start) or here.loss >= low.loss:
            low, high = (low, here) if low.loss <= here.loss else (here, low)
            continue
        if _is_flat(here, start):
            return here, looked
        low, high = here, low if here.slope * (high.at - low.at) >= 0 else high
    return low, looked


def _is_high(point: Point, start: Point) -> bool:
    return point.loss > start.loss + ENOUGH * point.at * start.slope


def _is_flat(point: Point, start: Point) -> bool:
    return abs(point.slope) <= -FLAT * start.slope


def cubic_minimum(one: Point, other: Point, lo: float, hi: float) -> float:
    """Minimum of the cubic through two points with their slopes, within lo..hi; the middle where it
    has no minimum.
    """
    left, right = sorted((one, other), key=lambda p: p.at)
    mean = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.at - right.at)
    square = mean * mean - left.slope * right.slope
    if square < 0:
        return (lo + hi) / 2
    root = sqrt(square)
    at = right.at - (right.at - left.at) * (right.slope + root - mean) / (right.slope - left.slope + 2 * root)
    return min(max(at, lo), hi)

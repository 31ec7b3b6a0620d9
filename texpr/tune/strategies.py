"""Strategies: the choice of the points to try next. A strategy sees what was measured so far, and
depends on its seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite
from random import Random
from typing import Protocol

from texpr.tune.space import Point, Space

Seen = Mapping[Point, float]
"""Seconds of the points that were tried; infinite where a point does not count."""


class Strategy(Protocol):
    """A way to search."""

    def propose(self, seen: Seen, count: int) -> Sequence[Point]:
        """At most `count` points that were not seen; none if there are none left."""
        ...


class RandomSearch:
    """Points drawn evenly, each once."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._random = space, Random(seed)

    def propose(self, seen: Seen, count: int) -> list[Point]:
        """See `Strategy`."""
        return fresh(self._space, self._random, seen, count)


class Genetic:
    """The children of the fastest points: crossed, and changed by a step of a knob or anywhere.

    Source: Holland, Adaptation in Natural and Artificial Systems, 1975; the best are always kept.
    """

    PARENTS = 8
    FRESH = 3
    """Every so many points, one is drawn: the children of few stay among themselves."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._random = space, Random(seed)

    def propose(self, seen: Seen, count: int) -> list[Point]:
        """See `Strategy`."""
        parents = fastest(seen, self.PARENTS)
        if len(parents) < self.PARENTS and len(seen) < 2 * self.PARENTS:
            return fresh(self._space, self._random, seen, count)
        found = (
            offspring(self._space, self._random, parents, seen, count - max(1, count // self.FRESH))
            if parents
            else []
        )
        return found + fresh(
            self._space, self._random, {**seen, **dict.fromkeys(found, inf)}, count - len(found)
        )


def fastest(seen: Seen, count: int) -> list[Point]:
    """The fastest points, the fastest first."""
    return sorted((p for p, seconds in seen.items() if isfinite(seconds)), key=lambda p: (seen[p], p))[:count]


def offspring(space: Space, random: Random, parents: Sequence[Point], seen: Seen, count: int) -> list[Point]:
    """New points from the fastest; those in front have more children."""
    found: dict[Point, None] = {}
    for _ in range(20 * count):
        if len(found) == count:
            break
        first, second = (parents[min(random.randrange(len(parents)) for _ in range(2))] for _ in range(2))
        child = tuple(random.choice(pair) for pair in zip(first, second))
        child = tuple(
            _changed(random, at, len(knob.values), len(space.knobs)) for at, knob in zip(child, space.knobs)
        )
        if child not in seen:
            found[child] = None
    return list(found)


def _changed(random: Random, at: int, count: int, knobs: int) -> int:
    """One knob or so per child moves, mostly to a neighbour."""
    if random.random() >= 1.2 / knobs:
        return at
    if random.random() < 0.7:
        return min(max(at + random.choice((-1, 1)), 0), count - 1)
    return random.randrange(count)


def fresh(space: Space, random: Random, seen: Seen, count: int) -> list[Point]:
    """Points drawn evenly from those that were not seen."""
    if space.size <= 4 * (len(seen) + count):
        left = [p for p in map(space.point, range(space.size)) if p not in seen]
        return random.sample(left, min(count, len(left)))
    found: dict[Point, None] = {}
    while len(found) < count:
        point = space.point(random.randrange(space.size))
        if point not in seen:
            found[point] = None
    return list(found)


Describe = Callable[[Point], Sequence[float] | None]
"""Features of a point, without running it; None where its schedule is not legal."""

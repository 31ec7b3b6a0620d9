"""A search that learns: trees are fitted to the logarithms of the measured times, and what they
think fastest is measured next.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, log
from random import Random

import numpy as np

from texpr.tune.boosted_trees import Trees, fit
from texpr.tune.space import Point, Space
from texpr.tune.strategies import Describe, Seen, fastest, fresh, offspring

FIRST = 12
"""Points drawn evenly before anything is learned."""
POOL = 600
SHORTLIST = 3
"""So many times the points wanted are described, which takes a replay of their steps, before
they are ranked once more.
"""
FRESH = 4
"""Every so many points, one is drawn: trees know nothing of where they have not been."""
PENALTY = log(8)
"""A point that does not count is taken for one that is so much slower than the slowest."""


class Model:
    """Ranks many candidates by their knobs, few by what is known of their loops as well
    (`describe`).
    """

    def __init__(self, space: Space, seed: int, describe: Describe | None = None) -> None:
        self._space, self._random, self._describe = space, Random(seed), describe
        self._known: dict[Point, Sequence[float] | None] = {}

    def propose(self, seen: Seen, count: int) -> list[Point]:
        """See `Strategy`."""
        good = fastest(seen, FIRST)
        if len(good) < min(FIRST, self._space.size // 4):
            return fresh(self._space, self._random, seen, count)
        pool = self._pool(seen, good)
        ranked = self._ranked(seen, pool, knobs_of)
        if self._describe is not None:
            ranked = (
                self._ranked(seen, ranked[: SHORTLIST * count], self._described) + ranked[SHORTLIST * count :]
            )
        chosen = ranked[: count - max(1, count // FRESH)]
        return chosen + fresh(
            self._space, self._random, {**seen, **dict.fromkeys(chosen, inf)}, count - len(chosen)
        )

    def _pool(self, seen: Seen, good: Sequence[Point]) -> list[Point]:
        """Candidates: everything, where that is little; else children of the fastest, and points
        from anywhere.
        """
        if self._space.size <= 2 * POOL:
            return fresh(self._space, self._random, seen, self._space.size)
        children = offspring(self._space, self._random, good, seen, POOL // 2)
        return children + fresh(
            self._space, self._random, {**seen, **dict.fromkeys(children, inf)}, POOL - len(children)
        )

    def _ranked(self, seen: Seen, pool: Sequence[Point], features: Describe) -> list[Point]:
        """The candidates that have features, the most promising first."""
        given = {p: f for p in pool if (f := features(p)) is not None}
        learned = {p: f for p in seen if (f := features(p)) is not None}
        if not given or len(learned) < 2:
            return list(given)
        model = _learned(learned, seen)
        return [
            list(given)[k]
            for k in np.argsort(model(np.array(list(given.values()), np.float64)), kind="stable")
        ]

    def _described(self, point: Point) -> Sequence[float] | None:
        assert self._describe is not None
        if point not in self._known:
            found = self._describe(point)
            self._known[point] = None if found is None else [*knobs_of(point), *found]
        return self._known[point]


def _learned(features: dict[Point, Sequence[float]], seen: Seen) -> Trees:
    slowest = max((s for s in seen.values() if isfinite(s)), default=1.0)
    y = np.array([log(seen[p]) if isfinite(seen[p]) else log(slowest) + PENALTY for p in features])
    return fit(np.array(list(features.values()), np.float64), y)


def knobs_of(point: Point) -> Sequence[float]:
    """The features that every point has: the positions of its values."""
    return point

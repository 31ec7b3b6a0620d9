"""Strategies on a landscape that was measured once: the same numbers in every run."""

from __future__ import annotations

from math import inf, isfinite
from statistics import fmean

import numpy as np
import pytest

from tests.tune.cases import landscape
from texpr.tune.boosted_trees import fit
from texpr.tune.search import BATCH, STRATEGIES
from texpr.tune.space import Knob, Space

SPACE, TIMES = landscape()
BEST = min(TIMES.values())
SEEDS = range(5)


def search(name, seed, trials, space=SPACE, times=TIMES):
    """The points that a strategy tries, in order, with their times."""
    strategy, seen = STRATEGIES[name](space, seed), {}
    while len(seen) < trials and (points := strategy.propose(seen, min(BATCH, trials - len(seen)))):
        assert not set(points) & set(seen) and len(set(points)) == len(points)
        seen |= {p: times[p] for p in points}
    return seen


@pytest.mark.parametrize("name", ["genetic", "model"])
def test_a_tenth_of_the_trials_is_enough(name):
    """Within 5 % of the best of all points."""
    found = [min(search(name, seed, SPACE.size // 10).values()) for seed in SEEDS]
    assert max(found) <= 1.05 * BEST, [f / BEST for f in found]


@pytest.mark.parametrize("name", ["genetic", "model"])
def test_searching_is_better_than_drawing(name):
    trials = SPACE.size // 15
    drawn, found = ([min(search(n, seed, trials).values()) for seed in SEEDS] for n in ("random", name))
    assert fmean(found) < fmean(drawn)


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_seed_decides(name):
    assert list(search(name, 3, 40)) == list(search(name, 3, 40)) != list(search(name, 4, 40))


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_all_points_of_a_small_space(name, count):
    space = Space((Knob("a", tuple(range(count))), Knob("b", (0, 1))), lambda *_: None)
    seen = search(name, 0, 1000, space, {space.point(n): 1.0 + n for n in range(space.size)})
    assert len(seen) == space.size


@pytest.mark.parametrize("name", STRATEGIES)
def test_points_that_do_not_count(name):
    """Most are refused; what is left is still found."""
    times = {p: t if p[0] == 5 and p[1] > 2 else inf for p, t in TIMES.items()}
    seen = search(name, 0, 400, times=times)
    assert any(map(isfinite, seen.values()))
    everything = dict.fromkeys(TIMES, inf)
    assert len(search(name, 0, 60, times=everything)) == 60


def test_what_is_known_of_loops_is_used():
    """A feature that tells the times outright leads to the best point at once."""
    strategy = STRATEGIES["model"](SPACE, 0, lambda p: None if TIMES[p] == inf else [TIMES[p]])
    seen = {}
    while len(seen) < 60:
        seen |= {p: TIMES[p] for p in strategy.propose(seen, 6)}
    assert min(seen.values()) <= 1.05 * BEST


def test_trees_learn_a_step_and_a_slope():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (300, 3))
    y = np.where(x[:, 1] > 0.2, 3.0, 0.0) + x[:, 0]
    fresh = rng.uniform(-1, 1, (200, 3))
    wanted = np.where(fresh[:, 1] > 0.2, 3.0, 0.0) + fresh[:, 0]
    assert np.sqrt(np.mean((fit(x, y)(fresh) - wanted) ** 2)) < 0.3
    assert fit(x[:2], y[:2])(x[:2]) == pytest.approx(y[:2].mean())
    assert fit(np.ones((9, 2)), y[:9])(np.ones((1, 2))) == pytest.approx(y[:9].mean())

"""Gradient-boosted regression trees: small, for some hundreds of measurements.

Source: Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of Statistics
2001.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from texpr.support.frozen_dataclass import frozen

ROUNDS, DEPTH, RATE, LEAST = 40, 3, 0.25, 2


class Fork(NamedTuple):
    """A feature, a threshold, and the trees for what is not above it and what is."""

    feature: int
    threshold: float
    below: Tree
    above: Tree


Tree = Fork | float


@frozen
class Trees:
    """A sum of trees.

    Attributes:
        base: the mean of what was fitted.
    """

    base: float
    trees: tuple[Tree, ...]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Predictions for rows of features: x: (rows, features) float64."""
        total = np.full(len(x), self.base)
        for tree in self.trees:
            total += RATE * _evaluated(tree, x)
        return total


def fit(x: np.ndarray, y: np.ndarray) -> Trees:
    """Trees that approximate y at x: x: (rows, features) float64, y: (rows,) float64."""
    base = float(y.mean())
    rest, trees = y - base, []
    order = np.argsort(x, axis=0, kind="stable")
    for _ in range(ROUNDS):
        tree = _grown(x, rest, order, DEPTH)
        trees.append(tree)
        rest = rest - RATE * _evaluated(tree, x)
    return Trees(base, tuple(trees))


def _grown(x: np.ndarray, y: np.ndarray, order: np.ndarray, depth: int) -> Tree:
    """A tree over the rows in `order`, which lists them sorted by each feature: (rows,
    features).
    """
    rows = order[:, 0]
    mean = float(y[rows].mean())
    if depth == 0 or len(rows) < 2 * LEAST:
        return mean
    values = np.take_along_axis(x, order, axis=0)
    sums = np.cumsum(y[order], axis=0)
    left = np.arange(1, len(rows))[:, None]
    gain = sums[:-1] ** 2 / left + (sums[-1] - sums[:-1]) ** 2 / (len(rows) - left)
    gain[values[1:] == values[:-1]] = -np.inf
    gain[: LEAST - 1] = gain[len(rows) - LEAST :] = -np.inf
    at, feature = np.unravel_index(int(np.argmax(gain)), gain.shape)
    if not np.isfinite(gain[at, feature]) or gain[at, feature] <= len(rows) * mean**2 + 1e-12:
        return mean
    threshold = float((values[at, feature] + values[at + 1, feature]) / 2)
    below = x[:, feature] <= threshold
    parts = [
        np.stack([column[below[column] == side] for column in order.T], axis=1) for side in (True, False)
    ]
    return Fork(int(feature), threshold, _grown(x, y, parts[0], depth - 1), _grown(x, y, parts[1], depth - 1))


def _evaluated(tree: Tree, x: np.ndarray) -> np.ndarray:
    if not isinstance(tree, Fork):
        return np.full(len(x), tree)
    return np.where(
        x[:, tree.feature] <= tree.threshold, _evaluated(tree.below, x), _evaluated(tree.above, x)
    )

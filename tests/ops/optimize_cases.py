"""Steps of optimizers and masks of random numbers, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.table import Array, Case, between, normal


def adam(p: Array, g: Array, m: Array, v: Array, size: Array, root: Array, decay: float) -> tuple[Array, ...]:
    d = g + decay * p
    m, v = 0.9 * m + 0.1 * d, 0.999 * v + 0.001 * d * d
    return p - size * m / (np.sqrt(v) / root + 1e-8), m, v


def momentum(p: Array, g: Array, buf: Array, lr: Array, gain: Array, ahead: bool) -> tuple[Array, Array]:
    buf = 0.9 * buf + gain * g
    return p - lr * (g + 0.9 * buf if ahead else buf), buf


def steps() -> Iterator[Case]:
    for s in ((3, 5), (), (17,)):
        one, two = (normal(*s),) * 2, (normal(*s),) * 3
        rate, share = between(0.01, 0.1), between(0.5, 1)
        yield Case("sgd_update", (*one, rate), lambda p, g, lr: p - lr * (g + 0.1 * p), {"decay": 0.1})
        yield Case("momentum_update", (*two, rate, share), lambda *a: momentum(*a, ahead=False))
        yield Case("nesterov_update", (*two, rate, share), lambda *a: momentum(*a, ahead=True))
        four = (*two, between(0.5, 2, *s), rate, share)
        yield Case("adam_update", four, lambda *a: adam(*a, decay=0.1), {"decay": 0.1}, slack=4)
        yield Case("adamw_update", (*four, share), lambda p, *a: (lambda new, *rest: (new - p + a[-1] * p, *rest))(*adam(p, *a[:-1], 0.0)),
                   slack=4)


CASES = tuple(steps())

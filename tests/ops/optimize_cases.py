"""Steps of optimizers, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.table import Array, Case, Make, between, given, normal


def number(value: float) -> Make:
    """A number of a step, which is f64 for all types."""
    return given(value, "f8")


def adam(
    p: Array,
    g: Array,
    m: Array,
    v: Array,
    size: Array,
    root: Array,
    beta1: Array,
    beta2: Array,
    eps: Array,
    decay: Array | float = 0.0,
    shrink: Array | float = 1.0,
) -> tuple[Array, ...]:
    d = g + decay * p
    m, v = beta1 * m + (1 - beta1) * d, beta2 * v + (1 - beta2) * d * d
    return shrink * p - size * m / (np.sqrt(v) / root + eps), m, v


def amsgrad(
    p: Array, g: Array, m: Array, v: Array, largest: Array, size: Array, root: Array, *rest: Array
) -> tuple[Array, ...]:
    _, m, v = adam(p, g, m, v, size, root, *rest)
    largest = np.maximum(largest, v)
    return p - size * m / (np.sqrt(largest) / root + rest[2]), m, v, largest


def adamax(
    p: Array, g: Array, m: Array, u: Array, size: Array, beta1: Array, beta2: Array, eps: Array
) -> tuple[Array, ...]:
    m, u = beta1 * m + (1 - beta1) * g, np.maximum(beta2 * u, abs(g) + eps)
    return p - size * m / u, m, u


def nadam(
    p: Array, g: Array, m: Array, v: Array, now: Array, ahead: Array, root: Array, *rest: Array
) -> tuple[Array, ...]:
    _, m, v = adam(p, g, m, v, now, root, *rest)
    return p - (now * g + ahead * m) / (np.sqrt(v) / root + rest[2]), m, v


def radam(
    p: Array, g: Array, m: Array, v: Array, size: Array, rectified: Array, *rest: Array
) -> tuple[Array, ...]:
    _, m, v = adam(p, g, m, v, size, np.array(1.0), *rest)
    return p - size * m * (rectified / (np.sqrt(v) + rest[2]) if rectified > 0 else 1), m, v


def rmsprop(p: Array, g: Array, v: Array, lr: Array, alpha: Array, eps: Array) -> tuple[Array, Array]:
    v = alpha * v + (1 - alpha) * g * g
    return p - lr * g / (np.sqrt(v) + eps), v


def rmsprop_momentum(
    p: Array,
    g: Array,
    v: Array,
    mean: Array,
    buf: Array,
    lr: Array,
    alpha: Array,
    eps: Array,
    momentum: Array,
    centered: bool,
) -> tuple[Array, ...]:
    v, mean = alpha * v + (1 - alpha) * g * g, alpha * mean + (1 - alpha) * g
    buf = momentum * buf + g / (np.sqrt(v - mean * mean if centered else v) + eps)
    return p - lr * buf, v, mean, buf


def adadelta(
    p: Array, g: Array, v: Array, steps: Array, lr: Array, rho: Array, eps: Array
) -> tuple[Array, ...]:
    v = rho * v + (1 - rho) * g * g
    step = np.sqrt(steps + eps) / np.sqrt(v + eps) * g
    return p - lr * step, v, rho * steps + (1 - rho) * step * step


def lion(
    p: Array, g: Array, m: Array, lr: Array, beta1: Array, beta2: Array, shrink: Array
) -> tuple[Array, Array]:
    return shrink * p - lr * np.sign(beta1 * m + (1 - beta1) * g), beta2 * m + (1 - beta2) * g


def rprop(
    p: Array, g: Array, before: Array, size: Array, up: Array, down: Array, least: Array, most: Array
) -> tuple[Array, ...]:
    turn = np.sign(g * before)
    g = np.where(turn < 0, 0, g)
    size = np.clip(size * np.where(turn > 0, up, np.where(turn < 0, down, 1)), least, most)
    return p - np.sign(g) * size, g, size


def momentum(
    p: Array, g: Array, buf: Array, lr: Array, gain: Array, keep: Array, ahead: bool
) -> tuple[Array, Array]:
    buf = keep * buf + gain * g
    return p - lr * (g + keep * buf if ahead else buf), buf


def steps() -> Iterator[Case]:
    rate, betas = number(0.05), (number(0.9), number(0.99), number(1e-3))
    for s in ((3, 5), (), (17,)):
        one, two, square = (normal(*s),) * 2, (normal(*s),) * 3, between(0.5, 2, *s)
        yield Case("sgd_update", (*one, rate, number(0.1)), lambda p, g, lr, decay: p - lr * (g + decay * p))
        yield Case(
            "momentum_update", (*two, rate, number(0.7), number(0.9)), lambda *a: momentum(*a, ahead=False)
        )
        yield Case(
            "nesterov_update", (*two, rate, number(0.7), number(0.9)), lambda *a: momentum(*a, ahead=True)
        )
        yield Case(
            "adam_update", (*two, square, rate, number(0.6), *betas, number(0.1), number(0.9)), adam, slack=4
        )
        yield Case("adam_update", (*two, square, rate, number(0.6), *betas), adam, slack=4)
        yield Case("amsgrad_update", (*two, square, square, rate, number(0.6), *betas), amsgrad, slack=4)
        yield Case("adamax_update", (*two, square, rate, *betas), adamax, slack=4)
        yield Case("nadam_update", (*two, square, rate, number(0.4), number(0.6), *betas), nadam, slack=4)
        for rectified in (0.7, 0.0):
            yield Case("radam_update", (*two, square, rate, number(rectified), *betas), radam, slack=4)
        yield Case("rmsprop_update", (*one, square, rate, *betas[1:]), rmsprop, slack=4)
        for centered in (False, True):
            moments = between(2, 4, *s), between(-0.5, 0.5, *s), normal(*s)
            yield Case(
                "rmsprop_momentum_update",
                (*one, *moments, rate, *betas[1:], number(0.7)),
                lambda *a, c=centered: rmsprop_momentum(*a, centered=c),
                {"centered": centered},
                slack=8,
            )
        yield Case(
            "adagrad_update",
            (*one, square, rate, betas[2]),
            lambda p, g, v, lr, eps: (p - lr * g / (np.sqrt(v + g * g) + eps), v + g * g),
            slack=4,
        )
        yield Case("adadelta_update", (*one, square, square, rate, *betas[1:]), adadelta, slack=4)
        yield Case("lion_update", (*two, rate, *betas[:2], number(0.9)), lion)
        yield Case("rprop_update", (*two, square, number(1.2), number(0.5), number(0.3), number(1.5)), rprop)
        yield Case(
            "asgd_update",
            (*two, rate, number(0.5), number(0.9)),
            lambda p, g, mean, lr, gain, shrink: (new := shrink * p - lr * g, mean + gain * (new - mean)),
        )
        for norm in (2.0, 0.25):
            yield Case(
                "clip_by_norm",
                (normal(*s), number(norm), number(0.5)),
                lambda x, n, limit: x * min(limit / (n + 1e-6), 1),
            )


CASES = tuple(steps())

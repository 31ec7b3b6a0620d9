"""Sequences of several lengths, tables that change as they are read, windows at random places,
and optimizers of rows, against NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from tests.ops.layer_cases import paths
from tests.ops.network_cases import projected, rectified_layer
from tests.ops.optimize_cases import number
from tests.ops.sequence_cases import gru_layer, lstm_layer, rnn_layer
from tests.ops.table import Array, Case, between, given, index, normal, small


def reversed_each(x: Array, lengths: Array) -> Array:
    y = np.zeros_like(x)
    for n, length in enumerate(lengths):
        y[:length, n] = x[:length, n][::-1]
    return y


def padded(x: Array, lengths: Array, value: float = 0.0) -> Array:
    y = np.full_like(x, value)
    for n, length in enumerate(lengths):
        y[:length, n] = x[:length, n]
    return y


def each_alone(layer: Callable[..., tuple[Array, ...]], states: int) -> Callable[..., tuple[Array, ...]]:
    """A layer over time, on each sequence as long as it is."""

    def run(x: Array, *rest: Array) -> tuple[Array, ...]:
        first, (*weights, lengths) = rest[:states], rest[states:]
        every = [
            layer(x[:length, n : n + 1], *(s[n : n + 1] for s in first), *weights)
            for n, length in enumerate(lengths)
        ]
        y = np.zeros((*x.shape[:2], every[0][0].shape[-1]))
        for n, (outputs, *_) in enumerate(every):
            y[: len(outputs), n] = outputs[:, 0]
        return y, *(np.concatenate(each) for each in list(zip(*every))[1:])

    return run


def sequences() -> Iterator[Case]:
    for t, b in ((5, 3), (1, 1)):
        lengths = given([t, max(t - 3, 1), 1][:b], "i8")
        yield Case("flip_lengths", (small(t, b, 2), lengths), reversed_each, dtypes=("f4", "i4"))
        yield Case("pad_lengths", (small(t, b, 2), lengths), padded, dtypes=("f4", "i4"))
        yield Case("pad_lengths", (small(t, b), lengths), lambda x, n: padded(x, n, 2.0), {"value": 2.0})
        for name, gates, layer in (
            ("rnn", 1, rnn_layer),
            ("rnn_relu", 1, rectified_layer),
            ("gru", 3, gru_layer),
            ("lstm", 4, lstm_layer),
        ):
            states = (normal(b, 4),) * (2 if name == "lstm" else 1)
            weights = (
                between(-0.5, 0.5, 4 * gates, 3),
                between(-0.5, 0.5, 4 * gates, 4),
                normal(4 * gates),
                normal(4 * gates),
            )
            yield Case(
                name, (normal(t, b, 3), *states, *weights, lengths), each_alone(layer, len(states)), slack=64
            )
        yield Case(
            "lstm_projected",
            (
                normal(t, b, 3),
                normal(b, 2),
                normal(b, 4),
                normal(16, 3),
                normal(16, 2),
                normal(2, 4),
                normal(16),
                normal(16),
                lengths,
            ),
            each_alone(projected, 2),
            slack=64,
        )


def limited(w: Array, i: Array, limit: float, p: float) -> Array:
    norms = np.linalg.norm(w, p, axis=1, keepdims=True)
    named = np.isin(np.arange(len(w)), i)[:, None]
    return np.where(named & (norms > limit), w * (limit / (norms + 1e-7)), w)


def tables() -> Iterator[Case]:
    for places in (index(6, 4), index(6, 2, 3)):
        for limit, p in ((0.5, 2.0), (1.0, 1.0), (0.7, np.inf)):
            yield Case(
                "embedding_limited",
                (normal(6, 3), places),
                lambda w, i, limit=limit, p=p: limited(w, i, limit, p),
                {"limit": limit, "p": p},
                slack=4,
            )
        yield Case("embedding_by_frequency", (normal(6, 3), places), lambda w, i: w)


def begins(u: float, n: int, r: int, m: int) -> list[int]:
    step = (n - r) / max(m - 1, 1)
    return [*(int((k + u) * step) - int(u * step) for k in range(m - 1)), n - r]


def fractional(x: Array, u: Array, wanted: tuple[int, ...], window: tuple[int, ...]) -> tuple[Array, Array]:
    y, place = np.zeros((*x.shape[:2], *wanted)), np.zeros((*x.shape[:2], *wanted), np.int64)
    order = (1, 0) if len(wanted) == 2 else (0, 1, 2)
    for n, c in np.ndindex(x.shape[:2]):
        first = [begins(u[n, c, k], size, r, m) for k, size, r, m in zip(order, x.shape[2:], window, wanted)]
        for at in np.ndindex(wanted):
            inside = [range(f[k], f[k] + r) for f, k, r in zip(first, at, window)]
            best = max(product(*inside), key=lambda p: x[n, c][p])
            y[n, c][at], place[n, c][at] = x[n, c][best], np.ravel_multi_index(best, x.shape[2:])
    return y, place


def windows() -> Iterator[Case]:
    for b, size, wanted, window in ((2, (7, 6), (3, 4), (2, 3)), (1, (3, 3), (1, 2), (3, 2))):
        constants = {**dict(zip("UV", wanted)), **dict(zip("RQ", window))}
        yield Case(
            "fractional_maxpool2d",
            (normal(b, 2, *size), between(0, 1, b, 2, 2)),
            lambda x, u, w=wanted, k=window: fractional(x, u, w, k),
            constants,
            dtypes=("f8",),
        )
        constants = {**dict(zip("SUV", (*wanted, 2))), **dict(zip("ORQ", (*window, 2)))}
        yield Case(
            "fractional_maxpool3d",
            (normal(b, 1, *size, 4), between(0, 1, b, 1, 3)),
            lambda x, u, w=wanted, k=window: fractional(x, u, (*w, 2), (*k, 2)),
            constants,
            dtypes=("f8",),
        )


def line(logp: Array, target: Array, times: Array, letters: Array) -> Array:
    rows, at = np.zeros((len(letters), max(letters.max(), 1)), np.int64), 0
    for n, count in enumerate(letters):
        rows[n, :count], at = target[at : at + count], at + count
    return paths(logp, rows, times, letters)


def losses() -> Iterator[Case]:
    yield Case(
        "ctc_loss_line",
        (
            between(-2, 0, 4, 3, 3),
            given([1, 2, 1, 2, 1], "i8"),
            given([4, 4, 3], "i8"),
            given([2, 1, 2], "i8"),
        ),
        line,
        {"longest": 2},
        slack=16,
    )
    yield Case(
        "ctc_loss_line",
        (between(-2, 0, 3, 2, 2), given([1], "i8"), given([3, 1], "i8"), given([0, 1], "i8")),
        line,
        {"longest": 1},
        slack=16,
    )


def sparse_adam(
    p: Array, g: Array, m: Array, v: Array, lr: Array, b1: Array, b2: Array, eps: Array
) -> tuple[Array, Array, Array]:
    moves = g.reshape(len(g), -1).any(1).reshape(-1, *(1,) * (g.ndim - 1))
    new_m, new_v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    return tuple(
        np.where(moves, a, b)
        for a, b in ((p - lr * new_m / (np.sqrt(new_v) + eps), p), (new_m, m), (new_v, v))
    )  # type: ignore


def direction(g: Array, s: Array, z: Array, inverse: Array, scale: Array) -> Array:
    """By the matrix that is meant: H becomes (1 - s z'/sz) H (1 - z s'/sz) + s s'/sz with each
    step, oldest first.
    """
    h, one = scale * np.eye(len(g)), np.eye(len(g))
    for a, b, r in zip(s[::-1], z[::-1], inverse[::-1]):
        h = (one - r * np.outer(a, b)) @ h @ (one - r * np.outer(b, a)) + r * np.outer(a, a)
    return -h @ g


def optimizers() -> Iterator[Case]:
    for s in ((5, 3), (4,)):
        rows = given(
            np.where(
                np.arange(s[0]).reshape(-1, *(1,) * (len(s) - 1)) % 2,
                0.0,
                np.linspace(-1, 1, int(np.prod(s))).reshape(s),
            )
        )
        yield Case(
            "sparse_adam_update",
            (
                normal(*s),
                rows,
                normal(*s),
                between(0.5, 2, *s),
                number(0.05),
                number(0.9),
                number(0.99),
                number(1e-3),
            ),
            sparse_adam,
            slack=4,
        )
        yield Case(
            "lbfgs_direction",
            (normal(s[0]), normal(3, s[0]), normal(3, s[0]), between(0, 0.5, 3), between(0.5, 2)),
            direction,
            slack=64,
        )


CASES = (*sequences(), *tables(), *windows(), *losses(), *optimizers())

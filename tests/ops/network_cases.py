"""What networks need besides: losses that leave targets out, bags of rows, masks of attention,
more cells, against NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.elementwise_cases import softplus
from tests.ops.linear_cases import log_sum_exp, pick, softmax
from tests.ops.sequence_cases import lstm_step
from tests.ops.table import Array, Case, Make, between, given, index, normal, small, truth


def some(classes: int, *shape: int) -> Make:
    """Classes, and -100 now and then."""

    def make(random: np.random.Generator, dtype: str) -> Array:
        return np.where(random.random(shape) < 0.3, -100, random.integers(0, classes, shape))

    return make


def ignoring(each: Array, target: Array, weight: Array) -> tuple[Array, Array]:
    counted = np.where(target == -100, 0, weight[np.maximum(target, 0)])
    return np.where(target == -100, 0, each), counted


def cross_entropy(x: Array, t: Array, w: Array, smoothing: float) -> tuple[Array, Array]:
    logp = x - np.expand_dims(log_sum_exp(x, 1), 1)
    spread = -(logp * w.reshape(1, -1, *(1,) * (x.ndim - 2))).mean(1)
    return ignoring(
        (1 - smoothing) * -w[np.maximum(t, 0)] * pick(logp, np.maximum(t, 0)) + smoothing * spread, t, w
    )


def soft(x: Array, p: Array, w: Array, smoothing: float) -> Array:
    p = (1 - smoothing) * p + smoothing / x.shape[1]
    return -(p * (x - np.expand_dims(log_sum_exp(x, 1), 1)) * w.reshape(1, -1, *(1,) * (x.ndim - 2))).sum(1)


def listed(x: Array, target: Array) -> Array:
    y = np.zeros(len(x))
    for n, row in enumerate(target):
        classes = [c for k, c in enumerate(row) if (row[: k + 1] >= 0).all()]
        others = [c for c in range(x.shape[1]) if c not in classes]
        y[n] = sum(max(0, 1 - (x[n, c] - x[n, o])) for c in classes for o in others) / x.shape[1]
    return y


def stirling(x: Array, t: Array, log_input: bool) -> Array:
    first = np.exp(x) - t * x if log_input else x - t * np.log(x + 1e-8)
    return first + np.where(t > 1, t * np.log(t) - t + 0.5 * np.log(2 * np.pi * t), 0)


def losses() -> Iterator[Case]:
    for n, c, s in ((6, 5, ()), (17, 3, (4,)), (1, 2, ())):
        weight = between(0.5, 2, c)
        yield Case(
            "nll_loss_ignoring",
            (normal(n, c, *s), some(c, n, *s), weight),
            lambda x, t, w: ignoring(-w[np.maximum(t, 0)] * pick(x, np.maximum(t, 0)), t, w),
        )
        yield Case(
            "cross_entropy_ignoring",
            (normal(n, c, *s), some(c, n, *s)),
            lambda x, t: cross_entropy(x, t, np.ones(x.shape[1]), 0.0),
            slack=4,
        )
        yield Case(
            "cross_entropy_ignoring",
            (normal(n, c, *s), some(c, n, *s), weight),
            lambda x, t, w: cross_entropy(x, t, w, 0.2),
            {"smoothing": 0.2},
            slack=8,
        )
        yield Case(
            "cross_entropy_soft_places",
            (normal(n, c, *s), between(0, 1, n, c, *s), weight),
            lambda x, p, w: soft(x, p, w, 0.2),
            {"smoothing": 0.2},
            slack=8,
        )
        yield Case(
            "multilabel_margin_loss_listed",
            (normal(n, c), given(np.resize([1, 0, -1, 1], (n, c)), "i8")),
            listed,
            slack=4,
        )
        yield Case(
            "bce_with_logits_weighted",
            (normal(n, c), between(0, 1, n, c), between(0.5, 3, c)),
            lambda x, t, w: w * t * softplus(-x) + (1 - t) * softplus(x),
            slack=4,
        )
        yield Case("kl_div_log", (normal(n, c), normal(n, c)), lambda x, t: np.exp(t) * (t - x), slack=8)
        yield Case(
            "row_distance_p",
            (normal(n, c), normal(n, c)),
            lambda x, z: (abs(x - z + 1e-6) ** 3).sum(1) ** (1 / 3),
            {"p": 3.0},
            slack=16,
        )
        for log_input in (True, False):
            yield Case(
                "poisson_nll_loss",
                (between(0.2, 2, n, c), between(0.2, 4, n, c)),
                lambda x, t, g=log_input: stirling(x, t, g),
                {"log_input": log_input, "full": True},
                slack=8,
            )
    for n, c in ((3, 5), (1, 4)):
        yield Case(
            "prelu_shared", (normal(n, c), between(0.1, 0.9, 1)), lambda x, w: np.where(x > 0, x, w * x)
        )
        yield Case(
            "softplus",
            (normal(n, c),),
            lambda x: np.where(2 * x > 1, x, softplus(2 * x) / 2),
            {"beta": 2.0, "threshold": 1.0},
            slack=4,
        )


def without(rows: Array, places: Array) -> Array:
    return np.where((places == 2)[..., None], 0, rows)


def means(w: Array, i: Array, scale: Array | float = 1.0) -> Array:
    rows = without(w[i], i)
    return rows.sum(-2) / np.maximum((i != 2).sum(-1, keepdims=True), 1)


def largest(rows: Array, places: Array) -> Array:
    found = np.where((places == 2)[..., None], -np.inf, rows).max(-2, initial=-np.inf)
    return np.where(np.isinf(found), 0, found)


def cut(reduce, w: Array, i: Array, offsets: Array, *scale: Array) -> Array:
    ends = [*offsets[1:], len(i)]
    return np.stack([reduce(w, i[a:b], *(s[a:b] for s in scale)) for a, b in zip(offsets, ends)])


def total(w: Array, i: Array, scale: Array) -> Array:
    return (without(w[i], i) * scale[..., None]).sum(-2)


def bags() -> Iterator[Case]:
    for b, n in ((3, 4), (1, 1), (5, 2)):
        rows, places = normal(7, 3), index(7, b, n)
        line = index(7, b * n)
        where = {"padding": 2}
        yield Case("embedding_padded", (rows, places), lambda w, i: w[i], where)
        yield Case("embedding_bag", (rows, places, normal(b, n)), total, where, slack=4)
        yield Case("embedding_bag", (rows, places), means, where | {"mean": True}, slack=4)
        yield Case("embedding_bag_max", (rows, places), lambda w, i: largest(w[i], i), where)
        zero = given(np.concatenate([[0], np.sort(np.resize([1, 1, 2, 3], b - 1))]) if b > 1 else [0], "i8")
        yield Case(
            "embedding_offsets", (rows, line, zero, normal(b * n)), lambda *a: cut(total, *a), where, slack=4
        )
        yield Case(
            "embedding_offsets",
            (rows, line, zero),
            lambda *a: cut(means, *a),
            where | {"mean": True},
            slack=4,
        )
        yield Case(
            "embedding_offsets_max",
            (rows, line, zero),
            lambda *a: cut(lambda w, i: largest(w[i], i), *a),
            where,
        )


def weights(
    q: Array, k: Array, mask: Array | float = 0.0, padding: Array | None = None, bias: Array | None = None
) -> Array:
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + mask
    scores = (
        scores
        + (0 if padding is None else padding[:, None, None])
        + (0 if bias is None else bias.reshape(scores.shape))
    )
    return softmax(scores, -1)


def split(x: Array, heads: int) -> tuple[Array, ...]:
    return tuple(p.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2) for p in np.split(x, 3, -1))


def attention() -> Iterator[Case]:
    for n, h, k, m, d in ((2, 3, 4, 5, 2), (1, 1, 1, 1, 1)):
        two = normal(n, h, k, d), normal(n, h, m, d)
        masks = normal(k, m), normal(n, m), normal(n * h, k, m)
        yield Case("attention_weights", (*two, *masks), weights, slack=8)
        yield Case("attention_weights", two, weights, slack=8)
        yield Case(
            "attention_masks",
            (*two, normal(n, h, m, 3), *masks),
            lambda q, k, v, *a: weights(q, k, *a) @ v,
            slack=8,
        )
        yield Case(
            "attention_masks",
            (*two, normal(n, h, m, 3), masks[0]),
            lambda q, k, v, a: weights(q, k, a) @ v,
            slack=8,
        )
        yield Case(
            "split_packed_heads",
            (small(n, k, 3 * h * d),),
            lambda x, h=h: split(x, h),
            {"H": h},
            ("f4", "i4"),
        )
        yield Case("mask_bias", (truth(k, m), given(0.5)), lambda mask, seen: np.where(mask, -np.inf, seen))


def projected(
    x: Array, h: Array, c: Array, wi: Array, wh: Array, wr: Array, *biases: Array
) -> tuple[Array, Array, Array]:
    every = []
    for each in x:
        full, c = lstm_step(each, h, c, wi, wh, *biases)
        every.append(h := full @ wr.T)
    return np.array(every), h, c


def rectified(
    x: Array, h: Array, wi: Array, wh: Array, bi: Array | float = 0.0, bh: Array | float = 0.0
) -> Array:
    return np.maximum(x @ wi.T + bi + h @ wh.T + bh, 0)


def rectified_layer(x: Array, h: Array, *weights_: Array) -> tuple[Array, Array]:
    every = []
    for each in x:
        every.append(h := rectified(each, h, *weights_))
    return np.array(every), h


def recurrent() -> Iterator[Case]:
    for t, b, i, h, p in ((3, 2, 4, 5, 2), (1, 1, 1, 1, 1)):
        half = between(-0.5, 0.5, h, h)
        yield Case(
            "rnn_relu_cell",
            (normal(b, i), normal(b, h), normal(h, i), half, normal(h), normal(h)),
            rectified,
            slack=16,
        )
        yield Case("rnn_relu", (normal(t, b, i), normal(b, h), normal(h, i), half), rectified_layer, slack=64)
        yield Case(
            "lstm_projected",
            (
                normal(t, b, i),
                normal(b, p),
                normal(b, h),
                normal(4 * h, i),
                normal(4 * h, p),
                normal(p, h),
                normal(4 * h),
                normal(4 * h),
            ),
            projected,
            slack=64,
        )


CASES = (*losses(), *bags(), *attention(), *recurrent())

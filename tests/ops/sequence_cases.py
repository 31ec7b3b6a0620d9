"""Attention, recurrent layers and scans, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.elementwise_cases import sigmoid
from tests.ops.linear_cases import softmax
from tests.ops.table import Array, Case, Make, between, given, normal, small, truth


def attend(q: Array, k: Array, v: Array, bias: Array | float = 0.0) -> Array:
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + bias, -1) @ v


def causal(q: Array, k: Array, v: Array) -> Array:
    return attend(q, k, v, np.where(np.tri(q.shape[-2], k.shape[-2], k.shape[-2] - q.shape[-2]), 0, -np.inf))


def masked(q: Array, k: Array, v: Array, mask: Array) -> Array:
    return attend(q, k, v, np.where(mask, 0, -np.inf))


def updated(cache: Array, new: Array, pos: Array) -> Array:
    cache = cache.copy()
    cache[..., int(pos) : int(pos) + new.shape[-2], :] = new
    return cache


def turned(x: Array, cosine: Array, sine: Array) -> Array:
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * cosine - b * sine, b * cosine + a * sine], -1)


def some_true(*shape: int) -> Make:
    def make(random: np.random.Generator, dtype: str) -> Array:
        mask = truth(*shape)(random, dtype)
        mask[..., 0] = True
        return mask

    return make


def attention() -> Iterator[Case]:
    for s, n, m, d, e in (((2,), 3, 5, 4, 2), ((), 1, 1, 1, 1), ((2, 3), 5, 7, 8, 8)):
        three = normal(*s, n, d), normal(*s, m, d), normal(*s, m, e)
        yield Case("attention", three, attend, slack=8)
        yield Case("attention_causal", three, causal, slack=8)
        yield Case("attention_bias", (*three, normal(n, m)), attend, slack=8)
        yield Case("attention_masked", (*three, some_true(*s, n, m)), masked, slack=8)
        yield Case(
            "cache_update",
            (small(*s, m, d), small(*s, n, d), given(m - n, "i8")),
            updated,
            dtypes=("f4", "i4"),
        )
        yield Case("cache_update", (small(*s, m, d), small(*s, n, d), given(0, "i8")), updated)
        yield Case("rotary", (normal(*s, n, 2 * d), normal(n, d), normal(n, d)), turned)
    for g, r in ((2, 3), (1, 2), (3, 1)):
        yield Case(
            "attention_grouped",
            (normal(2, g * r, 3, 4), normal(2, g, 5, 4), normal(2, g, 5, 6)),
            lambda q, k, v, r=r: attend(q, k.repeat(r, 1), v.repeat(r, 1)),
            slack=8,
        )
    for h in (2, 1, 6):
        yield Case(
            "split_heads",
            (small(2, 3, 6),),
            lambda x, h=h: x.reshape(2, 3, h, -1).transpose(0, 2, 1, 3),
            {"H": h},
            dtypes=("f4", "i4"),
        )
        yield Case(
            "merge_heads",
            (small(2, h, 3, 4),),
            lambda x: x.transpose(0, 2, 1, 3).reshape(2, 3, -1),
            dtypes=("f4", "i4"),
        )


def rnn_step(
    x: Array, h: Array, wi: Array, wh: Array, bi: Array | float = 0.0, bh: Array | float = 0.0
) -> Array:
    return np.tanh(x @ wi.T + bi + h @ wh.T + bh)


def lstm_step(
    x: Array, h: Array, c: Array, wi: Array, wh: Array, bi: Array | float = 0.0, bh: Array | float = 0.0
) -> tuple[Array, Array]:
    i, f, g, o = np.split(x @ wi.T + bi + h @ wh.T + bh, 4, 1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(
    x: Array, h: Array, wi: Array, wh: Array, bi: Array | float = 0.0, bh: Array | float = 0.0
) -> Array:
    (xr, xz, xn), (hr, hz, hn) = np.split(x @ wi.T + bi, 3, 1), np.split(h @ wh.T + bh, 3, 1)
    z = sigmoid(xz + hz)
    return (1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * h


def rnn_layer(x: Array, h: Array, *weights: Array) -> tuple[Array, Array]:
    every = []
    for each in x:
        every.append(h := rnn_step(each, h, *weights))
    return np.array(every), h


def gru_layer(x: Array, h: Array, *weights: Array) -> tuple[Array, Array]:
    every = []
    for each in x:
        every.append(h := gru_step(each, h, *weights))
    return np.array(every), h


def lstm_layer(x: Array, h: Array, c: Array, *weights: Array) -> tuple[Array, Array, Array]:
    every = []
    for each in x:
        h, c = lstm_step(each, h, c, *weights)
        every.append(h)
    return np.array(every), h, c


LAYERS = (
    ("rnn", 1, rnn_step, rnn_layer),
    ("gru", 3, gru_step, gru_layer),
    ("lstm", 4, lstm_step, lstm_layer),
)


def recurrent() -> Iterator[Case]:
    for t, b, i, h, biased in ((3, 2, 4, 5, True), (1, 1, 1, 1, False), (4, 3, 2, 9, True)):
        for name, gates, step, layer in LAYERS:
            states = (normal(b, h),) * (2 if name == "lstm" else 1)
            biases = (normal(gates * h),) * 2 if biased else ()
            weights = (normal(gates * h, i), normal(gates * h, h), *biases)
            yield Case(f"{name}_cell", (normal(b, i), *states, *weights), step, slack=16)
            yield Case(name, (normal(t, b, i), *states, *weights), layer, slack=64)


def averaged(x: Array, axis: int, decay: float) -> Array:
    y, last = [], np.zeros(np.delete(x.shape, axis))
    for each in np.moveaxis(x, axis, 0):
        y.append(last := decay * last + (1 - decay) * each)
    return np.stack(y, axis)


def scanned(a: Array, x: Array) -> Array:
    y, last = [], np.zeros(x.shape[1:])
    for k, each in zip(a, x):
        y.append(last := k * last + each)
    return np.array(y)


def scans() -> Iterator[Case]:
    for shape, axis in (((3, 5), 0), ((2, 7, 3), 1), ((33,), 0)):
        where: dict[str, object] = {"axis": axis}
        x, numbers = (small(*shape),), ("f4", "f8", "i4")
        yield Case("cumsum", x, lambda x, a=axis: x.cumsum(a), where, numbers)
        yield Case("cumsum_exclusive", x, lambda x, a=axis: x.cumsum(a) - x, where, numbers)
        yield Case("cumsum_reverse", x, lambda x, a=axis: np.flip(np.flip(x, a).cumsum(a), a), where, numbers)
        yield Case("cumprod", (normal(*shape),), lambda x, a=axis: x.cumprod(a), where, slack=8)
        yield Case("cummax", x, lambda x, a=axis: np.maximum.accumulate(x, a), where, numbers)
        yield Case("cummin", (normal(*shape),), lambda x, a=axis: np.minimum.accumulate(x, a), where)
        yield Case(
            "moving_average",
            (normal(*shape),),
            lambda x, a=axis: averaged(x, a, 0.75),
            where | {"decay": 0.75},
            slack=4,
        )
        yield Case("linear_scan", (between(-1, 1, *shape), normal(*shape)), scanned, slack=4)


def running_places(x: Array, axis: int, function: np.ufunc) -> tuple[Array, Array]:
    """Running extremes, and the place of the last element that equals each."""
    values, rows = function.accumulate(x, axis), np.moveaxis(x, axis, -1)
    extremes = np.moveaxis(values, axis, -1)
    places = np.where(rows == extremes, np.arange(rows.shape[-1]), 0)
    return values, np.moveaxis(np.maximum.accumulate(places, -1), -1, axis)


def orders() -> Iterator[Case]:
    for shape, axis in (((3, 5), 0), ((2, 7, 3), 1), ((33,), 0)):
        where: dict[str, object] = {"axis": axis}
        for name, f in (("cummax_places", np.maximum), ("cummin_places", np.minimum)):
            yield Case(
                name,
                (small(*shape),),
                lambda x, a=axis, f=f: running_places(x, a, f),
                where,
                ("f4", "f8", "i4"),
            )
        yield Case(
            "logcumsumexp", (normal(*shape),), lambda x, a=axis: np.logaddexp.accumulate(x, a), where, slack=8
        )
    numbers = ("f4", "f8", "i4", "i1", "u2", "i8", "u8")
    for shape in ((3, 5), (40,), (2, 3, 300), (2, 0)):
        yield Case("argsort", (small(*shape),), lambda x: np.argsort(x, -1, kind="stable"), {}, numbers)
        yield Case("sort", (small(*shape),), lambda x: np.sort(x, -1), {}, numbers)
        yield Case("sort_descending", (normal(*shape),), lambda x: -np.sort(-x, -1))
        yield Case("argsort_descending", (normal(*shape),), lambda x: np.argsort(-x, -1, kind="stable"))
    for shape, k in (((3, 5), 2), ((40,), 40), ((4, 6), 0)):
        yield Case("topk", (normal(*shape),), lambda x, k=k: largest(x, k), {"k": k})
    ordered = given(sorted([-3, 1, 1, 1, 2, 7]))
    for name, side in (("searchsorted", "left"), ("searchsorted_right", "right")):
        yield Case(
            name, (ordered, small(30)), lambda a, v, s=side: np.searchsorted(a, v, s), {}, ("f4", "f8", "i4")
        )
        yield Case(name, (given(np.zeros(0)), small(3)), lambda a, v, s=side: np.searchsorted(a, v, s))


def samples() -> Iterator[Case]:
    for n, m in ((7, 3), (1, 1), (3, 40)):
        yield Case("convolve", (small(n), small(m)), np.convolve, dtypes=("f4", "f8", "i4", "u1"))
    for n, m in ((7, 3), (1, 1), (40, 40)):
        yield Case(
            "convolve_valid",
            (small(n), small(m)),
            lambda a, v: np.convolve(a, v, "valid"),
            dtypes=("f4", "f8", "i4", "u1"),
        )
    for points, n in (([-1.5, -1.0, 0.0, 0.25, 2.0], 30), ([0.5], 3), ([0.0, 1.0], 0)):
        yield Case("interp", (normal(n), given(points), normal(len(points))), np.interp, slack=4)


def largest(x: Array, k: int) -> tuple[Array, Array]:
    """The k largest elements of each row, and their places."""
    places = np.argsort(-x, -1, kind="stable")[..., :k]
    return np.take_along_axis(x, places, -1), places


CASES = (*attention(), *recurrent(), *scans(), *orders(), *samples())

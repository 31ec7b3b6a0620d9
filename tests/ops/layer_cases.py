"""Layers in other ranks and directions, losses of paths and margins, special functions, against
NumPy.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from tests.ops.image_cases import CONV3D, spread, transposed, windows
from tests.ops.sequence_cases import LAYERS
from tests.ops.table import Array, Case, between, given, index, normal, small, truth


def adaptive(reduce: Callable[..., Array], x: Array, *results: int) -> Array:
    y = np.empty((*x.shape[:2], *results))
    for place in itertools.product(*map(range, results)):
        part = tuple(slice(p * n // m, -(-(p + 1) * n // m)) for p, n, m in zip(place, x.shape[2:], results))
        y[:, :, *place] = reduce(x[:, :, *part], tuple(range(2, x.ndim)))
    return y


def images() -> Iterator[Case]:
    for (o, r, q), g, s, _, d in CONV3D:
        e = tuple(n - 1 for n in s)
        yield Case(
            "conv_transpose3d",
            (normal(2, 2 * g, 2, 3, 2), normal(2 * g, 2, o, r, q), normal(2 * g)),
            lambda x, w, b, a=(s, (0, 1, 0), d), g=g, e=e: transposed(x, w, b, *a, g, e),
            {"G": g, **spread("SPDE", s, (0, 1, 0), d, e)},
            slack=8,
        )
    for d, h, w, z, u, v in ((5, 4, 7, 2, 3, 3), (3, 2, 6, 3, 4, 2)):
        yield Case(
            "adaptive_avgpool3d",
            (normal(2, 2, d, h, w),),
            lambda x, a=(z, u, v): adaptive(np.mean, x, *a),
            {"Z": z, "U": u, "V": v},
            slack=4,
        )
        yield Case(
            "adaptive_maxpool3d",
            (normal(2, 2, d, h, w),),
            lambda x, a=(z, u, v): adaptive(np.max, x, *a),
            {"Z": z, "U": u, "V": v},
        )
        yield Case(
            "adaptive_maxpool2d",
            (normal(2, 3, h, w),),
            lambda x, a=(u, v): adaptive(np.max, x, *a),
            {"U": u, "V": v},
        )
        yield Case(
            "adaptive_maxpool1d", (normal(2, 3, w),), lambda x, a=(v,): adaptive(np.max, x, *a), {"V": v}
        )
    for q, s in ((2, 2), (3, 1)):
        yield Case(
            "lppool1d",
            (normal(2, 3, 7),),
            lambda x, q=q, s=s: (abs(windows(x, (q,), (s,), (0,), (1,), 0)) ** 3).sum(3) ** (1 / 3),
            {"p": 3.0, "Q": q, "SW": s},
            slack=16,
        )
        yield Case(
            "lppool3d",
            (normal(2, 1, 3, 4, 5),),
            lambda x, k=(2, q, q), s=(1, s, s): np.sqrt(
                (windows(x, k, s, (0,) * 3, (1,) * 3, 0) ** 2).sum((5, 6, 7))
            ),
            {"O": 2, "R": q, "Q": q, **spread("S", (1, s, s))},
            slack=16,
        )


def both_ways(layer: Callable[..., tuple[Array, ...]], x: Array, *rest: Array) -> tuple[Array, ...]:
    forward, back = (layer(x[::step], *(a[d] for a in rest)) for d, step in ((0, 1), (1, -1)))
    return np.concatenate([forward[0], back[0][::-1]], 2), *(
        np.stack(pair) for pair in zip(forward[1:], back[1:])
    )


def recurrent() -> Iterator[Case]:
    for t, b, i, h, biased in ((3, 2, 4, 5, True), (1, 1, 1, 1, False)):
        for name, gates, _, layer in LAYERS:
            states = (normal(2, b, h),) * (2 if name == "lstm" else 1)
            biases = (normal(2, gates * h),) * 2 if biased else ()
            yield Case(
                f"{name}_bidirectional",
                (normal(t, b, i), *states, normal(2, gates * h, i), normal(2, gates * h, h), *biases),
                lambda x, *rest, layer=layer: both_ways(layer, x, *rest),
                slack=64,
            )


def paths(logp: Array, target: Array, times: Array, letters: Array) -> Array:
    """-log of the sum over all paths of classes that spell the target when repetitions and then
    zeros are left out.
    """
    found = []
    for n in range(logp.shape[1]):
        total = 0.0
        for path in itertools.product(range(logp.shape[2]), repeat=int(times[n])):
            spelt = [c for k, c in enumerate(path) if c != 0 and (k == 0 or path[k - 1] != c)]
            if spelt == target[n, : letters[n]].tolist():
                total += np.exp(sum(logp[t, n, c] for t, c in enumerate(path)))
        found.append(-np.log(total))
    return np.array(found)


def margins(x: Array, t: Array, p: float) -> Array:
    h = np.maximum(1 - x[np.arange(len(x)), t][:, None] + x, 0) ** p
    h[np.arange(len(x)), t] = 0
    return h.mean(1)


def pairs(x: Array, t: Array) -> Array:
    h = np.maximum(1 - (x[:, :, None] - x[:, None, :]), 0)
    return (h * t[:, :, None] * ~t[:, None, :]).sum((1, 2)) / x.shape[1]


def softplus(x: Array) -> Array:
    return np.log1p(np.exp(x))


def zeros_and_ones(*shape: int):
    return lambda random, dtype: truth(*shape)(random, dtype).astype(dtype)


def losses() -> Iterator[Case]:
    for n, c in ((3, 5), (1, 2), (17, 4)):
        yield Case("multi_margin_loss", (normal(n, c), index(c, n)), lambda x, t: margins(x, t, 1), slack=4)
        yield Case(
            "multi_margin_loss",
            (normal(n, c), index(c, n), between(0.5, 2, c)),
            lambda x, t, w: w[t] * margins(x, t, 2),
            {"p": 2.0},
            slack=8,
        )
        yield Case("multilabel_margin_loss", (normal(n, c), truth(n, c)), pairs, slack=8)
        yield Case(
            "multilabel_soft_margin_loss",
            (normal(n, c), zeros_and_ones(n, c)),
            lambda x, t: (t * softplus(-x) + (1 - t) * softplus(x)).mean(1),
            slack=8,
        )
        yield Case(
            "triplet_margin_distance_loss",
            (normal(n, c), normal(n, c)),
            lambda p, n: np.maximum(p - n + 1, 0),
        )
    yield Case(
        "ctc_loss",
        (
            between(-2, 0, 4, 3, 3),
            given([[1, 2], [1, 1], [2, 0]], "i8"),
            given([4, 4, 3], "i8"),
            given([2, 2, 1], "i8"),
        ),
        paths,
        slack=16,
    )
    yield Case(
        "ctc_loss",
        (between(-2, 0, 3, 2, 2), given([[1], [1]], "i8"), given([3, 1], "i8"), given([1, 0], "i8")),
        paths,
        slack=16,
    )


def special() -> Iterator[Case]:
    for s in ((3, 5), (), (17,)):
        yield Case("logaddexp", (normal(*s), normal(*s)), np.logaddexp, slack=4)
        yield Case("xlogy", (normal(*s), between(0.1, 3, *s)), lambda a, b: a * np.log(b), slack=4)
        yield Case("logit", (between(0.05, 0.95, *s),), lambda p: np.log(p / (1 - p)), slack=4)
        yield Case("sinc", (normal(*s),), np.sinc, slack=4)
        yield Case("entropy", (between(0.05, 1, *s),), lambda p: -p * np.log(p), slack=4)
    yield Case(
        "logaddexp",
        (given([-np.inf, np.inf, 0, 1e30]), given([-np.inf, np.inf, -np.inf, -1e30])),
        np.logaddexp,
    )
    yield Case("xlogy", (given([0.0, 0, 2]), given([0.0, np.inf, 1])), lambda a, b: np.zeros(3))
    yield Case("sinc", (given([0.0, 1, 0.5]),), np.sinc, slack=4)
    yield Case("entropy", (given([0.0, 1]),), lambda p: np.zeros(2))
    for axis, count in ((0, 1), (1, 2)):
        over = tuple(range(axis, axis + count))
        yield Case(
            "norm_max",
            (small(2, 5, 3),),
            lambda x, a=over: abs(x).max(a),
            {"axis": axis, "count": count},
            ("f4", "f8", "i4"),
        )
        yield Case(
            "norm_p",
            (normal(2, 5, 3),),
            lambda x, a=over: (abs(x) ** 3).sum(a) ** (1 / 3),
            {"axis": axis, "count": count, "p": 3.0},
            slack=16,
        )


CASES = (*images(), *recurrent(), *losses(), *special())

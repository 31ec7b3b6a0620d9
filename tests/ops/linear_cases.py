"""Reductions, matrix products, normalisations, losses, attention, distances, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.elementwise_cases import BOTH, softplus
from tests.ops.table import Array, Case, between, given, index, normal, signs, small, truth

AXES = (((3, 5), 0, 1), ((3, 5), 1, 1), ((2, 3, 4, 5), 1, 2), ((7,), 0, 1), ((2, 33), 0, 2))


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def log_sum_exp(x: Array, axis: object) -> Array:
    return np.log(np.exp(x).sum(axis))  # type: ignore[arg-type]


REDUCTIONS = {
    "reduce_sum": np.sum,
    "reduce_prod": np.prod,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "norm1": lambda x, axis: np.abs(x).sum(axis),
    "sum_square": lambda x, axis: (x * x).sum(axis),
}
FLOAT_REDUCTIONS = {
    "reduce_mean": np.mean,
    "reduce_var": np.var,
    "reduce_std": np.std,
    "logsumexp": log_sum_exp,
    "norm2": lambda x, axis: np.sqrt((x * x).sum(axis)),
}


def reductions() -> Iterator[Case]:
    for shape, axis, count in AXES:
        axes = tuple(range(axis, axis + count))
        constants: dict[str, object] = {"axis": axis, "count": count}
        for name, f in REDUCTIONS.items():
            yield Case(
                name,
                (small(*shape),),
                lambda x, f=f, axes=axes: f(x, axis=axes),
                constants,
                dtypes=("f4", "f8", "i4"),
                slack=8,
            )
        for name, f in FLOAT_REDUCTIONS.items():
            yield Case(name, (normal(*shape),), lambda x, f=f, axes=axes: f(x, axis=axes), constants, slack=8)
        for name, f in (("reduce_any", np.any), ("reduce_all", np.all)):
            yield Case(
                name, (truth(*shape),), lambda x, f=f, axes=axes: f(x, axis=axes), constants, dtypes=("?",)
            )
        yield Case(
            "count_nonzero",
            (small(*shape),),
            lambda x, axes=axes: np.count_nonzero(x, axis=axes),
            constants,
            dtypes=BOTH,
        )
        if count == 1:
            for name, f in (("reduce_argmax", np.argmax), ("reduce_argmin", np.argmin)):
                yield Case(
                    name,
                    (small(*shape),),
                    lambda x, f=f, axis=axis: f(x, axis=axis),
                    {"axis": axis},
                    dtypes=BOTH,
                )
    for name in ("reduce_max", "reduce_min", "reduce_argmax", "reduce_argmin"):
        yield Case(name, (given([1, np.nan, 3, np.nan]),), getattr(np, name.removeprefix("reduce_")))
    yield Case("reduce_prod", (normal(3, 5),), lambda x: x.prod(0))
    yield Case(
        "reduce_var", (normal(3, 5),), lambda x: x.var(1, ddof=1), {"axis": 1, "correction": 1}, slack=8
    )
    yield Case(
        "reduce_std", (normal(3, 5),), lambda x: x.std(1, ddof=1), {"axis": 1, "correction": 1}, slack=8
    )
    yield Case(
        "logsumexp",
        (given([[-np.inf, -np.inf], [1000.0, 1000], [0, -np.inf]]),),
        lambda x: np.logaddexp(x[:, 0], x[:, 1]),
        {"axis": 1},
    )
    for shape in ((3, 5), (), (200,)):
        yield Case("sum_all", (normal(*shape),), np.sum, slack=8)
        yield Case("mean_all", (normal(*shape),), np.mean, slack=8)
    for shape, axis in (((3, 5), 0), ((2, 5, 3), 1), ((33,), 0)):
        yield Case("softmax", (normal(*shape),), lambda x, a=axis: softmax(x, a), {"axis": axis})
        yield Case("softmin", (normal(*shape),), lambda x, a=axis: softmax(-x, a), {"axis": axis})
        yield Case(
            "log_softmax", (normal(*shape),), lambda x, a=axis: np.log(softmax(x, a)), {"axis": axis}, slack=4
        )


def products() -> Iterator[Case]:
    for m, k, n in ((3, 5, 4), (1, 17, 33), (7, 1, 2)):
        yield Case("matmul", (small(m, k), small(k, n)), np.matmul, dtypes=("f4", "f8", "i4"), slack=4)
        yield Case("matmul_nt", (small(m, k), small(n, k)), lambda a, b: a @ b.T, dtypes=("f4", "f8", "i4"))
        yield Case("matmul_tn", (small(k, m), small(k, n)), lambda a, b: a.T @ b, dtypes=("f4", "f8", "i4"))
        yield Case("batched_matmul", (normal(2, 3, m, k), normal(2, 3, k, n)), np.matmul, slack=8)
        yield Case("matvec", (small(m, k), small(k)), np.matmul, dtypes=("f4", "f8", "i4"))
        yield Case("outer", (small(m), small(n)), np.outer, dtypes=BOTH)
        yield Case("dot", (small(m, k), small(m, k)), lambda x, z: np.sum(x * z), dtypes=("f4", "f8", "i4"))
        yield Case(
            "gemm",
            (normal(m, k), normal(k, n), normal(m, n)),
            lambda a, b, c: 0.5 * (a @ b) - 2 * c,
            {"alpha": 0.5, "beta": -2.0},
            slack=8,
        )
        yield Case("gemm", (normal(m, k), normal(k, n)), np.matmul, slack=8)
        yield Case("linear", (normal(m, k), normal(n, k), normal(n)), lambda x, w, b: x @ w.T + b, slack=8)
        yield Case(
            "bilinear",
            (normal(m, k), normal(m, 3), normal(n, k, 3), normal(n)),
            lambda x, z, w, b: np.einsum("ni,oij,nj->no", x, w, z) + b,
            slack=8,
        )
    yield Case("linear", (normal(2, 3, 5), normal(4, 5)), lambda x, w: x @ w.T, slack=8)
    yield Case("trace", (small(5, 5),), np.trace, dtypes=("f4", "f8", "i4"))
    yield Case("trace", (small(1, 1),), np.trace)


def standard(x: Array, axes: tuple[int, ...], eps: float = 1e-5) -> Array:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def columns(v: Array, rank: int) -> Array:
    """A vector over axis 1."""
    return v.reshape(1, -1, *(1,) * (rank - 2))


def shifted(x: Array, w: Array, b: Array) -> Array:
    return x * columns(w, x.ndim) + columns(b, x.ndim)


def batch_statistics(x: Array, w: Array | float = 1.0, b: Array | float = 0.0) -> tuple[Array, ...]:
    axes = (0, *range(2, x.ndim))
    weight, bias = (columns(np.broadcast_to(v, x.shape[1]), x.ndim) for v in (w, b))
    return standard(x, axes) * weight + bias, x.mean(axes), x.var(axes)


def response(x: Array, size: int, alpha: float, beta: float) -> Array:
    near = np.stack(
        [(x[:, max(c - size // 2, 0) : c + size - size // 2] ** 2).sum(1) for c in range(x.shape[1])], 1
    )
    return x * (1 + alpha / size * near) ** -beta


def normalizations() -> Iterator[Case]:
    for shape in ((4, 3, 5), (6, 4), (2, 3, 3, 5)):
        c = shape[1]
        yield Case(
            "batch_norm",
            (normal(*shape), normal(c), between(0.5, 2, c), normal(c), normal(c)),
            lambda x, m, v, w, b: shifted(
                (x - columns(m, x.ndim)) / np.sqrt(columns(v, x.ndim) + 1e-5), w, b
            ),
            slack=8,
        )
        yield Case("batch_norm_training", (normal(*shape), normal(c), normal(c)), batch_statistics, slack=16)
        yield Case(
            "instance_norm", (normal(*shape, 3),), lambda x: standard(x, tuple(range(2, x.ndim))), slack=16
        )
        yield Case(
            "layer_norm",
            (normal(*shape), normal(*shape[1:]), normal(*shape[1:])),
            lambda x, w, b: standard(x, tuple(range(1, x.ndim))) * w + b,
            slack=16,
        )
        yield Case(
            "rms_norm",
            (normal(*shape), normal(*shape[1:])),
            lambda x, w: x / np.sqrt((x**2).mean(tuple(range(1, x.ndim)), keepdims=True) + 1e-6) * w,
            slack=8,
        )
        yield Case(
            "normalize", (normal(*shape),), lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)), slack=8
        )
        yield Case(
            "local_response_norm",
            (normal(*shape),),
            lambda x: response(x, 3, 0.5, 0.75),
            {"size": 3, "alpha": 0.5},
            slack=16,
        )
    yield Case(
        "batch_norm",
        (normal(3, 2), normal(2), between(0.5, 2, 2)),
        lambda x, m, v: (x - m) / np.sqrt(v + 0.1),
        {"eps": 0.1},
        slack=8,
    )
    yield Case("batch_norm_training", (normal(9, 2),), batch_statistics, slack=16)
    yield Case("layer_norm", (normal(2, 3, 4, 5),), lambda x: standard(x, (2, 3)), {"axis": 2}, slack=16)
    for g, shape in ((2, (3, 6, 5)), (3, (2, 6)), (1, (2, 4, 3, 3))):
        yield Case(
            "group_norm",
            (normal(*shape), normal(shape[1]), normal(shape[1])),
            lambda x, w, b, g=g: shifted(standard(x.reshape(x.shape[0], g, -1), (2,)).reshape(x.shape), w, b),
            {"G": g},
            slack=16,
        )
    yield Case("running_update", (normal(5), normal(5)), lambda a, b: 0.9 * a + 0.1 * b)
    yield Case(
        "running_update",
        (normal(2, 3), normal(2, 3)),
        lambda a, b: 0.5 * a + b,
        {"momentum": 0.5, "scale": 2.0},
    )
    for shape, count in (((5,), 3), ((2, 3), 1)):
        yield Case(
            "cumulative_update",
            (normal(*shape), normal(*shape), given(count, "i8")),
            lambda a, b, n: a + (2 * b - a) / n,
            {"scale": 2.0},
        )
        yield Case("count_up", (given(count, "i8"),), lambda n: n + 1, dtypes=("i8",))


def pick(x: Array, target: Array) -> Array:
    """x[n, target[n, ...], ...]"""
    return np.take_along_axis(x, np.expand_dims(target, 1), 1).squeeze(1)


def cosine(x: Array, z: Array, eps: float = 0.0) -> Array:
    return (x * z).sum(1) / np.sqrt(((x * x).sum(1) + eps) * ((z * z).sum(1) + eps))


def losses() -> Iterator[Case]:
    for s in ((3, 5), (), (17,)):
        two = (normal(*s), normal(*s))
        share = (between(0.05, 0.95, *s), between(0, 1, *s))
        yield Case("squared_error", two, lambda x, t: (x - t) ** 2)
        yield Case("l1_loss", two, lambda x, t: abs(x - t))
        yield Case(
            "smooth_l1_loss",
            two,
            lambda x, t: np.where(abs(x - t) < 0.7, (x - t) ** 2 / 1.4, abs(x - t) - 0.35),
            {"beta": 0.7},
            slack=4,
        )
        yield Case(
            "huber_loss",
            two,
            lambda x, t: np.where(abs(x - t) <= 0.7, (x - t) ** 2 / 2, 0.7 * (abs(x - t) - 0.35)),
            {"delta": 0.7},
            slack=4,
        )
        yield Case("bce_loss", share, lambda p, t: -(t * np.log(p) + (1 - t) * np.log(1 - p)), slack=8)
        yield Case(
            "bce_with_logits",
            (normal(*s), between(0, 1, *s)),
            lambda x, t: t * softplus(-x) + (1 - t) * softplus(x),
            slack=4,
        )
        yield Case(
            "bce_with_logits",
            (normal(*s), between(0, 1, *s), given(3.0)),
            lambda x, t, w: w * t * softplus(-x) + (1 - t) * softplus(x),
            slack=4,
        )
        yield Case("kl_div", (normal(*s), between(0.1, 1, *s)), lambda x, t: t * (np.log(t) - x), slack=4)
        yield Case("hinge_loss", (normal(*s), signs(*s)), lambda x, t: np.maximum(1 - t * x, 0))
        yield Case(
            "hinge_embedding_loss",
            (normal(*s), signs(*s)),
            lambda x, t: np.where(t > 0, x, np.maximum(1 - x, 0)),
        )
        yield Case(
            "margin_ranking_loss",
            (*two, signs(*s)),
            lambda a, b, t: np.maximum(0.3 - t * (a - b), 0),
            {"margin": 0.3},
            slack=4,
        )
        yield Case("soft_margin_loss", (normal(*s), signs(*s)), lambda x, t: softplus(-t * x), slack=4)
        yield Case("poisson_nll_loss", two, lambda x, t: np.exp(x) - t * x, slack=4)
        yield Case(
            "gaussian_nll_loss",
            (*two, between(0.5, 2, *s)),
            lambda x, t, v: (np.log(v) + (x - t) ** 2 / v) / 2,
            slack=4,
        )
    for n, c in ((3, 5), (1, 2), (17, 10)):
        logits = normal(n, c)
        yield Case(
            "cross_entropy", (logits, index(c, n)), lambda x, t: log_sum_exp(x, 1) - pick(x, t), slack=4
        )
        yield Case(
            "cross_entropy_smooth",
            (logits, index(c, n)),
            lambda x, t: 0.8 * (log_sum_exp(x, 1) - pick(x, t)) + 0.2 * (log_sum_exp(x, 1) - x.mean(1)),
            {"smoothing": 0.2},
            slack=8,
        )
        yield Case(
            "cross_entropy_soft",
            (logits, between(0, 1, n, c)),
            lambda x, p: -(p * np.log(softmax(x, 1))).sum(1),
            slack=16,
        )
        yield Case(
            "cross_entropy_places",
            (normal(n, c, 4), index(c, n, 4), between(0.5, 2, c)),
            lambda x, t, w: w[t] * (log_sum_exp(x, 1) - pick(x, t)),
            slack=8,
        )
        yield Case(
            "nll_loss",
            (normal(n, c, 2), index(c, n, 2), between(0.5, 2, c)),
            lambda x, t, w: -w[t] * pick(x, t),
        )
        yield Case("nll_loss", (normal(n, c), index(c, n)), lambda x, t: -pick(x, t))
        yield Case(
            "cosine_embedding_loss",
            (normal(n, c), normal(n, c), signs(n)),
            lambda x, z, t: np.where(
                t > 0, 1 - cosine(x, z, 1e-12), np.maximum(cosine(x, z, 1e-12) - 0.1, 0)
            ),
            {"margin": 0.1},
            slack=8,
        )
        yield Case(
            "triplet_margin_loss",
            (normal(n, c), normal(n, c), normal(n, c)),
            lambda a, p, q: np.maximum(
                np.sqrt(((a - p + 1e-6) ** 2).sum(1)) - np.sqrt(((a - q + 1e-6) ** 2).sum(1)) + 1, 0
            ),
            slack=16,
        )


def distances() -> Iterator[Case]:
    for m, n, d in ((3, 4, 5), (1, 7, 2), (5, 2, 33)):
        x, z = normal(m, d), normal(n, d)
        yield Case("pairwise_distance", (x, z), lambda x, z: np.sqrt(((x[:, None] - z) ** 2).sum(2)), slack=8)
        yield Case("pairwise_squared_distance", (x, z), lambda x, z: ((x[:, None] - z) ** 2).sum(2), slack=8)
        yield Case("pairwise_manhattan", (x, z), lambda x, z: abs(x[:, None] - z).sum(2), slack=8)
        yield Case(
            "row_distance",
            (normal(m, n, d), normal(m, n, d)),
            lambda x, z: np.sqrt(((x - z) ** 2).sum(2)),
            slack=8,
        )
        yield Case("cosine_similarity", (normal(m, d, n), normal(m, d, n)), cosine, slack=8)


CASES = (*reductions(), *products(), *normalizations(), *losses(), *distances())

"""The rest of the operators in PyTorch: products, normalisations, losses, elements in other
places, recurrences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

T = torch.Tensor


def columns(v: T | None, x: T, default: float = 1.0) -> T:
    return torch.full((1,), default, dtype=x.dtype) if v is None else v.reshape(1, -1, *(1,) * (x.ndim - 2))


def batch_norm(x: T, mean: T, variance: T, w: T | None = None, b: T | None = None, eps=1e-5) -> T:
    return (x - columns(mean, x)) * torch.rsqrt(columns(variance, x) + eps) * columns(w, x) + columns(
        b, x, 0.0
    )


def batch_norm_training(x: T, w: T | None = None, b: T | None = None, eps=1e-5) -> tuple[T, T, T]:
    dims = (0, *range(2, x.ndim))
    mean, variance = x.mean(dims), x.var(dims, correction=0)
    return F.batch_norm(x, None, None, w, b, True, 0.0, eps), mean, variance


def layer_norm(x: T, w: T | None = None, b: T | None = None, axis=1, eps=1e-5) -> T:
    return F.layer_norm(x, x.shape[axis:], w, b, eps)


def local_response_norm(x: T, size=5, alpha=1e-4, beta=0.75, k=1.0) -> T:
    near = (
        F.pad((x * x).flatten(2) if x.ndim > 2 else (x * x)[..., None], (0, 0, size // 2, (size - 1) // 2))
        .unfold(1, size, 1)
        .sum(-1)
    )
    return x * (k + alpha / size * near.reshape(x.shape)) ** -beta


PRODUCTS: dict[str, Callable[..., Any]] = {
    "linear": F.linear,
    "matmul": torch.matmul,
    "batched_matmul": torch.matmul,
    "matmul_nt": lambda a, b: a @ b.T,
    "matmul_tn": lambda a, b: a.T @ b,
    "matvec": torch.mv,
    "outer": torch.outer,
    "dot": lambda x, z: (x * z).sum(),
    "gemm": lambda a, b, c=0.0, alpha=1.0, beta=1.0: alpha * (a @ b) + beta * c,
    "bilinear": lambda x, z, w, b=None: F.bilinear(x, z, w, b),
    "trace": torch.trace,
    "pairwise_distance": torch.cdist,
    "pairwise_squared_distance": lambda x, z: ((x[:, None] - z) ** 2).sum(2),
    "pairwise_manhattan": lambda x, z: (x[:, None] - z).abs().sum(2),
    "row_distance": lambda x, z: torch.linalg.vector_norm(x - z, 2, -1),
    "cosine_similarity": lambda x, z, axis=1, eps=1e-8: F.cosine_similarity(x, z, axis, eps),
    "batch_norm": batch_norm,
    "batch_norm_training": batch_norm_training,
    "layer_norm": layer_norm,
    "running_update": lambda old, new, momentum=0.1, scale=1.0: (1 - momentum) * old + momentum * scale * new,
    "rms_norm": lambda x, w=None, axis=1, eps=1e-6: F.rms_norm(x, x.shape[axis:], w, eps),
    "group_norm": lambda x, w=None, b=None, G=1, eps=1e-5: F.group_norm(x, G, w, b, eps),
    "instance_norm": lambda x, w=None, b=None, eps=1e-5: F.instance_norm(x, None, None, w, b, True, 0.0, eps),
    "local_response_norm": local_response_norm,
    "normalize": lambda x, axis=1, eps=1e-12: F.normalize(x, 2.0, axis, eps),
    "softmax": lambda x, axis=0: torch.softmax(x, axis),
    "softmin": lambda x, axis=0: F.softmin(x, axis),
    "log_softmax": lambda x, axis=0: torch.log_softmax(x, axis),
}


def each(f: Callable[..., T]) -> Callable[..., T]:
    """A loss of PyTorch per element."""
    return lambda *given, **constants: f(*given, reduction="none", **constants)


def picked(f: Callable[..., T]) -> Callable[..., T]:
    """A loss of one class; PyTorch has no gradient for the weights of classes."""

    def run(x: T, target: T, weight: T | None = None) -> T:
        loss = f(x, target, reduction="none")
        return loss if weight is None else weight[target] * loss

    return run


def bce_with_logits(x: T, t: T, positive: T | None = None) -> T:
    if positive is None:
        return F.binary_cross_entropy_with_logits(x, t, reduction="none")
    return positive * t * F.softplus(-x) + (1 - t) * F.softplus(x)


def multilabel_soft_margin(x: T, t: T, weight: T | None = None) -> T:
    losses = t * F.softplus(-x) + (1 - t) * F.softplus(x)
    return (losses if weight is None else weight * losses).mean(1)


def multi_margin(x: T, target: T, weight: T | None = None, p=1.0, margin=1.0) -> T:
    h = (
        torch.clamp_min(margin - x.gather(1, target[:, None]) + x, 0) ** p
    )  # PyTorch's own has no gradient for weights
    h = torch.where(torch.arange(x.shape[1]) == target[:, None], 0, h).mean(1)
    return h if weight is None else weight[target] * h


def multilabel_margin(x: T, target: T) -> T:
    pairs = torch.clamp_min(1 - (x[:, :, None] - x[:, None, :]), 0)
    return (pairs * (target[:, :, None] & ~target[:, None, :])).sum((1, 2)) / x.shape[1]


def cosine_embedding(x: T, z: T, target: T, margin=0.0, eps=1e-12) -> T:
    cosine = (x * z).sum(1) / torch.sqrt(((x * x).sum(1) + eps) * ((z * z).sum(1) + eps))
    return torch.where(target > 0, 1 - cosine, torch.clamp_min(cosine - margin, 0))


def triplet(a: T, p: T, q: T, margin=1.0, eps=1e-6) -> T:
    return F.triplet_margin_loss(a, p, q, margin, 2.0, eps, reduction="none")


def ctc(logp: T, target: T, times: T, letters: T, blank=0) -> T:
    """From the definition: the gradient of PyTorch's own is that of logits, as if a log_softmax
    came before.
    """
    every = []
    for n in range(logp.shape[1]):
        spelt = [blank, *(k for c in target[n, : letters[n]].tolist() for k in (c, blank))]
        a = [logp[0, n, c] if k <= 1 else logp.new_tensor(-math.inf) for k, c in enumerate(spelt)]
        for t in range(1, int(times[n])):
            before = [
                [
                    a[k],
                    *a[max(k - 1, 0) : k],
                    *(a[k - 2 : k - 1] if k > 1 and c not in (blank, spelt[k - 2]) else []),
                ]
                for k, c in enumerate(spelt)
            ]
            a = [logp[t, n, c] + logsumexp(parts) for c, parts in zip(spelt, before)]
        every.append(-logsumexp(a[-2:]))
    return torch.stack(every)


def logsumexp(parts: list[T]) -> T:
    finite = [p for p in parts if p > -math.inf]
    return torch.logsumexp(torch.stack(finite), 0) if finite else parts[0]


def counted(t: T, w: T | None, like: T) -> T:
    return (torch.ones(like.shape[1], dtype=like.dtype) if w is None else w)[t.clamp(0)] * (t != -100)


def cross_entropy(x: T, t: T, w: T | None = None, ignore=-100, smoothing=0.0) -> tuple[T, T]:
    counts = counted(t, w, x)
    logp = torch.log_softmax(x, 1)
    spread = -(logp if w is None else logp * columns(w, x)).mean(1) * (t != ignore)
    return (1 - smoothing) * F.nll_loss(
        logp, t, ignore_index=ignore, reduction="none"
    ) * counts + smoothing * spread, counts


def nll(x: T, t: T, w: T | None = None, ignore=-100) -> tuple[T, T]:
    counts = counted(t, w, x)
    return F.nll_loss(x, t, ignore_index=ignore, reduction="none") * counts, counts


LOSSES: dict[str, Callable[..., Any]] = {
    "l1_loss": each(F.l1_loss),
    "squared_error": each(F.mse_loss),
    "smooth_l1_loss": each(F.smooth_l1_loss),
    "huber_loss": each(F.huber_loss),
    "nll_loss": picked(F.nll_loss),
    "cross_entropy": each(F.cross_entropy),
    "cross_entropy_places": picked(F.cross_entropy),
    "cross_entropy_smooth": lambda x, t, smoothing=0.1: F.cross_entropy(
        x, t, reduction="none", label_smoothing=smoothing
    ),
    "cross_entropy_soft": each(F.cross_entropy),
    "bce_loss": lambda p, t: -(torch.xlogy(t, p) + (1 - t) * torch.log1p(-p)),
    "bce_with_logits": bce_with_logits,
    "kl_div": each(F.kl_div),
    "hinge_loss": lambda x, t: F.relu(1 - t * x),
    "hinge_embedding_loss": lambda x, t, margin=1.0: torch.where(t > 0, x, F.relu(margin - x)),
    "margin_ranking_loss": each(F.margin_ranking_loss),
    "soft_margin_loss": lambda x, t: F.softplus(-t * x),
    "poisson_nll_loss": each(F.poisson_nll_loss),
    "nll_loss_ignoring": nll,
    "cross_entropy_ignoring": cross_entropy,
    "cross_entropy_soft_places": lambda x, p, w, smoothing=0.0: (
        -(((1 - smoothing) * p + smoothing / x.shape[1]) * torch.log_softmax(x, 1) * columns(w, x)).sum(1)
    ),
    "kl_div_log": lambda x, t: F.kl_div(x, t, reduction="none", log_target=True),
    "bce_with_logits_weighted": lambda x, t, w: w * t * F.softplus(-x) + (1 - t) * F.softplus(x),
    "multilabel_margin_loss_listed": each(F.multilabel_margin_loss),
    "row_distance_p": lambda x, z, p=2.0, eps=1e-6: F.pairwise_distance(x, z, p, eps),
    "gaussian_nll_loss": lambda x, t, v, eps=1e-6: 0.5 * (torch.log(v) + (x - t) ** 2 / v),
    "cosine_embedding_loss": cosine_embedding,
    "triplet_margin_loss": triplet,
    "multi_margin_loss": multi_margin,
    "multilabel_margin_loss": multilabel_margin,
    "multilabel_soft_margin_loss": multilabel_soft_margin,
    "triplet_margin_distance_loss": lambda p, n, margin=1.0: F.relu(p - n + margin),
    "ctc_loss": ctc,
}


def sliced(x: T, axis=0, start=0, count=0, step=1) -> T:
    return x.index_select(axis, start + step * torch.arange(count))


def slice_put(x: T, u: T, axis=0, start=0, step=1) -> T:
    return x.index_copy(axis, start + step * torch.arange(u.shape[axis]), u)


def put(x: T, idx: T, u: T, axis=0) -> T:
    """The last of several that are written to one place stays; PyTorch leaves it open which."""
    result = list(x.movedim(axis, 0).unbind(0))
    for place, value in zip(idx.movedim(axis, 0), u.movedim(axis, 0)):
        result = [torch.where(place == n, value, old) for n, old in enumerate(result)]
    return torch.stack(result).movedim(0, axis)


def folded(reduce: str) -> Callable[..., T]:
    return lambda x, idx, u, axis=0: x.scatter_reduce(axis, idx, u, reduce)


def padding(mode: str) -> Callable[..., T]:
    index = {
        "pad_edge": lambda i, n: i.clamp(0, n - 1),
        "pad_circular": lambda i, n: i % n,
        "pad_reflect": lambda i, n: (n - 1) - ((n - 1) - i.abs()).abs() if n > 1 else i * 0,
    }[mode]
    return lambda x, axis=0, before=0, after=0: x.index_select(
        axis, index(torch.arange(-before, x.shape[axis] + after), x.shape[axis])
    )


def padding2d(mode: str) -> Callable[..., T]:
    one = padding(mode)
    return lambda x, top=0, bottom=0, left=0, right=0: one(
        one(x, x.ndim - 2, top, bottom), x.ndim - 1, left, right
    )


def pad(x: T, axis=0, before=0, after=0, value=0) -> T:
    return F.pad(x.movedim(axis, -1), (before, after), value=value).movedim(-1, axis)


def swap_axes(x: T, first=0, between=0) -> T:
    return x.transpose(first, first + between + 1)


PLACES: dict[str, Callable[..., Any]] = {
    "take": lambda x, idx, axis=0: x.index_select(axis, idx.flatten()).unflatten(axis, idx.shape),
    "index_select": lambda x, idx, axis=0: x.index_select(axis, idx),
    "gather": lambda x, idx, axis=0: x.gather(axis, idx),
    "embedding": lambda w, idx: F.embedding(idx, w),
    "embedding_sum": lambda w, idx: F.embedding(idx, w).sum(-2),
    "scatter_add": lambda x, idx, u, axis=0: x.scatter_add(axis, idx, u),
    "scatter": put,
    "scatter_multiply": folded("prod"),
    "scatter_max": folded("amax"),
    "scatter_min": folded("amin"),
    "segment_sum": lambda x, where, S: x.new_zeros(S, *x.shape[1:]).index_add(0, where, x),
    "histogram_weighted": lambda x, w, B: w.new_zeros(B).index_add(0, x.flatten(), w.flatten()),
    "slice": sliced,
    "slice_put": slice_put,
    "concat": lambda x, z, axis=0: torch.cat([x, z], axis),
    "stack": lambda x, z, axis=0: torch.stack([x, z], axis),
    "split": lambda x, axis=0, after=0: x.split([x.shape[axis] - after, after], axis),
    "tile": lambda x, axis=0, times=1: torch.cat([x] * times, axis),
    "repeat": lambda x, axis=0, times=1: x.repeat_interleave(times, axis),
    "expand": lambda x, axis=0, times=1: torch.stack([x] * times, axis),
    "flip": lambda x, axis=0: x.flip(axis),
    "roll": lambda x, axis=0, shift=0: x.roll(shift, axis),
    "transpose": lambda x: x.transpose(-1, -2),
    "swap_axes": swap_axes,
    "tril": lambda x, k=0: x.tril(k),
    "triu": lambda x, k=0: x.triu(k),
    "diag": torch.diag_embed,
    "diagonal": lambda x: x.diagonal(dim1=-2, dim2=-1),
    "pick": lambda x, axis=0, at=0: x.select(axis, at),
    **{f"flatten{n}": lambda x: x.flatten(1) for n in (3, 4, 5)},
    **{f"merge{n}": lambda x, axis=0, n=n: x.flatten(axis, axis + n - 1) for n in (2, 3, 4)},
    "unflatten": lambda x, D, axis=0: x.unflatten(axis, (D, -1)),
    "pixel_shuffle": lambda x, R=2, Q=2: (
        x.unflatten(1, (-1, R, Q)).permute(0, 1, 4, 2, 5, 3).flatten(4).flatten(2, 3)
    ),
    "pixel_unshuffle": lambda x, R=2, Q=2: (
        x.unflatten(3, (-1, Q)).unflatten(2, (-1, R)).permute(0, 1, 3, 5, 2, 4).flatten(1, 3)
    ),
    "channel_shuffle": lambda x, G: x.unflatten(1, (G, -1)).transpose(1, 2).flatten(1, 2),
    "pad": pad,
    "pad_edge": padding("pad_edge"),
    "pad_reflect": padding("pad_reflect"),
    "pad_circular": padding("pad_circular"),
    "pad2d": lambda x, top=0, bottom=0, left=0, right=0, value=0: F.pad(
        x, (left, right, top, bottom), value=value
    ),
    "pad2d_reflect": padding2d("pad_reflect"),
    "pad2d_edge": padding2d("pad_edge"),
}


def biased(f: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: T, h: T, wi: T, wh: T, bi: T | None = None, bh: T | None = None) -> Any:
        return f(x, h, wi, wh, bi, bh)

    return run


def lstm_cell(x: T, h: T, c: T, *weights: T) -> Any:
    return torch.lstm_cell(x, (h, c), *weights)


def layer(f: Callable[..., Any], states: int, both: bool = False) -> Callable[..., Any]:
    """A layer over time; states of two directions come stacked, and so do weights. Lengths of
    sequences come last, if at all.
    """

    def run(x: T, *given: T) -> tuple[T, ...]:
        if not given[-1].is_floating_point():
            return each_alone(run, states, x, given)
        first, weights = given[:states], given[states:]
        first = first if both else tuple(s[None] for s in first)
        flat = [w[d] for d in (0, 1) for w in weights] if both else list(weights)
        found = f(x, first if states == 2 else first[0], flat, len(weights) == 4, 1, 0.0, False, both, False)
        return found if both else (found[0], *(s[0] for s in found[1:]))

    return run


def each_alone(layer: Callable[..., Any], states: int, x: T, given: Sequence[T]) -> tuple[T, ...]:
    """A layer on each sequence as long as it is, with zeros behind it."""
    first, (*weights, lengths) = given[:states], given[states:]
    every = [
        layer(x[:length, n : n + 1], *(s[n : n + 1] for s in first), *weights)
        for n, length in enumerate(lengths.tolist())
    ]
    outputs = [F.pad(y[:, 0], (0, 0, 0, len(x) - len(y))) for y, *_ in every]
    return torch.stack(outputs, 1), *(torch.cat(each) for each in list(zip(*every))[1:])


def recurrence(step: Callable[..., T], reverse: bool = False) -> Callable[..., T]:
    """y_i = step(y_{i-1}, x_i) along an axis, from None."""

    def run(*given: T, axis=0, **constants: float) -> T:
        every: list[T] = []
        for parts in zip(*(x.movedim(axis, 0) for x in given)):
            every.append(step(every[-1] if every else None, *parts, **constants))
        return torch.stack(every).movedim(0, axis)

    return run


def larger(old: T | None, x: T) -> T:
    return x if old is None else torch.where(old > x, old, x)


def smaller(old: T | None, x: T) -> T:
    return x if old is None else torch.where(old < x, old, x)


SCANS: dict[str, Callable[..., Any]] = {
    "rnn_cell": torch.rnn_tanh_cell,
    "gru_cell": torch.gru_cell,
    "lstm_cell": lstm_cell,
    "cumsum": lambda x, axis=0: x.cumsum(axis),
    "cumsum_exclusive": lambda x, axis=0: x.cumsum(axis) - x,
    "cumsum_reverse": lambda x, axis=0: x.flip(axis).cumsum(axis).flip(axis),
    "cumprod": lambda x, axis=0: x.cumprod(axis),
    "cummax": recurrence(larger),
    "cummin": recurrence(smaller),
    "moving_average": recurrence(
        lambda old, x, decay=0.9: (0.0 if old is None else decay * old) + (1 - decay) * x
    ),
    "linear_scan": recurrence(lambda old, a, x: x if old is None else a * old + x),
    "rnn_relu": layer(torch._VF.rnn_relu, 1),
} | {
    name + ends: layer(getattr(torch._VF, f), 2 if name == "lstm" else 1, bool(ends))
    for name, f in (("rnn", "rnn_tanh"), ("gru", "gru"), ("lstm", "lstm"))
    for ends in ("", "_bidirectional")
}

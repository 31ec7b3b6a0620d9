"""What the operators of the library are in PyTorch: by name, functions of tensors and of the operator's constants.

Where PyTorch has the operator, it is that one, so that its gradient is too; else the formula. Not written by way of texpr.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

T = torch.Tensor
ELEMENTS: dict[str, Callable[..., Any]] = {
    "relu": F.relu, "relu6": F.relu6, "log_sigmoid": F.logsigmoid, "softplus": F.softplus, "softsign": F.softsign, "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "swish": lambda x, beta=1.0: x * torch.sigmoid(beta * x),
    "mish": F.mish, "elu": F.elu, "celu": F.celu, "selu": F.selu, "leaky_relu": lambda x, slope=0.01: F.leaky_relu(x, slope),
    "prelu": F.prelu, "hardtanh": lambda x, lo=-1.0, hi=1.0: F.hardtanh(x, lo, hi), "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish, "hardshrink": F.hardshrink, "softshrink": F.softshrink, "tanhshrink": F.tanhshrink,
    "threshold": lambda x, limit=0.0, value=0.0: F.threshold(x, limit, value), "glu": lambda x, axis=0: F.glu(x, axis),
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div, "negative": torch.neg,
    "affine": lambda x, a, b: a * x + b, "copy": torch.clone, "sum_all": torch.sum, "mean_all": torch.mean, "pow": torch.pow,
    "power": lambda x, exponent: torch.pow(x, exponent), "addcmul": lambda x, a, b, scale=1.0: torch.addcmul(x, a, b, value=scale),
    "addcdiv": lambda x, a, b, scale=1.0: torch.addcdiv(x, a, b, value=scale), "add_last": torch.add, "multiply_last": torch.mul,
    "to_f32": lambda x: x.to(torch.float64), "to_f64": lambda x: x.to(torch.float64),
    "select": torch.where, "masked_fill": lambda x, mask, value=0.0: x.masked_fill(mask, value),
    "clip": lambda x, lo, hi: torch.clamp(x, lo, hi), "clip_between": torch.clamp,
    "reciprocal": torch.reciprocal, "square": torch.square, "lerp": torch.lerp, "gamma": lambda x: torch.exp(torch.lgamma(x)),
    "cbrt": lambda x: torch.sign(x) * torch.abs(x) ** (1 / 3), "entropy": torch.special.entr, "xlogy": torch.xlogy,
    "full_like": lambda x, value: torch.full_like(x, value), "lgamma": torch.lgamma,
} | {name: getattr(torch, name) for name in (
    "tanh", "sigmoid", "maximum", "minimum", "abs", "sign", "floor", "ceil", "trunc", "round", "exp", "exp2", "expm1", "log", "log2",
    "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "asinh", "acosh", "atanh", "erf", "erfc", "hypot", "asin",
    "acos", "atan", "atan2", "fmod", "copysign", "logaddexp", "logit", "sinc", "digamma", "erfinv")}


def axes(f: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction over `count` axes from `axis` on."""
    return lambda x, axis=0, count=1, **rest: f(x, tuple(range(axis, axis + count)), **rest)


def product(x: T, dims: tuple[int, ...]) -> T:
    return x.flatten(dims[0], dims[-1]).prod(dims[0])


def extreme(f: Callable[..., Any]) -> Callable[[T, tuple[int, ...]], T]:
    """The element that `f` finds first among the axes: where several are equal, its gradient is theirs."""
    return lambda x, dims: f(x.flatten(dims[0], dims[-1]), dims[0]).values


REDUCTIONS: dict[str, Callable[..., Any]] = {name: axes(f) for name, f in {
    "reduce_sum": torch.sum, "reduce_prod": product, "reduce_mean": torch.mean, "reduce_max": extreme(torch.max),
    "reduce_min": extreme(torch.min), "reduce_var": torch.var, "reduce_std": torch.std,
    "norm1": lambda x, d: torch.linalg.vector_norm(x, 1, d), "norm2": lambda x, d: torch.linalg.vector_norm(x, 2, d),
    "sum_square": lambda x, d: (x * x).sum(d), "logsumexp": torch.logsumexp, "norm_max": lambda x, d: extreme(torch.max)(abs(x), d),
    "norm_p": lambda x, d, p: torch.linalg.vector_norm(x, p, d)}.items()}
REDUCTIONS["reduce_var"] = axes(lambda x, d, correction=0: torch.var(x, d, correction=correction))
REDUCTIONS["reduce_std"] = axes(lambda x, d, correction=0: torch.std(x, d, correction=correction))


def attention(q: T, k: T, v: T, mask: T | None = None) -> T:
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + mask if mask.dtype.is_floating_point else scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, -1) @ v


def causal(q: T, k: T, v: T) -> T:
    rows, columns = q.shape[-2], k.shape[-2]
    return attention(q, k, v, torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows))


def grouped(q: T, k: T, v: T) -> T:
    repeats = q.shape[1] // k.shape[1]
    return attention(q, k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1))


def rotary(x: T, cosine: T, sine: T) -> T:
    a, b = x.chunk(2, -1)
    return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)


def cache_update(cache: T, new: T, pos: T) -> T:
    return torch.cat([cache[..., : int(pos), :], new, cache[..., int(pos) + new.shape[-2] :, :]], -2)


def convolution(f: Callable[..., T]) -> Callable[..., T]:
    return lambda x, w, b=None, G=1, S=1, P=0, D=1: f(x, w, b, S, P, D, G)


def transposed(f: Callable[..., T]) -> Callable[..., T]:
    return lambda x, w, b=None, G=1, S=1, P=0, D=1, E=0: f(x, w, b, S, P, E, G, D)


def conv2d(x: T, w: T, b: T | None = None, G=1, SH=1, SW=1, PH=0, PW=0, DH=1, DW=1) -> T:
    return F.conv2d(x, w, b, (SH, SW), (PH, PW), (DH, DW), G)


def conv_transpose2d(x: T, w: T, b: T | None = None, G=1, SH=1, SW=1, PH=0, PW=0, DH=1, DW=1, EH=0, EW=0) -> T:
    # PyTorch wants the extra rows to be fewer than the stride or the dilation; more of them are zeros and the bias.
    y = F.conv_transpose2d(x, w, None, (SH, SW), (0, 0), (0, 0), G, (DH, DW))
    y = F.pad(y, (0, EW, 0, EH))[..., PH : y.shape[-2] + EH - PH, PW : y.shape[-1] + EW - PW]
    return y if b is None else y + b.reshape(-1, 1, 1)


def unfold2d(x: T, R: int, Q: int, SH=1, SW=1, PH=0, PW=0, DH=1, DW=1) -> T:
    return F.unfold(x, (R, Q), (DH, DW), (PH, PW), (SH, SW))


def padded(x: T, pads: Sequence[int], value: float = 0.0) -> T:
    return F.pad(x, list(pads), value=value)


def maxpool2d(x: T, R=2, Q=2, SH=2, SW=2, PH=0, PW=0) -> T:
    return padded(x, (PW, PW, PH, PH), -math.inf).unfold(2, R, SH).unfold(3, Q, SW).flatten(-2).max(-1).values


def maxpool1d(x: T, Q=2, SW=2, PW=0, DW=1) -> T:
    return padded(x, (PW, PW), -math.inf).unfold(2, DW * (Q - 1) + 1, SW)[..., ::DW].max(-1).values


def windows(x: T, size: int, step: int, pad: int, value: float) -> T:
    x = padded(x, (pad,) * 6, value)
    return x.unfold(2, size, step).unfold(3, size, step).unfold(4, size, step).flatten(-3)


def avgpool1d(x: T, Q=2, SW=2, PW=0, count_include_pad=True) -> T:
    return share(padded(x, (PW, PW)).unfold(2, Q, SW), padded(torch.ones_like(x), (PW, PW)).unfold(2, Q, SW), count_include_pad)


def avgpool2d(x: T, R=2, Q=2, SH=2, SW=2, PH=0, PW=0, count_include_pad=True) -> T:
    parts = [padded(e, (PW, PW, PH, PH)).unfold(2, R, SH).unfold(3, Q, SW).flatten(-2) for e in (x, torch.ones_like(x))]
    return share(*parts, count_include_pad)


def share(every: T, inside: T, all_count: bool) -> T:
    return every.mean(-1) if all_count else every.sum(-1) / inside.sum(-1)


def lp(every: T, p: float) -> T:
    return (every.abs() ** p).sum(-1) ** (1 / p)


def lppool2d(x: T, p=2.0, R=2, Q=2, SH=2, SW=2) -> T:
    return lp(x.unfold(2, R, SH).unfold(3, Q, SW).flatten(-2), p)


def flattened(f: Callable[..., T]) -> Callable[[T], T]:
    return lambda x: f(x.flatten(2), -1) if x.ndim > 2 else x


LAYERS: dict[str, Callable[..., Any]] = {
    "attention": attention, "attention_causal": causal, "attention_bias": attention, "attention_masked": attention,
    "attention_grouped": grouped, "split_heads": lambda x, H: x.unflatten(2, (H, -1)).transpose(1, 2),
    "merge_heads": lambda x: x.transpose(1, 2).flatten(2), "cache_update": cache_update, "rotary": rotary,
    "conv1d": convolution(F.conv1d), "conv2d": conv2d, "conv2d_grouped": conv2d, "conv3d": convolution(F.conv3d),
    "conv_transpose1d": transposed(F.conv_transpose1d), "conv_transpose2d": conv_transpose2d,
    "conv_transpose3d": transposed(F.conv_transpose3d), "unfold2d": unfold2d,
    "maxpool1d": maxpool1d, "maxpool2d": maxpool2d, "maxpool2d_indices": maxpool2d,
    "maxpool3d": lambda x, Q=2, S=2, P=0: windows(x, Q, S, P, -math.inf).max(-1).values,
    "avgpool1d": avgpool1d, "avgpool2d": avgpool2d, "avgpool3d": lambda x, Q=2, S=2, P=0: windows(x, Q, S, P, 0.0).mean(-1),
    "lppool1d": lambda x, p=2.0, Q=2, SW=2: lp(x.unfold(2, Q, SW), p), "lppool2d": lppool2d,
    "lppool3d": lambda x, p=2.0, Q=2, S=2: lp(windows(x, Q, S, 0, 0.0), p),
    "global_avgpool": flattened(torch.mean), "global_maxpool": flattened(lambda x, d: x.max(d).values),
    "adaptive_avgpool1d": lambda x, V: F.adaptive_avg_pool1d(x, V), "adaptive_avgpool2d": lambda x, U, V: F.adaptive_avg_pool2d(x, (U, V)),
    "adaptive_avgpool3d": lambda x, Z, U, V: F.adaptive_avg_pool3d(x, (Z, U, V)),
    "adaptive_maxpool1d": lambda x, V: F.adaptive_max_pool1d(x, V), "adaptive_maxpool2d": lambda x, U, V: F.adaptive_max_pool2d(x, (U, V)),
    "adaptive_maxpool3d": lambda x, Z, U, V: F.adaptive_max_pool3d(x, (Z, U, V)),
    "upsample_nearest": lambda x, R=2, Q=2: x.repeat_interleave(R, 2).repeat_interleave(Q, 3),
    "resize_nearest": lambda x, U, V: F.interpolate(x, (U, V), mode="nearest"),
    "resize_bilinear": lambda x, U, V: F.interpolate(x, (U, V), mode="bilinear"),
    "resize_bilinear_corners": lambda x, U, V: F.interpolate(x, (U, V), mode="bilinear", align_corners=True),
    "resize_bicubic": lambda x, U, V: F.interpolate(x, (U, V), mode="bicubic"),
}

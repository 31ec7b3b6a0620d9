"""What the operators of the library are in PyTorch: by name, functions of tensors and of the
operator's constants.

Where PyTorch has the operator, it is that one, so that its gradient is too; else the formula. Not
written by way of texpr.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

T = torch.Tensor
ELEMENTS: dict[str, Callable[..., Any]] = {
    "relu": F.relu,
    "relu6": F.relu6,
    "log_sigmoid": F.logsigmoid,
    "softplus": lambda x, beta=1.0, threshold=math.inf: F.softplus(x, beta, threshold),
    "prelu_shared": F.prelu,
    "softsign": F.softsign,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "swish": lambda x, beta=1.0: x * torch.sigmoid(beta * x),
    "mish": F.mish,
    "elu": F.elu,
    "celu": F.celu,
    "selu": F.selu,
    "leaky_relu": lambda x, slope=0.01: F.leaky_relu(x, slope),
    "prelu": F.prelu,
    "hardtanh": lambda x, lo=-1.0, hi=1.0: F.hardtanh(x, lo, hi),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "tanhshrink": F.tanhshrink,
    "threshold": lambda x, limit=0.0, value=0.0: F.threshold(x, limit, value),
    "glu": lambda x, axis=0: F.glu(x, axis),
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": torch.div,
    "negative": torch.neg,
    "affine": lambda x, a, b: a * x + b,
    "copy": torch.clone,
    "sum_all": torch.sum,
    "mean_all": torch.mean,
    "pow": torch.pow,
    "power": lambda x, exponent: torch.pow(x, exponent),
    "addcmul": lambda x, a, b, scale=1.0: torch.addcmul(x, a, b, value=scale),
    "addcdiv": lambda x, a, b, scale=1.0: torch.addcdiv(x, a, b, value=scale),
    "add_last": torch.add,
    "multiply_last": torch.mul,
    "to_f32": lambda x: x.to(torch.float64),
    "to_f64": lambda x: x.to(torch.float64),
    "select": torch.where,
    "masked_fill": lambda x, mask, value=0.0: x.masked_fill(mask, value),
    "clip": lambda x, lo, hi: torch.clamp(x, lo, hi),
    "clip_between": torch.clamp,
    "reciprocal": torch.reciprocal,
    "square": torch.square,
    "lerp": torch.lerp,
    "gamma": lambda x: torch.exp(torch.lgamma(x)),
    "cbrt": lambda x: torch.sign(x) * torch.abs(x) ** (1 / 3),
    "entropy": torch.special.entr,
    "xlogy": torch.xlogy,
    "full_like": lambda x, value: torch.full_like(x, value),
    "lgamma": torch.lgamma,
} | {
    name: getattr(torch, name)
    for name in (
        "tanh",
        "sigmoid",
        "maximum",
        "minimum",
        "abs",
        "sign",
        "floor",
        "ceil",
        "trunc",
        "round",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "rsqrt",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "asinh",
        "acosh",
        "atanh",
        "erf",
        "erfc",
        "hypot",
        "asin",
        "acos",
        "atan",
        "atan2",
        "fmod",
        "copysign",
        "logaddexp",
        "logit",
        "sinc",
        "digamma",
        "erfinv",
    )
}


def axes(f: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction over `count` axes from `axis` on."""
    return lambda x, axis=0, count=1, **rest: f(x, tuple(range(axis, axis + count)), **rest)


def product(x: T, dims: tuple[int, ...]) -> T:
    return x.flatten(dims[0], dims[-1]).prod(dims[0])


def extreme(f: Callable[..., Any]) -> Callable[[T, tuple[int, ...]], T]:
    """The element that `f` finds first among the axes: where several are equal, its gradient is
    theirs.
    """
    return lambda x, dims: f(x.flatten(dims[0], dims[-1]), dims[0]).values


REDUCTIONS: dict[str, Callable[..., Any]] = {
    name: axes(f)
    for name, f in {
        "reduce_sum": torch.sum,
        "reduce_prod": product,
        "reduce_mean": torch.mean,
        "reduce_max": extreme(torch.max),
        "reduce_min": extreme(torch.min),
        "reduce_var": torch.var,
        "reduce_std": torch.std,
        "norm1": lambda x, d: torch.linalg.vector_norm(x, 1, d),
        "norm2": lambda x, d: torch.linalg.vector_norm(x, 2, d),
        "sum_square": lambda x, d: (x * x).sum(d),
        "logsumexp": torch.logsumexp,
        "norm_max": lambda x, d: extreme(torch.max)(abs(x), d),
        "norm_p": lambda x, d, p: torch.linalg.vector_norm(x, p, d),
    }.items()
}
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


def spread(constants: dict[str, int], letter: str, rank: int, default: int) -> tuple[int, ...]:
    """Constants such as SH and SW, in PyTorch's order."""
    return tuple(constants.get(letter + axis, default) for axis in "UHW"[-rank:])


def convolution(f: Callable[..., T]) -> Callable[..., T]:
    def run(x: T, w: T, b: T | None = None, G=1, **c: int) -> T:
        r = x.ndim - 2
        return f(x, w, b, spread(c, "S", r, 1), spread(c, "P", r, 0), spread(c, "D", r, 1), G)

    return run


def transposed(f: Callable[..., T]) -> Callable[..., T]:
    def run(x: T, w: T, b: T | None = None, G=1, **c: int) -> T:
        r = x.ndim - 2
        return f(
            x, w, b, spread(c, "S", r, 1), spread(c, "P", r, 0), spread(c, "E", r, 0), G, spread(c, "D", r, 1)
        )

    return run


def conv2d(x: T, w: T, b: T | None = None, G=1, SH=1, SW=1, PH=0, PW=0, DH=1, DW=1) -> T:
    return F.conv2d(x, w, b, (SH, SW), (PH, PW), (DH, DW), G)


def conv_transpose2d(
    x: T, w: T, b: T | None = None, G=1, SH=1, SW=1, PH=0, PW=0, DH=1, DW=1, EH=0, EW=0
) -> T:
    # PyTorch wants the extra rows to be fewer than the stride or the dilation; more of them are
    # zeros and the bias.
    y = F.conv_transpose2d(x, w, None, (SH, SW), (0, 0), (0, 0), G, (DH, DW))
    y = F.pad(y, (0, EW, 0, EH))[..., PH : y.shape[-2] + EH - PH, PW : y.shape[-1] + EW - PW]
    return y if b is None else y + b.reshape(-1, 1, 1)


def unfold2d(x: T, R: int, Q: int, SH=1, SW=1, PH=0, PW=0, DH=1, DW=1) -> T:
    return F.unfold(x, (R, Q), (DH, DW), (PH, PW), (SH, SW))


def fold2d(x: T, H: int, W: int, R: int, Q: int, SH=1, SW=1, PH=0, PW=0, DH=1, DW=1) -> T:
    return F.fold(x, (H, W), (R, Q), (DH, DW), (PH, PW), (SH, SW))


def padded(x: T, pads: Sequence[int], value: float) -> T:
    return F.pad(x, list(pads), value=value)


def windows(x: T, value: float, c: dict[str, Any], padding: bool = True) -> T:
    """All windows that the constants of a pooling operator name, on a last axis of their own."""
    r = x.ndim - 2
    sizes = tuple(c.get(k, 2) for k in "ORQ"[-r:])
    strides, pads, steps, extra = (
        spread(c, "S", r, 2),
        spread(c, "P", r, 0),
        spread(c, "D", r, 1),
        spread(c, "E", r, 0),
    )
    sides = [(p, p + e) if padding else (0, e) for p, e in zip(pads, extra)]
    x = padded(x, [n for side in reversed(sides) for n in side], value)
    for k, (size, stride, step) in enumerate(zip(sizes, strides, steps)):
        x = x.unfold(2 + k, step * (size - 1) + 1, stride)[..., ::step]
    return x.flatten(-r)


def maxpool(x: T, **c: int) -> T:
    return windows(x, -math.inf, c).max(-1).values


def avgpool(x: T, count_include_pad=True, divisor=0, **c: int) -> T:
    every, pads = windows(x, 0.0, c), [p for p in reversed(spread(c, "P", x.ndim - 2, 0)) for _ in (0, 1)]
    if divisor:
        return every.sum(-1) / divisor
    ones = torch.ones_like(x)
    inside = (
        windows(padded(ones, pads, 1.0), 0.0, c, padding=False)
        if count_include_pad
        else windows(ones, 0.0, c)
    )
    return every.sum(-1) / inside.sum(-1)


def lppool(x: T, p=2.0, **c: int) -> T:
    every, ones = windows(x, 0.0, c), windows(torch.ones_like(x), 0.0, c)
    return ((every.abs() ** p).sum(-1) * every.shape[-1] / ones.sum(-1)) ** (1 / p)


def flattened(f: Callable[..., T]) -> Callable[[T], T]:
    return lambda x: f(x.flatten(2), -1) if x.ndim > 2 else x


LAYERS: dict[str, Callable[..., Any]] = {
    "attention": attention,
    "attention_causal": causal,
    "attention_bias": attention,
    "attention_masked": attention,
    "attention_grouped": grouped,
    "fold2d": fold2d,
    "split_heads": lambda x, H: x.unflatten(2, (H, -1)).transpose(1, 2),
    "merge_heads": lambda x: x.transpose(1, 2).flatten(2),
    "cache_update": cache_update,
    "rotary": rotary,
    "conv1d": convolution(F.conv1d),
    "conv2d": conv2d,
    "conv2d_grouped": conv2d,
    "conv3d": convolution(F.conv3d),
    "conv_transpose1d": transposed(F.conv_transpose1d),
    "conv_transpose2d": conv_transpose2d,
    "conv_transpose3d": transposed(F.conv_transpose3d),
    "unfold2d": unfold2d,
    **dict.fromkeys(("maxpool1d", "maxpool2d", "maxpool2d_indices", "maxpool3d"), maxpool),
    **dict.fromkeys(("avgpool1d", "avgpool2d", "avgpool3d"), avgpool),
    **dict.fromkeys(("lppool1d", "lppool2d", "lppool3d"), lppool),
    "global_avgpool": flattened(torch.mean),
    "global_maxpool": flattened(lambda x, d: x.max(d).values),
    "adaptive_avgpool1d": lambda x, V: F.adaptive_avg_pool1d(x, V),
    "adaptive_avgpool2d": lambda x, U, V: F.adaptive_avg_pool2d(x, (U, V)),
    "adaptive_avgpool3d": lambda x, Z, U, V: F.adaptive_avg_pool3d(x, (Z, U, V)),
    "adaptive_maxpool1d": lambda x, V: F.adaptive_max_pool1d(x, V),
    "adaptive_maxpool2d": lambda x, U, V: F.adaptive_max_pool2d(x, (U, V)),
    "adaptive_maxpool3d": lambda x, Z, U, V: F.adaptive_max_pool3d(x, (Z, U, V)),
    "upsample_nearest": lambda x, R=2, Q=2: x.repeat_interleave(R, 2).repeat_interleave(Q, 3),
    "resize_nearest": lambda x, U, V: F.interpolate(x, (U, V), mode="nearest"),
    "resize_bilinear": lambda x, U, V: F.interpolate(x, (U, V), mode="bilinear"),
    "resize_bilinear_corners": lambda x, U, V: F.interpolate(x, (U, V), mode="bilinear", align_corners=True),
    "resize_bicubic": lambda x, U, V: F.interpolate(x, (U, V), mode="bicubic"),
}

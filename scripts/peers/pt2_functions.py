"""Functions of tensors whose programs are the tests' data (`pt2_torch.py`): each gives many results by
name, so that one archive shows many operators.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F


def elements(_, x, p, k):
    unary = (
        "acos asin atan atanh cos erf erfinv sin tan tanh sigmoid logit".split(),
        (
            "acosh asinh cosh exp exp2 expm1 lgamma digamma log log10 log1p log2 reciprocal rsqrt sinh sqrt"
        ).split(),
        "abs neg sign square ceil floor trunc round isnan isinf isfinite deg2rad erfc".split(),
    )
    found = {name: getattr(torch, name)(v) for names, v in zip(unary, (x, p + 1, x * 3)) for name in names}
    acts = "relu relu6 silu mish softsign logsigmoid tanhshrink gelu hardswish hardsigmoid hardtanh"
    acts += " leaky_relu elu"
    acts += " selu celu softplus hardshrink softshrink"
    found |= {name: getattr(F, name)(x * 4) for name in acts.split()}
    found |= {
        "gelu_tanh": F.gelu(x, approximate="tanh"),
        "glu": F.glu(x, -1),
        "threshold": F.threshold(x, 0.1, 7.0),
    }
    found |= {
        "ints": torch.exp(k),
        "not": ~k,
        "lnot": torch.logical_not(k),
        "inf": torch.isfinite(k),
        "fk": k.floor(),
    }
    return found | {"nan": torch.nan_to_num(x / 0), "prelu": F.prelu(x, p[0, :1]), "elu2": F.elu(x, 0.5)}


def arithmetic(_, x, y, k, b):
    zero = torch.tensor(2.5)
    return {
        "add": x + y,
        "alpha": torch.add(x, y, alpha=2),
        "scalar": x + 1,
        "rsub": 1 - x,
        "int_float": k + 0.5,
        "int_int": k + 3,
        "mixed": x * k,
        "bool": b + k,
        "and": b & (k > 1),
        "or": b | (k > 1),
        "xor": b ^ (k > 1),
        "div": x / y,
        "div_int": k / 2,
        "floor": torch.div(x, y, rounding_mode="floor"),
        "floor_exact": torch.div(torch.round(y), 0.1, rounding_mode="floor"),
        "fd": k // 2,
        "trunc": torch.div(-k, 2, rounding_mode="trunc"),
        "mod": k % 3,
        "fmod": torch.fmod(x, 0.3),
        "kf": torch.fmod(-k, 3),
        "rem": torch.remainder(x, 0.3),
        "pow2": x**2,
        "pow3": x**3,
        "pow": y**x,
        "powk": k**2,
        "half": y**0.5,
        "zero_dim": k * zero,
        "atan2": torch.atan2(x, y),
        "max": torch.maximum(x, y),
        "min": torch.minimum(x, y),
        "fmax": torch.fmax(x, y),
        "fmin": torch.fmin(x, y),
        "hypot": torch.hypot(x, y),
        "eq": k == 2,
        "lt": x < y,
        "ge": x >= 0.5,
        "ne": k != 1,
        "where": torch.where(b, x, y),
        "where2": torch.where(b, x, 0.0),
        "where3": torch.where(k > 1, 1.0, 0.0),
        "masked": x.masked_fill(b, -torch.inf),
        "clamp": x.clamp(-0.1, 0.2),
        "cmin": x.clamp_min(0),
        "cmax": torch.clamp(k, max=2),
        "addcmul": torch.addcmul(x, x, y, value=0.5),
        "addcdiv": torch.addcdiv(x, x, y, value=2),
        "lerp": torch.lerp(x, y, 0.3),
        "lshift": k << 2,
        "rshift": k >> 1,
        "band": k & 3,
        "bor": k | 1,
        "bxor": k ^ 5,
        "copysign": torch.copysign(y, x),
        "lae": torch.logaddexp(x, y),
        "lae_inf": torch.logaddexp(torch.log(x * 0), torch.log(y * 0)),
        "to": x.to(torch.int64),
        "double": x.double() * k,
        "f16": x.half() + 1,
        "bool2": k.bool(),
        "xlogy": torch.xlogy(x, y),
    }


def shapes(_, x, k):
    a, b, c = x.split(2, 2)
    d, e = x.split([2, 3], 1)[0], x.chunk(2, 0)[1]
    u = torch.zeros(3, 4).slice_scatter(x[0, :3, :4], 1, 0, 4)
    grid = torch.meshgrid(torch.arange(3), torch.arange(2), indexing="ij")
    return {
        "view": x.view(4, 30),
        "reshape": x.reshape(-1, 3),
        "flat": x.flatten(1),
        "unflat": x.unflatten(2, (2, -1)),
        "permute": x.permute(2, 0, 1),
        "transpose": x.transpose(0, 2),
        "t": x[0].t(),
        "squeeze": x[:1].squeeze(0),
        "squeeze_all": x[:1, :1].squeeze(),
        "unsqueeze": x.unsqueeze(1),
        "expand": x[:, :1].expand(-1, 7, 6),
        "cat": torch.cat([x, x[:1], k.float().new_zeros(0)], 0),
        "stack": torch.stack([x, x], 1),
        "split": a + b + c,
        "sizes": d,
        "chunk": e,
        "unbind": x.unbind(0)[2],
        "select": x[:, 2],
        "slice": x[:, 1:4:2],
        "neg": x[..., -2:],
        "narrow": x.narrow(1, 1, 2),
        "flip": x.flip(0, 2),
        "roll": x.roll((1, 2), (0, 1)),
        "rollall": x.roll(3),
        "repeat": x.repeat(2, 1, 1, 1),
        "tile": x.tile(2),
        "ri": x.repeat_interleave(2, 1),
        "pad": F.pad(x, (1, 2, 0, 1)),
        "pad_value": F.pad(x, (1, -1), value=3.0),
        "reflect": F.pad(x, (1, 2), mode="reflect"),
        "tril": x.tril(1),
        "replicate": F.pad(x[None], (1, 2, 1, 0), mode="replicate"),
        "circular": F.pad(x, (1, 2), mode="circular"),
        "triu": x.triu(-1),
        "diagonal": x.diagonal(1, 0, 2),
        "unfold": x.unfold(1, 3, 2),
        "movedim": x.movedim(0, 2),
        "scatter": u,
        "select_scatter": x.select_scatter(x[:, 0], 1, 3),
        "grid": grid[0] + grid[1],
        "diff": torch.diff(x),
        "arange": torch.arange(2, 11, 3),
        "arangef": torch.arange(0, 1, 0.25),
        "ones": torch.ones(2, 3),
        "full": torch.full((2,), 7),
        "like": torch.zeros_like(x) + torch.full_like(x, 2.0),
        "linspace": torch.linspace(0, 1, 5),
        "eye": torch.eye(3),
        "new": x.new_ones(2),
        "hot": F.one_hot(k, 6),
        "shuffle": F.pixel_shuffle(x.reshape(1, 4, 5, 6), 2),
        "sum": x.shape[0] + k,
        "unshuffle": F.pixel_unshuffle(x[None, :, :4], 2),
        "mT": x.mT,
        "channels": F.channel_shuffle(x[None], 2),
        "outer": torch.outer(x[0, 0], x[0, 1]),
        "contiguous": x.transpose(0, 1).contiguous(),
        "split2": torch.tensor_split(x, 3, 1)[1],
    }


def places(self, x, k):
    s = x.sort(1, descending=True)
    t = x.topk(2, -1)
    p = self.table.clone()
    return {
        "index": x[k],
        "two": x[k, k],
        "gather": x.gather(1, k[:3, None].expand(3, 2)),
        "take": x.index_select(1, k),
        "scatter": x.scatter(1, k[:4].reshape(4, 1), 9.0),
        "add": x.scatter_add(1, k[:4].reshape(4, 1), x[:, :1]),
        "reduce": x.scatter_reduce(1, k[:4].reshape(4, 1), x[:, :1], "amax"),
        "index_add": x.index_add(0, k, x[: 5 - 1][k]),
        "put": x.index_put((k[:2],), x[:2]),
        "mask_put": x.index_put((x > 0,), torch.tensor(0.0)),
        "sort": s.values,
        "places": s.indices,
        "argsort": x.argsort(0),
        "topk": t.values,
        "topi": t.indices,
        "embed": F.embedding(k, p),
        "pad": F.embedding(k, p, padding_idx=1),
        "search": torch.searchsorted(p[:, 0].contiguous(), x[0]),
        "rows": x[:, k, None],
        "bucket": torch.bucketize(x, p[:, 0].contiguous(), right=True),
        "bucket_i32": torch.bucketize(x, p[:, 0].contiguous(), out_int32=True),
        "along": torch.take_along_dim(x, k[None], 1),
    }


def reductions(_, x, k):
    vm = torch.var_mean(x, 1, correction=0)
    mx = x.max(1)
    return {
        "sum": x.sum(),
        "sum1": x.sum(1),
        "sums": x.sum((0, 2), keepdim=True),
        "ksum": k.sum(),
        "mean": x.mean(-1),
        "mean2": x.mean((0, 1)),
        "kmean": k.float().mean(),
        "prod": x.prod(1),
        "amax": x.amax(1),
        "amin": x.amin((0, 1)),
        "max": x.max(),
        "maxd": mx.values,
        "maxi": mx.indices,
        "mind": x.min(0, keepdim=True).values,
        "argmax": x.argmax(1),
        "argall": x.argmax(),
        "argmin": x.argmin(0, keepdim=True),
        "any": (x > 1).any(1),
        "all": (x > -9).all(),
        "var": x.var(1),
        "var0": x.var((0, 2), correction=0),
        "std": x.std(),
        "vm": vm[0] + vm[1],
        "cumsum": x.cumsum(1),
        "cumprod": x.cumprod(0),
        "cummax": x.cummax(1).values,
        "lse": x.logsumexp((1, 2)),
        "lcse": x.logcumsumexp(1),
        "norm": x.norm(),
        "norm1": x.norm(1, 1),
        "vnorm": torch.linalg.vector_norm(x, 3, (0, 1)),
        "count": torch.count_nonzero(x > 0, 1),
        "softmax": x.softmax(1),
        "log_softmax": x.log_softmax(-1),
        "soft64": x.softmax(0, dtype=torch.float64),
        "cos": F.cosine_similarity(x, x + 1, 1),
        "ksum8": (k > 1).sum(0),
        "minmax": torch.aminmax(x, dim=1)[0],
        "normalize": F.normalize(x, dim=1),
    }


def windows(_, x):
    m = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    return {
        "max1": F.max_pool1d(x[:, :, 0], 2),
        "max2": F.max_pool2d(x, (3, 2), (2, 1), (1, 0)),
        "ceil": F.max_pool2d(x, 3, 2, ceil_mode=True),
        "max3": F.max_pool3d(x, 2),
        "value": m[0],
        "place": m[1],
        "avg1": F.avg_pool1d(x[:, :, 0], 2),
        "avg2": F.avg_pool2d(x, 3, 2, 1),
        "inside": F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        "div": F.avg_pool2d(x, 2, divisor_override=3),
        "ad1": F.adaptive_avg_pool2d(x, 1),
        "ad": F.adaptive_avg_pool2d(x, (3, 5)),
        "admax": F.adaptive_max_pool2d(x, 3),
        "nearest": F.interpolate(x, scale_factor=2),
        "exact": F.interpolate(x, size=(5, 11), mode="nearest-exact"),
        "bilinear": F.interpolate(x, size=(11, 5), mode="bilinear"),
        "corners": F.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=True),
        "cubic": F.interpolate(x, size=(9, 12), mode="bicubic"),
        "linear": F.interpolate(x[:, :, 0], size=9, mode="linear"),
        "nearest1": F.interpolate(x[:, :, 0], size=9),
        "unfold": F.unfold(x, 3, padding=1),
    }


def attention(_, q, k, mask):
    causal = torch.zeros(5, 7).masked_fill(~torch.ones(5, 7).tril(2).bool(), -torch.inf)
    sdpa = F.scaled_dot_product_attention
    return {
        "plain": sdpa(q, k, k),
        "causal": sdpa(q, q, q, is_causal=True),
        "bool": sdpa(q, k, k, mask),
        "float": sdpa(q, k, k, causal),
        "scale": sdpa(q, k, k, scale=0.3),
        "wide": sdpa(q, k, k, is_causal=True),
        "grouped": sdpa(q, k[:, :2], k[:, :2], enable_gqa=True),
    }


def writes(_, x):
    """Writes into views of tensors that are read later, under several names."""
    mask = x.new_zeros(4, 6)
    rows = mask[1:3]
    rows[:, ::2] = 1.0
    mask[:, -2:].fill_(2.0)
    found = {"mask": mask * 1.0, "rows": rows + 0}
    mask.t()[0] += x[0, 0, :4]
    first, *_, last = mask.view(2, 2, 6).permute(2, 0, 1).unbind(0)
    last.copy_(first * 2)
    a, b = mask.split(4, dim=1)
    b.mul_(3.0)
    found |= {"unbound": mask + 0, "rest": rows + first[0, 1], "split": a.sum() + b.sum()}
    own, copied = x.contiguous().clone(), x.transpose(0, 1).contiguous()
    own.contiguous().reshape(-1)[3:6] = 7.0
    own.transpose(0, 1).reshape(-1).zero_()  # a copy
    copied.narrow(0, 1, 2).movedim(0, -1).add_(1.0)
    F.dropout(copied, 0.5, training=False).squeeze().mul_(2.0)
    found |= {"own": own, "copied": copied, "flat": own.flatten()[:9], "given": x + 0}
    h = x + 0
    return found | {
        "strided": h.as_strided((2, 3), (7, 2), 4),
        "windows": h.as_strided((5, 4), (1, 1)),
        "rows_of": h.as_strided((2, 1, 3), (30, 30, 1)),
    }

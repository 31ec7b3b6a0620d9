"""Convolutions, pooling and resizing, against NumPy formulas that visit every window."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tests.ops.table import Array, Case, normal


def windows(
    x: Array,
    sizes: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    steps: Sequence[int],
    fill: float,
) -> Array:
    """x (batch, channels, ...) to (batch, channels, results..., window...)."""
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pads)], constant_values=fill)
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], sizes, strides, steps)]
    result = np.empty((*x.shape[:2], *counts, *sizes))
    for place in itertools.product(*map(range, counts)):
        for element in itertools.product(*map(range, sizes)):
            at = tuple(p * s + e * d for p, s, e, d in zip(place, strides, element, steps))
            result[:, :, *place, *element] = x[:, :, *at]
    return result


def convolution(
    x: Array,
    w: Array,
    b: Array | float,
    stride: Sequence[int],
    pad: Sequence[int],
    step: Sequence[int],
    groups: int,
) -> Array:
    rank = x.ndim - 2
    every = windows(x, w.shape[2:], stride, pad, step, 0)
    every = every.reshape(x.shape[0], groups, -1, *every.shape[2:])
    weight = w.reshape(groups, -1, *w.shape[1:])
    result = np.stack(
        [
            np.tensordot(
                every[:, g], weight[g], axes=((1, *range(2 + rank, 2 + 2 * rank)), (1, *range(2, 2 + rank)))
            )
            for g in range(groups)
        ],
        -2,
    )
    result = np.moveaxis(result.reshape(*result.shape[:-2], -1), -1, 1)
    return result + np.reshape(b, (-1, *(1,) * rank))


def transposed(
    x: Array,
    w: Array,
    b: Array | float,
    stride: Sequence[int],
    pad: Sequence[int],
    step: Sequence[int],
    groups: int,
    extra: Sequence[int],
) -> Array:
    sizes = w.shape[2:]
    whole = [
        s * (n - 1) + d * (k - 1) + 1 + e for n, k, s, d, e in zip(x.shape[2:], sizes, stride, step, extra)
    ]
    inner, outer = x.shape[1] // groups, w.shape[1]
    y = np.zeros((x.shape[0], groups * outer, *whole))
    for g, c, k in itertools.product(range(groups), range(inner), range(outer)):
        for place in itertools.product(*map(range, x.shape[2:])):
            for element in itertools.product(*map(range, sizes)):
                at = tuple(p * s + e * d for p, s, e, d in zip(place, stride, element, step))
                y[:, g * outer + k, *at] += x[:, g * inner + c, *place] * w[g * inner + c, k, *element]
    y = y[:, :, *(slice(p, n - p) for p, n in zip(pad, whole))]
    return y + np.reshape(b, (-1, *(1,) * len(sizes)))


CONV1D: tuple[tuple[int, int, int, int, int, int], ...] = (  # length, window, G, SW, PW, DW
    (9, 3, 1, 1, 0, 1),
    (17, 3, 2, 2, 1, 1),
    (10, 2, 3, 3, 2, 2),
    (5, 1, 1, 2, 0, 1),
)
CONV2D: tuple[tuple[int, ...], ...] = (  # H, W, R, Q, G, SH, SW, PH, PW, DH, DW
    (5, 7, 3, 2, 1, 1, 1, 0, 0, 1, 1),
    (8, 9, 3, 3, 2, 2, 1, 1, 2, 1, 2),
    (6, 5, 2, 1, 3, 1, 3, 0, 1, 3, 1),
)
CONV3D: tuple[
    tuple[tuple[int, int, int], int, *tuple[tuple[int, int, int], ...]], ...
] = (  # window, G, then S, P, D in U, H, W
    ((2, 3, 1), 1, (1, 1, 1), (0, 0, 0), (1, 1, 1)),
    ((2, 2, 2), 2, (2, 1, 3), (1, 0, 2), (1, 2, 1)),
    ((1, 2, 2), 1, (1, 2, 1), (1, 1, 0), (2, 1, 3)),
)


def convolutions() -> Iterator[Case]:
    for n, q, g, s, p, d in CONV1D:
        constants: dict[str, object] = {"G": g, "SW": s, "PW": p, "DW": d}
        yield Case(
            "conv1d",
            (normal(2, 2 * g, n), normal(3 * g, 2, q), normal(3 * g)),
            lambda x, w, b, a=(s, p, d), g=g: convolution(x, w, b, *((v,) for v in a), g),
            constants,
            slack=8,
        )
        yield Case(
            "conv_transpose1d",
            (normal(2, 2 * g, n), normal(2 * g, 3, q), normal(3 * g)),
            lambda x, w, b, a=(s, p, d), g=g, e=s - 1: transposed(x, w, b, *((v,) for v in a), g, (e,)),
            constants | {"EW": s - 1},
            slack=8,
        )
    for h, w, r, q, g, sh, sw, ph, pw, dh, dw in CONV2D:
        strides: dict[str, object] = {"SH": sh, "SW": sw, "PH": ph, "PW": pw, "DH": dh, "DW": dw}
        inputs = normal(2, 2 * g, h, w), normal(3 * g, 2, r, q), normal(3 * g)
        steps = (sh, sw), (ph, pw), (dh, dw)
        yield Case(
            "conv2d_grouped",
            inputs,
            lambda x, w, b, a=steps, g=g: convolution(x, w, b, *a, g),
            strides | {"G": g},
            slack=8,
        )
        yield Case(
            "conv2d",
            (normal(2, 3, h, w), normal(4, 3, r, q)),
            lambda x, w, a=steps: convolution(x, w, 0.0, *a, 1),
            strides,
            slack=8,
        )
        yield Case(
            "conv_transpose2d",
            (inputs[0], normal(2 * g, 3, r, q), inputs[2]),
            lambda x, w, b, a=steps, g=g: transposed(x, w, b, *a, g, (0, 1)),
            strides | {"G": g, "EW": 1},
            slack=8,
        )
        yield Case(
            "unfold2d",
            (normal(2, 3, h, w),),
            lambda x, k=(r, q), a=steps: unfolded(windows(x, k, *a, 0)),
            strides | {"R": r, "Q": q},
        )
        yield Case(
            "fold2d",
            (normal(2, 3 * r * q, np.prod(counts((h, w), (r, q), *steps))),),
            lambda x, k=(r, q), n=(h, w), a=steps: folded(x, n, k, *a),
            strides | {"R": r, "Q": q, "H": h, "W": w},
            slack=4,
        )
    for (o, r, q), g, s, p, d in CONV3D:
        yield Case(
            "conv3d",
            (normal(2, 2 * g, 4, 3, 5), normal(2 * g, 2, o, r, q), normal(2 * g)),
            lambda x, w, b, a=(s, p, d), g=g: convolution(x, w, b, *a, g),
            {"G": g, **spread("SPD", s, p, d)},
            slack=8,
        )


def counts(
    n: Sequence[int], k: Sequence[int], s: Sequence[int], p: Sequence[int], d: Sequence[int]
) -> list[int]:
    """How many windows there are in each direction."""
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(n, k, s, p, d)]


def spread(letters: str, *values: Sequence[int]) -> dict[str, object]:
    """Constants of operators on volumes, such as SU, SH and SW."""
    return {letter + axis: v for letter, every in zip(letters, values) for axis, v in zip("UHW", every)}


def folded(
    x: Array, sizes: Sequence[int], k: Sequence[int], s: Sequence[int], p: Sequence[int], d: Sequence[int]
) -> Array:
    """Column j of window i is added where unfolding takes it from."""
    rows, columns = counts(sizes, k, s, p, d)
    x = x.reshape(x.shape[0], -1, *k, rows, columns)
    y = np.zeros((*x.shape[:2], sizes[0] + 2 * p[0], sizes[1] + 2 * p[1]))
    for r, q, i, j in itertools.product(range(k[0]), range(k[1]), range(rows), range(columns)):
        y[:, :, i * s[0] + r * d[0], j * s[1] + q * d[1]] += x[:, :, r, q, i, j]
    return y[:, :, p[0] : p[0] + sizes[0], p[1] : p[1] + sizes[1]]


def unfolded(every: Array) -> Array:
    n, c, u, v, r, q = every.shape
    return every.transpose(0, 1, 4, 5, 2, 3).reshape(n, c * r * q, u * v)


def mean_inside(x: Array, *a: Sequence[int]) -> Array:
    """The mean of the elements of each window that are not padding."""
    rank = x.ndim - 2
    inside = tuple(range(2 + rank, 2 + 2 * rank))
    return np.nanmean(windows(x, *a, np.nan), axis=inside)  # type: ignore[arg-type]


def places(x: Array, a: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    at = np.broadcast_to(np.arange(x[0, 0].size, dtype=np.float64).reshape(x.shape[2:]), x.shape)
    every, where = windows(x, *a, -np.inf), windows(at, *a, -1)
    flat = every.reshape(*every.shape[:4], -1)
    best = flat.argmax(-1)[..., None]
    return flat.max(-1), np.take_along_axis(where.reshape(flat.shape), best, -1)[..., 0]


def adaptive(x: Array, *results: int) -> Array:
    y = np.empty((*x.shape[:2], *results))
    for place in itertools.product(*map(range, results)):
        part = tuple(slice(p * n // m, -(-(p + 1) * n // m)) for p, n, m in zip(place, x.shape[2:], results))
        y[:, :, *place] = x[:, :, *part].mean(tuple(range(2, x.ndim)))
    return y


def pooling() -> Iterator[Case]:
    for h, w, r, q, sh, sw, ph, pw in (
        (4, 6, 2, 2, 2, 2, 0, 0),
        (5, 7, 3, 2, 1, 3, 1, 1),
        (3, 9, 1, 4, 1, 2, 0, 2),
    ):
        a = (r, q), (sh, sw), (ph, pw), (1, 1)
        constants: dict[str, object] = {"R": r, "Q": q, "SH": sh, "SW": sw, "PH": ph, "PW": pw}
        image = (normal(2, 3, h, w),)
        yield Case("maxpool2d", image, lambda x, a=a: windows(x, *a, -np.inf).max((4, 5)), constants)
        yield Case("maxpool2d_indices", image, lambda x, a=a: places(x, a), constants)
        yield Case("avgpool2d", image, lambda x, a=a: windows(x, *a, 0).mean((4, 5)), constants, slack=4)
        yield Case(
            "avgpool2d",
            image,
            lambda x, a=a: mean_inside(x, *a),
            constants | {"count_include_pad": False},
            slack=4,
        )
        yield Case(
            "lppool2d",
            image,
            lambda x, a=a: (abs(windows(x, a[0], a[1], (0, 0), a[3], 0)) ** 3).sum((4, 5)) ** (1 / 3),
            {"p": 3.0, "R": r, "Q": q, "SH": sh, "SW": sw},
            slack=16,
        )
        line = (normal(2, 3, w),)
        b = (q,), (sw,), (pw,), (1,)
        constants = {"Q": q, "SW": sw, "PW": pw}
        yield Case("maxpool1d", line, lambda x, b=b: windows(x, *b, -np.inf).max(3), constants)
        yield Case("avgpool1d", line, lambda x, b=b: windows(x, *b, 0).mean(3), constants, slack=4)
        yield Case(
            "avgpool1d",
            line,
            lambda x, b=b: mean_inside(x, *b),
            constants | {"count_include_pad": False},
            slack=4,
        )
    yield Case(
        "maxpool1d",
        (normal(1, 2, 11),),
        lambda x: windows(x, (3,), (2,), (1,), (2,), -np.inf).max(3),
        {"Q": 3, "SW": 2, "PW": 1, "DW": 2},
    )
    for k, s, p, d in (
        ((2, 2, 2), (2, 2, 2), (0, 0, 0), (1, 1, 1)),
        ((2, 1, 3), (1, 2, 1), (1, 0, 1), (1, 3, 2)),
    ):
        volume = (normal(2, 2, 3, 4, 5),)
        window = {**dict(zip("ORQ", k)), **spread("SP", s, p)}
        ones = (1, 1, 1)
        yield Case(
            "maxpool3d",
            volume,
            lambda x, b=(k, s, p, d): windows(x, *b, -np.inf).max((5, 6, 7)),
            window | spread("D", d),
        )
        yield Case(
            "avgpool3d",
            volume,
            lambda x, b=(k, s, p, ones): windows(x, *b, 0).mean((5, 6, 7)),
            window,
            slack=4,
        )
        yield Case(
            "avgpool3d",
            volume,
            lambda x, b=(k, s, p, ones): mean_inside(x, *b),
            window | {"count_include_pad": False},
            slack=4,
        )
    yield from ragged()
    for shape in ((2, 3, 4, 5), (1, 2), (3, 2, 33)):
        inner = tuple(range(2, len(shape)))
        yield Case("global_avgpool", (normal(*shape),), lambda x, i=inner: x.mean(i), slack=8)
        yield Case("global_maxpool", (normal(*shape),), lambda x, i=inner: x.max(i) if i else x)
    for h, w, u, v in ((5, 7, 2, 3), (4, 6, 2, 6), (3, 2, 5, 3)):
        yield Case("adaptive_avgpool1d", (normal(2, 3, w),), lambda x, v=v: adaptive(x, v), {"V": v}, slack=4)
        yield Case(
            "adaptive_avgpool2d",
            (normal(2, 3, h, w),),
            lambda x, u=u, v=v: adaptive(x, u, v),
            {"U": u, "V": v},
            slack=4,
        )


def longer(x: Array, fill: float) -> Array:
    """One element more in every direction."""
    return np.pad(x, [(0, 0), (0, 0), *[(0, 1)] * (x.ndim - 2)], constant_values=fill)


def clipped(x: Array, pad: int) -> Array:
    """Means of windows of 2 with stride 2 over what is in the image or its padding, but not in
    what is added behind.
    """
    rank = x.ndim - 2
    padded = np.pad(x, [(0, 0), (0, 0), *[(pad, pad)] * rank])
    return mean_inside(longer(padded, np.nan), (2,) * rank, (2,) * rank, (0,) * rank, (1,) * rank)


def ragged() -> Iterator[Case]:
    """Windows of 2 with stride 2 over lengths that leave one over, dilated ones, and a divisor."""
    for rank, shape in ((1, (2, 3, 5)), (2, (2, 3, 5, 3)), (3, (1, 2, 3, 5, 3))):
        ones, twos = (1,) * rank, (2,) * rank
        extra = dict(zip(("EU", "EH", "EW")[-rank:], ones))
        pads = dict(zip(("PU", "PH", "PW")[-rank:], ones))
        inner = tuple(range(2 + rank, 2 + 2 * rank))
        x = (normal(*shape),)
        zeros = (0,) * rank
        yield Case(
            f"maxpool{rank}d",
            x,
            lambda x, a=(twos, twos, zeros, ones), i=inner: windows(longer(x, -np.inf), *a, 0).max(i),
            extra,
        )
        for pad in (0, 1):
            grown = extra if pad == 0 else {**pads, **dict(zip(extra, ones))}
            yield Case(f"avgpool{rank}d", x, lambda x, p=pad: clipped(x, p), grown, slack=4)
        yield Case(
            f"avgpool{rank}d",
            x,
            lambda x, a=(twos, twos, zeros, ones), i=inner: windows(x, *a, 0).sum(i) / 3,
            {"divisor": 3},
            slack=4,
        )
        yield Case(f"lppool{rank}d", x, lambda x, n=2**rank: np.sqrt(n * clipped(x * x, 0)), extra, slack=16)
    yield Case(
        "maxpool2d",
        (normal(1, 2, 6, 7),),
        lambda x: windows(x, (2, 3), (2, 2), (1, 0), (2, 3), -np.inf).max((4, 5)),
        {"R": 2, "Q": 3, "PH": 1, "DH": 2, "DW": 3},
    )


def hat(d: Array) -> Array:
    return np.maximum(1 - abs(d), 0)


def keys(d: Array) -> Array:
    d, a = abs(d), -0.75
    return np.where(
        d <= 1,
        (a + 2) * d**3 - (a + 3) * d**2 + 1,
        np.where(d < 2, a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a, 0),
    )


def weights(
    size: int, wanted: int, kernel: Callable[[Array], Array], source: Callable[[Array], Array]
) -> Array:
    """How much each of `size` elements counts in each of `wanted` results; what is outside
    counts at the edge.
    """
    result = np.zeros((wanted, size))
    for i, at in enumerate(source(np.arange(wanted))):
        for j in range(-3, size + 3):
            result[i, min(max(j, 0), size - 1)] += kernel(np.float64(at - j))  # type: ignore[arg-type]
    return result


def resized(
    x: Array,
    u: int,
    v: int,
    kernel: Callable[[Array], Array],
    source: Callable[[int, int], Callable[[Array], Array]],
) -> Array:
    h, w = x.shape[2:]
    return np.einsum(
        "yh,nchw,xw->ncyx", weights(h, u, kernel, source(h, u)), x, weights(w, v, kernel, source(w, v))
    )


def middles(n: int, m: int) -> Callable[[Array], Array]:
    return lambda i: (i + 0.5) * n / m - 0.5


def corners(n: int, m: int) -> Callable[[Array], Array]:
    return lambda i: i * (n - 1) / (m - 1)


def resizing() -> Iterator[Case]:
    for h, w, u, v in ((4, 5, 8, 10), (5, 7, 3, 9), (1, 6, 2, 4)):
        image, constants = (normal(1, 2, h, w),), {"U": u, "V": v}
        yield Case("resize_nearest", image, lambda x, u=u, v=v: nearest(x, u, v), constants)
        yield Case(
            "resize_bilinear", image, lambda x, u=u, v=v: resized(x, u, v, hat, middles), constants, slack=4
        )
        yield Case(
            "resize_bilinear_corners",
            image,
            lambda x, u=u, v=v: resized(x, u, v, hat, corners),
            constants,
            slack=4,
        )
        yield Case(
            "resize_bicubic", image, lambda x, u=u, v=v: resized(x, u, v, keys, middles), constants, slack=8
        )
        along = (normal(2, w, 3),)
        here: dict[str, object] = {"axis": 1, "M": v, "scale": w / v}
        yield Case("resize_axis_nearest", along, lambda x, v=v, w=w: x[:, np.arange(v) * w // v], here)
        for source, scale in ((middles, w / v), (corners, (w - 1) / (v - 1))):
            there = here | {"scale": scale, "corners": source is corners}
            for name, kernel in (("linear", hat), ("cubic", keys)):
                yield Case(
                    f"resize_axis_{name}",
                    along,
                    lambda x, w=w, v=v, k=kernel, f=source: np.einsum(
                        "iw,nwc->nic", weights(w, v, k, f(w, v)), x
                    ),
                    there,
                    slack=8,
                )
        yield Case("upsample_nearest", image, lambda x: x.repeat(2, 2).repeat(3, 3), {"R": 2, "Q": 3})


def nearest(x: Array, u: int, v: int) -> Array:
    return x[:, :, np.arange(u)[:, None] * x.shape[2] // u, np.arange(v) * x.shape[3] // v]


CASES = (*convolutions(), *pooling(), *resizing())

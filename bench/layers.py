"""Times layers of networks and functions of arrays one by one:  python -m bench.layers [--library texpr] [--only TEXT] [--threads 1]

Convolutions of few and of many channels, with dilation, of each channel, transposed, rows that
shuffle elements before something is computed of them, pooling, products, reductions, the gradient
of a sparse product. For torch, in the environment of `make bench-peers`: `.bench-peers/bin/python
-m bench.layers --library torch`. For another state of texpr: `PYTHONPATH=WORKTREE python
bench/layers.py`. Figures are the smallest of some samples, which other work on the machine disturbs
least.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

SAMPLES = 15
FREED = 31 << 20
"""Bytes that are allocated and freed once: malloc keeps what is freed later, up to so much, and results
do not come in fresh pages, which cost more than small layers."""


@dataclass(frozen=True)
class Layer:
    """A layer.

    Attributes:
        shapes: of its arrays.
        texpr, torch: what it computes with `texpr.ops`, and with `torch.nn.functional`.
        operations: additions and multiplications; 0 where elements are moved alone.
        dtype: of its arrays.
        weights: the second array is the weight of so many modules in `eval()`, one behind the
            other, which are called on the first one. Each has weights of its own.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    texpr: Callable[..., Any]
    torch: Callable[..., Any]
    operations: int = 0
    dtype: str = "f4"
    weights: int = 0


def _product(m: int, k: int, n: int, dtype: str = "f4") -> Layer:
    return Layer(
        f"product {m}x{k} by {k}x{n}, {dtype}",
        ((m, k), (k, n)),
        lambda _, a, b: a @ b,
        lambda _, a, b: a @ b,
        2 * m * k * n,
        dtype,
    )


def _convolution(
    n: int, c: int, side: int, k: int, r: int, stride: int = 1, dilation: int = 1, groups: int = 1
) -> Layer:
    """A convolution of square images whose padding keeps their size."""
    pad = dilation * (r - 1) // 2
    to = (side + 2 * pad - dilation * (r - 1) - 1) // stride + 1
    constants = {"SH": stride, "SW": stride, "PH": pad, "PW": pad, "DH": dilation, "DW": dilation}
    return Layer(
        f"conv {n}x{c}x{side} to {k}, {r}x{r}, stride {stride}, dilation {dilation}, groups {groups}",
        ((n, c, side, side), (k, c // groups, r, r)),
        lambda ops, x, w: (
            ops.conv2d(x, w, **constants) if groups == 1 else ops.conv2d_grouped(x, w, G=groups, **constants)
        ),
        lambda f, x, w: f.conv2d(x, w, stride=stride, padding=pad, dilation=dilation, groups=groups),
        2 * n * k * to * to * c // groups * r * r,
    )


def _ended(c: int, side: int, k: int, r: int, stride: int = 1) -> Layer:
    """A convolution of one image with bias and ReLU."""
    layer = _convolution(1, c, side, k, r, stride)
    pad = (r - 1) // 2
    constants = {"SH": stride, "SW": stride, "PH": pad, "PW": pad}
    return replace(
        layer,
        name=f"conv, bias, relu, {c}x{side} to {k}, {r}x{r}, stride {stride}",
        shapes=(*layer.shapes, (k,)),
        texpr=lambda ops, x, w, b: ops.relu(ops.conv2d(x, w, b, **constants)),
        torch=lambda f, x, w, b: f.relu(f.conv2d(x, w, b, stride=stride, padding=pad)),
    )


def _linear(rows: int, inner: int, features: int) -> Layer:
    return Layer(
        f"linear {rows}x{inner} to {features}",
        ((rows, inner), (features, inner), (features,)),
        lambda ops, x, w, b: ops.linear(x, w, b),
        lambda f, x, w, b: f.linear(x, w, b),
        2 * rows * inner * features,
    )


def _dense(rows: int, features: int, count: int) -> Layer:
    """Modules one behind the other, whose weights do not stay in a near cache."""

    def chain(f: Any, x: Any, *weights: Any) -> Any:
        for w in weights:
            x = f.linear(x, w)
        return x

    return Layer(
        f"nn.Linear in eval, {rows}x{features} to {features}, {count} of them",
        ((rows, features), (features, features)),
        lambda ops, x, w: None,
        chain,
        2 * count * rows * features**2,
        weights=count,
    )


def _module(n: int, c: int, side: int, k: int, r: int, count: int = 1) -> Layer:
    """The same as a module, or as several one behind the other."""
    layer = _convolution(n, c, side, k, r)

    def chain(f: Any, x: Any, *weights: Any) -> Any:
        for w in weights:
            x = layer.torch(f, x, w)
        return x

    name = f"nn.Conv2d in eval, {n}x{c}x{side} to {k}, {r}x{r}" + (f", {count} of them" if count > 1 else "")
    return replace(layer, name=name, torch=chain, operations=count * layer.operations, weights=count)


def _line(c: int, sides: tuple[int, ...], k: int, taps: tuple[int, ...]) -> Layer:
    """A module whose taps lie along one dimension, of an image or of a signal."""
    rank, zeros = len(sides), tuple(t // 2 for t in taps)
    size = "x".join(map(str, (1, c, *sides)))
    return Layer(
        f"nn.Conv{rank}d in eval, {size} to {k}, {'x'.join(map(str, taps))}",
        ((1, c, *sides), (k, c, *taps)),
        lambda ops, x, w: None,
        lambda f, x, w: getattr(f, f"conv{rank}d")(x, w, padding=zeros),
        2 * k * c * prod(sides) * prod(taps),
        weights=1,
    )


def _transposed(n: int, c: int, side: int, k: int) -> Layer:
    """A transposed convolution that doubles the sides of images."""
    return Layer(
        f"transposed conv {n}x{c}x{side} to {k}, 4x4, stride 2",
        ((n, c, side, side), (c, k, 4, 4)),
        lambda ops, x, w: ops.conv_transpose2d(x, w, SH=2, SW=2, PH=1, PW=1),
        lambda f, x, w: f.conv_transpose2d(x, w, stride=2, padding=1),
        2 * n * side * side * c * k * 16,
    )


def _shuffle(op: Any, x: Any, w: Any) -> Any:
    n, c, h, w_ = x.shape
    x = _permuted(x.reshape(n, 2, c // 2, h, w_), (0, 2, 1, 3, 4)).reshape(n, c, h, w_)
    return op.conv2d(x[:, c // 2 :], w)


def _pixels(_: Any, x: Any) -> Any:
    n, c, h, w = x.shape
    x = _permuted(x.reshape(n, c // 4, 2, 2, h, w), (0, 1, 4, 2, 5, 3))
    return x.reshape(n, c // 4, 2 * h, 2 * w) * 2


def _windows(_: Any, x: Any, w: Any) -> Any:
    n, h, _w, c = x.shape
    x = _permuted(x.reshape(n, h // 7, 7, h // 7, 7, c), (0, 1, 3, 2, 4, 5))
    return x.reshape(n * (h // 7) ** 2, 49, c) @ w


def _patches(_: Any, x: Any, w: Any) -> Any:
    n, c, h, _w = x.shape
    x = _permuted(x.reshape(n, c, h // 16, 16, h // 16, 16), (0, 2, 4, 1, 3, 5))
    return x.reshape(n, (h // 16) ** 2, c * 256) @ w


def _permuted(x: Any, order: tuple[int, ...]) -> Any:
    """The axes of a tensor of either library in another order."""
    return x.permute(*order) if hasattr(x, "permute") else x.transpose(*order)


SPARSE = """op sparse(P: i64[Q] in 0..Z + 1, C: i64[Z] in 0..M, V: f32[Z], x: f32[M]) -> Y: f32[Q - 1] require Q >= 1 {
  Y[i] = sum(k in P[i]..P[i + 1]: V[k] * x[C[k]]) }"""


def _sparse(rows: int, entries: int) -> Layer:
    """The gradient of a sparse matrix times a vector, by rows (CSR), of random entries."""
    rng = np.random.default_rng(1)
    ends = np.sort(rng.integers(0, entries + 1, rows + 1))
    ends[[0, -1]] = 0, entries
    columns = rng.integers(0, rows, entries)
    return Layer(
        f"gradient of a sparse matrix by a vector, {rows}x{rows}, {entries} entries",
        ((entries,), (rows,), (rows,)),
        lambda _, v, x, dy: _rows_with_texpr(ends, columns, v, x, dy),
        lambda _, v, x, dy: _rows_with_torch(ends, columns, v, x, dy),
        4 * entries,
    )


def _rows_with_texpr(ends: np.ndarray, columns: np.ndarray, v: Any, x: Any, dy: Any) -> Any:
    import texpr as tx

    return tx.grad(tx.op(SPARSE))(ends, columns, v, x, dy)


def _rows_with_torch(ends: np.ndarray, columns: np.ndarray, v: Any, x: Any, dy: Any) -> Any:
    """By gathers and `index_add_`: what autograd gives for `sparse_csr_tensor` joins equal entries."""
    import torch

    places, each = torch.from_numpy(columns), dy.repeat_interleave(torch.from_numpy(np.diff(ends)))
    return each * x[places], torch.zeros_like(x).index_add_(0, places, each * v)


LAYERS = (
    _convolution(1, 3, 224, 32, 3, 2),
    _convolution(1, 3, 224, 64, 7, 2),
    _convolution(1, 3, 112, 64, 3),
    _ended(3, 299, 32, 3, 2),
    _ended(3, 224, 24, 3, 2),
    _ended(3, 448, 64, 3, 2),
    _linear(128, 400, 40),
    _linear(128, 512, 64),
    *(_dense(rows, 768, 12) for rows in (8, 16, 24, 64)),
    _convolution(1, 8, 112, 64, 3),
    _convolution(4, 32, 96, 32, 5, dilation=2),
    _convolution(1, 128, 28, 128, 3),
    _convolution(1, 256, 14, 256, 3),
    _convolution(1, 64, 13, 256, 3),
    _convolution(1, 512, 7, 512, 3),
    _convolution(1, 64, 16, 256, 1),
    _convolution(8, 256, 32, 64, 1),
    _convolution(1, 672, 14, 112, 1),
    _convolution(1, 192, 7, 1152, 1),
    _convolution(1, 1024, 14, 2048, 1, 2),
    _convolution(1, 256, 56, 512, 1, 2),
    _convolution(1, 16, 112, 16, 3, 2, groups=16),
    _convolution(1, 144, 56, 144, 3, groups=144),
    _convolution(1, 240, 14, 240, 5, groups=240),
    _convolution(1, 672, 14, 672, 5, 2, groups=672),
    _convolution(1, 144, 56, 144, 5, 2, groups=144),
    _convolution(1, 1152, 7, 1152, 5, groups=1152),
    _convolution(1, 960, 7, 960, 3, groups=960),
    _convolution(8, 256, 28, 256, 3, groups=32),
    _module(1, 256, 14, 256, 3),
    _module(1, 512, 7, 512, 3),
    _module(1, 512, 7, 512, 1, 30),
    _module(1, 1024, 7, 1024, 1, 8),
    _module(1, 256, 14, 256, 3, 8),
    _module(1, 512, 7, 512, 3, 6),
    _module(1, 16, 55, 64, 1),
    _module(1, 32, 112, 16, 1),
    _module(1, 144, 56, 24, 1),
    _module(1, 96, 14, 576, 1),
    _module(1, 512, 13, 1000, 1),
    _line(192, (17, 17), 192, (1, 7)),
    _line(192, (17, 17), 192, (7, 1)),
    _line(256, (512,), 512, (5,)),
    _line(128, (1500,), 128, (3,)),
    _transposed(8, 128, 28, 64),
    _transposed(16, 128, 16, 64),
    _transposed(32, 256, 4, 128),
    Layer(
        "channel shuffle, 1x1 conv", ((1, 116, 28, 28), (58, 58, 1, 1)), _shuffle, _shuffle, 2 * 784 * 58 * 58
    ),
    Layer("pixel shuffle, times two", ((8, 256, 28, 28),), _pixels, _pixels),
    Layer("windows, matrix", ((8, 56, 56, 96), (96, 96)), _windows, _windows, 2 * 8 * 56 * 56 * 96 * 96),
    Layer("patches, matrix", ((8, 3, 224, 224), (768, 768)), _patches, _patches, 2 * 8 * 196 * 768 * 768),
    Layer(
        "max pooling 64x112, 3x3, stride 2",
        ((1, 64, 112, 112),),
        lambda ops, x: ops.maxpool2d(x, R=3, Q=3, SH=2, SW=2, PH=1, PW=1),
        lambda f, x: f.max_pool2d(x, 3, 2, 1),
    ),
    _product(128, 768, 3072),
    _product(126, 768, 768),
    _product(1568, 768, 768),
    _product(1000, 777, 333),
    _product(64, 4096, 4096),
    _product(2048, 2048, 33),
    _product(4096, 4096, 1, "f8"),
    Layer("A + B.T, 2048", ((2048, 2048),) * 2, lambda _, a, b: a + b.T, lambda _, a, b: a + b.T),
    Layer(
        "images to channels last, 32x64x56",
        ((32, 64, 56, 56),),
        lambda _, x: x.transpose(0, 2, 3, 1) * 1,
        lambda _, x: x.permute(0, 2, 3, 1).contiguous(),
    ),
    Layer("cumsum of rows, 2000", ((2000, 2000),), lambda _, x: x.cumsum(1), lambda _, x: x.cumsum(1)),
    _sparse(8000, 80_000),
    Layer("argmax of rows, 4096x1000", ((4096, 1000),), lambda _, x: x.argmax(1), lambda _, x: x.argmax(1)),
)


def with_texpr(layer: Layer, arrays: list[np.ndarray], threads: int) -> Callable[[], object]:
    """A function of `tx.jit`, or a module."""
    import texpr as tx
    from texpr import nn, ops

    tx.options(threads=threads)
    if layer.weights:
        x, weight = arrays
        parts = [_one(*weight.shape) for _ in range(layer.weights)]
        for each in parts:
            each.weight.data = weight.copy()
        module = nn.Sequential(*parts).eval()
        return lambda: module(x)
    function = tx.jit(lambda *x: layer.texpr(ops, *x))
    return lambda: function(*arrays)


def _one(to: int, channels: int, *taps: int) -> Any:
    """A module of weights that have this shape."""
    from texpr import nn

    if not taps:
        return nn.Linear(channels, to, bias=False)
    kind = nn.Conv2d if len(taps) == 2 else nn.Conv1d
    return kind(channels, to, taps, padding=tuple(t // 2 for t in taps), bias=False)


def with_torch(layer: Layer, arrays: list[np.ndarray], threads: int) -> Callable[[], object]:
    """Eager calls."""
    import torch

    torch.set_num_threads(threads)
    torch.empty(FREED, dtype=torch.uint8)
    arrays = arrays + arrays[1:] * (layer.weights - 1)
    tensors = [torch.from_numpy(a).clone() for a in arrays]  # begin at whole lines, as its own do
    return lambda: layer.torch(torch.nn.functional, *tensors)


LIBRARIES = {"texpr": with_texpr, "torch": with_torch}


def main() -> None:
    """Measure and print a line for each layer."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.layers", description=(__doc__ or "").partition(":")[0]
    )
    parser.add_argument("--library", default="texpr", choices=LIBRARIES)
    parser.add_argument("--only", default="", metavar="TEXT", help="layers that have this in their names")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    for layer in (each for each in LAYERS if options.only in each.name):
        rng = np.random.default_rng(0)
        arrays = [rng.standard_normal(shape).astype(layer.dtype) for shape in layer.shapes]
        seconds = _smallest(LIBRARIES[options.library](layer, arrays, options.threads))
        rate = f"{layer.operations / seconds / 1e9:8.1f} GFLOP/s" if layer.operations else ""
        print(f"{layer.name:66}{1e3 * seconds:9.3f} ms{rate}", flush=True)


def _smallest(call: Callable[[], object]) -> float:
    """Seconds of the fastest of some calls, after one that is not counted."""
    call()
    taken = []
    for _ in range(SAMPLES):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


if __name__ == "__main__":
    main()

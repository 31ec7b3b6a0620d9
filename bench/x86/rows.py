"""What is measured: classes of rows, each with its inputs, its work, and a reference for some of
its results. NumPy only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bench.x86 import reference

Arrays = dict[str, np.ndarray]
LINE = 64
"""Bytes."""
BOUNDS = {"f32": 2e-4, "f64": 1e-11, "bf16": 2e-2, "i8": 0.0}
"""The largest accepted difference from the reference, relative to the largest element, by the
type of the inputs.
"""


@dataclass(frozen=True)
class Row:
    """One case.

    Attributes:
        name: unique in its class.
        kind: what is computed; peers and `operators.tx` know it by this name.
        shapes: of the inputs, by name, in the order of the operator; images are batch, channels,
            height, width.
        outputs: elements of the result.
        flops: additions and multiplications; 0 where memory is the limit.
        dtype: of the inputs: f32, f64, bf16 (as 16-bit patterns), i8.
        constants: what the operator takes after `;`.
        mean: of the numbers in the inputs.
    """

    name: str
    kind: str
    shapes: Mapping[str, tuple[int, ...]]
    outputs: int
    flops: float = 0.0
    dtype: str = "f32"
    constants: Mapping[str, int] = field(default_factory=dict)
    mean: float = 0.0

    def arrays(self) -> Arrays:
        """The inputs, the same in every process. They begin at a line, as arrays of the other
        libraries do: those of NumPy begin where they may, most often 16 bytes behind one, and some
        products take twice as long there.
        """
        random = np.random.default_rng(0)
        return {
            name: _at_a_line(_draw(random, shape, self.dtype, self.mean))
            for name, shape in self.shapes.items()
        }

    def moved(self) -> int:
        """Bytes of inputs and outputs."""
        size = {"f32": 4, "f64": 8, "bf16": 2, "i8": 1}[self.dtype]
        inputs = sum(int(np.prod(shape)) for shape in self.shapes.values())
        return inputs * size + self.outputs * (4 if self.dtype == "i8" else size)

    def error(self, arrays: Arrays, result: np.ndarray) -> float:
        """The largest difference of a result from the reference where that was computed,
        relative to its largest element there.
        """
        exact = {name: widened(a) for name, a in arrays.items()} if self.dtype == "bf16" else arrays
        positions, expected = reference.REFERENCES[self.kind](exact, self.constants)
        found = result.astype("f8")[positions] if result.ndim else result.astype("f8")
        gap = np.max(np.abs(found - expected)) / max(np.max(np.abs(expected)), 1e-30)
        return float("inf") if np.isnan(gap) else float(gap)


def _at_a_line(array: np.ndarray) -> np.ndarray:
    room = np.empty(array.nbytes + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    found = room[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def widened(patterns: np.ndarray) -> np.ndarray:
    """bf16, given as 16-bit patterns, as f32."""
    return (patterns.astype("u4") << 16).view("f4")


def _draw(random: np.random.Generator, shape: tuple[int, ...], dtype: str, mean: float) -> np.ndarray:
    match dtype:
        case "i8":
            return random.integers(-8, 8, shape, "i1")
        case "f64":
            return random.standard_normal(shape)
        case "bf16":
            return (random.standard_normal(shape, "f4").view("u4") >> 16).astype("u2")
    return random.standard_normal(shape, "f4") + np.float32(mean)


@dataclass(frozen=True)
class Class:
    """Rows that are judged together.

    Attributes:
        name: what `--only` takes.
        least: the bar of every ratio to the best peer.
        means: the bars of their geometric mean, with one thread and with two.
        rows: the cases.
    """

    name: str
    least: float
    means: tuple[float, float]
    rows: tuple[Row, ...]

    def bar(self, threads: int) -> float:
        """The bar of the geometric mean."""
        return self.means[min(threads, 2) - 1]


def gemm(name: str, m: int, n: int, k: int, dtype: str = "f32") -> Row:
    """A product of two matrices."""
    return Row(
        name,
        {"bf16": "gemm_bf16", "i8": "gemm_int8"}.get(dtype, "gemm"),
        {"A": (m, k), "B": (k, n)},
        m * n,
        2.0 * m * n * k,
        dtype,
    )


def gemm_batched(name: str, batch: int, m: int, n: int, k: int) -> Row:
    """Products of pairs of matrices."""
    return Row(
        name, "gemm_batched", {"A": (batch, m, k), "B": (batch, k, n)}, batch * m * n, 2.0 * batch * m * n * k
    )


def conv(name: str, batch: int, c: int, size: int, k: int, window: int, stride: int = 1) -> Row:
    """A convolution of square images, padded so that stride 1 keeps their size."""
    pad = window // 2
    out = (size + 2 * pad - window) // stride + 1
    return Row(
        f"{name}, batch {batch}",
        "conv",
        {"X": (batch, c, size, size), "F": (k, c, window, window)},
        batch * k * out * out,
        2.0 * batch * k * out * out * c * window * window,
        constants={"S": stride, "P": pad},
    )


def depthwise(name: str, batch: int, c: int, size: int, stride: int = 1) -> Row:
    """A convolution of every channel with a window of its own."""
    out = (size - 1) // stride + 1
    return Row(
        f"{name}, batch {batch}",
        "depthwise",
        {"X": (batch, c, size, size), "F": (c, 3, 3)},
        batch * c * out * out,
        2.0 * batch * c * out * out * 9,
        constants={"S": stride, "P": 1},
    )


def matrix(kind: str, n: int, d: int, outputs: int, mean: float = 0.0) -> Row:
    """Something of one matrix, limited by memory."""
    return Row(f"{kind} {n}x{d}", kind, {"X": (n, d)}, outputs, mean=mean)


def rowwise(kind: str, n: int, d: int, *vectors: str) -> Row:
    """A matrix of a matrix and vectors along its rows."""
    return Row(f"{kind} {n}x{d}", kind, {"X": (n, d), **dict.fromkeys(vectors, (d,))}, n * d)


def gradient(kind: str, n: int, d: int) -> Row:
    """Gradients of a matrix and of a vector along its rows, of which the first is the result."""
    shapes = {"X": (n, d), "g": (d,), "dY": (n, d)}
    return Row(f"gradient of {kind} {n}x{d}", f"{kind}_gradient", shapes, n * d)


LAYERS: tuple[tuple[str, int, int, int, int, int], ...] = (
    ("7x7/2 3-64, 224", 3, 224, 64, 7, 2),
    ("1x1 64-64, 56", 64, 56, 64, 1, 1),
    ("3x3 64-64, 56", 64, 56, 64, 3, 1),
    ("1x1 64-256, 56", 64, 56, 256, 1, 1),
    ("1x1 256-64, 56", 256, 56, 64, 1, 1),
    ("3x3 128-128, 28", 128, 28, 128, 3, 1),
    ("3x3/2 128-128, 56", 128, 56, 128, 3, 2),
    ("3x3 256-256, 14", 256, 14, 256, 3, 1),
    ("1x1 1024-256, 14", 1024, 14, 256, 1, 1),
    ("3x3 512-512, 7", 512, 7, 512, 3, 1),
)
"""Of ResNet-50: channels in, size, channels out, window, stride."""
CLASSES = (
    Class(
        "gemm",
        0.95,
        (1.05, 1.15),
        (
            *(gemm(f"{n}", n, n, n) for n in (64, 128, 256, 512, 1024, 2048)),
            gemm("1024x1024, k 32", 1024, 1024, 32),
            gemm("1024x32, k 1024", 1024, 32, 1024),
            gemm("32x1024, k 1024", 32, 1024, 1024),
            gemm("1000x999, k 1001", 1000, 999, 1001),
            gemm("128x512, k 784", 128, 512, 784),
            gemm("3136x64, k 576", 3136, 64, 576),
            gemm_batched("64 of 128x128, k 64", 64, 128, 128, 64),
        ),
    ),
    Class(
        "gemv",
        0.9,
        (1.0, 1.0),
        (
            gemm("1x4096, k 4096", 1, 4096, 4096),
            gemm("4096x1, k 4096", 4096, 1, 4096),
            gemm("8x4096, k 4096", 8, 4096, 4096),
        ),
    ),
    Class(
        "gemm-types",
        0.93,
        (1.0, 1.0),
        tuple(
            gemm(f"{dtype} {name}", m, n, k, dtype)
            for dtype in ("f64", "bf16", "i8")
            for name, m, n, k in (
                ("256", 256, 256, 256),
                ("1024", 1024, 1024, 1024),
                ("1000x999, k 1001", 1000, 999, 1001),
            )
        ),
    ),
    Class(
        "conv",
        0.93,
        (1.05, 1.05),
        tuple(conv(*layer[:1], batch, *layer[1:]) for batch in (1, 8) for layer in LAYERS),
    ),
    Class(
        "depthwise",
        0.95,
        (1.2, 1.2),
        tuple(
            depthwise(name, batch, c, 112, s)
            for batch in (1, 8)
            for name, c, s in (("3x3 32, 112", 32, 1), ("3x3/2 96, 112", 96, 2))
        ),
    ),
    Class(
        "rowwise",
        1.0,
        (1.4, 1.4),
        (
            rowwise("softmax", 4096, 1024),
            rowwise("layernorm", 4096, 1024, "g", "b"),
            rowwise("gelu", 4096, 4096, "b"),
            rowwise("gelu_tanh", 4096, 4096, "b"),
            rowwise("bias_relu", 4096, 4096, "b"),
            rowwise("bias_relu", 256, 1024, "b"),
            matrix("transpose", 4096, 4096, 4096 * 4096),
        ),
    ),
    Class("norm", 1.0, (1.2, 1.2), (rowwise("rms_norm", 4096, 1024, "g"), gradient("rms_norm", 4096, 1024))),
    Class(
        "memory",
        0.9,
        (1.0, 1.0),
        (
            matrix("total", 4096, 4096, 1, mean=1.0),
            matrix("row_sums", 4096, 4096, 4096, mean=1.0),
            matrix("column_sums", 4096, 4096, 4096, mean=1.0),
            matrix("blur", 4096, 4096, 4094 * 4094),
        ),
    ),
    Class(
        "attention",
        1.2,
        (1.35, 1.35),
        (
            Row(
                "8 heads of 512x64",
                "attention",
                dict.fromkeys("QKV", (8, 512, 64)),
                8 * 512 * 64,
                4.0 * 8 * 512 * 512 * 64,
            ),
            Row(
                "causal",
                "attention_causal",
                dict.fromkeys("QKV", (8, 512, 64)),
                8 * 512 * 64,
                4.0 * 8 * (512 * 513 // 2) * 64,
            ),
        ),
    ),
    Class("call", 3.0, (3.0, 3.0), (Row("add of 16 floats", "add", dict.fromkeys("AB", (16,)), 16),)),
)
"""All classes, in the order of the report."""

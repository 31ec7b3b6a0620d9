"""Operators of the standard library of NNEF 2.0 beside NumPy, where `TEXPR_SKRIPTND` names its folder."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import texpr as tx

FOLDER = os.environ.get("TEXPR_SKRIPTND", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="TEXPR_SKRIPTND names no standard library of NNEF 2.0")
RANDOM = np.random.default_rng(3)


def real(*shape: int) -> np.ndarray:
    """Numbers between 0.1 and 0.9."""
    return RANDOM.uniform(0.1, 0.9, shape).astype("f4")


def whole(most: int, *shape: int) -> np.ndarray:
    """Whole numbers below one."""
    return RANDOM.integers(0, most, shape)


def truth(*shape: int) -> np.ndarray:
    """Truth values."""
    return RANDOM.integers(0, 2, shape).astype(bool)


def windows(x: np.ndarray, size: int, stride: int, edge: int, outside: float) -> np.ndarray:
    """Windows of the last two dimensions, behind each other in a last one."""
    padded = np.pad(x, [(0, 0), (0, 0), (edge, edge), (edge, edge)], constant_values=outside)
    seen = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))[:, :, ::stride, ::stride]
    return seen.reshape(*seen.shape[:4], -1)


def conv(
    x: np.ndarray, w: np.ndarray, b: np.ndarray, stride: int = 1, edge: int = 0, groups: int = 1
) -> np.ndarray:
    """A convolution, group by group."""
    found = []
    for part, filters in zip(np.split(x, groups, 1), np.split(w, groups)):
        seen = windows(part, w.shape[2], stride, edge, 0.0)
        found.append(np.einsum("bchwk,nck->bnhw", seen, filters.reshape(*filters.shape[:2], -1)))
    return np.concatenate(found, 1) + b[:, None, None]


def spread(x: np.ndarray, w: np.ndarray, b: np.ndarray, stride: int) -> np.ndarray:
    """A transposed convolution."""
    rows, columns = ((n - 1) * stride + w.shape[2] for n in x.shape[2:])
    found = np.zeros((x.shape[0], w.shape[1], rows, columns)) + b[:, None, None]
    for i in range(x.shape[2]):
        for j in range(x.shape[3]):
            at = np.s_[:, :, i * stride : i * stride + w.shape[2], j * stride : j * stride + w.shape[3]]
            found[at] += np.einsum("bc,cnhw->bnhw", x[:, :, i, j], w)
    return found


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """Shares."""
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """The logistic function."""
    return 1 / (1 + np.exp(-x))


def lstm(x: np.ndarray, w: np.ndarray, r: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Gates i, f, g, o."""
    h = c = np.zeros((x.shape[1], r.shape[1]))
    found = []
    for row in x:
        i, f, g, o = np.split(row @ w.T + b + h @ r.T, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        found.append(h)
    return np.array(found), h, c


def norm(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """With mean 0 and variance 1."""
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def resized(x: np.ndarray, size: int) -> np.ndarray:
    """Linear, by pixel centres, the last dimension."""
    at = (np.arange(size) + 0.5) * x.shape[-1] / size - 0.5
    return np.stack([np.interp(at, np.arange(x.shape[-1]), row) for row in x])


erf = np.vectorize(math.erf)
X, Y, P = real(2, 3, 4), real(2, 3, 4), real(1, 4, 6, 6)
Row = tuple[list[np.ndarray | None], dict[str, Any], Callable[..., Any]]
ELEMENTS: dict[str, Callable[..., Any]] = {
    **{
        f"math.{n}": getattr(np, n)
        for n in (
            "exp",
            "log",
            "log2",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "abs",
            "sign",
            "sqrt",
            "floor",
            "ceil",
        )
    },
    **{f"math.a{n}": getattr(np, f"arc{n}") for n in ("sin", "cos", "tan", "sinh", "tanh")},
    "math.neg": np.negative,
    "math.rcp": lambda x: 1 / x,
    "math.sqr": np.square,
    "math.rsqr": lambda x: 1 / (x * x),
    "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "nn.sigmoid": sigmoid,
    "nn.silu": lambda x: x * sigmoid(x),
    "nn.softplus": lambda x: np.log1p(np.exp(x)),
    "nn.erf": erf,
    "nn.gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "nn.elu": lambda x: np.where(x < 0, np.expm1(x), x),
    "nn.relu": lambda x: np.maximum(x, 0),
}
BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "mod": np.mod,
    "min": np.minimum,
    "max": np.maximum,
    "lt": np.less,
    "gt": np.greater,
    "le": np.less_equal,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
CASES: dict[str, Row] = {
    **{
        n: ([X - 0.5 if n in ("math.abs", "math.sign", "nn.relu", "nn.elu") else X], {}, f)
        for n, f in ELEMENTS.items()
    },
    **{f"math.{n}": ([X, Y], {}, f) for n, f in BINARY.items()},
    "math.and": ([truth(3, 4), truth(3, 4)], {}, np.logical_and),
    "math.xor": ([truth(3, 4), truth(3, 4)], {}, np.logical_xor),
    "math.select": ([truth(2, 3, 4), X, Y], {}, np.where),
    "math.clamp": ([X, real(), np.float32(0.8)], {}, lambda x, a, b: np.where(x < a, a, np.minimum(x, b))),
    "math.axpby": ([X, Y, X, Y], {}, lambda a, x, b, y: a * x + b * y),
    "math.sum_reduce": ([X], {"axes": [1]}, lambda x: x.sum(1, keepdims=True)),
    "math.mean_reduce": ([X], {"axes": [0, -1], "squeeze": True}, lambda x: x.mean((0, 2))),
    "math.max_reduce": ([X], {"axes": [2]}, lambda x: x.max(2, keepdims=True)),
    "math.prod_reduce": ([X], {"axes": [0]}, lambda x: x.prod(0, keepdims=True)),
    "math.lp_reduce": ([X], {"axes": [1], "p": 3.0}, lambda x: (x**3).sum(1, keepdims=True) ** (1 / 3)),
    "math.argmax": ([X], {"axis": 1, "squeeze": True}, lambda x: x.argmax(1)),
    "math.argmin": ([X], {"axis": -1}, lambda x: x.argmin(2)[..., None]),
    "math.argmax_nd": (
        [X],
        {"axes": [1, 2], "squeeze": True},
        lambda x: np.stack(np.unravel_index(x.reshape(2, -1).argmax(1), (3, 4)), 1),
    ),
    "math.moments": ([X], {"axes": [2]}, lambda x: (x.mean(2, keepdims=True), x.var(2, keepdims=True))),
    "math.cumsum": ([X], {"axis": 1, "reverse": True}, lambda x: x[:, ::-1].cumsum(1)[:, ::-1]),
    "linalg.matmul": ([X, real(2, 5, 4), None], {"transB": True}, lambda a, b, _: a @ b.swapaxes(1, 2)),
    "linalg.matvec": ([real(3, 4), real(4), None], {}, lambda a, x, _: a @ x),
    "linalg.outer": ([real(3), real(4)], {}, np.multiply.outer),
    "nn.linear": ([real(2, 4), real(3, 4), real(3)], {}, lambda x, w, b: x @ w.T + b),
    "nn.conv": (
        [P, real(3, 4, 3, 3), real(3)],
        {"stride": 2, "padding": 1},
        lambda x, w, b: conv(x, w, b, 2, 1),
    ),
    "nn.deconv": (
        [P, real(4, 2, 3, 3), real(2)],
        {"stride": 2, "padding": 0},
        lambda x, w, b: spread(x, w, b, 2),
    ),
    "nn.max_pool": (
        [P],
        {"size": 3, "stride": 2, "padding": 1, "axes": [2, 3]},
        lambda x: windows(x, 3, 2, 1, -np.inf).max(-1),
    ),
    "nn.avg_pool": (
        [P],
        {"size": 3, "stride": 2, "padding": 1, "axes": [2, 3]},
        lambda x: np.nanmean(windows(x, 3, 2, 1, np.nan), -1),
    ),
    "nn.softmax": ([X], {"axes": [2]}, lambda x: softmax(x, 2)),
    "nn.prelu": ([X - 0.5, real(3)], {}, lambda x, a: np.where(x < 0, a[:, None] * x, x)),
    "nn.batch_norm": (
        [P, *(real(4) for _ in range(4))],
        {},
        lambda x, m, v, b, s: np.moveaxis((np.moveaxis(x, 1, 3) - m) / np.sqrt(v + 1e-5) * s + b, 3, 1),
    ),
    "nn.mean_variance_norm": ([P, None, None], {}, lambda x, *_: norm(x, (2, 3))),
    "nn.l2_norm": ([X], {"axes": [1]}, lambda x: x / np.sqrt((x * x).sum(1, keepdims=True))),
    "nn.lstm": ([real(5, 2, 3), real(8, 3), real(8, 2), real(8)], {}, lstm),
    "layout.reshape": ([X], {"axis": 1, "rank": 2, "shape": [2, 6]}, lambda x: x.reshape(2, 2, 6)),
    "layout.flatten": ([X], {"axis": 1}, lambda x: x.reshape(2, 12)),
    "layout.transpose": ([X], {"perm": [1, 2, 0]}, lambda x: x.transpose(1, 2, 0)),
    "layout.slice": ([X], {"axes": [2], "begin": [3], "end": [0], "stride": [-2]}, lambda x: x[:, :, 3:0:-2]),
    "layout.pad": (
        [X, None],
        {"axes": [2], "padding": [2, 1], "method": "REFLECT"},
        lambda x, _: np.pad(x, [(0, 0), (0, 0), (2, 1)], "reflect"),
    ),
    "layout.tile": ([X], {"axes": [1], "repeats": [2]}, lambda x: np.tile(x, (1, 2, 1))),
    "layout.gather": ([X, whole(3, 2, 2)], {"axis": 1}, lambda x, i: x[:, i]),
    "layout.gather_nd": ([X, whole(2, 5, 2)], {}, lambda x, i: x[i[:, 0], i[:, 1]]),
    "layout.space_to_depth": (
        [P],
        {"block_size": [2, 2]},
        lambda x: x.reshape(1, 4, 3, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 16, 3, 3),
    ),
    "layout.shuffle": ([P], {"axis": 1, "groups": 2}, lambda x: x[:, [0, 2, 1, 3]]),
    "image.nearest_upsample": (
        [P],
        {"axes": [2, 3], "factor": [2, 2]},
        lambda x: x.repeat(2, 2).repeat(2, 3),
    ),
    "image.area_downsample": (
        [P],
        {"axes": [2, 3], "factor": [2, 2]},
        lambda x: windows(x, 2, 2, 0, 0).mean(-1),
    ),
    "image.linear_resize": ([real(3, 4)], {"axes": [1], "size": [7]}, lambda x: resized(x, 7)),
    "image.linear_upsample": ([real(3, 4)], {"axes": [1], "factor": [2]}, lambda x: resized(x, 8)),
}


@pytest.fixture(scope="module")
def library() -> Any:
    """The standard library."""
    return tx.nnef.load_skriptnd(FOLDER)


@pytest.mark.parametrize("name", CASES)
def test_an_operator_is_what_it_should_be(library, name):
    arrays, attributes, expected = CASES[name]
    module, _, last = name.partition(".")
    shapes = [None if a is None else np.shape(a) for a in arrays]
    op = getattr(getattr(library, module), last)(*shapes, **attributes)
    given = [a for a in arrays if a is not None]
    found, wanted = tx.interpret(op, *given), expected(*arrays)
    for f, w in zip(
        found if isinstance(found, tuple) else [found], wanted if isinstance(wanted, tuple) else [wanted]
    ):
        assert np.shape(f) == np.shape(w) and np.allclose(f, w, rtol=1e-5, atol=1e-6)

"""Operations of NNEF beside NumPy, or beside loops that are their definitions."""

from __future__ import annotations

from itertools import product
from math import erf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.nnef.models import folder, graph, run
from tests.profiles import examples
from texpr.nnef.operation_declarations import STANDARD, TRACT, declared
from texpr.nnef.operation_table import OPERATIONS

R = np.random.default_rng(11)
X = np.array([[0.5, -1.5, 2.5], [-0.25, 1.75, 0.9]], "f4")
P = np.abs(X) + 0.1
U = np.clip(X / 3, -0.9, 0.9)
UNARY = {
    "exp": (X, np.exp), "log": (P, np.log), "sin": (X, np.sin), "cos": (X, np.cos), "tan": (U, np.tan),
    "sinh": (X, np.sinh), "cosh": (X, np.cosh), "tanh": (X, np.tanh), "asin": (U, np.arcsin),
    "acos": (U, np.arccos), "atan": (X, np.arctan), "asinh": (X, np.arcsinh), "acosh": (P + 1, np.arccosh),
    "atanh": (U, np.arctanh), "abs": (X, np.abs), "sign": (X, np.sign), "rcp": (P, lambda v: 1 / v),
    "neg": (X, np.negative), "floor": (X, np.floor), "ceil": (X, np.ceil), "sqr": (X, np.square),
    "round": (X, lambda v: np.floor(v + 0.5)), "sqrt": (P, np.sqrt),
    "copy": (X, np.copy),
    "rsqr": (P, lambda v: 1 / (v * v)), "rsqrt": (P, lambda v: 1 / np.sqrt(v)), "log2": (P, np.log2),
    "relu": (X, lambda v: np.maximum(v, 0)), "sigmoid": (X, lambda v: 1 / (1 + np.exp(-v))),
    "softplus": (X, lambda v: np.log1p(np.exp(v))), "silu": (X, lambda v: v / (1 + np.exp(-v))),
    "gelu": (X, lambda v: v * 0.5 * (1 + np.vectorize(erf)(v / np.sqrt(2)))),
    "tract_core_erf": (X, np.vectorize(erf)), "tract_core_round_even": (X, np.rint),
    "tract_core_hard_swish": (X, lambda v: v * np.clip(v / 6 + 0.5, 0, 1)),
    "tract_transformers_silu": (X, lambda v: v / (1 + np.exp(-v))),
    "tract_gelu": (X, lambda v: v * 0.5 * (1 + np.vectorize(erf)(v / np.sqrt(2)))),
}  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power,
    "min": np.minimum, "max": np.maximum, "lt": np.less, "gt": np.greater, "le": np.less_equal,
    "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_elements(tmp_path, name):
    x, f = UNARY[name]
    assert np.allclose(run(tmp_path / "net", f"y = {name}(x);", x=x), f(x.astype("f8")), rtol=2e-6, atol=1e-7)


def test_halves_are_rounded_upwards_and_by_tract_away_from_zero(tmp_path):
    x = np.array(
        [-2.5, -1.5, -0.5, 0.5, 2.5, -0.25, np.nextafter(np.float32(0.5), 0), 8388609, -np.inf], "f4"
    )
    upwards, away = [-2, -1, 0, 1, 3, 0, 0, 8388609, -np.inf], [-3, -2, -1, 1, 3, 0, 0, 8388609, -np.inf]
    assert np.array_equal(run(tmp_path / "net", "y = round(x);", x=x), upwards)
    text = graph("y = round(x);", x=[9]).replace("1.0;", "1.0;\nextension tract_registry tract_core;")
    assert np.array_equal(tx.nnef.load(folder(tmp_path / "tract", text))(x), away)


@pytest.mark.parametrize("name", BINARY)
def test_two_operands(tmp_path, name):
    b = np.array([[1.5], [-0.25]], "f4")
    for body, wanted in (
        (f"y = {name}(x, b);", BINARY[name](P.astype("f8"), b)),
        (f"y = {name}(x, 2.0);", BINARY[name](P.astype("f8"), 2.0)),
        (f"y = {name}(2.0, x);", BINARY[name](2.0, P.astype("f8"))),
    ):
        found = run(tmp_path / body[4:20].replace("/", "_"), body, x=P, b=b)
        assert found.dtype == wanted.dtype or found.dtype == np.float32
        assert np.allclose(found, wanted, rtol=2e-6), body


OTHERS = {
    "y = and(x > 0.0, b > 1.0);": lambda x, b: (x > 0) & (b > 1),
    "y = or(x > 0.0, b > 1.0);": lambda x, b: (x > 0) | (b > 1),
    "y = not(x > 0.0);": lambda x, b: ~(x > 0),
    "y = select(x > 0.0, x, b);": lambda x, b: np.where(x > 0, x, b),
    "y = clamp(x, -1.0, b);": lambda x, b: np.maximum(np.minimum(x, b), -1),
    "y = elu(x, alpha = 0.5);": lambda x, b: np.where(x < 0, 0.5 * np.expm1(x), x),
    "y = selu(x);": lambda x, b: 1.05070102 * np.where(x < 0, 1.67326319 * np.expm1(x), x),
    "y = leaky_relu(x, alpha = 0.2);": lambda x, b: np.where(x < 0, 0.2 * x, x),
    "y = prelu(x, b);": lambda x, b: np.where(x < 0, b * x, x),
    "y = softabs(x, epsilon = 0.1);": lambda x, b: np.sqrt(x * x + 0.1),
    "y = softmax(x);": lambda x, b: np.exp(x) / np.exp(x).sum(1, keepdims=True),
    "y = softmax(x, axes = [0, 1]);": lambda x, b: np.exp(x) / np.exp(x).sum(),
    "y = matmul(x, b, transposeB = true);": lambda x, b: x @ b.T,
    "y = matmul(x, b, transposeA = true);": lambda x, b: x.T @ b,
    "y = linear(x, b);": lambda x, b: x @ b.T,
    "y = linear(x, b, [[1.0, 2.0]]);": lambda x, b: x @ b.T + [1, 2],
    "y = sum_reduce(x, axes = [0]);": lambda x, b: x.sum(0, keepdims=True),
    "y = sum_reduce(x, axes = [0, 1], normalize = true);": lambda x, b: x.mean(keepdims=True),
    "y = mean_reduce(x, axes = [1]);": lambda x, b: x.mean(1, keepdims=True),
    "y = max_reduce(x, axes = [1]);": lambda x, b: x.max(1, keepdims=True),
    "y = min_reduce(x, axes = [1, 0]);": lambda x, b: x.min(keepdims=True),
    "y = argmax_reduce(x, axes = [1]);": lambda x, b: x.argmax(1)[:, None],
    "y = argmin_reduce(x, axes = [0, 1]);": lambda x, b: x.argmin().reshape(1, 1),
    "y = any_reduce(x > 2.0, axes = [1]);": lambda x, b: (x > 2).any(1, keepdims=True),
    "y = all_reduce(x > -1.0, axes = [1]);": lambda x, b: (x > -1).all(1, keepdims=True),
    "m, y = moments(x, axes = [1]);": lambda x, b: x.var(1, keepdims=True),
    "y = reshape(x, shape = [3, 2]);": lambda x, b: x.reshape(3, 2),
    "y = reshape(x, shape = [1, -1], axis_start = 1, axis_count = 1);": lambda x, b: x.reshape(2, 1, 3),
    "y = transpose(x, axes = [1, 0]);": lambda x, b: x.T,
    "y = squeeze(unsqueeze(x, axes = [0, 3]), axes = [3]);": lambda x, b: x[None],
    "y = concat([x, b], axis = 1);": lambda x, b: np.concatenate([x, b], 1),
    "y = stack([x, b], axis = 1);": lambda x, b: np.stack([x, b], 1),
    "[z, y] = unstack(x, axis = 0);": lambda x, b: x[1],
    "[z, y] = split(x, axis = 1, ratios = [2, 1]);": lambda x, b: x[:, 2:],
    "y = slice(x, axes = [1], begin = [1], end = [0]);": lambda x, b: x[:, 1:],
    "y = slice(x, axes = [0, 1], begin = [0, -3], end = [1, -1]);": lambda x, b: x[:1, -3:-1],
    "y = slice(x, axes = [1], begin = [-1], end = [-4], stride = [-1]);": lambda x, b: x[:, ::-1],
    "y = slice(x, axes = [1], begin = [0], end = [3], stride = [2]);": lambda x, b: x[:, ::2],
    "y = tile(x, repeats = [2, 1]);": lambda x, b: np.tile(x, (2, 1)),
    "y = pad(x, padding = [(1, 0), (0, 2)], value = 7.0);": lambda x, b: np.pad(
        x, ((1, 0), (0, 2)), constant_values=7
    ),
    "y = pad(x, padding = [(0, 1), (2, 1)], border = 'replicate');": lambda x, b: np.pad(
        x, ((0, 1), (2, 1)), "edge"
    ),
    "y = pad(x, padding = [(0, 0), (2, 1)], border = 'reflect');": lambda x, b: np.pad(
        x, ((0, 0), (2, 1)), "reflect"
    ),
    "y = pad(x, padding = [(0, 0), (2, 1)], border = 'reflect-even');": lambda x, b: np.pad(
        x, ((0, 0), (2, 1)), "symmetric"
    ),
    "y = pad(x, padding = [(0, 0), (-1, -1)]);": lambda x, b: x[:, 1:-1],
    "y = gather(x, argmax_reduce(b, axes = [0]), axis = 0);": lambda x, b: x[b.argmax(0)[None]],
    "y = cast<integer>(x);": lambda x, b: x.astype(int),
    "y = cast<scalar>(x > 0.0);": lambda x, b: (x > 0).astype("f4"),
    "y = l1_normalization(x, axes = [1], bias = 1.0);": lambda x, b: (
        x / (np.abs(x).sum(1, keepdims=True) + 1)
    ),
    "y = l2_normalization(x, axes = [1], epsilon = 1e-3);": lambda x, b: (
        x / np.sqrt((x * x).sum(1, keepdims=True))
    ),
    "y = linear_quantize(x, -2.0, 3.0, bits = 8);": lambda x, b: (
        np.floor((np.clip(x, -2, 3) + 2) / 5 * 255 + 0.5) / 255 * 5 - 2
    ),
    "y = zero_point_linear_quantize(x, 3, 0.02, bits = 8, signed = true, symmetric = false);": lambda x, b: (
        (np.clip(np.floor(x / 0.02 + 0.5) + 3, -128, 127) - 3) * 0.02
    ),
    "y = min_max_linear_quantize(x, -2.0, 2.0, bits = 4, signed = true, symmetric = true);": lambda x, b: (
        np.floor((np.clip(x, -2, 2) + 2) / 4 * 14 + 0.5) / 14 * 4 - 2
    ),
    "y = logarithmic_quantize(x, 4.0, bits = 4);": lambda x, b: (
        np.sign(x) * 2.0 ** np.round(np.clip(np.log2(np.abs(x)), 2 - 15, 2))
    ),
    "y = tract_core_cast(x, to = 'i32');": lambda x, b: x.astype("i4"),
    "y = tract_core_broadcast(x, shape = [4, 2, 3]);": lambda x, b: np.broadcast_to(x, (4, 2, 3)),
    "y = tract_core_range(0, 5, 2);": lambda x, b: np.arange(0, 5, 2),
    "y = tract_core_is_inf(x / 0.0, detect_negative = false);": lambda x, b: x > 0,
    "y = tract_core_is_nan(sqrt(x));": lambda x, b: x < 0,
    "y = tract_core_xor(x > 0.0, b > 1.0);": lambda x, b: (x > 0) ^ (b > 1),
    "y = tract_core_bitnot(cast<integer>(x));": lambda x, b: ~x.astype(int),
    "y = tract_core_bitand(cast<integer>(x), cast<integer>(b));": lambda x, b: x.astype(int) & b.astype(int),
    "y = tract_core_bitor(cast<integer>(x), cast<integer>(b));": lambda x, b: x.astype(int) | b.astype(int),
    "y = tract_core_bitxor(cast<integer>(x), cast<integer>(b));": lambda x, b: x.astype(int) ^ b.astype(int),
    "y = tract_shl(cast<integer>(b), cast<integer>(b));": lambda x, b: b.astype(int) << b.astype(int),
    "y = tract_shr(cast<integer>(b), cast<integer>(b));": lambda x, b: b.astype(int) >> b.astype(int),
    "y = tract_core_gather(x, [[1, 0], [-1, 0]], axis = 1);": lambda x, b: x[:, [[1, 0], [-1, 0]]],
    "y = tract_core_gather_elements(x, [[1, 0, 0]], axis = 0);": lambda x, b: np.take_along_axis(
        x, np.array([[1, 0, 0]]), 0
    ),
    "y = tract_core_gather_nd(x, [[1, 0], [0, 2]]);": lambda x, b: x[[1, 0], [0, 2]],
    "y = tract_core_scatter_elements(x, [[2], [-3]], [[9.0], [8.0]], axis = 1);": lambda x, b: np.array(
        [[x[0, 0], x[0, 1], 9], [8, x[1, 1], x[1, 2]]]
    ),
    "y = tract_core_one_hot(argmax_reduce(x, axes = [1]), axis = 2, dim = 3, value_off = -1.0);": lambda x, b: (
        np.where(np.arange(3) == x.argmax(1)[:, None, None], 1, -1)
    ),
    "y = tract_core_trilu(x, upper = false, k = 0);": lambda x, b: np.tril(x),
    "y = tract_core_trilu(x > 0.0, upper = true, k = 1);": lambda x, b: np.triu(x > 0, 1),
    "y, i = tract_core_topk(x, k = 2, axis = 1);": lambda x, b: -np.sort(-x, 1)[:, :2],
    "y, i = tract_core_topk(x, k = 1, axis = 0, largest = false);": lambda x, b: np.sort(x, 0)[:1],
    "y = tract_core_product_reduce(x, axes = [1]);": lambda x, b: x.prod(1, keepdims=True),
    "y = tract_core_argmax_reduce_last(x * 0.0, axes = [1]);": lambda x, b: np.full((2, 1), 2),
    "y = tract_core_argmin_reduce_last(x * 0.0, axes = [1]);": lambda x, b: np.full((2, 1), 2),
    "y = tract_core_mean_of_squares_reduce(x, axes = [1]);": lambda x, b: (x * x).mean(1, keepdims=True),
    "y = tract_core_softmax(x, axes = [1]);": lambda x, b: np.exp(x) / np.exp(x).sum(1, keepdims=True),
    "y = tract_core_log_softmax(x, axes = [1]);": lambda x, b: x - np.log(np.exp(x).sum(1, keepdims=True)),
    "y = tract_core_matmul(x, b, transposeB = true, transposeC = true);": lambda x, b: (x @ b.T).T,
    "y = tract_core_einsum([x, b], expr = 'ij,kj->ki');": lambda x, b: b @ x.T,
    "y = tract_transformers_rms_norm(x, axis = 1, eps = 0.1);": lambda x, b: (
        x / np.sqrt((x * x).mean(1, keepdims=True) + 0.1)
    ),
    "y = tract_transformers_gelu_approximate(x);": lambda x, b: (
        x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    ),
    "y = tract_core_resize(x, scales = [1.0, 2.0], interpolator = 'nearest', coord_transformer = 'asymmetric');": lambda x, b: (
        np.repeat(x, 2, 1)
    ),
    "y = tract_core_resize(x, sizes = [2, 5], interpolator = 'linear', coord_transformer = 'align_corners');": lambda x, b: (
        np.array([np.interp(np.linspace(0, 2, 5), np.arange(3), r) for r in x])
    ),
    "y = tract_transformers_sdpa(unsqueeze(x, axes = [0]), unsqueeze(b, axes = [0]), unsqueeze(x, axes = [0]), "
    "scale = 0.5);": lambda x, b: (_soft(0.5 * x @ b.T) @ x)[None],
    "y = tract_transformers_sdpa(unsqueeze(x, axes = [0]), unsqueeze(b, axes = [0]), unsqueeze(x, axes = [0]), "
    "is_causal = true);": lambda x, b: (_soft(x @ b.T / np.sqrt(3) + [[0, -np.inf], [0, 0]]) @ x)[None],
    "y = tract_transformers_sdpa(unsqueeze(x, axes = [0]), unsqueeze(b, axes = [0]), unsqueeze(x, axes = [0]), "
    "mask = [[0.0, 1.0], [2.0, 0.0]]);": lambda x, b: (_soft(x @ b.T / np.sqrt(3) + [[0, 1], [2, 0]]) @ x)[
        None
    ],
}


def _soft(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("body", OTHERS)
def test_what_numpy_says(tmp_path, body):
    b = np.array([[1.5, 0.5, 2.0], [0.25, 3.0, 1.0]], "f4")
    found, wanted = run(tmp_path / "net", body, x=X, b=b), OTHERS[body](X.astype("f8"), b.astype("f8"))
    assert found.shape == np.shape(wanted)
    assert np.allclose(found, wanted, rtol=1e-5, atol=1e-6)  # functions of f32 in a row


WINDOWS = st.fixed_dictionaries(
    {
        "extents": st.tuples(st.integers(3, 7), st.integers(3, 6)),
        "size": st.tuples(st.integers(1, 3), st.integers(1, 3)),
        "stride": st.tuples(st.integers(1, 2), st.integers(1, 3)),
        "dilation": st.tuples(st.integers(1, 2), st.just(1)),
        "padding": st.none() | st.tuples(*[st.tuples(st.integers(0, 1), st.integers(0, 1))] * 2),
        "border": st.sampled_from(["constant", "ignore", "replicate"]),
    }
)


def _paddings(w):
    if w["padding"] is not None:
        return list(w["padding"])
    span = [d * (k - 1) + 1 for d, k in zip(w["dilation"], w["size"])]
    total = [max((-(-n // s) - 1) * s + k - n, 0) for n, s, k in zip(w["extents"], w["stride"], span)]
    return [(t // 2, t - t // 2) for t in total]


def _windows(x, w):
    """For each window its elements: their places in it, their values, and whether they are inside."""
    padding = _paddings(w)
    counts = [
        (n + p + q - (k - 1) * d - 1) // s + 1
        for n, (p, q), k, d, s in zip(w["extents"], padding, w["size"], w["dilation"], w["stride"])
    ]
    for out in product(*map(range, counts)):
        found = []
        for r in product(*map(range, w["size"])):
            at = [
                s * o + d * i - p for s, o, d, i, (p, _) in zip(w["stride"], out, w["dilation"], r, padding)
            ]
            within = all(0 <= a < n for a, n in zip(at, w["extents"]))
            spot = tuple(min(max(a, 0), n - 1) for a, n in zip(at, w["extents"]))
            value = (
                x[..., spot[0], spot[1]] if within or w["border"] == "replicate" else np.zeros(x.shape[:-2])
            )
            found.append((r, value, within))
        yield out, counts, found


def _text(w, rank, axes=2):
    lead = [1] * (rank - axes)
    padding = "" if w["padding"] is None else str([(0, 0)] * len(lead) + list(w["padding"]))
    return (
        f"border = '{w['border']}', stride = {lead + list(w['stride'])}, dilation = {lead + list(w['dilation'])}"
        + (f", padding = {padding}" if padding else "")
    )


def _fits(w):
    return all(
        n + p + q >= (k - 1) * d + 1
        for n, (p, q), k, d in zip(w["extents"], _paddings(w), w["size"], w["dilation"])
    )


@examples(12)
@given(w=WINDOWS.filter(_fits))
def test_pools_are_what_their_windows_hold(tmp_path_factory, w):
    x = R.normal(size=(2, 2, *w["extents"])).astype("f4")
    body = f"size = {[1, 1, *w['size']]}, {_text(w, 4)}"
    text = f"a = max_pool(x, {body}); b = avg_pool(x, {body}); c = box(x, {body}); d, i = max_pool_with_index(x, {body});"
    text += f" e = sample(x, i, {body}); y = stack([a, b, c, d, e], axis = 0);"
    found = run(tmp_path_factory.mktemp("net"), text, x=x)
    for (p, q), _, held in _windows(x, w):
        values = np.stack([v for _, v, _ in held])
        inside = np.array([i for *_, i in held]) | (w["border"] != "ignore")
        if not inside.any():
            continue
        largest = values[inside].max(0)
        assert np.array_equal(found[0, :, :, p, q], largest) and np.array_equal(found[3, :, :, p, q], largest)
        assert np.allclose(found[1, :, :, p, q], values.sum(0) / inside.sum(), atol=1e-6)
        assert np.allclose(found[2, :, :, p, q], values.sum(0), atol=1e-6)
        assert np.array_equal(found[4, :, :, p, q], largest)


@examples(12)
@given(w=WINDOWS.filter(_fits), groups=st.sampled_from([1, 2, 0]))
def test_convolutions_are_sums_over_their_windows(tmp_path_factory, w, groups):
    parts = groups or 4
    x = R.normal(size=(2, 4, *w["extents"])).astype("f4")
    f = R.normal(size=(4, 4 // parts, *w["size"])).astype("f4")
    body = f"y = conv(x, f, [[1.0, 2.0, 3.0, 4.0]], groups = {groups}, {_text(w, 2)});"
    found = run(tmp_path_factory.mktemp("net"), body, x=x, f=f)
    for (p, q), _, held in _windows(x, w):
        wanted = np.arange(1.0, 5.0) + np.zeros((2, 4))
        for (r, s), value, _ in held:
            for k in range(4):
                g = k // (4 // parts)
                wanted[:, k] += value[:, g * 4 // parts : (g + 1) * 4 // parts] @ f[k, :, r, s].astype("f8")
        assert np.allclose(found[:, :, p, q], wanted, atol=1e-5)  # sums of up to 36 products


@examples(10)
@given(w=WINDOWS.filter(_fits).filter(lambda w: w["border"] != "replicate"), groups=st.sampled_from([1, 2]))
def test_deconvolutions_are_convolutions_turned_round(tmp_path_factory, w, groups):
    """<conv(x), z> = <x, deconv(z)> for all x and z; desample and debox alike."""
    x = R.normal(size=(2, 4, *w["extents"])).astype("f4")
    f = R.normal(size=(4, 4 // groups, *w["size"])).astype("f4")
    place, text = tmp_path_factory.mktemp("net"), _text(w, 2)
    z = R.normal(size=run(place, f"y = conv(x, f, groups = {groups}, {text});", x=x, f=f).shape).astype("f4")
    shape = list(x.shape)
    body = f"a = conv(x, f, groups = {groups}, {text}); b = deconv(z, f, groups = {groups}, output_shape = {shape}, {text});"
    body += f" pool = box(x, size = {[1, 1, *w['size']]}, {_text(w, 4)});"
    body += f" unpooled = debox(z, size = {[1, 1, *w['size']]}, output_shape = {shape}, {_text(w, 4)});"
    sums = "[for t in [a * z, b * x, pool * z, unpooled * x] yield sum_reduce(t, axes = [0, 1, 2, 3])]"
    body += f" y = reshape(concat({sums}, axis = 0), shape = [4]);"
    left, right, pooled, unpooled = run(place, body, x=x, f=f, z=z)
    assert np.isclose(left, right, rtol=1e-3, atol=1e-2)  # sums of some thousand products
    assert np.isclose(pooled, unpooled, rtol=1e-3, atol=1e-2)


def test_other_sizes(tmp_path):
    x = R.normal(size=(1, 2, 4, 6)).astype("f4")
    cases = {
        "y = nearest_downsample(x, factor = [2, 3]);": x[:, :, ::2, ::3],
        "y = area_downsample(x, factor = [2, 3]);": x.reshape(1, 2, 2, 2, 2, 3).mean((3, 5)),
        "y = nearest_upsample(x, factor = [2, 3]);": x.repeat(2, 2).repeat(3, 3),
    }
    for method, spots in {
        "symmetric": (np.arange(12) + 0.5) / 2 - 0.5,
        "asymmetric": np.arange(12) / 2,
        "aligned": np.arange(12) * 5 / 11,
    }.items():
        wanted = np.apply_along_axis(lambda r, s=spots: np.interp(s, np.arange(6), r), 3, x)
        cases[f"y = multilinear_upsample(x, factor = [1, 2], method = '{method}');"] = wanted
    for k, (body, wanted) in enumerate(cases.items()):
        assert np.allclose(run(tmp_path / str(k), body, x=x), wanted, atol=1e-6), body


def test_local_normalizations(tmp_path):
    x = R.normal(size=(1, 5, 3, 3)).astype("f4")
    padded = np.pad(x.astype("f8"), ((0, 0), (1, 1), (0, 0), (0, 0)))
    mean = (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / 3
    squares = (padded[:, :-2] ** 2 + padded[:, 1:-1] ** 2 + padded[:, 2:] ** 2) / 3
    cases = {
        "y = local_response_normalization(x, size = [1, 3, 1, 1], alpha = 0.1, beta = 0.75, bias = 2.0);": x
        / (2 + 0.1 * squares) ** 0.75,
        "y = local_mean_normalization(x, size = [1, 3, 1, 1]);": x - mean,
        "y = local_variance_normalization(x, size = [1, 3, 1, 1], bias = 0.5);": x / (np.sqrt(squares) + 0.5),
        "y = rms_pool(x, size = [1, 3, 1, 1]);": np.sqrt(squares),
    }
    for k, (body, wanted) in enumerate(cases.items()):
        assert np.allclose(run(tmp_path / str(k), body, x=x), wanted, atol=1e-5), body


def test_every_operation_is_computed_or_refused():
    refused = {n for n, f in declared(STANDARD).items() if f.body is None and n not in OPERATIONS}
    assert refused == {"external", "variable"}
    assert {n for n, f in declared(TRACT).items() if f.body is None and n not in OPERATIONS} == {
        "tract_core_external"
    }
    assert set(OPERATIONS) <= {*declared(STANDARD), *declared(TRACT)}


def test_numbers_that_integers_cannot_be_make_floats(tmp_path):
    x = np.array([1, 2, 3])
    assert np.array_equal(run(tmp_path / "a", "y = x * 2;", x=x), [2, 4, 6])
    assert np.allclose(run(tmp_path / "b", "y = x * 0.5;", x=x), [0.5, 1, 1.5])
    assert np.array_equal(run(tmp_path / "c", "y = x / 2;", x=x), [0, 1, 1])
    with pytest.raises(tx.CallError, match="powers of integers by tensors"):
        run(tmp_path / "d", "y = x ^ x;", x=x)


SCAN = """version 1.0;
extension tract_registry tract_core;
fragment step(x: tensor<scalar>, b: tensor<scalar>, s: tensor<scalar>) -> (out: tensor<scalar>, total: tensor<scalar>)
{{ total = s + x; out = total * b; }}
graph net(x) -> (y, last) {{
    x = external(shape = [5, 3]);
    zero = constant(shape = [1, 3], value = [0.0]);
    b = constant(shape = [1, 1], value = [2.0]);
    [y, last] = tract_core_scan('step', scan = [('x', x, 0, {pace})], full = [('b', b)], state = [('s', zero, 'total')],
        output = [('out', 'full', 0, {pace}), ('total', 'last', 0, {pace})]);
}}"""


def test_scans_hand_their_states_on_in_both_directions(tmp_path):
    x = R.normal(size=(5, 3)).astype("f4")
    y, last = tx.nnef.load(folder(tmp_path / "up", SCAN.format(pace=1)))(x)
    assert np.allclose(y, 2 * np.cumsum(x, 0), atol=1e-5) and np.allclose(last, x.sum(0)[None], atol=1e-5)
    y, last = tx.nnef.load(folder(tmp_path / "down", SCAN.format(pace=-1)))(x)
    assert np.allclose(y, 2 * np.cumsum(x[::-1], 0)[::-1], atol=1e-5)
    with pytest.raises(tx.CallError, match="tract_core_scan: `x` of 5 by 2: 1 to 4096 steps are read"):
        tx.nnef.load(folder(tmp_path / "none", SCAN.format(pace=2)))(x)


def test_a_triangle_of_a_vector_is_refused(tmp_path):
    with pytest.raises(
        tx.CallError, match="tract_core_trilu: a triangle of a tensor of 1 axes, which needs two"
    ):
        run(tmp_path / "net", "y = tract_core_trilu(x, upper = true, k = 0);", x=X[0])

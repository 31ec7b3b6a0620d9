"""Layers: windows, normalisations of several types, products. The right values are those of ONNX
Runtime 1.32, unless it is said.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from tests.onnx.models import run  # noqa: E402

nan, inf = np.nan, np.inf
F, H, D = np.float32, np.float16, np.float64
X, W = np.array([[[1, 2, 3, 4]]], F), np.array([[[1, 10, 100, 1000]]], F)


@pytest.mark.parametrize(
    ("shape", "auto", "wanted"),
    [
        (7, "NOTSET", [102, 1020, 203, 2030, 304, 3040, 400]),
        (7, "SAME_LOWER", [102, 1020, 203, 2030, 304, 3040, 400]),
        (7, "SAME_UPPER", [10, 102, 1020, 203, 2030, 304, 3040]),
        (9, "NOTSET", [10, 102, 1020, 203, 2030, 304, 3040, 400, 4000]),
        (8, "NOTSET", [10, 102, 1020, 203, 2030, 304, 3040, 400]),
        (10, "NOTSET", [1, 10, 102, 1020, 203, 2030, 304, 3040, 400, 4000]),
    ],
)
def test_the_padding_of_transposed_convolutions_of_given_size(shape, auto, wanted):
    assert run("ConvTranspose", [X, W], 11, strides=[2], output_shape=[shape], auto_pad=auto).tolist() == [
        [wanted]
    ]


def test_convolutions_of_four_axes():
    rng = np.random.default_rng(0)
    x, w, b = (
        rng.normal(size=(1, 4, 3, 4, 3, 2)).astype(F),
        rng.normal(size=(2, 2, 2, 3, 1, 2)).astype(F),
        np.array([1, -1], F),
    )
    y = run("Conv", [x, w, b], 11, group=2, strides=[1, 2, 1, 1], pads=[0, 1, 0, 0, 1, 0, 0, 1])
    padded = np.pad(x.astype(D), [(0, 0), (0, 0), (0, 1), (1, 0), (0, 0), (0, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 3, 1, 2), (2, 3, 4, 5))[:, :, :, ::2]
    wanted = [
        np.einsum("ncabdeijkl,cijkl->nabde", windows[:, 2 * g : 2 * g + 2], w[g]) + b[g] for g in range(2)
    ]
    np.testing.assert_allclose(y, np.stack(wanted, 1), rtol=1e-4, atol=1e-4)  # f32, sums of 24 products


@pytest.mark.parametrize(
    ("x", "pads", "places"),
    [
        (np.array([-inf, -inf, 1], F), [1, 0], [0, 0, 2]),
        (np.array([-128, -128, 1], np.int8), [1, 0], [0, 0, 2]),
        (np.array([0, 0, 1], np.uint8), [1, 0], [0, 0, 2]),
        (np.array([2, 2, 1], H), [0, 1], [0, 1, 2]),
        (np.array([-inf, -inf], D), [1, 1], [0, 0, 1]),
    ],
)
def test_padding_is_no_place(x, pads, places):
    y, found = run("MaxPool", [x.reshape(1, 1, -1)], 12, 2, kernel_shape=[2], pads=pads)
    assert found.tolist() == [[places]] and np.array_equal(y.ravel(), x[places])


def test_places_of_the_largest_by_columns():
    x = np.array([[1, 5, 2], [7, 3, 7]], F).reshape(1, 1, 2, 3)
    for order, places in ((0, [3, 5]), (1, [1, 5])):
        assert (
            run("MaxPool", [x], 12, 2, kernel_shape=[2, 2], storage_order=order)[1].ravel().tolist() == places
        )
    y, places = run(
        "MaxPool", [np.array([[[nan, 1, 2, nan]]], F)], 12, 2, kernel_shape=[2]
    )  # NaN goes on, as in torch
    np.testing.assert_array_equal(y.ravel(), [nan, 2, nan])
    assert places.ravel().tolist() == [0, 2, 3]


def test_the_last_of_several_elements_for_one_place():
    assert run(
        "MaxUnpool", [np.array([[[1, 2, 3]]], F), np.array([[[0, 0, 5]]])], 11, kernel_shape=[2], strides=[2]
    ).tolist() == [[[2, 0, 0, 0, 0, 3]]]


@pytest.mark.parametrize(("t", "u", "v"), [(H, F, F), (H, H, F), (F, H, F), (F, D, D), (H, F, D), (D, F, H)])
def test_batch_normalization_of_several_types(t, u, v):
    """Computed in the widest; ONNX Runtime and the reference where they have the types."""
    variance = 6e4 if v == H else 1e6
    x, statistics = (
        np.full((1, 1, 2), 300, t),
        [np.array([1], u), np.array([0.1], u), np.array([0], v), np.array([variance], v)],
    )
    y = run("BatchNormalization", [x, *statistics], 15)
    assert y.dtype == t
    np.testing.assert_allclose(y.ravel().astype(D), 300 / variance**0.5 + 0.1, rtol=2e-3)
    y, mean, spread = run(
        "BatchNormalization", [x * np.array([1, -1], t), *statistics], 15, 3, training_mode=1
    )
    assert (y.dtype, mean.dtype, spread.dtype) == (t, v, v)
    np.testing.assert_allclose(y.ravel().astype(D), [1.1, -0.9], rtol=2e-3)
    np.testing.assert_allclose(spread, 0.9 * variance + 0.1 * 9e4, rtol=2e-3)


def test_normalizations_of_small_floats_do_not_overflow():
    x = np.array([[300, -400]], H)
    np.testing.assert_allclose(run("LpNormalization", [x], 22, p=2).astype(F), [[0.6, -0.8]], rtol=2e-3)
    np.testing.assert_allclose(run("GlobalLpPool", [x[None]], 7).astype(F), [[[500]]], rtol=2e-3)
    np.testing.assert_allclose(run("LpPool", [x[None]], 18, kernel_shape=[2]).astype(F), [[[500]]], rtol=2e-3)
    np.testing.assert_allclose(
        run("MeanVarianceNormalization", [x.reshape(1, 1, 1, 2)], 13).astype(F), [[[[1, -1]]]], rtol=2e-3
    )


def test_what_layer_normalization_keeps_has_the_type_that_it_says():  # the definition's type U
    for t, stash, kept in ((D, 1, "float32"), (F, 1, "float32"), (H, 1, "float32"), (F, 16, "bfloat16")):
        y, mean, inverse = run(
            "LayerNormalization", [np.array([[1, 3]], t), np.ones(2, t)], 17, 3, stash_type=stash
        )
        assert y.dtype == t and mean.dtype.name == inverse.dtype.name and mean.dtype.name in (kept, "float32")
        assert mean.astype(F) == 2


def test_local_responses_of_even_size():
    """The definition: channels from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2)."""
    x = np.array([1, 2, 3, 4, 5], F).reshape(1, 5, 1)
    for size in (2, 4):
        sums = [
            sum(v * v for v in x.ravel()[max(0, c - (size - 1) // 2) : c + size // 2 + 1]) for c in range(5)
        ]
        y = run("LRN", [x], 13, size=size, alpha=0.5, beta=0.5, bias=2.0)
        np.testing.assert_allclose(
            y.ravel(), [v / (2 + 0.5 / size * s) ** 0.5 for v, s in zip(x.ravel(), sums)], rtol=1e-5
        )


@pytest.mark.parametrize(
    ("alpha", "beta", "wanted"),
    [(0.5, 1.0, [[7, 4]]), (1.0, 2.0, [[15, 8]]), (2.5, 1.5, [[30, 16]]), (2.0, 0.0, [[22, 12]])],
)
def test_scaled_products_of_integers(alpha, beta, wanted):  # the reference
    a, b, c = np.array([[1, 2]]), np.array([[3, 2], [4, 2]]), np.array([2, 1])
    assert run("Gemm", [a, b, c], 13, alpha=alpha, beta=beta).tolist() == wanted


def test_determinants_of_nothing():
    assert run("Det", [np.zeros((2, 0, 0), F)], 11).tolist() == [1, 1] and run(
        "Det", [np.zeros((0, 2, 2), F)], 11
    ).shape == (0,)


@pytest.mark.parametrize("version", [7, 8])
def test_statistics_of_every_element(version):
    rng = np.random.default_rng(0)
    x, (scale, bias, mean, variance) = (
        rng.normal(size=(2, 3, 4)).astype(F),
        rng.uniform(1, 2, (4, 3, 4)).astype(F),
    )
    y = run("BatchNormalization", [x, scale, bias, mean, variance], version, spatial=0)
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(variance + 1e-5) * scale + bias, rtol=1e-4, atol=1e-5)


def test_groups_are_normalized_in_f32():
    """The definition: the mean 300.06 of f16 numbers is kept in f32."""
    x, one = np.array([[[300], [300.25], [300], [300]]], H), np.ones(4, H)
    y, wide = run("GroupNormalization", [x, one, 0 * one], 21, num_groups=1, epsilon=1.0), x.astype(F)
    np.testing.assert_allclose(y, (wide - wide.mean()) / np.sqrt(wide.var() + 1), rtol=2e-3, atol=1e-4)

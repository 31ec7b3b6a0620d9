"""Regions of images and convolutions whose taps move, beside sums written out here and ONNX's own
reference.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

onnx = pytest.importorskip("onnx")

from onnx import helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from tests.onnx.models import run  # noqa: E402

F = np.float32
RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 6, 7)).astype(F)


def reference(op, arrays, version, **attributes):
    names = [f"x{k}" for k in range(len(arrays))]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, arrays)
    ]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **attributes)],
        "g",
        infos,
        [helper.make_tensor_value_info("y", 1, None)],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    return ReferenceEvaluator(made).run(None, dict(zip(names, arrays)))[0]


ROIS = np.array([[0, 0, 6, 5], [1.3, 2.2, 4.1, 4.9], [-3, -2, 9, 8], [2, 2, 2, 2], [20, 20, 30, 30]], F)
IMAGES = np.array([0, 1, 1, 0, 1])


@pytest.mark.parametrize(
    ("mode", "way", "ratio"),
    [
        ("avg", "half_pixel", 0),
        ("avg", "output_half_pixel", 2),
        ("avg", "output_half_pixel", 0),
        ("max", "half_pixel", 2),
        pytest.param("max", "half_pixel", 0, marks=pytest.mark.slow),
    ],
)
def test_regions_are_aligned(mode, way, ratio):
    wishes = dict(output_height=2, output_width=3, sampling_ratio=ratio, spatial_scale=0.75, mode=mode)
    found = run("RoiAlign", [X, ROIS, IMAGES], 16, coordinate_transformation_mode=way, **wishes)
    wanted = reference("RoiAlign", [X, ROIS, IMAGES], 16, coordinate_transformation_mode=way, **wishes)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)  # places are rounded in f32
    if way == "output_half_pixel":  # which version 10 has alone
        assert np.array_equal(run("RoiAlign", [X, ROIS, IMAGES], 10, **wishes), found)


def test_no_regions():
    assert run("RoiAlign", [X, ROIS[:0], IMAGES[:0]], 16, output_height=2).shape == (0, 3, 2, 1)
    with pytest.raises(tx.CallError, match=r"regions \[5, 4\] as \[0, 1\]"):
        run("RoiAlign", [X, ROIS, IMAGES], 16, output_height=0)


def pooled(x, rois, out, scale):
    """Girshick, Fast R-CNN, 2015, region by region."""
    found = np.zeros((len(rois), x.shape[1], *out), x.dtype)
    for r, (image, *corners) in enumerate(rois):
        left, top, right, bottom = (int(np.floor(F(c) * F(scale) + F(0.5))) for c in corners)
        height, width = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for i, j in np.ndindex(*out):
            rows = [top + i * height // out[0], top - (-(i + 1) * height // out[0])]
            columns = [left + j * width // out[1], left - (-(j + 1) * width // out[1])]
            (a, b), (c, d) = np.clip(rows, 0, x.shape[2]), np.clip(columns, 0, x.shape[3])
            if a < b and c < d:
                found[r, :, i, j] = x[int(image), :, a:b, c:d].max((1, 2))
    return found


def test_largest_elements_of_regions():
    rois = np.concatenate([IMAGES[:, None].astype(F), ROIS], 1)
    for out, scale in (((2, 3), 1.0), ((1, 1), 0.5), ((4, 4), 0.7)):
        found = run("MaxRoiPool", [X, rois], 22, pooled_shape=out, spatial_scale=scale)
        assert np.array_equal(found, pooled(X, rois, out, scale))


def deformed(x, w, offset, bias, mask, stride, pad, step, groups, shifts):
    """The sum of Dai et al., 2017, element by element."""
    batch, channels, *image = x.shape
    (kernels, per, *size), count = w.shape, offset.shape[2:]
    offset = offset.reshape(batch, shifts, *size, 2, *count)
    mask = (
        np.ones((batch, shifts, *size, *count))
        if mask is None
        else mask.reshape(batch, shifts, *size, *count)
    )
    y = np.zeros((batch, kernels, *count)) + (0 if bias is None else bias[:, None, None])

    def element(n, c, i, j):
        return x[n, c, i, j] if 0 <= i < image[0] and 0 <= j < image[1] else 0

    for n, k, i, j, c, r, q in np.ndindex(batch, kernels, *count, per, *size):
        channel = k // (kernels // groups) * per + c
        o = channel // (channels // shifts)
        a, b = (s * e - p + d * t for s, e, p, d, t in zip(stride, (i, j), pad, step, (r, q)))
        a, b = (v + offset[n, o, r, q, z, i, j] for z, v in enumerate((a, b)))
        i0, j0 = int(np.floor(a)), int(np.floor(b))
        value = sum(
            (1 - abs(a - i0 - e)) * (1 - abs(b - j0 - f)) * element(n, channel, i0 + e, j0 + f)
            for e in (0, 1)
            for f in (0, 1)
        )
        y[n, k, i, j] += w[k, c, r, q] * value * mask[n, o, r, q, i, j]
    return y


@pytest.mark.parametrize(
    ("groups", "shifts", "more"), [(1, 1, True), (2, 1, False), (1, 2, True), (2, 4, False)]
)
def test_taps_that_move(groups, shifts, more):
    x, w = RNG.standard_normal((1, 4, 5, 6)).astype(F), RNG.standard_normal((2, 4 // groups, 2, 3)).astype(F)
    stride, pad, step = (2, 1), (1, 0), (1, 2)
    count = ((5 + 1 - 2) // 2 + 1, 6 + 1 - 5 + 1)
    offset = (3 * RNG.standard_normal((1, shifts * 12, *count))).astype(F)
    bias, mask = (
        (RNG.standard_normal(2).astype(F), RNG.random((1, shifts * 6, *count)).astype(F))
        if more
        else (None, None)
    )
    found = run(
        "DeformConv",
        [x, w, offset, bias, mask],
        22,
        strides=stride,
        pads=[1, 0, 0, 1],
        dilations=step,
        group=groups,
        offset_group=shifts,
    )
    wanted = deformed(x, w, offset, bias, mask, stride, pad, step, groups, shifts)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)  # sums of 24 products in f32


def test_taps_that_move_far_away_are_nothing():
    x, offset = np.ones((1, 1, 3, 3), F), np.full((1, 2, 3, 3), 1e30, F)
    offset[..., 0, 0], offset[..., 1, 1] = -np.inf, 0
    found = run("DeformConv", [x, np.ones((1, 1, 1, 1), F), offset], 22)
    assert found[0, 0].tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    with pytest.raises(tx.CallError, match="2 of offsets"):
        run("DeformConv", [x, np.ones((1, 1, 1, 1), F), offset], 22, offset_group=2)

"""Convolutions over one axis that exporters write as one over two or three."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from tests.onnx.models import run  # noqa: E402

F, RNG = np.float32, np.random.default_rng(0)


@pytest.mark.parametrize("axis", [2, 3])
@pytest.mark.parametrize("group", [1, 2])
def test_axes_of_one_element_are_left_out(axis, group):
    x, w, b = (RNG.standard_normal(s).astype(F) for s in ((2, 4, 9), (6, 4 // group, 3), (6,)))
    wanted = run("Conv", [x, w, b], group=group, strides=[2], pads=[1, 0], dilations=[2])
    at, pads = axis - 2, [0, 0, 0, 0]
    pads[1 - at] = 1
    strides, dilations = [5, 5], [7, 7]
    strides[1 - at], dilations[1 - at] = 2, 2
    found = run(
        "Conv",
        [np.expand_dims(x, axis), np.expand_dims(w, axis), b],
        group=group, strides=strides, pads=pads, dilations=dilations,
    )  # fmt: skip
    assert found.shape == np.expand_dims(wanted, axis).shape
    np.testing.assert_allclose(found, np.expand_dims(wanted, axis), rtol=1e-5, atol=1e-6)


def test_two_of_three_axes():
    x, w = RNG.standard_normal((1, 3, 1, 8, 1)).astype(F), RNG.standard_normal((2, 3, 1, 3, 1)).astype(F)
    wanted = run("Conv", [x[:, :, 0, :, 0], w[:, :, 0, :, 0]])
    np.testing.assert_allclose(run("Conv", [x, w])[:, :, 0, :, 0], wanted, rtol=1e-5, atol=1e-6)


def test_windows_beside_the_only_element_stay():
    """An axis of one element with zeros around it has several results."""
    x, w = RNG.standard_normal((1, 2, 5, 1)).astype(F), RNG.standard_normal((3, 2, 3, 1)).astype(F)
    y = run("Conv", [x, w], pads=[0, 1, 0, 1])
    assert y.shape == (1, 3, 3, 3) and not y[..., [0, 2]].any()
    np.testing.assert_allclose(y[..., 1], run("Conv", [x[..., 0], w[..., 0]]), rtol=1e-5, atol=1e-6)
    flat = run("Conv", [x[:, :, :1], np.ones((1, 2, 1, 1), F)])  # every axis has one element
    np.testing.assert_allclose(flat.ravel(), x[:, :, :1].sum(1).ravel(), rtol=1e-5)

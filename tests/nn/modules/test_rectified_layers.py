"""Layers with a rectifier behind them, as one kernel."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn

RECTIFIERS = [
    nn.LeakyReLU(0.1),
    nn.ELU(),
    nn.SELU(),
    nn.PReLU(),
    nn.Hardswish(),
    nn.SiLU(),
    nn.Threshold(0.1, 2),
]


@pytest.mark.parametrize("after", RECTIFIERS, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("image", [7, 12])
def test_a_convolution_and_its_rectifier(after, image):
    """The product is computed once, with weights that are packed once, for few and many places."""
    layer = nn.Conv2d(48, 40, 1)
    net = nn.Sequential(layer, after).eval()
    x = np.random.default_rng(0).standard_normal((1, 48, image, image), np.float32)
    expected = after(tx.tensor(np.asarray(layer.eval()(x)))).numpy()
    with tx.profile() as found:
        result = net(x)
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)
    (one,) = found.events
    assert one.launch.operations < 2.5 * 48 * 40 * image**2

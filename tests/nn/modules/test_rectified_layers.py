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
@pytest.mark.parametrize(("to", "image"), [(256, 7), (40, 12)])
def test_a_convolution_and_its_rectifier(after: nn.Module, to: int, image: int):
    """With weights that are packed once, for few places, where rows are lanes and results are turned,
    and for many.
    """
    layer = nn.Conv2d(256, to, 1)
    net = nn.Sequential(layer, after).eval()
    x = np.random.default_rng(0).standard_normal((1, 256, image, image), np.float32)
    expected = after(tx.tensor(np.asarray(layer.eval()(x)))).numpy()
    np.testing.assert_allclose(net(x), expected, rtol=1e-6, atol=1e-6)

"""Gradients where there is no derivative, as compiled and as interpreted."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.ops.kinks import KINKS, Kink
from tests.ops.smooth import as_tuple
from texpr import ops


@pytest.mark.parametrize("kink", KINKS, ids=[f"{k}-{kink.name}" for k, kink in enumerate(KINKS)])
def test_gradient(kink: Kink):
    operator, inputs = getattr(ops, kink.name), kink.arrays().values()
    gradient = tx.grad(operator)
    with np.errstate(all="ignore"):
        seed = np.ones_like(tx.interpret(operator, *inputs, **kink.constants))
        interpreted = as_tuple(tx.interpret(gradient, *inputs, seed, **kink.constants))
    for found in (interpreted, as_tuple(gradient(*inputs, seed, **kink.constants))):
        for g, expected in zip(found, kink.gradients, strict=True):
            np.testing.assert_allclose(g, np.array(expected), rtol=1e-14)

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


@pytest.mark.parametrize(
    "function", [lambda x: x.std(), lambda x: x.std(0), lambda x: x.var(), lambda x: x.std(ddof=1)]
)
def test_deviation_of_equal_elements(function):
    """The methods of tensors, lazily and traced: 0, as the operators have it."""
    for run in (lambda f: f, tx.jit):
        x = tx.tensor(np.ones(4), requires_grad=True)
        run(function)(x).backward()
        assert x.grad.numpy().tolist() == [0, 0, 0, 0]

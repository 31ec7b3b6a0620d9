"""Gradients are programs, so they have gradients."""

from __future__ import annotations

import numpy as np
import pytest

from tests.autodiff import operators
from tests.autodiff.checking import check_gradient
from texpr.autodiff import grad
from texpr.ir.interpret import interpret
from texpr.poly import check_program


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


PROGRAMS = {
    "matmul": (operators.matmul(), [normal(2, 3), normal(3, 2)]),
    "softmax": (operators.softmax(), [normal(2, 3, 2)]),
    "layernorm": (operators.layernorm(), [normal(2, 3), normal(3), normal(3)]),
    "gelu": (operators.gelu(), [normal(4)]),
    "conv2d": (operators.conv2d(2, 1), [normal(1, 1, 4, 4), normal(1, 1, 3, 2), normal(1)]),
    "maxpool": (operators.maxpool(3, 2, 1), [normal(5, 4)]),
    "product": (operators.product(), [normal(2, 3)]),
    "attention": (operators.attention(), [normal(1, 2, 2), normal(1, 3, 2), normal(1, 3, 2)]),
    "cumsum": (operators.cumsum(), [normal(3, 2)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_of_a_gradient(name: str):
    program, arrays = PROGRAMS[name]
    cotangents = [np.random.default_rng(4).normal(size=y.shape) for y in interpret(program, arrays)]
    check_program(check_gradient(grad(program), *arrays, *cotangents))

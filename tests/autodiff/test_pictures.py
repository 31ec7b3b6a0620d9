"""Gradients as text: they read like the formulas in a book."""

from __future__ import annotations

import pytest

from tests.autodiff import operators
from texpr.autodiff import grad, vjp
from texpr.ir.printing.tensor import show_program

PROGRAMS = {
    "matmul": operators.matmul(),
    "softmax": operators.softmax(),
    "logsumexp": operators.logsumexp(),
    "layernorm": operators.layernorm(),
    "relu": operators.relu(),
    "gelu": operators.gelu(),
    "conv2d": operators.conv2d(1, 1),
    "conv2d_stride": operators.conv2d(2, 1),
    "maxpool": operators.maxpool(3, 2, 1),
    "maxpool_tiles": operators.maxpool(2, 2, 0),
    "embedding": operators.embedding(),
    "product": operators.product(),
    "concat": operators.concat(),
    "heat": operators.heat(),
    "upsample": operators.upsample(),
    "attention": operators.attention(),
    "cumsum": operators.cumsum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name: str, golden):
    golden(show_program(grad(PROGRAMS[name])))


@pytest.mark.parametrize("name", ["softmax", "matmul", "relu", "maxpool"])
def test_residuals(name: str, golden):
    forward, backward = vjp(PROGRAMS[name])
    golden(f"{show_program(forward)}\n{show_program(backward)}")

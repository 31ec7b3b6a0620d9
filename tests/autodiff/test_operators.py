"""The gradients of whole operators, against central differences."""

from __future__ import annotations

import numpy as np
import pytest

from tests.autodiff import operators
from tests.autodiff.checking import check_gradient


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def distinct(*shape: int) -> np.ndarray:
    """Values far apart, so that a small step changes no maximum."""
    values = np.arange(np.prod(shape), dtype=float)
    np.random.default_rng(3).shuffle(values)
    return values.reshape(shape) / 10


def test_matmul():
    check_gradient(operators.matmul(), normal(3, 4), normal(4, 2))


@pytest.mark.parametrize(("stride", "pad"), [(1, 0), (1, 1), (2, 0), (2, 1)])
def test_conv2d(stride: int, pad: int):
    check_gradient(operators.conv2d(stride, pad), normal(1, 2, 5, 6), normal(2, 2, 3, 2), normal(2))


def test_softmax():
    check_gradient(operators.softmax(), distinct(2, 4, 3), wrt=["X"])


def test_logsumexp():
    check_gradient(operators.logsumexp(), distinct(3, 4))


def test_layernorm():
    check_gradient(operators.layernorm(), normal(3, 5), normal(5), normal(5) + 1)


def test_gelu():
    check_gradient(operators.gelu(), normal(7))


@pytest.mark.parametrize(("size", "stride", "pad"), [(2, 2, 0), (3, 2, 1), (2, 1, 0), (3, 3, 1)])
def test_maxpool(size: int, stride: int, pad: int):
    check_gradient(operators.maxpool(size, stride, pad), distinct(6, 7))


def test_embedding_adds_up_repeated_indices():
    check_gradient(operators.embedding(), normal(5, 3), np.array([1, 4, 1, 0]))


def test_product_with_zeros():
    x = normal(4, 3)
    x[1, 1] = x[2, 0] = x[2, 2] = 0
    check_gradient(operators.product(), x)


def test_concat():
    check_gradient(operators.concat(), normal(2, 3, 2), normal(2, 4, 2))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_heat_at_the_borders(size: int):
    check_gradient(operators.heat(), normal(size))


def test_attention_calls_softmax():
    check_gradient(operators.attention(), normal(2, 3, 2), normal(2, 4, 2), normal(2, 4, 3)[:, :, :2])


def test_cumsum_is_a_recurrence():
    check_gradient(operators.cumsum(), normal(5, 2))


def test_upsample():
    check_gradient(operators.upsample(), normal(2, 3))

"""The padding of max pooling never wins: values, places and gradients where windows hold -inf
and NaN.
"""

from __future__ import annotations

from itertools import product
from math import inf, nan

import numpy as np
import pytest

import texpr as tx
from texpr import nn

RANDOM = np.random.default_rng(5)


def expected(
    x: np.ndarray, kernel: int, stride: int, padding: int, dilation: int, count: int
) -> tuple[np.ndarray, ...]:
    """Values, places and the gradient of their sum: of each window, the first largest element
    that is inside, or the first NaN.
    """
    rank = x.ndim - 2
    values, places, gradient = (
        np.empty((*x.shape[:2], *[count] * rank)),
        np.zeros((*x.shape[:2], *[count] * rank), int),
        np.zeros(x.shape),
    )
    for n, c in np.ndindex(*x.shape[:2]):
        for y in np.ndindex(*[count] * rank):
            axes = [
                [p for r in range(kernel) if 0 <= (p := stride * at + dilation * r - padding) < x.shape[2]]
                for at in y
            ]
            inside = list(product(*axes))
            best = inside[int(np.argmax([x[(n, c, *p)] for p in inside]))]
            values[(n, c, *y)], places[(n, c, *y)] = x[(n, c, *best)], np.ravel_multi_index(best, x.shape[2:])
            gradient[(n, c, *best)] += 1
    return values, places, gradient


@pytest.mark.parametrize(
    ("rank", "kernel", "stride", "padding", "dilation", "ceil_mode"),
    [
        (1, 2, 2, 1, 1, False),
        (1, 3, 1, 1, 2, False),
        (1, 2, 1, 1, 3, False),
        (1, 4, 3, 2, 1, True),
        (2, 2, 2, 1, 1, False),
        (2, 3, 2, 1, 1, True),
        (2, 2, 1, 1, 2, False),
        (3, 2, 2, 1, 1, True),
    ],
)
def test_padding_never_wins(
    rank: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
):
    shape = (3, 2, *[6] * rank)
    x = RANDOM.choice([-inf, -inf, 0.0, 1.0], size=shape)
    x[0], x[1, :, 0] = -inf, nan
    layer = getattr(nn, f"MaxPool{rank}d")(
        kernel, stride, padding, dilation, return_indices=True, ceil_mode=ceil_mode
    )
    given = tx.tensor(x, requires_grad=True)
    values, places = layer(given)
    values.sum().backward()
    wanted = expected(x, kernel, stride, padding, dilation, values.shape[2])
    for a, b in zip((values, places, given.grad), wanted, strict=True):
        np.testing.assert_array_equal(a.numpy(), b)


def test_what_was_pooled_can_be_put_back():
    """torch: places 0 to 3, and the elements themselves."""
    x = np.full((1, 1, 2, 2), -inf)
    values, places = nn.MaxPool2d(2, 2, 1, return_indices=True)(x)
    assert places.ravel().tolist() == [0, 1, 2, 3]
    assert nn.MaxUnpool2d(2, 2, 1)(values, places).ravel().tolist() == [-inf] * 4
    values, places = tx.ops.maxpool2d_indices(x, PH=1, PW=1)
    assert places.ravel().tolist() == [0, 1, 2, 3] and (values == -inf).all()


def test_windows_that_may_lie_outside():
    """A kernel of 2 with steps of 3 between its elements: at 2 elements, a window has none, and
    no gradient either.
    """
    pool = tx.op(
        "op pool(X: f64[W]) -> Y: f64[W - 1] require W >= 2 { Y[x] = max(q in 0..2: X[x + 3*q - 1 | -inf]) }"
    )
    gradient = tx.grad(pool)
    for x, found in (
        ([-inf] * 5, [1, 1, 2, 0, 0]),
        ([5.0, 6.0], [0, 0]),
        ([-inf, -inf, 3.0, -inf], [1, 1, 1, 0]),
    ):
        for run in (gradient, lambda *a: tx.interpret(gradient, *a)):
            assert run(np.array(x), np.ones(len(x) - 1)).tolist() == found, x
    least = tx.grad(tx.op("op pool(X: f64[W]) -> Y: f64[W] { Y[x] = min(q in 0..3: X[x + q - 1 | inf]) }"))
    assert least(np.full(3, inf), np.ones(3)).tolist() == [2, 1, 0]

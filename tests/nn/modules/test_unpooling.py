"""Places of largest elements, and elements put back there."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn

X = np.random.default_rng(0).normal(size=(2, 3, 9, 8))


class Back(nn.Module):
    """Pools and unpools in one program."""

    def __init__(self) -> None:
        super().__init__()
        self.pool, self.unpool = nn.MaxPool2d(3, 2, 1, return_indices=True), nn.MaxUnpool2d(3, 2, 1)

    def forward(self, x):
        y, places = self.pool(x)
        return self.unpool(y, places, output_size=x.shape)


def test_largest_elements_are_where_the_places_say():
    for layer in (
        nn.MaxPool2d(3, 2, 1, return_indices=True),
        nn.AdaptiveMaxPool2d((4, 3), return_indices=True),
    ):
        y, places = layer(X)
        np.testing.assert_array_equal(
            np.take_along_axis(X.reshape(2, 3, -1), places.reshape(2, 3, -1), 2).reshape(y.shape), y
        )


def test_a_program_that_pools_and_unpools():
    found = Back()(X)
    y = nn.MaxPool2d(3, 2, 1)(X)
    kept = found != 0
    np.testing.assert_array_equal(found[kept], X[kept])
    assert set(found[kept]) == set(y.ravel())


def test_places_outside_are_refused():
    y, places = nn.MaxPool2d(2, return_indices=True)(X[:, :, :8])
    places[1, 2, 0, 3] = 64
    with pytest.raises(tx.CallError, match=r"`x1\[1, 2, 0, 3\]` is 64, expected a value in 0\.\.64"):
        nn.MaxUnpool2d(2)(y, places)
    with pytest.raises(tx.CallError) as caught:
        nn.MaxUnpool2d(2)(y, np.zeros_like(places), output_size=(4, 8))
    assert str(caught.value).startswith(
        "error[arguments]: MaxUnpool2d: output_size is (4, 8), expected within (2, 2) of (8, 8)"
    )
    with pytest.raises(tx.CallError) as caught:
        nn.MaxUnpool2d(2)(y, places[:1])
    assert "the input is [2, 3, 4, 4] and the indices [1, 3, 4, 4]" in str(caught.value)


def test_rare_classes():
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 9, [3, 5], div_value=2.0)
    x = np.random.default_rng(1).normal(size=(4, 8)).astype(np.float32)
    scores = np.stack([layer(x, np.full(4, k)).output for k in range(9)], axis=1)
    np.testing.assert_allclose(np.exp(scores).sum(1), 1, rtol=1e-5)
    with pytest.raises(tx.CallError, match=r"the label y\[2\] is 9, expected 0 to 8"):
        layer(x, np.array([0, 8, 9, 1]))
    with pytest.raises(tx.CallError, match=r"cutoffs is \[5, 3\], expected increasing numbers below 9"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 9, [5, 3])


def test_what_is_not_there_says_why():
    assert not hasattr(nn, "DataParallel") and not hasattr(nn.optim, "swa_utils")
    with pytest.raises(AttributeError, match="texpr.nn.optim has no `swa_utils`: AveragedModel is in"):
        _ = nn.optim.swa_utils
    with pytest.raises(AttributeError, match="texpr.nn has no `Linera`: did you mean `Linear`"):
        _ = nn.Linera

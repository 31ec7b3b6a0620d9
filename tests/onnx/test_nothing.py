"""Operators on tensors and lists without elements. The right values are those of ONNX Runtime
1.32, unless it is said otherwise.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

import texpr as tx  # noqa: E402
from tests.onnx.models import run  # noqa: E402

F = np.float32
NONE, X = np.zeros(0, np.int64), np.arange(6, dtype=F).reshape(2, 3)


def same(found, wanted):
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_no_updates(reduction):
    more = {} if reduction == "none" else {"reduction": reduction}
    same(run("ScatterND", [X, np.zeros((0, 1), int), np.zeros((0, 3), F)], 18, **more), X)
    same(run("ScatterND", [X, np.zeros((0, 2), int), np.zeros(0, F)], 18, **more), X)
    same(run("ScatterElements", [X, np.zeros((0, 3), int), np.zeros((0, 3), F)], 18, **more), X)
    same(
        run("ScatterElements", [X[:0], np.zeros((0, 3), int), np.zeros((0, 3), F)], 18, axis=1, **more), X[:0]
    )


def test_updates_of_everything():
    updates = np.stack([X + 1, -X])
    for reduction, wanted in (("none", -X), ("add", X + 1), ("max", X + 1), ("min", -X)):
        more = {} if reduction == "none" else {"reduction": reduction}
        same(run("ScatterND", [X, np.zeros((2, 0), int), updates], 18, **more), wanted)


@pytest.mark.parametrize(
    ("x", "wanted"), [(F(5), (0, 1)), (F(0), (0, 0)), (np.True_, (0, 1)), (np.zeros((0, 2), F), (2, 0))]
)
def test_places_that_are_not_zero(x, wanted):  # the definition: a scalar has no places, but counts
    same(run("NonZero", [x], 13), np.zeros(wanted, np.int64))


def test_lists_of_axes():
    same(run("Pad", [X, NONE, None, NONE], 18, constants=(1, 3)), X)
    same(run("Squeeze", [X[None], NONE], 13, constants=(1,)), X[None])
    same(run("Slice", [X, NONE, NONE, NONE], 13, constants=(1, 2, 3)), X)
    with pytest.raises(tx.CallError, match="Pad: "):
        run("Pad", [X, np.array([1])], 18, constants=(1,))


def test_nothing_is_chosen():
    for chosen, axis, wanted in (([True, False], 1, (2, 0, 4)), ([True, False, True], None, (0,))):
        more = {} if axis is None else {"axis": axis}
        assert (
            run("Compress", [np.zeros((2, 0, 4), F), np.array(chosen)], 11, constants=(1,), **more).shape
            == wanted
        )
    same(run("Trilu", [X, np.array([1])], 14, constants=(1,)), np.triu(X, 1))  # a list of one


@pytest.mark.parametrize(
    ("count", "size", "aligned"), [(1, (2, 3), 0), (2, (2, 3), 1), (1, (2, 3, 2), 1), (1, (1, 3), 0)]
)
def test_grids_of_a_batch_of_one(count, size, aligned):
    """The formula of the definition; its own body by other operators loses a batch of one."""
    rank = len(size)
    theta = np.random.default_rng(0).normal(size=(count, rank, rank + 1)).astype(F)
    lines = [np.linspace(-1, 1, n) if aligned else (2 * np.arange(n) + 1) / n - 1 for n in size]
    places = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size)], -1)
    y = run("AffineGrid", [theta, np.array([count, 1, *size])], 20, constants=(1,), align_corners=aligned)
    np.testing.assert_allclose(y, np.einsum("nij,...j->n...i", theta, places), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("op", "more"), [("GatherND", []), ("ScatterND", [np.zeros(1, F)])])
def test_points_that_are_known_are_checked(op, more):
    for point, axis in (([0, 3], 1), ([2, 0], 0), ([0, -4], 1)):
        with pytest.raises(tx.CallError, match=f"{op}: a place is outside of .* along axis {axis}"):
            run(op, [X, np.array([point]), *more], 13, constants=(1,))
    assert run(op, [X, np.array([[-2, -3]]), *more], 13, constants=(1,)).ravel()[0] == 0


def test_updates_that_reach_beyond_the_end():
    past, update = np.zeros((2, 4, 1), F), np.ones((2, 2, 1), F)
    with pytest.raises(tx.CallError, match=r"TensorScatter: 2 elements from \[0, 3\] on of an axis of 4"):
        run("TensorScatter", [past, update, np.array([0, 3])], 24, constants=(2,))
    y = run("TensorScatter", [past, update, np.array([0, 3])], 24, constants=(2,), mode="circular")
    assert y[..., 0].tolist() == [[1, 1, 0, 0], [1, 0, 0, 1]]

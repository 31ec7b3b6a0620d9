"""NumPy's functions of samples on tensors: NumPy's values, shapes and dtypes, and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

R = np.random.default_rng(1)
ROW, GRID, CUBE = (R.standard_normal(s).astype("f4") for s in ((6,), (4, 5), (3, 4, 5)))
PLACES, VALUES = np.sort(R.standard_normal(5)), R.standard_normal(5)
UNEVEN = np.array([0, 1, 2.5, 3, 7])
CALLS = {
    **{
        f"{f.__name__} {n} {m} {mode}": (lambda a, b, c, f=f, n=n, m=m, mode=mode: f(a[:n], a[-m:], mode))
        for f in (np.convolve, np.correlate)
        for n, m in ((6, 3), (2, 4))
        for mode in ("full", "same", "valid")
    },
    "interp": lambda a, b, c: np.interp(3 * b, PLACES, VALUES),
    "interp, other ends": lambda a, b, c: np.interp(3 * a, PLACES, VALUES, left=-1.0, right=9.0),
    "interp of values": lambda a, b, c: np.interp(VALUES, np.arange(6) - 3, a),
    "gradient of all axes": lambda a, b, c: np.stack(np.gradient(b)),
    "gradient of some axes": lambda a, b, c: np.stack(np.gradient(c, 0.5, axis=(2, 0))),
    "gradient with distances": lambda a, b, c: np.stack(np.gradient(b, 0.5, 2.0, edge_order=2)),
    "gradient at places": lambda a, b, c: np.gradient(b, UNEVEN, axis=1),
    "gradient at places, second order": lambda a, b, c: np.gradient(c, UNEVEN, axis=-1, edge_order=2),
    "unwrap": lambda a, b, c: np.unwrap(4 * b),
    "unwrap another axis": lambda a, b, c: np.unwrap(4 * b, 4.0, axis=0, period=5.0),
    "insert a number": lambda a, b, c: np.insert(a, 2, 1.0),
    "insert at several": lambda a, b, c: np.insert(a, [1, 1, 3], [5.0, 6.0, 7.0]),
    "insert a row": lambda a, b, c: np.insert(b, 1, b[0], axis=0),
    "insert columns": lambda a, b, c: np.insert(b, [1, 2], b[:, :2], axis=1),
    "insert a column": lambda a, b, c: np.insert(b, 1, 5, axis=1),
    "insert at a slice": lambda a, b, c: np.insert(a, slice(0, 3), 7.0),
    "insert several columns before one": lambda a, b, c: np.insert(b, 1, [[7.0], [8.0]], axis=1),
    "insert a part of a list of one": lambda a, b, c: np.insert(b, [1], b[:, 2:4], axis=1),
    "insert by a mask": lambda a, b, c: np.insert(b, np.array([True, False, False, True]), 7.0, axis=0),
    "insert nothing": lambda a, b, c: np.insert(b, [], 7.0, axis=0),
    "delete several": lambda a, b, c: np.delete(b, [0, -1], axis=1),
    "delete by a mask": lambda a, b, c: np.delete(b, [True, False, False, True], axis=0),
    "vander, increasing": lambda a, b, c: np.vander(a, 3, increasing=True),
}


def by_differences(call, arrays, k):
    """The gradient of a number in one of the arrays."""
    found = np.zeros_like(arrays[k])
    for at in np.ndindex(*found.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = [y.copy() for y in arrays]
            moved[k][at] += step
            ends.append(call(*moved))
        found[at] = (ends[0] - ends[1]) / 2e-6
    return found


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name):
    arrays = [x.astype("f8") for x in (ROW, GRID, CUBE)]
    call = CALLS[name]
    expected = call(*arrays)
    leaves = [tx.tensor(x, requires_grad=True) for x in arrays]
    found = call(*leaves)
    assert isinstance(found, tx.Tensor)
    assert (found.shape, found.detach().numpy().dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12, atol=1e-12)
    weights = np.random.default_rng(0).standard_normal(expected.shape)
    (found * weights).sum().backward()
    for k, leaf in enumerate(leaves):
        if leaf.grad is not None:
            g = by_differences(lambda *given: (call(*given) * weights).sum(), arrays, k)
            np.testing.assert_allclose(leaf.grad.numpy(), g, atol=1e-6)


def test_places_may_be_a_tensor():
    x, places = tx.tensor(ROW), np.array([0, 3])
    for call in (np.delete, lambda y, at: np.insert(y, at, 1.0)):
        np.testing.assert_array_equal(call(x, tx.tensor(places)), call(ROW, places))
    np.testing.assert_array_equal(np.delete(ROW, tx.tensor(places)), np.delete(ROW, places))


@pytest.mark.parametrize("values", [np.ones((5, 2)), np.ones((1, 1, 1))])
def test_values_that_do_not_fit_are_refused(values):
    with pytest.raises(ValueError):
        np.insert(tx.tensor(GRID), [0, 1, 2], values, axis=1)


@pytest.mark.parametrize("call", (lambda x: np.convolve(x, [1, 2], "same"), np.gradient, np.vander))
@pytest.mark.parametrize("dtype", ("f4", "i4"))
def test_dtypes_are_numpys(call, dtype):
    x = np.arange(4, dtype=dtype)
    found = call(tx.tensor(x)).numpy()
    assert found.dtype == call(x).dtype and found.tolist() == call(x).tolist()


def test_interp_has_finite_gradients_where_points_lie_at_zero():
    f = tx.tensor([1.0, 2.0, 3.0], requires_grad=True)
    np.interp(np.array([-9.0, 9.0, 0.0, np.nan]), [-1.0, 0.0, 0.0], f)[:3].sum().backward()
    assert f.grad is not None and f.grad.tolist() == [1, 0, 2]


@pytest.mark.parametrize("bins", ([-1, 0, 0.5, 2], [0, 0, 1]))
def test_histogram_of_tensors_that_require_gradients(bins):
    found, edges = np.histogram(tx.tensor(GRID, requires_grad=True), bins)
    expected, ends = np.histogram(GRID, bins)
    assert isinstance(found, tx.Tensor) and found.tolist() == expected.tolist()
    np.testing.assert_array_equal(edges, ends)


@pytest.mark.parametrize("kth", (0, 2, [1, 3]))
def test_partition_is_one_of_those_that_numpy_allows(kth):
    x = tx.tensor(GRID)
    found, order = np.partition(x, kth).numpy(), np.argpartition(x, kth).numpy()
    for k in np.atleast_1d(kth):
        np.testing.assert_array_equal(found[:, k], np.sort(GRID)[:, k])
        assert (found[:, :k] <= found[:, k : k + 1]).all() and (found[:, k:] >= found[:, k : k + 1]).all()
    np.testing.assert_array_equal(np.take_along_axis(GRID, order, -1), found)

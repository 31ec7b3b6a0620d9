"""NumPy's functions called on tensors: operators that pass gradients on, or NumPy's own where no
gradient is lost.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

A, B, V, C = (np.random.default_rng(3).standard_normal(s) for s in ((3, 4), (4, 3), (4,), (2, 3, 4)))
CALLS = {
    "where": lambda a, b, v, c: np.where(a > 0, a, 2.0),
    "where of numbers": lambda a, b, v, c: np.where(v > 0, v, 0) * v,
    "concatenate": lambda a, b, v, c: np.concatenate([a, b.T, a], axis=1),
    "concatenate, the last axis": lambda a, b, v, c: np.concatenate((c, c * 2), axis=-1),
    "concatenate in a line": lambda a, b, v, c: np.concatenate([a, v, c], axis=None),
    "concatenate one": lambda a, b, v, c: np.concatenate([a]),
    "concatenate with an array": lambda a, b, v, c: np.concatenate([A, a, np.ones((1, 4), np.float32)]),
    "stack": lambda a, b, v, c: np.stack([a, b.T], axis=1),
    "stack, the last axis": lambda a, b, v, c: np.stack([v, v], -1),
    "stack one": lambda a, b, v, c: np.stack([v]),
    "vstack": lambda a, b, v, c: np.vstack([a, v]),
    "hstack": lambda a, b, v, c: np.hstack([a, b.T]),
    "hstack of rows": lambda a, b, v, c: np.hstack([v, v * 3]),
    "dot of rows": lambda a, b, v, c: np.dot(v, v) * v,
    "dot of matrices": lambda a, b, v, c: np.dot(a, b),
    "dot with a row": lambda a, b, v, c: np.dot(c, v),
    "dot with more axes": lambda a, b, v, c: np.dot(a, c.transpose(0, 2, 1)),
    "dot with a number": lambda a, b, v, c: np.dot(a, 3.0),
    "inner": lambda a, b, v, c: np.inner(c, a),
    "outer": lambda a, b, v, c: np.outer(a, v),
    "tensordot": lambda a, b, v, c: np.tensordot(c, b, axes=([2, 1], [0, 1])),
    "tensordot of one axis": lambda a, b, v, c: np.tensordot(c, b, axes=1),
    "tensordot of nothing": lambda a, b, v, c: np.tensordot(v, v, axes=0),
    "einsum": lambda a, b, v, c: np.einsum("nij,jk,j->nik", c, b, v),
    "norm": lambda a, b, v, c: np.linalg.norm(a) * a,
    "norm of rows": lambda a, b, v, c: np.linalg.norm(a, axis=1, keepdims=True),
    "moveaxis": lambda a, b, v, c: np.moveaxis(c, 0, -1),
    "moveaxis of two": lambda a, b, v, c: np.moveaxis(c, [0, 1], [2, 0]),
    "flip": lambda a, b, v, c: np.flip(c, (0, 2)),
    "flip of all": lambda a, b, v, c: np.flip(a),
    "take": lambda a, b, v, c: np.take(c, [2, 0, 2], axis=1),
    "take in a line": lambda a, b, v, c: np.take(a, [5, 0]),
    "diff": lambda a, b, v, c: np.diff(a, axis=0),
    "diff twice": lambda a, b, v, c: np.diff(c, 2),
    "sort": lambda a, b, v, c: np.sort(a, axis=0) * a,
    "sort in a line": lambda a, b, v, c: np.sort(a, axis=None),
    "pad": lambda a, b, v, c: np.pad(a, ((1, 2), (0, 1)), constant_values=((3, 4), (5, 6))),
    "pad edge": lambda a, b, v, c: np.pad(a, 2, "edge"),
    "pad reflect": lambda a, b, v, c: np.pad(a, 2, "reflect"),
    "pad symmetric": lambda a, b, v, c: np.pad(a, (1, 0), mode="symmetric"),
    "pad wrap": lambda a, b, v, c: np.pad(v, 5, mode="wrap"),
    "tile": lambda a, b, v, c: np.tile(a, (2, 1, 3)),
    "repeat": lambda a, b, v, c: np.repeat(c, 2, axis=1),
    "repeat each as often": lambda a, b, v, c: np.repeat(a, [1, 0, 2], axis=0),
    "roll": lambda a, b, v, c: np.roll(c, (1, -2), axis=(0, 2)),
    "roll in a line": lambda a, b, v, c: np.roll(a, 5),
    "rot90": lambda a, b, v, c: np.rot90(c, 3, (1, 2)),
    "median": lambda a, b, v, c: np.median(a, axis=1),
    "quantile": lambda a, b, v, c: np.quantile(a, [0.1, 0.9], axis=0, keepdims=True),
    "percentile": lambda a, b, v, c: np.percentile(a, 30),
    "take_along_axis": lambda a, b, v, c: np.take_along_axis(a, np.array([[2, 0], [1, 1], [3, 3]]), axis=1),
    "split": lambda a, b, v, c: np.split(a, [1, 3], axis=1)[1],
    "array_split": lambda a, b, v, c: np.array_split(v, 3)[0],
    "broadcast_arrays": lambda a, b, v, c: np.broadcast_arrays(a, v)[1],
    "meshgrid": lambda a, b, v, c: np.meshgrid(v, v[:2], indexing="ij")[0],
    "kron": lambda a, b, v, c: np.kron(a, v),
    "cross": lambda a, b, v, c: np.cross(b, np.flip(b)),
    "triu": lambda a, b, v, c: np.triu(c, 1),
    "diag": lambda a, b, v, c: np.diag(v, -1),
    "diagonal": lambda a, b, v, c: np.diagonal(c, 1, 1, 2),
    "trace": lambda a, b, v, c: np.trace(a) * v,
    "average": lambda a, b, v, c: np.average(a, axis=1, weights=np.arange(1.0, 5)),
    "average by weights with gradients": lambda a, b, v, c: np.average(a, axis=1, weights=v * v + 1),
    "cov": lambda a, b, v, c: np.cov(a),
    "corrcoef": lambda a, b, v, c: np.corrcoef(a),
    "nansum": lambda a, b, v, c: np.nansum(a, axis=0),
    "nanvar": lambda a, b, v, c: np.nanvar(a, axis=0, ddof=1),
    "nanmax": lambda a, b, v, c: np.nanmax(a, axis=0),
    "ptp": lambda a, b, v, c: np.ptp(a, axis=1),
    "trapezoid": lambda a, b, v, c: np.trapezoid(a, dx=0.5, axis=0),
    "diff with ends": lambda a, b, v, c: np.diff(a, prepend=0.0, append=a[:, :1]),
    "select": lambda a, b, v, c: np.select([a > 1, a > 0], [a, a * 2], a * 3),
    "vector_norm": lambda a, b, v, c: np.linalg.vector_norm(a, axis=0, ord=3),
    "matrix_power": lambda a, b, v, c: np.linalg.matrix_power(b[:3], 3),
    "polyval": lambda a, b, v, c: np.polyval(v, a),
    "add.reduce": lambda a, b, v, c: np.add.reduce(c, axis=1),
    "maximum.accumulate": lambda a, b, v, c: np.maximum.accumulate(a, axis=1),
    "minimum.accumulate": lambda a, b, v, c: np.minimum.accumulate(a),
    "multiply.outer": lambda a, b, v, c: np.multiply.outer(a, v),
    "hypot": lambda a, b, v, c: np.hypot(a, b.T),
    "logaddexp": lambda a, b, v, c: np.logaddexp(a, b.T),
    "fmod": lambda a, b, v, c: np.fmod(a, 0.75),
    "arctan": lambda a, b, v, c: np.arctan(a),
    "cbrt": lambda a, b, v, c: np.cbrt(a),
    "copysign": lambda a, b, v, c: np.copysign(a, b.T),
    "sum": lambda a, b, v, c: np.sum(c, axis=(0, 2), keepdims=True),
    "mean": lambda a, b, v, c: np.mean(a, 0),
    "amax": lambda a, b, v, c: np.amax(a, axis=1),
    "clip by names": lambda a, b, v, c: np.clip(a, a_min=-0.5, a_max=0.5),
    "reshape by names": lambda a, b, v, c: np.reshape(a, shape=(2, -1)),
    "transpose by names": lambda a, b, v, c: np.transpose(c, axes=(2, 0, 1)),
    "swapaxes by names": lambda a, b, v, c: np.swapaxes(c, axis1=0, axis2=2),
    "squeeze": lambda a, b, v, c: np.squeeze(np.expand_dims(a, 1), axis=1),
    "expand_dims": lambda a, b, v, c: np.expand_dims(a, (0, -1)),
    "broadcast_to": lambda a, b, v, c: np.broadcast_to(v, shape=(2, 4)),
    "clip": lambda a, b, v, c: np.clip(a, -0.5, 0.5),
    "ravel": lambda a, b, v, c: np.ravel(a),
    "reshape": lambda a, b, v, c: np.reshape(a, (2, -1)),
    "transpose": lambda a, b, v, c: np.transpose(c, (2, 0, 1)),
    "cumsum": lambda a, b, v, c: np.cumsum(a, axis=1),
    "var": lambda a, b, v, c: np.var(a, axis=0, ddof=1),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name: str):
    """The values are NumPy's; the gradient along a direction is that of differences; captured,
    it has the same values.
    """
    f, given = CALLS[name], (A, B, V, C)
    tensors = [tx.tensor(x, requires_grad=True) for x in given]
    found = f(*tensors)
    assert isinstance(found, tx.Tensor) and found.requires_grad
    np.testing.assert_allclose(np.asarray(found), f(*given), rtol=1e-12)
    captured = tx.jit(f)(*(x.detach() for x in tensors))
    np.testing.assert_allclose(np.asarray(captured), np.asarray(found), rtol=1e-12)
    (found * found).sum().backward()
    steps = [np.sin(np.arange(x.size)).reshape(x.shape) for x in given]
    up, down = (np.sum(np.square(f(*(x + e * s for x, s in zip(given, steps))))) for e in (1e-6, -1e-6))
    derived = sum(float(np.sum(t.grad.numpy() * s)) for t, s in zip(tensors, steps) if t.grad is not None)
    np.testing.assert_allclose(derived, (up - down) / 2e-6, rtol=1e-6, atol=1e-6)


LEFT = {
    "another norm": lambda x: np.linalg.norm(x, 1),
    "a norm of a matrix": lambda x: np.linalg.norm(x, "nuc"),
    "a norm of rows": lambda x: np.linalg.norm(x, np.inf, axis=1),
    "no differences": lambda x: np.diff(x, 0),
    "a dtype": lambda x: np.concatenate([x, x], dtype="f4"),
    "places that wrap": lambda x: np.take(x, [5, 1], mode="wrap"),
    "no axes": lambda x: np.flip(x, ()),
}


@pytest.mark.parametrize("function", LEFT.values(), ids=LEFT)
def test_arguments_without_an_operator_are_left_to_numpy(function):
    np.testing.assert_array_equal(np.asarray(function(tx.tensor(A))), function(A))


@pytest.mark.parametrize(
    "function",
    [lambda x: np.linalg.norm(x, "bad"), lambda x: np.linalg.norm(x, axis=()), lambda x: np.diff(x, -1)],
)
def test_what_numpy_refuses(function):
    with pytest.raises(ValueError, match=r".") as e:
        function(A)
    with pytest.raises(type(e.value), match=r"."):
        function(tx.tensor(A))


@pytest.mark.parametrize("function", [np.linalg.inv, np.linalg.pinv, lambda x: np.pad(x, 1, "mean")])
def test_gradients_are_not_lost(function):
    x = tx.tensor(A[:3, :3], requires_grad=True)
    with pytest.raises(
        tx.CallError,
        match="of a tensor that requires a gradient: NumPy computes on the values, and none would flow",
    ):
        function(x)
    np.testing.assert_array_equal(function(x.detach()), function(A[:3, :3]))
    with tx.no_grad():
        function(x)


def test_the_whole_complaint():
    with pytest.raises(tx.CallError) as e:
        np.linalg.inv(tx.tensor([[1.0]], requires_grad=True))
    assert (
        str(e.value)
        == """\
error[gradient]: numpy.linalg.inv of a tensor that requires a gradient: NumPy computes on the values, and none would flow
  help: numpy.linalg.inv(x.detach()) for the values, or an operator of texpr.ops"""
    )


def test_parameters():
    layer = tx.nn.Linear(3, 2)
    (np.concatenate([layer.weight, layer.weight * 2]) ** 2).sum().backward()
    np.testing.assert_allclose(np.asarray(layer.weight.grad), 10 * np.asarray(layer.weight), rtol=1e-5)
    assert type(np.copy(layer.weight)) is np.ndarray
    with pytest.raises(tx.CallError, match="requires a gradient"):
        np.linalg.svd(layer.weight)


def test_values_that_need_no_gradient():
    x = tx.tensor(A, requires_grad=True)
    assert (
        np.allclose(x, A)
        and np.array_equal(x, A)
        and np.shape(x) == (3, 4)
        and np.ndim(x) == 2
        and np.size(x) == 12
    )
    assert not np.zeros_like(x).requires_grad and np.argsort(x).shape == (3, 4) and np.count_nonzero(x) == 12
    np.testing.assert_allclose(x, A)


BOOLS, BYTES = np.array([[True, False], [True, True]]), np.arange(6, dtype="i1").reshape(2, 3)
CUBE, LINE = np.arange(24.0).reshape(2, 3, 4), np.arange(4.0)
ODD = {
    "an extent of 1 is not repeated": lambda f: np.dot(f(np.ones(1)), f(np.ones((2, 3, 4)))),
    "an axis that is not there": lambda f: np.tensordot(f(CUBE), f(CUBE), axes=([1], [5])),
    "an axis twice": lambda f: np.tensordot(f(CUBE), f(CUBE), axes=((0, 0), (0, 0))),
    "more axes than there are": lambda f: np.tensordot(f(LINE), f(LINE), axes=2),
    "a place behind the last": lambda f: np.moveaxis(f(CUBE), 0, 5),
    "two axes to one place": lambda f: np.moveaxis(f(CUBE), [0, 1], [1, 1]),
    "two axes change places": lambda f: np.moveaxis(f(CUBE), [0, -1], [-1, 0]),
    "truth as places": lambda f: np.take(f(CUBE), [True, False], 0),
    "a place": lambda f: np.take(f(CUBE), 1, 0),
    "places in a tensor": lambda f: np.take(f(CUBE), f(np.array([0, 1])), 1),
    "stack along nothing": lambda f: np.stack([f(np.array(1.0)), f(np.array(2.0))], axis=None),
    "a number and bytes": lambda f: np.dot(100, f(BYTES)),
    "a number and f32": lambda f: np.dot(f(CUBE.astype("f4")), 2.5),
    "two numbers": lambda f: np.where(f(BOOLS), 1.0, 2),
    "f32 and a number": lambda f: np.where(f(BOOLS), f(np.ones((2, 2), "f4")), 2),
    "einsum of lists": lambda f: np.einsum(f(CUBE[0]), [0, 1], f(CUBE[0]), [0, 2]),
    "inner of truth": lambda f: np.inner(f(BOOLS), f(BOOLS)),
    "einsum of truth": lambda f: np.einsum("ij,jk", f(BOOLS), f(BOOLS)),
    "differences of truth": lambda f: np.diff(f(BOOLS)),
    "truth and bytes": lambda f: np.concatenate([f(BOOLS), f(np.ones((1, 2), "i1"))]),
    "nothing and something": lambda f: np.concatenate([f(np.ones((0, 2))), f(np.ones((1, 2)))]),
    "a norm of bytes": lambda f: np.linalg.norm(f(BYTES)),
    "a norm of two axes": lambda f: np.linalg.norm(f(CUBE), axis=(0, 2)),
}


@pytest.mark.parametrize("function", ODD.values(), ids=ODD)
def test_values_dtypes_and_errors_are_those_of_numpy(function):
    try:
        expected = function(lambda x: x)
    except Exception as error:  # whatever NumPy says
        with pytest.raises(type(error), match=r"."):
            function(tx.tensor)
    else:
        found = np.asarray(function(tx.tensor))
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("name", ["exp", "negative", "sqrt", "isfinite", "absolute"])
def test_universal_functions_of_parameters(name: str):
    p = tx.nn.Parameter(np.array([1.0, 2.0]))
    found = getattr(np, name)(p)
    assert isinstance(found, tx.Tensor) and found.requires_grad == found.dtype.is_float
    np.testing.assert_allclose(found.numpy(), getattr(np, name)(p.numpy()))


@pytest.mark.parametrize("name", ["add", "maximum", "arctan2", "power", "greater", "multiply", "divmod"])
def test_universal_functions_of_parameters_and_arrays(name: str):
    p, a = tx.nn.Parameter(np.array([1.0, 2.0])), np.array([2.0, 0.5])
    for given in ((p, p), (a, p), (p, a)):
        found = getattr(np, name)(*given)
        expected = getattr(np, name)(*(np.asarray(g) for g in given))
        for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, expected))):
            assert isinstance(x, tx.Tensor)
            np.testing.assert_allclose(x.numpy(), y)


def test_a_parameter_in_a_universal_function_is_trained_and_read_by_every_call():
    p = tx.nn.Parameter(np.ones(3))
    np.exp(p).sum().backward()
    np.testing.assert_allclose(p.grad.numpy(), np.e)
    f = tx.jit(lambda x: x * np.exp(p))
    np.testing.assert_allclose(f(np.ones(3)), np.e)
    p.data = np.zeros(3)
    np.testing.assert_array_equal(f(np.ones(3)), 1)


def test_the_norm_of_nothing_has_the_derivative_0():
    x = tx.tensor([[0.0, 3.0], [0.0, 4.0]], requires_grad=True)
    np.linalg.norm(x, axis=0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0, 0.6], [0, 0.8]])
    for values in ([0.0, np.nan], [np.inf, 1.0], [0.0, 0.0]):
        np.testing.assert_array_equal(np.linalg.norm(tx.tensor(values)), np.linalg.norm(values))

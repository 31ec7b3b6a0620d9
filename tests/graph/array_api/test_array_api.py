"""`tx.array_api`: names, types and promotion of the standard; the values are those of NumPy's functions.

The standard's own suite is run by `make array-api`.
"""

from __future__ import annotations

import inspect
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx

xp = tx.array_api
NAMES = """
__array_api_version__ __array_namespace_info__ abs acos acosh add all any arange argmax argmin argsort asarray asin
asinh astype atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
bool broadcast_arrays broadcast_to can_cast ceil clip concat conj copysign cos cosh count_nonzero cumulative_prod
cumulative_sum diff divide e empty empty_like equal exp expand_dims expm1 eye finfo flip float32 float64 floor
floor_divide from_dlpack full full_like greater greater_equal hypot iinfo imag inf int16 int32 int64 int8 isdtype
isfinite isinf isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or
logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative newaxis
nextafter nonzero not_equal ones ones_like permute_dims pi positive pow prod real reciprocal remainder repeat reshape
result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std subtract sum take
take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8 unique_all unique_counts
unique_inverse unique_values unstack var vecdot where zeros zeros_like
""".split()
"""Of the standard, without complex numbers, linalg and fft."""
TYPES = {
    n: getattr(xp, n)
    for n in ("bool", *(f"{k}int{b}" for k in ("", "u") for b in (8, 16, 32, 64)), "float32", "float64")
}


def test_the_names_are_those_of_the_standard():
    assert sorted(xp.__all__) == sorted(NAMES)
    assert all(hasattr(xp, n) for n in NAMES) and xp.__array_api_version__ == "2024.12"
    functions = [getattr(xp, n) for n in NAMES if inspect.isfunction(getattr(xp, n))]
    assert len(functions) > 130 and all(inspect.getdoc(f) for f in functions)


def test_a_tensor_knows_its_namespace():
    x = tx.tensor([1.0])
    assert x.__array_namespace__() is xp is x.__array_namespace__(api_version="2024.12")
    with pytest.raises(ValueError, match=r"no version '1.0' of the standard; there are 2021.12"):
        x.__array_namespace__(api_version="1.0")
    assert x.to_device("cpu") is x and x.device == "cpu"
    with pytest.raises(tx.CallError, match="a stream of another library"):
        x.to_device("cpu", stream=1)
    assert complex(tx.tensor(2.0)) == 2 + 0j


def _numpy(name: str) -> np.dtype:
    return np.dtype("bool" if name == "bool" else name)


@pytest.mark.parametrize(("a", "b"), list(product(TYPES, TYPES)))
def test_promotion(a: str, b: str):
    """Within a kind NumPy's; between kinds, which the standard leaves open, refused."""
    kinds = {"b": 0, "i": 1, "u": 1, "f": 2}
    expected = np.promote_types(_numpy(a), _numpy(b))
    mixed = kinds[_numpy(a).kind] != kinds[_numpy(b).kind] or kinds[expected.kind] != kinds[_numpy(a).kind]
    x, y = xp.ones((2,), dtype=TYPES[a]), xp.ones((), dtype=TYPES[b])
    if mixed:
        with pytest.raises(tx.CallError, match="numbers of different kinds"):
            xp.result_type(x, y)
        with pytest.raises(tx.CallError, match="numbers of different kinds"):
            xp.equal(x, y)
        return
    t = TYPES["bool" if expected.kind == "b" else expected.name]
    assert xp.result_type(TYPES[a], TYPES[b]) is xp.result_type(x, y) is t
    assert xp.can_cast(TYPES[a], t) and xp.can_cast(TYPES[b], t)
    assert xp.maximum(x, y).dtype is t if a != "bool" else xp.logical_or(x, y).dtype is t


@pytest.mark.parametrize("name", TYPES)
def test_numbers_of_python_take_the_type_of_the_tensor(name: str):
    x, kind = xp.ones((2,), dtype=TYPES[name]), _numpy(name).kind
    for number, kinds in ((True, "b"), (1, "iuf"), (1.5, "f"), (1j, "")):
        if kind in kinds:
            assert xp.equal(x, number).dtype is xp.bool
            assert xp.result_type(x, number) is TYPES[name]
        else:
            with pytest.raises(tx.CallError, match="another kind of numbers|is no operand"):
                xp.equal(x, number)


def test_the_whole_complaint_of_two_kinds():
    with pytest.raises(tx.CallError) as e:
        xp.add(xp.asarray([1]), xp.asarray([1.0]))
    assert str(e.value) == (
        "error[dtype]: i64 and f64 are numbers of different kinds\n  help: convert one: xp.astype(x, dtype)"
    )


@pytest.mark.parametrize("name", TYPES)
def test_limits(name: str):
    t = TYPES[name]
    if t.is_float:
        ours, theirs = xp.finfo(t), np.finfo(_numpy(name))
        assert (ours.bits, ours.eps, ours.max, ours.min, ours.smallest_normal, ours.dtype) == (
            theirs.bits, theirs.eps, theirs.max, theirs.min, theirs.smallest_normal, t,
        )  # fmt: skip
    elif t.is_int:
        ours, theirs = xp.iinfo(t), np.iinfo(_numpy(name))
        assert (ours.bits, ours.max, ours.min, ours.dtype) == (theirs.bits, theirs.max, theirs.min, t)
    for wrong in (xp.iinfo if not t.is_int else xp.finfo,):
        with pytest.raises(tx.CallError, match="info of"):
            wrong(t)


def test_kinds():
    info = xp.__array_namespace_info__()
    assert info.dtypes() == TYPES and set(info.dtypes(kind="integral")) == {n for n in TYPES if "int" in n}
    assert info.dtypes(kind=("bool", "real floating")) == {
        n: TYPES[n] for n in ("bool", "float32", "float64")
    }
    assert info.default_dtypes()["real floating"] is xp.float64 and info.devices() == ["cpu"]
    assert info.capabilities()["max dimensions"] is None and info.default_device() == "cpu"
    assert xp.isdtype(xp.uint8, "unsigned integer") and not xp.isdtype(xp.uint8, "complex floating")
    assert (
        xp.isdtype(xp.bool, "bool")
        and xp.isdtype(xp.int8, (xp.int8, "bool"))
        and not xp.isdtype(xp.bool, "numeric")
    )
    with pytest.raises(tx.CallError, match="'float' is no kind"):
        xp.isdtype(xp.int8, "float")


def test_creation():
    assert xp.asarray(1.0).dtype is xp.zeros(2).dtype is xp.float64 and xp.asarray(1).dtype is xp.int64
    a = np.arange(3)
    assert np.shares_memory(xp.asarray(a, copy=False).numpy(), a) and np.shares_memory(
        xp.asarray(a).numpy(), a
    )
    assert not np.shares_memory(xp.asarray(a, copy=True).numpy(), a)
    for needs in ([1, 2], a[::-1], 1):
        with pytest.raises(ValueError, match="a copy is needed"):
            xp.asarray(needs, copy=False)
    x = xp.asarray([1, 2])
    assert (
        xp.asarray(x) is x and xp.asarray(x, copy=True) is not x and xp.astype(x, xp.int64, copy=False) is x
    )
    with pytest.raises(ValueError, match="a copy is needed"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    for complex_ in (1j, np.ones(2, "c8")):
        with pytest.raises(tx.CallError, match="there are no complex numbers"):
            xp.asarray(complex_)
    assert xp.asarray(memoryview(b"ab")).tolist() == [97, 98]
    assert not np.shares_memory(xp.from_dlpack(a, copy=True).numpy(), a)


def test_errors_of_axes_are_those_of_python_too():
    x = xp.ones((2, 3))
    for error in (ValueError, IndexError, tx.CallError):
        with pytest.raises(error, match="axis 5 of a tensor with 3 axes"):
            xp.expand_dims(x, axis=5)
        with pytest.raises(error, match="not all of extent 1"):
            xp.squeeze(x, axis=0)
    with pytest.raises(tx.CallError, match="take of 2 axes without `axis`"):
        xp.take(x, xp.asarray([0]))
    with pytest.raises(tx.CallError, match="nonzero of a single number"):
        xp.nonzero(xp.asarray(1))
    with pytest.raises(tx.CallError, match="logical_and of i64"):
        xp.logical_and(xp.asarray(1), xp.asarray(1))


@given(st.lists(st.integers(-3, 3), max_size=12), st.sampled_from([(-1,), (1, -1), (-1, 1)]))
def test_sets(values, shape):
    a = np.asarray(values, np.int64).reshape(shape if values else (0,))
    found, expected = xp.unique_all(xp.asarray(a)), np.unique_all(a)
    for ours, theirs in zip(found, expected):
        np.testing.assert_array_equal(ours.numpy(), theirs)
    assert xp.unique_counts(xp.asarray(a)).counts.tolist() == expected.counts.tolist()
    assert xp.unique_inverse(xp.asarray(a)).inverse_indices.shape == a.shape


def test_each_nan_is_different():
    x = xp.asarray([float("nan"), 1.0, float("nan")])
    assert xp.unique_values(x).shape == (3,) and xp.unique_counts(x).counts.tolist() == [1, 1, 1]


def test_gradients_flow():
    x = tx.tensor([[3.0, 1.0, 2.0]], requires_grad=True)
    y = xp.sum(xp.sort(x) * xp.asarray([[1.0, 2.0, 3.0]])) + xp.mean(xp.tile(xp.exp(x), (2, 1)))
    y.backward()
    e = np.exp([[3.0, 1.0, 2.0]]) / 3
    np.testing.assert_allclose(x.grad.numpy(), np.array([[3.0, 1.0, 2.0]]) + e)
    with pytest.raises(tx.CallError, match="requires a gradient"):
        xp.unique_all(x)


def test_traced():
    f = tx.jit(lambda x: xp.std(xp.concat([x, xp.flip(x)]), axis=0, correction=1))
    a = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(np.asarray(f(a)), np.std(np.concatenate([a, np.flip(a)]), axis=0, ddof=1))
    with pytest.raises(tx.CallError, match="without values"):
        tx.jit(lambda x: xp.nonzero(x)[0])(a)


@pytest.mark.parametrize("t", ["float32", "float64"])
def test_next_numbers(t: str):
    """All orders of magnitude: the next number is NumPy's, bit for bit."""
    least, most = np.finfo(t).smallest_subnormal, np.finfo(t).max
    powers = np.ldexp(
        np.ones(1, t), np.arange(*{"float32": (-149, 128), "float64": (-1074, 1024)}[t])
    ).astype(t)
    a = np.concatenate(
        [powers, powers * np.asarray(1.25, t), powers[1:] - powers[:-1], [0, least, most, np.inf, np.nan]]
    )
    a = np.concatenate([a, -a]).astype(t)
    for towards in (np.inf, -np.inf, 0.0, np.nan):
        with np.errstate(all="ignore"):
            expected = np.nextafter(a, np.asarray(towards, t))
        found = xp.nextafter(xp.asarray(a), xp.asarray(towards, dtype=getattr(xp, t))).numpy()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("function", [xp.tril, xp.triu])
def test_triangles_of_a_vector_are_refused(function):
    with pytest.raises(tx.CallError, match="`X` has 1 dimension, expected at least 2"):
        function(xp.ones(3))

"""Operators and methods of tensors give what NumPy gives: all dtypes, axes of 0 and 1 elements,
numbers at the ends of dtypes.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples

DTYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
OPERATORS = {
    f.__name__: f
    for f in (
        operator.add,
        operator.sub,
        operator.mul,
        operator.truediv,
        operator.floordiv,
        operator.mod,
        operator.pow,
        operator.and_,
        operator.or_,
        operator.xor,
        operator.lshift,
        operator.rshift,
        operator.eq,
        operator.ne,
        operator.lt,
        operator.le,
        operator.gt,
        operator.ge,
    )
}
OPERATORS["divmod"] = lambda a, b: divmod(a, b)[0] + divmod(a, b)[1]
NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    -3,
    17,
    127,
    128,
    300,
    -129,
    2**31,
    -(2**31),
    2**63 - 1,
    2**63,
    -(2**63),
    2**64 - 1,
    2**70,
    True,
    0.0,
    -0.0,
    0.5,
    -2.5,
    float("inf"),
    float("nan"),
)
REDUCTIONS = (
    "sum",
    "prod",
    "mean",
    "var",
    "std",
    "max",
    "min",
    "any",
    "all",
    "argmax",
    "argmin",
    "cumsum",
    "cumprod",
)
ALONG_ONE = ("argmax", "argmin", "cumsum", "cumprod")
TOLERANCES = {2: 4e-3, 4: 4e-6, 8: 1e-13}
shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)


def numbers_of(dtype: str) -> list[object]:
    """Ends of a dtype, zeros, and small numbers."""
    d = np.dtype(dtype)
    if d.kind == "b":
        return [False, True]
    if d.kind in "iu":
        lo, hi = np.iinfo(d).min, np.iinfo(d).max
        return [lo, lo + 1, hi - 1, hi, 0, 1, 2, 3, 7, *([-1, -2] if lo else [])]
    f = np.finfo(d)
    return [
        0.0,
        -0.0,
        1.0,
        -1.0,
        np.inf,
        -np.inf,
        np.nan,
        float(f.max),
        float(f.tiny),
        2.5,
        -2.5,
        0.5,
        3.0,
        -4.0,
    ]


@st.composite
def arrays(draw: st.DrawFn, shape: tuple[int, ...] | None = None) -> np.ndarray:
    dtype, shape = draw(st.sampled_from(DTYPES)), draw(shapes) if shape is None else shape
    count = int(np.prod(shape))
    values = draw(st.lists(st.sampled_from(numbers_of(dtype)), min_size=count, max_size=count))
    return np.array(values, object).astype(dtype).reshape(shape)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays that broadcast."""
    whole = draw(shapes)

    def part() -> np.ndarray:
        shape = whole[draw(st.integers(0, len(whole))) :]
        return draw(arrays(tuple(1 if draw(st.booleans()) else n for n in shape)))

    return part(), part()


def agree(of_numpy: Callable[[], object], of_tensors: Callable[[], tx.Tensor]) -> None:
    """The same values in the same dtype and shape; an error where NumPy has one."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            want = np.asarray(of_numpy())
        except (TypeError, ValueError, OverflowError, np.exceptions.AxisError):
            with pytest.raises(tx.CallError):
                of_tensors().numpy()
            return
        got = of_tensors().numpy()
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if want.dtype.kind != "f":
            np.testing.assert_array_equal(got, want)
            return
        same = (got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want)
        size = np.abs(want.astype("f8"))
        near = (
            np.abs(got.astype("f8") - want.astype("f8"))
            <= TOLERANCES[want.itemsize] * size + np.finfo(want.dtype).tiny
        )
        assert (same | near & np.isfinite(want) & (want != 0)).all(), (got, want)


@examples(60)
@given(st.sampled_from(sorted(OPERATORS)), pairs())
def test_operators(name: str, pair: tuple[np.ndarray, np.ndarray]):
    (a, b), f = pair, OPERATORS[name]
    if name == "pow" and a.size + b.size and 0 in np.broadcast_shapes(a.shape, b.shape):
        return  # NumPy does not look at exponents below 0 that nothing is raised to
    agree(lambda: f(a, b), lambda: f(tx.tensor(a), tx.tensor(b)))


@examples(60)
@given(st.sampled_from(sorted(OPERATORS)), arrays((3,)), st.sampled_from(NUMBERS), st.booleans())
def test_operators_with_numbers(name: str, a: np.ndarray, number: object, first: bool):
    f = OPERATORS[name]
    if first:
        agree(lambda: f(number, a), lambda: f(number, tx.tensor(a)))
    elif name != "pow" or number != 2**63 - 1:  # docs/guide/tensors.md: the one exponent that is refused
        agree(lambda: f(a, number), lambda: f(tx.tensor(a), number))


@examples(60)
@given(st.sampled_from(REDUCTIONS), arrays(), st.data())
def test_reductions(name: str, a: np.ndarray, data: st.DataObject):
    axis: object = None
    if a.ndim and data.draw(st.booleans()):
        one = st.integers(-a.ndim, a.ndim - 1)
        axis = data.draw(
            one
            if name in ALONG_ONE
            else one | st.lists(one, max_size=a.ndim, unique_by=lambda k: k % a.ndim).map(tuple)
        )
    options: dict[str, object] = {"axis": axis}
    if not name.startswith("cum"):
        options["keepdims"] = data.draw(st.booleans())
    if name in ("var", "std"):
        options["ddof"] = data.draw(st.sampled_from([0, 1, 2, 5, 0.5]))
    if name in ("sum", "prod", "cumsum") and a.dtype.kind != "f" and data.draw(st.booleans()):
        options["dtype"] = np.dtype(data.draw(st.sampled_from(DTYPES[1:])))
    agree(lambda: getattr(a, name)(**options), lambda: getattr(tx.tensor(a), name)(**options))


@examples(40)
@given(arrays(), st.sampled_from(DTYPES))
def test_conversions_and_signs(a: np.ndarray, dtype: str):
    if a.dtype.kind != "f" or np.dtype(dtype).kind not in "iu":  # where NumPy does what the processor does
        agree(lambda: a.astype(dtype), lambda: tx.tensor(a).astype(np.dtype(dtype)))
    for f in (operator.neg, operator.abs, operator.invert, np.square):
        agree(lambda f=f: f(a), lambda f=f: tx.tensor(a).square() if f is np.square else f(tx.tensor(a)))


@pytest.mark.parametrize(
    "extents, mask",
    [((1,), (0,)), ((3,), (0,)), ((2, 3), (0,)), ((2, 3), (0, 3)), ((2, 3), (2, 0)), ((2, 3), (0, 0))],
)
def test_masks_of_nothing(extents: tuple[int, ...], mask: tuple[int, ...]):
    a, none = np.ones(extents, "f4"), np.zeros(mask, bool)
    agree(lambda: a[none], lambda: tx.tensor(a)[none])
    x = tx.tensor(a)
    x[none] = 2
    agree(lambda: a, lambda: x)


@examples(40)
@given(arrays(), st.data())
def test_indices(a: np.ndarray, data: st.DataObject):
    n = max(a.shape, default=1) + 1
    places = st.lists(st.integers(-n, n - 1), max_size=3).map(np.array)
    masks = st.integers(0, a.ndim).flatmap(
        lambda k: st.just(a.shape[:k]) | st.lists(st.integers(0, 2), min_size=1, max_size=2).map(tuple)
    )
    slices = st.builds(
        slice, *[st.none() | st.integers(-n, n)] * 2, st.none() | st.integers(-3, 3).filter(bool)
    )
    item = st.one_of(
        st.integers(-n, n - 1),
        slices,
        st.just(None),
        st.just(...),
        places.map(lambda p: p.astype("i8")),
        masks.filter(bool).map(lambda s: np.arange(np.prod(s)).reshape(s) % 2 == 0),
    )
    key = data.draw(item | st.lists(item, max_size=3).map(tuple))
    try:
        want = a[key]
    except IndexError:
        with pytest.raises(tx.CallError):
            tx.tensor(a)[key]
        return
    agree(lambda: want, lambda: tx.tensor(a)[key])


FUNCTIONS = {
    f.__name__: f
    for f in (
        np.sum,
        np.prod,
        np.mean,
        np.std,
        np.var,
        np.max,
        np.min,
        np.any,
        np.all,
        np.argmax,
        np.argmin,
        np.cumsum,
        np.cumprod,
        np.round,
        np.squeeze,
        np.transpose,
    )
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["?", "i1", "f4"])
def test_functions_of_numpy(name: str, dtype: str):
    a = np.array([[3, 1, 2]]).astype(dtype)
    if (name, dtype) != ("round", "?"):
        found = FUNCTIONS[name](tx.tensor(a))  # type: ignore[operator, call-overload]
        assert isinstance(found, tx.Tensor)
        agree(lambda: FUNCTIONS[name](a), lambda: found)  # type: ignore[operator, call-overload]
    agree(lambda: np.clip(a, 1, 2), lambda: np.clip(tx.tensor(a), 1, 2))  # type: ignore[call-overload]
    with pytest.raises(tx.CallError, match="methods of tensors take no `out`"):
        np.sum(tx.tensor(a), out=np.zeros(()))  # type: ignore[call-overload]


UNIVERSAL = (
    "add",
    "divide",
    "power",
    "arctan2",
    "left_shift",
    "less",
    "matmul",
    "exp",
    "sqrt",
    "floor",
    "isnan",
    "negative",
    "absolute",
    "rint",
    "square",
    "logical_not",
)


@pytest.mark.parametrize("name", UNIVERSAL)
def test_universal_functions(name: str):
    f = getattr(np, name)
    a = np.array([[3, 1], [2, 0]], "i4") if name == "left_shift" else np.array([[3.0, 1.5], [2.0, 0.25]])
    others = (a.T,) if f.nin == 2 else ()
    agree(lambda: f(a, *others), lambda: f(tx.tensor(a), *others))
    if others:
        agree(lambda: f(a, *others), lambda: f(a, tx.tensor(a).T))
        assert isinstance(tx.jit(lambda x: f(a, x))(a.T), tx.Tensor)


def test_universal_functions_that_tensors_lack():
    x = tx.tensor([1.0, 2.0])
    for f, asked in (
        (lambda: np.add.reduceat(x, [0]), "add.reduceat"),
        (lambda: np.exp(x, where=[True, False]), "exp with where"),
        (lambda: np.subtract.reduce(x), "subtract.reduce"),
        (lambda: np.add.reduce(x, initial=1.0), "add.reduce with initial"),
    ):
        with pytest.raises(tx.CallError, match=f"numpy.{asked} of a tensor"):
            f()


@pytest.mark.parametrize("a", [np.float32(2.5), np.int64(3), 2.5, 3, np.array([5.0, 6, 7]), np.array(2.5)])
def test_quotients_with_remainders_on_either_side(a: object):
    values = np.array([1.0, 2.0, -3.0])
    for found, expected in (
        (divmod(a, tx.tensor(values)), divmod(a, values)),
        (divmod(tx.tensor(values), a), divmod(values, a)),
    ):
        for x, y in zip(found, expected):
            np.testing.assert_array_equal(np.asarray(x), y)

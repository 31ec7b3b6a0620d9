"""NumPy's expressions on tensors: the same values and dtypes, lazily and while a function is
traced.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr.graph.arrays.promotion import promoted, with_number
from texpr.ir.dtypes import BF16, BOOL, DTYPES, F16, F32, F64, I64, from_numpy, numpy_dtype

X = np.arange(-12, 12).reshape(2, 3, 4)
Y = np.array([[3, -2, 1, 5], [-4, 2, 7, -1], [1, 1, -3, 2]])
EVERYWHERE = {
    "slice": lambda x, y: x[1:, ::2],
    "backwards": lambda x, y: x[:, ::-1, 3:0:-2],
    "last": lambda x, y: x[-1, ..., -1],
    "new axis": lambda x, y: x[:, None, 1:2],
    "ellipsis": lambda x, y: x[..., 1],
    "nothing": lambda x, y: x[2:],
    "places": lambda x, y: x[:, [0, -1, 1, 1]],
    "places apart": lambda x, y: x[[0, 1], :, [3, -1]],
    "places together": lambda x, y: x[:, [0, 2], [[1], [3]]],
    "places and a number": lambda x, y: x[0, :, [1, 2]],
    "reshape": lambda x, y: x.reshape(4, -1),
    "transpose": lambda x, y: x.transpose(2, 0, 1),
    "T": lambda x, y: x.T,
    "swapaxes": lambda x, y: x.swapaxes(0, -1),
    "squeeze": lambda x, y: x[:1].squeeze(),
    "flatten": lambda x, y: x.flatten(),
    "equal": lambda x, y: x == y,
    "less": lambda x, y: x < y,
    "at least a number": lambda x, y: x >= 0,
    "any": lambda x, y: (x != 0).any(axis=1),
    "all": lambda x, y: x.all(),
    "argmax": lambda x, y: x.argmax(axis=2),
    "argmin of all": lambda x, y: x.argmin(),
    "max": lambda x, y: x.max(axis=(0, 2), keepdims=True),
    "min": lambda x, y: x.min(),
    "astype": lambda x, y: x.astype("float32"),
    "to bool": lambda x, y: x.astype(bool),
}
NUMBERS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y[0],
    "multiply": lambda x, y: x * y[:, :1],
    "divide": lambda x, y: x / y,
    "floor": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "square": lambda x, y: x**2,
    "cube": lambda x, y: x**3,
    "number first": lambda x, y: 7 - x,
    "a float": lambda x, y: x * 0.5,
    "into a quotient": lambda x, y: 6 / y,
    "negative": lambda x, y: -x,
    "absolute": lambda x, y: abs(x),
    "sum": lambda x, y: x.sum(),
    "sum of axes": lambda x, y: x.sum(axis=(0, -1)),
    "product": lambda x, y: y.prod(axis=0),
    "mean": lambda x, y: x.mean(axis=1, keepdims=True),
    "variance": lambda x, y: x.var(axis=2),
    "deviation": lambda x, y: x.std(ddof=1),
    "matmul": lambda x, y: x @ y.T,
    "matmul of a row": lambda x, y: x[0, 0] @ y.T,
    "matmul of a column": lambda x, y: x @ y[0],
    "dot": lambda x, y: y[0] @ y[1],
    "batches": lambda x, y: x @ x.transpose(0, 2, 1),
    "clip": lambda x, y: x.clip(-3, 4),
    "chain": lambda x, y: ((x + 1) * y - x.mean()).sum(axis=0),
}
DTYPES_TRIED = ["f4", "f8", "i4", "i8", "bool"]


def agree(found: tx.Tensor, expected: object) -> None:
    want = np.asarray(expected)
    got = found.numpy()
    assert got.dtype == want.dtype and got.shape == want.shape
    tolerance = 1e-5 if want.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES_TRIED)
def test_expressions_are_numpy_s(dtype: str):
    """All expressions of a dtype, each lazily."""
    x, y = X.astype(dtype), Y.astype(dtype)
    chosen = EVERYWHERE if dtype == "bool" else EVERYWHERE | NUMBERS
    a, b = tx.tensor(x), tx.tensor(y)
    results = {name: f(a, b) for name, f in chosen.items()}
    with np.errstate(all="ignore"):
        for name, f in chosen.items():
            try:
                agree(results[name], f(x, y))
            except AssertionError as error:
                raise AssertionError(f"{name} of {dtype}") from error


def test_traced_they_are_the_same():
    x, y = X.astype("f8"), Y.astype("f8")
    names = [n for n in (*EVERYWHERE, *NUMBERS)]
    functions = EVERYWHERE | NUMBERS

    @tx.jit
    def everything(x, y):
        return {n: functions[n](x, y) for n in names}

    for name, value in everything(x, y).items():
        agree(value, functions[name](x, y))


def test_booleans_add_and_multiply_as_in_numpy():
    x = np.array([True, True, False, False])
    y = np.array([True, False, True, False])
    a, b = tx.tensor(x), tx.tensor(y)
    for f in (
        lambda p, q: p + q,
        lambda p, q: p * q,
        lambda p, q: p & q,
        lambda p, q: p | q,
        lambda p, q: p ^ q,
        lambda p, q: p < q,
        lambda p, q: ~p,
        lambda p, q: p.sum(),
        lambda p, q: p + 1,
        lambda p, q: p * 0.5,
    ):
        agree(f(a, b), f(x, y))
    with pytest.raises(tx.CallError, match="subtract of booleans"):
        a - b


@pytest.mark.parametrize("a", DTYPES.values(), ids=str)
def test_the_table_of_dtypes_is_numpy_s(a):
    for b in DTYPES.values():
        assert promoted(a, b) == promoted(b, a)
        if not (a.as_bits or b.as_bits):
            assert promoted(a, b) == from_numpy(np.result_type(numpy_dtype(a), numpy_dtype(b)))
    if not a.as_bits:
        for number in (1, 1.5, True):
            assert with_number(a, number) == from_numpy(np.result_type(np.empty(1, numpy_dtype(a)), number))
    assert [promoted(BF16, t) for t in (F16, F32, F64, BOOL, I64)] == [F32, F32, F64, BF16, F64]


@examples(25)
@given(
    st.lists(
        st.sampled_from(
            [
                slice(None),
                slice(1, None),
                slice(None, None, -1),
                slice(-1, 0, -2),
                slice(5, 9),
                0,
                -1,
                None,
                ...,
            ]
        ),
        max_size=4,
    )
)
def test_any_basic_index(key):
    x = X.astype("i8")
    key = tuple(key)
    try:
        want = x[key]
    except IndexError:
        with pytest.raises(tx.CallError):
            tx.tensor(x)[key]
        return
    agree(tx.tensor(x)[key], want)


def test_assignment_makes_a_new_value():
    for key, value in (
        (0, 5),
        ((slice(None), 1), 7.0),
        ((slice(1, None), slice(None, None, 2), -1), np.arange(2.0)),
        ((..., slice(None, None, -1)), np.arange(4.0)),
        ((slice(0, 2, 2), 2, slice(3, 0, -2)), [[1.0, 2.0]]),
    ):
        want, x = X.astype("f8"), tx.tensor(X.astype("f8"))
        before, doubled = x, x * 2
        x[key] = value
        want[key] = value
        agree(x, want)
        assert before is x
        agree(doubled, X * 2.0)
    x = tx.tensor(X.astype("f8"))
    x[x < 0] = 0.0
    agree(x, np.maximum(X, 0.0))


def test_a_mask_chooses():
    x = X.astype("f4")
    agree(tx.tensor(x)[tx.tensor(x) > 3], x[x > 3])
    agree(tx.where(tx.tensor(x) > 0, tx.tensor(x), 0.0), np.where(x > 0, x, np.float32(0)))
    agree(tx.where(tx.tensor(x) > 0, True, False), x > 0)
    agree(tx.where(tx.tensor(x) > 0, True, tx.tensor(x) > 1), x > 0)
    agree(tx.where(tx.tensor(x) > 0, True, 5), np.where(x > 0, True, 5))
    agree(tx.where(tx.tensor(x) > 0, 2, 5), np.where(x > 0, 2, 5))
    agree(tx.where(tx.tensor(x) > 0, True, 0.5), np.where(x > 0, np.float32(1), np.float32(0.5)))
    with pytest.raises(tx.CallError, match="booleans choose as many elements as hold"):
        tx.jit(lambda x: x[x > 3])(x)


def test_results_are_values_of_their_own():
    """Also where nothing is computed: what is assigned to one is not seen in the other."""
    for f in (
        lambda x: x.reshape(2, 3),
        lambda x: x[...],
        lambda x: +x,
        lambda x: x.astype("f64"),
        lambda x: x.transpose(0, 1),
        lambda x: x.broadcast_to(2, 3),
        lambda x: x.clip(),
        lambda x: x.squeeze(),
    ):
        for x in (tx.tensor(np.ones((2, 3))), tx.tensor(np.ones((2, 3))) * 1):
            y = f(x)
            y[0, 0] = 7.0
            assert x.tolist() == [[1.0] * 3] * 2 and y.tolist() == [[7.0, 1.0, 1.0], [1.0] * 3]

        def traced(x, f=f):
            y = f(x)
            y[0, 0] = 7.0
            return x, y

        assert [t.numpy().sum() for t in tx.jit(traced)(np.ones((2, 3)))] == [6, 12]


def test_numbers_given_to_traced_functions_fit_the_dtype():
    x = tx.tensor(np.array([1, 100], "i1"))
    add, less = tx.jit(lambda x, n: x + n), tx.jit(lambda x, n: x < n)
    assert add(x, 27).tolist() == [28, 127] and less(x, 300).tolist() == [True, True]
    with pytest.raises(tx.CallError) as found:
        add(x, 300)
    assert str(found.value) == "error[range]: `n` is 300, expected a value in -128..128"


def test_assignment_by_a_mask_of_the_first_axes():
    x = tx.tensor(np.zeros((3, 4), "i1"))
    for mask in (np.array([True, False, True]), [True, False, True], tx.tensor([True, False, True])):
        y = x.astype("i8")
        y[mask] = 5
        assert y.numpy().sum(axis=1).tolist() == [20, 0, 20]
    for key, value, message in (
        (np.ones(4, bool), 5, r"a mask of shape \[4\] chooses from axes of extents \[3\]"),
        (0, 300, "300 does not fit i8"),
        (np.ones(3, bool), -129, "-129 does not fit i8"),
    ):
        with pytest.raises(tx.CallError, match=message):
            x[key] = value
    assert not x.numpy().any()


@pytest.mark.parametrize("exponent", [17, 31, 65535, 65537, 2**40])
def test_powers_of_integers(exponent: int):
    """They wrap, as those of Python's integers modulo 2^64 do; exponents below 0 are refused."""
    base = np.array([0, 1, -1, 2, 3, -7, 2**33 + 1])
    want = [(pow(int(b), exponent, 2**64) + 2**63) % 2**64 - 2**63 for b in base]
    assert (
        (tx.tensor(base) ** exponent).tolist()
        == want
        == (tx.tensor(base) ** tx.tensor(np.full(7, exponent))).tolist()
    )
    with pytest.raises(
        tx.CallError, match=r"`exponent\[1\]` is -1, expected a value in 0..9223372036854775807"
    ):
        (tx.tensor(base[:2]) ** tx.tensor([0, -1])).numpy()


def test_spellings_of_dtypes():
    """Names count bits; NumPy's codes that count bytes are refused, and objects of NumPy are
    what they are.
    """
    x = tx.tensor([1])
    assert [str(x.astype(t).dtype) for t in ("i8", "u8", np.dtype("i8"), np.uint8, "int8", "<i8", float)] == [
        "i8",
        "u8",
        "i64",
        "u8",
        "i8",
        "i64",
        "f64",
    ]
    for code in ("i1", "i2", "i4", "u1", "u2", "u4", "f2", "f4", "f8", "b1"):
        with pytest.raises(
            tx.CallError, match=f"'{code}' counts bytes, as NumPy does, and texpr's names count bits"
        ):
            tx.tensor([1], code)


@pytest.mark.parametrize(
    "data, dtype, wrong",
    [
        ([300], "i8", "300"),
        ([-1], "u64", "-1"),
        (300, "i8", "300"),
        ([1e10], "i32", "10000000000.0"),
        ([np.nan], "i64", "nan"),
        ([2.0**63], "i64", "9.223372036854775808e+18"),
        ([np.inf], "u8", "inf"),
        (np.array([2**63], "u8"), "i64", "9223372036854775808"),
    ],
)
def test_values_beyond_a_dtype(data: object, dtype: str, wrong: str):
    for source in (data, tx.tensor(data)):
        with pytest.raises(tx.CallError) as found:
            tx.tensor(source, dtype)
        assert float(str(found.value).split()[1]) == float(wrong) or wrong == "nan"
        assert str(found.value).endswith(
            f"does not fit {dtype}\n  help: choose a wider dtype, or convert: tensor(data).astype(...)"
        )


def test_values_within_a_dtype():
    assert tx.tensor([127.9, -128.9], "i8").tolist() == [127, -128] and tx.tensor(
        [2.0**63], "u64"
    ).tolist() == [2**63]
    assert tx.tensor(np.array([1, 2], "u2"), "bf16").tolist() == [1, 2] and tx.tensor(
        [True], "i8"
    ).tolist() == [1]


COMPLAINTS = {
    "error[index]: a mask of shape [2] chooses from axes of extents [3]\n"
    "  help: a mask has the extents of the axes that it stands for, from the first one on": lambda x: x[
        0, np.array([True, False])
    ],
    "error[index]: an index of f32\n  help: index with integers or booleans": lambda x: tx.jit(
        lambda x: x[x]
    )(x),
    "error[index]: index 2 is out of bounds for axis 0 of extent 2": lambda x: x[np.array([0, 2])],
    "error[index]: index 18446744073709551615 is out of bounds for axis 1 of extent 3": lambda x: x[
        0, np.array([2**64 - 1], "u8")
    ],
    'error[dtype]: an integer to the power -1 is no integer\n  help: convert it: .astype("f64")': lambda x: (
        x.astype("i32") ** -1
    ),
    "error[dtype]: left_shift of f32\n  help: it is for integers and booleans": lambda x: x << 1,
    'error[dtype]: mean as i32\n  help: convert the result: .astype("i64")': lambda x: x.mean(dtype="i32"),
    "error[shape]: max of no elements: a tensor of shape [0, 3, 4], axes [0]\n  help: reduce other axes, or "
    "look at the shape first": lambda x: x[2:].max(axis=0),
    "error[shape]: shapes [2, 3, 4] and [3] do not fit each other\n  help: axes are aligned at the last one; "
    "extents must be equal, or 1": lambda x: x + np.ones(3, "f4"),
    "error[index]: index 5 is out of bounds for axis 1 of extent 3": lambda x: x[0, 5],
    "error[index]: 4 indices for a tensor of 3 axes": lambda x: x[0, 0, 0, 0],
    "error[index]: 'a' is no index\n  help: an index is an integer, a slice, `...`, None, or an array of "
    "integers or booleans": lambda x: x["a"],
    "error[shape]: 24 elements of [2, 3, 4] do not become [5, -1]\n  help: one extent may be -1": lambda x: (
        x.reshape(5, -1)
    ),
    "error[shape]: [2, 3, 4] @ [2, 2]: 4 columns and 2 rows": lambda x: x @ np.ones((2, 2), "f4"),
    "error[axis]: axis 3 of a tensor with 3 axes": lambda x: x.sum(axis=3),
    "error[axis]: an axis is given twice: (0, -3)": lambda x: x.sum(axis=(0, -3)),
    "error[dtype]: ~ of f32\n  help: it is for integers and booleans": lambda x: ~x,
    "error[dtype]: 'q7' is no dtype that texpr has\n"
    "  help: there are bool, u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64, f8e4m3, f8e5m2": lambda x: (
        x.astype("q7")
    ),
    "error[shape]: a tensor of shape [2, 3, 4] is no single number\n  help: reduce or index it": float,
    "error[arguments]: None is no operand of tensors\n  help: operands are tensors, arrays and numbers": lambda x: (
        x + None
    ),
}


@pytest.mark.parametrize("text", COMPLAINTS)
def test_complaints(text: str):
    with pytest.raises(tx.CallError) as found:
        COMPLAINTS[text](tx.tensor(X.astype("f4")))
    assert str(found.value) == text


def test_new_axes_and_rounding_as_numpy_has_them():
    for axis in (0, -1, (0, 1), (0, -1), (1, 3), [0, 2]):
        agree(
            tx.tensor(X).expand_dims(axis), np.expand_dims(X, tuple(axis) if isinstance(axis, list) else axis)
        )
    for axis in ((0, 0), 5, (0, 9)):
        with pytest.raises(tx.CallError):
            tx.tensor(X).expand_dims(axis)
    x = np.array([1.25, -0.75, 2.5])
    agree(round(tx.tensor(x), 1), np.round(x, 1))
    agree(round(tx.tensor(x)), np.round(x))


@pytest.mark.parametrize(
    "name", ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "cumsum", "cumprod"]
)
@pytest.mark.parametrize("dtype", ["f4", "i1", "?"])
def test_one_number_is_reduced_along_its_only_axis(name, dtype):
    x = np.array(1, dtype)
    for axis in (0, -1):
        agree(getattr(tx.tensor(x), name)(axis=axis), getattr(x, name)(axis=axis))
    for axis in (1, -2, True):
        with pytest.raises(tx.CallError, match="axis"):
            getattr(tx.tensor(x), name)(axis=axis)


def test_sequences_of_python_are_indices():
    array = np.arange(12.0).reshape(3, 4)
    x = tx.tensor(array)
    keys = ([0, 1], (1, 2)), range(2), (slice(None), range(1, 3)), ((0, 2), 1)
    for key in keys:
        assert x[key].tolist() == array[key].tolist(), key
    x[range(2), (1, 2)] = 7
    array[range(2), (1, 2)] = 7
    assert x.tolist() == array.tolist()


def test_in_asks_for_an_element():
    x = tx.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert 3.0 in x and 5 not in x


@pytest.mark.parametrize("t", ["i8", "i16", "i32", "i64"])
def test_numbers_whose_bits_are_meant(t: str):
    """`i32 | 0xFFFFFFFF`: bits of a dtype with a sign, which NumPy refuses and torch takes."""
    bits = tx.tensor([0], dtype=t).element_size() * 8
    values = np.array([0, 1, -2, 5], numpy_dtype(DTYPES[t]))
    x, ones, top = tx.tensor(values), (1 << bits) - 1, 1 << (bits - 1)
    assert (x | ones).tolist() == [-1] * 4 and (ones & x).tolist() == values.tolist()
    assert (x ^ top).dtype == t and (x ^ top).tolist() == (values ^ np.iinfo(values.dtype).min).tolist()
    for beyond in (ones + 1, -top - 1):
        with pytest.raises(tx.CallError, match="does not fit"):
            x & beyond
    with pytest.raises(tx.CallError, match="does not fit"):
        x + ones  # numbers, no bits

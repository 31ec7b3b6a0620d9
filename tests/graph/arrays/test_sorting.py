"""Orders of tensors: values as NumPy has them along each axis, gradients, complaints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import texpr as tx
from texpr import nn, ops
from texpr.compiler import row_orders
from texpr.ir.dtypes import BF16, F8E4M3, F8E5M2, DType, numbers_of, numpy_dtype
from texpr.runtime.call import sorting

FLOATS = hnp.arrays(
    st.sampled_from(["f2", "f4", "f8"]),
    hnp.array_shapes(max_dims=2, max_side=70, min_side=0),
    elements=st.one_of(st.sampled_from([0.0, -0.0, np.nan, np.inf, -np.inf]), st.integers(-9, 9).map(float)),
)
A = np.random.default_rng(0).standard_normal((3, 5, 4)).astype("f4")


@given(FLOATS)
def test_argsort_is_numpys_stable_one(array: np.ndarray):
    np.testing.assert_array_equal(tx.ops.argsort(array), np.argsort(array, -1, kind="stable"))
    down = array.shape[-1] - 1 - np.argsort(array[..., ::-1], -1, kind="stable")[..., ::-1]
    np.testing.assert_array_equal(tx.ops.argsort_descending(array), down)


@given(FLOATS, st.integers(0, 70))
def test_the_largest_are_the_first_of_the_order(array: np.ndarray, k: int):
    """Equal ones in their order, NaN first; few of many by a heap, others by the whole order."""
    k = min(k, array.shape[-1])
    values, places = tx.ops.topk(array, k=k)
    np.testing.assert_array_equal(places, row_orders.argsort_rows_down(array)[..., :k])
    np.testing.assert_array_equal(values, np.take_along_axis(array, places, -1))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "u1"])
@pytest.mark.parametrize("kind", ["random", "increasing", "decreasing", "few values"])
def test_the_largest_of_long_rows(kind: str, dtype: str):
    row = np.random.default_rng(0).integers(0, 9 if kind == "few values" else 200, (2, 700))
    row = row if kind in ("random", "few values") else np.sort(row) * (1 if kind == "increasing" else -1)
    array = row.astype(dtype)
    for k in (1, 3, 87, 88, 700):
        places = tx.ops.topk(array, k=k)[1]
        np.testing.assert_array_equal(places, row_orders.argsort_rows_down(array)[:, :k])


@given(hnp.arrays(st.sampled_from([f"{k}{n}" for k in "iu" for n in (1, 2, 4, 8)]), st.integers(0, 90)))
def test_argsort_of_integers(array: np.ndarray):
    np.testing.assert_array_equal(tx.ops.argsort(array), np.argsort(array, kind="stable"))


@given(FLOATS, st.sampled_from(["left", "right"]))
def test_searchsorted_is_numpys(array: np.ndarray, side: str):
    row, values = np.sort(array.reshape(-1)), array.reshape(-1)[::2]
    operator = tx.ops.searchsorted if side == "left" else tx.ops.searchsorted_right
    np.testing.assert_array_equal(operator(row, values), np.searchsorted(row, values, side))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_along_an_axis(axis: int):
    x = tx.tensor(A)
    np.testing.assert_array_equal(x.sort(axis).numpy(), np.sort(A, axis))
    np.testing.assert_array_equal(x.sort(axis, descending=True).numpy(), -np.sort(-A, axis))
    np.testing.assert_array_equal(x.argsort(dim=axis).numpy(), np.argsort(A, axis, kind="stable"))
    values, places = x.topk(2, dim=axis)
    np.testing.assert_array_equal(values.numpy(), np.take(-np.sort(-A, axis), [0, 1], axis))
    np.testing.assert_array_equal(np.take_along_axis(A, places.numpy(), axis), values.numpy())
    least = x.topk(2, axis, largest=False)
    np.testing.assert_array_equal(least.values.numpy(), np.take(np.sort(A, axis), [0, 1], axis))
    np.testing.assert_allclose(x.median(axis).numpy(), np.median(A, axis), rtol=1e-6)
    np.testing.assert_allclose(
        x.quantile(0.3, axis, keepdims=True).numpy(), np.quantile(A, 0.3, axis, keepdims=True), atol=1e-6
    )


def test_of_all_elements_and_other_dtypes():
    x = tx.tensor(A)
    np.testing.assert_array_equal(x.sort(None).numpy(), np.sort(A, None))
    assert np.isclose(x.median().item(), np.median(A)) and np.isclose(x.quantile(1.0).item(), A.max())
    assert np.isnan(tx.tensor([1.0, np.nan, 2.0]).median().item())
    assert tx.tensor([3, 1, 1, 2]).unique().tolist() == [1, 2, 3] and tx.zeros(0).unique().shape == (0,)
    assert tx.tensor([True, False]).sort().tolist() == [False, True]
    assert tx.tensor([1.0, 2.0], dtype="bf16").sort(descending=True).tolist() == [2.0, 1.0]
    assert tx.tensor(3.0).sort().tolist() == [3.0]
    assert tx.tensor([[1, 2], [3, 0]]).median().item() == 1.5


def test_gradients_go_to_the_places_that_were_chosen():
    p = nn.Parameter(A)
    (p.sort(0) * tx.arange(3).reshape(3, 1, 1)).sum().backward()
    np.testing.assert_array_equal(p.grad.numpy(), np.argsort(np.argsort(A, 0), 0))
    x = tx.tensor(A, requires_grad=True)
    x.topk(2).values.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.argsort(np.argsort(-A, -1), -1) < 2)


def test_in_traced_functions():
    f = tx.jit(lambda x: (x.topk(2).values.sum(), x.argsort(1)))
    total, places = f(A)
    np.testing.assert_allclose(total, -np.sort(-A, -1)[..., :2].sum(), rtol=1e-5)
    np.testing.assert_array_equal(places, np.argsort(A, 1, kind="stable"))


COMPLAINTS = {
    "x.topk(5)": "the 5 largest of 4 elements; ",
    "x.sort(dim=1, keepdim=True)": "sort has no `keepdim`; leave `keepdim` out",
    "x.quantile(2)": "the quantile 2 of 60 elements; q is in 0 to 1",
    "x.requires_grad_().unique()": "unique of a tensor that requires a gradient; x.detach().unique()",
    "x.sort(3)": "axis 3 of a tensor with 3 axes; ",
}


@pytest.mark.parametrize("text", COMPLAINTS)
def test_complaints(text: str):
    with pytest.raises(tx.CallError) as e:
        eval(text, {"x": tx.tensor(A)})
    assert f"{e.value.message}; {e.value.help}" == COMPLAINTS[text]


def test_a_function_of_ones_own_takes_the_place_of_the_runtimes():
    seen = []

    def mine(X: np.ndarray) -> np.ndarray:  # noqa: N803
        seen.append(X.shape)
        return np.argsort(X, -1, kind="stable")

    try:
        tx.register_extern("argsort_rows", mine)
        operator = tx.op(
            "extern op argsort_rows(X: f32[N]) -> p: i64[N] in 0..N distinct "
            "op mine(X: f32[N]) -> P: i64[N] in 0..N { p = argsort_rows(X) P[i] = p[i] }"
        )
        assert operator(np.array([2, 1], "f4")).tolist() == [1, 0] and seen
    finally:
        row_orders.register()


def test_each_function_has_code_for_each_dtype():
    assert all(sorting.address(f, d) for f in sorting.FUNCTIONS for d in sorting.DTYPES)


@pytest.mark.parametrize("dtype", [BF16, F8E4M3, F8E5M2], ids=str)
def test_types_that_numpy_lacks_are_ordered_as_numbers(dtype: DType):
    """All numbers of 8 bits, and bf16 of both signs with -0, infinities and NaN."""
    bits = np.arange(256, dtype=np.uint32) * (1 if dtype.bits == 8 else 257)
    x = np.random.default_rng(0).permutation(bits).astype(numpy_dtype(dtype))
    numbers = numbers_of(x, dtype)
    places = np.argsort(numbers, kind="stable")
    for run in (lambda f, *a: f(*a), tx.interpret):
        argsort = tx.op(
            f"extern op argsort_rows(X: {dtype}[*S, N]) -> p: i64[*S, N] in 0..N distinct "
            f"op order(X: {dtype}[N]) -> P: i64[N] in 0..N {{ p = argsort_rows(X) P[i] = p[i] }}"
        )
        np.testing.assert_array_equal(run(argsort, x), places)
        search = tx.op(
            f"extern op search_row(A: {dtype}[N], V: {dtype}[M]) -> p: i64[M] in 0..N+1 "
            f"op found(A: {dtype}[N], V: {dtype}[M]) -> P: i64[M] in 0..N+1 {{ p = search_row(A, V) P[i] = p[i] }}"
        )
        np.testing.assert_array_equal(
            run(search, x[places], x), np.searchsorted(numbers[places], numbers, "left")
        )


@pytest.mark.parametrize(("dtype", "shape"), [("bool", "*S, N"), ("f32", "N")])
def test_a_declaration_without_native_code_is_computed_by_the_function(dtype: str, shape: str):
    array = np.array([1, 0, 1, 0]).astype({"f32": "f4"}.get(dtype, dtype))
    operator = tx.op(
        f"extern op argsort_rows(X: {dtype}[{shape}]) -> p: i64[{shape}] in 0..N distinct "
        f"op order(X: {dtype}[N]) -> P: i64[N] in 0..N {{ p = argsort_rows(X) P[i] = p[i] }}"
    )
    assert operator(array).tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "f16", "i32", "u32", "f32"])
@pytest.mark.parametrize("length", [2, 32, 33, 70_000])
def test_equal_keys_beside_their_places_keep_their_order(dtype: str, length: int):
    numbers = np.random.default_rng(length).integers(-40 if dtype[0] != "u" else 0, 40, (2, length))
    x = numbers.astype({"i": "i", "u": "u", "f": "f"}[dtype[0]] + str(int(dtype[1:]) // 8))
    if dtype[0] == "f":
        x[0, ::7], x[1, ::5] = np.nan, -0.0
    np.testing.assert_array_equal(ops.argsort(x), np.argsort(x, axis=-1, kind="stable"))
    down = length - 1 - np.argsort(x[:, ::-1], axis=-1, kind="stable")[:, ::-1]
    np.testing.assert_array_equal(ops.argsort_descending(x), down)

"""The bits of results do not depend on what was called before: kernels of symbolic sizes serve
where they add in the same order.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr.compiler import shape_dispatch as shapes
from texpr.compiler.accumulation_order import accumulation_order_of
from texpr.compiler.schedule import Schedule
from texpr.ir.shapes import bind_sizes
from texpr.targets import find_target

ROWS = "X: f32[M, N]"
OPERATORS = {
    "total": "op f(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }",
    "rows": f"op f({ROWS}) -> Y: f32[M] {{ Y[i] = sum(k: X[i, k]) }}",
    "columns": f"op f({ROWS}) -> Y: f32[N] {{ Y[k] = sum(i: X[i, k]) }}",
    "product": "op f(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
    "product with a transpose": "op f(A: f32[M, K], B: f32[N, K]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] "
    "* B[j, k]) }",
    "softmax": f"op f({ROWS}) -> Y: f32[M, N] {{ m[b] = max(i: X[b, i])  e[b, i] = exp(X[b, i] - m[b])  "
    "Y[b, i] = e[b, i] / sum(k: e[b, k]) }",
    "variance": f"op f({ROWS}) -> Y: f32[M] {{ m[i] = sum(k: X[i, k]) / f32(N)  Y[i] = sum(k: (X[i, k] - "
    f"m[i]) ** 2) / f32(N) }}",
    "largest": f"op f({ROWS}) -> Y: f32[M] {{ Y[i] = max(k: X[i, k]) }}",
    "running sums": f"op f({ROWS}) -> Y: f32[M, N] {{ Y[i, j] = Y[i, j - 1 | 0] + X[i, j] }}",
    "pieces": f"op f({ROWS}) -> Y: f32[M, N] {{ T[i, j] = X[i, j] * 0.3  Y[i, j] = T[i, j] * X[i, j] + T[i, "
    f"j - 1 | 0] * 0.7 }}",
    "triangle": "op f(L: f32[N, N], b: f32[N]) -> y: f32[N] { y[i] = sum(j in 0..i + 1: L[i, j] * b[j]) }",
    "counts": "op f(X: i32[M, N]) -> Y: i64[M] { Y[i] = sum(k: i64(X[i, k])) }",
}
EXTENTS = st.sampled_from([1, 2, 3, 5, 8, 12, 17, 31, 32, 33, 64, 100, 257])


def _arrays(program, extents: dict[str, int]) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    made = []
    for t in program.inputs:
        shape = tuple(extents[v.name] for v in t.shape)
        made.append(
            random.standard_normal(shape).astype("f4")
            if t.dtype.is_float
            else random.integers(-9, 9, shape).astype("i4")
        )
    return made


def _bits(x: np.ndarray) -> bytes:
    return np.ascontiguousarray(x).tobytes()


@pytest.mark.parametrize("text", OPERATORS.values(), ids=OPERATORS)
@examples(6)
@given(extents=st.fixed_dictionaries({n: EXTENTS for n in "MNK"}))
def test_equal_orders_give_equal_bits(text: str, extents: dict[str, int]):
    program = tx.op(text).program()
    arrays = _arrays(program, extents)
    sizes, _ = bind_sizes(program.inputs, [a.shape for a in arrays])
    if accumulation_order_of(program, sizes) == accumulation_order_of(program, {}):
        own, symbolic = (Schedule(program, known).auto().compile() for known in (sizes, {}))
        assert _bits(own(*arrays)) == _bits(symbolic(*arrays))


def test_which_kernels_serve():
    """The symbolic one where lanes hold as many partial sums; their own where sums have levels
    or parts, or are shorter than a vector.
    """
    op = tx.op(OPERATORS["rows"])
    with tx.options(specializations=1):
        few = 5 * find_target("native").machine.vector_bytes // 4
        for n in (few, few + 10, 700, 3000, 5, few):
            op(np.ones((3, n), "f4"))
    assert [numbers for _, numbers in op._kernels.made] == [(3, few), (), (3, 3000), (3, 5)]


@pytest.mark.parametrize("name", ["total", "rows", "product", "softmax", "triangle"])
def test_results_do_not_depend_on_what_was_called_before(name: str):
    first, later = tx.op(OPERATORS[name]), tx.op(OPERATORS[name])
    sizes = (
        [(1, 300_000, 1), (7, 700, 1), (3, 5, 9), (33, 40, 2)]
        if name != "triangle"
        else [(1, 5, 1), (1, 300, 1)]
    )
    with tx.options(specializations=1):
        later(*_arrays(later.program(), {"M": 2, "N": 70, "K": 70}))
        later(*_arrays(later.program(), {"M": 2, "N": 71, "K": 71}))
        for m, n, k in sizes:
            arrays = _arrays(first.program(), {"M": m, "N": n, "K": k})
            assert _bits(later(*arrays)) == _bits(later(*arrays)) == _bits(tx.op(OPERATORS[name])(*arrays))
            with tx.options(specializations=8):
                assert _bits(first(*arrays)) == _bits(later(*arrays))


def test_a_sum_of_the_library_after_many_shapes():
    x = np.full(10**6, 1.0000000000018199)
    alone = tx.op("op f(X: f64[N]) -> y: f64 { y = sum(i: X[i]) }")(x)
    for n in range(1, 20):
        tx.ops.reduce_sum(np.ones(n), axis=0)
    assert tx.ops.reduce_sum(x, axis=0) == alone == pytest.approx(1000000.0000018199, rel=1e-14)


def test_kernels_that_were_not_asked_for_go():
    op = tx.op("op many(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }")
    with mock.patch.object(shapes, "MOST_SHAPES", 4), tx.options(specializations=1):
        for n in (1, 2, 3, 4, 1, 5, 6):
            assert op(np.ones(n, "f4")) == n
    assert len(op._kernels.made) <= 4

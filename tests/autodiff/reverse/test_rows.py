"""Sums over rows that data begin and end: their gradients go through the rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.autodiff.checking import check_gradient
from tests.profiles import examples
from texpr.autodiff import grad
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.loop import For, If, Stmt, Store
from texpr.ir.shapes import evaluate_size, flat_shape
from texpr.ir.tensor import Program
from texpr.ir.traverse import tensors, variables
from texpr.lang import elaborate, parse
from texpr.poly import check_program

Q, Z, M, D = 5, 7, 4, 3
OPERATORS = {
    "a sparse matrix": "C: I[Z] in 0..M, V: T[Z], x: T[M]) -> Y: T[Q - 1] require Q >= 1 {"
    " Y[i] = sum(k in P[i]..P[i + 1]: V[k] * x[C[k]]) }",
    "a sparse matrix times a matrix": "C: I[Z] in 0..M, V: T[Z], x: T[M, D])"
    " -> Y: T[Q - 1, D] require Q >= 1 { Y[i, d] = sum(k in P[i]..P[i + 1]: V[k] * x[C[k], d]) }",
    "bags": "C: I[Z] in 0..M, x: T[M, D]) -> Y: T[Q - 1, D] require Q >= 1 {"
    " Y[i, d] = sum(k in P[i]..P[i + 1]: x[C[k], d]) }",
    "ragged products": "V: T[Z, D], W: T[Q, D]) -> Y: T[Q - 1] require Q >= 1 {"
    " Y[i] = sum(k in P[i]..P[i + 1], d: V[k, d] * W[i, d]) }",
    "two ends": "R: I[Q] in 0..Z + 1, V: T[Z], x: T[Q]) -> Y: T[Q] {"
    " Y[i] = sum(k in P[i]..R[i]: exp(V[k] * x[i])) }",
    "one end": "V: T[Z], x: T[Q]) -> Y: T[Q] { Y[i] = sum(k in 0..P[i]: V[k] * x[i]) }",
    "wider": "V: T[Z], x: T[Q]) -> Y: T[Q] {"
    " Y[i] = sum(k in max(P[i] - 1, 0)..min(P[i] + 2, Z): V[k] * V[k] * x[i]) }",
    "rows of a row": "R: I[Z] in 0..M + 1, V: T[M], x: T[Z]) -> Y: T[Q - 1] require Q >= 1 {"
    " Y[i] = sum(r in P[i]..min(P[i + 1], Z - 1), k in R[r]..R[r + 1]: V[k] * x[r]) }",
    "boxes": "R: I[Q] in 0..M + 1, V: T[Z, M]) -> Y: T[Q] {"
    " Y[i] = sum(y in P[i]..P[i] + 2, x in min(R[i], 1)..R[i]: if y < Z then V[y, x] * V[y, x] else 0) }",
    "neighbours": "V: T[Z]) -> Y: T[Q - 1] require Q >= 1, Z >= 1 {"
    " Y[i] = sum(k in P[i]..P[i + 1]: V[k - 1 | 0] * V[k + 1 | clamp]) }",
    "a softmax": "V: T[Z], x: T[Z]) -> Y: T[Q - 1] require Q >= 1 {"
    " s[i] = sum(k in P[i]..P[i + 1]: exp(V[k]))  for i in 0..Q - 1"
    " Y[i] = sum(k in P[i]..P[i + 1]: exp(V[k]) * x[k]) / (1 + s[i]) }",
    "a maximum": "V: T[Z]) -> Y: T[Q] require Z >= 1 {"
    " Y[i] = max(k in min(P[i], Z - 1)..min(P[i], Z - 1) + 1: V[k] * V[k]) }",
    "a product": "V: T[Z]) -> Y: T[Q - 1] require Q >= 1 { Y[i] = prod(k in P[i]..P[i + 1]: V[k]) }",
}
SIZES = {"Q": Q, "Z": Z, "M": M, "D": D}
ENDS = st.lists(st.integers(0, Z), min_size=Q, max_size=Q)


def text(name: str, dtype: str = "f64", index: str = "i64") -> str:
    ragged = f"op rows(P: I[Q] in 0..Z + 1, {OPERATORS[name]}"
    return ragged.replace("I[", f"{index}[").replace("T[", f"{dtype}[")


@lru_cache(maxsize=64)
def derivative(name: str, order: int = 1, dtype: str = "f64", index: str = "i64") -> tx.Op:
    found = tx.op(text(name, dtype, index))
    for _ in range(order):
        found = tx.grad(found)
    return found


def arrays(program: Program, ends: list[int]) -> list[np.ndarray]:
    """Arrays of a program; the first one begins and ends rows."""
    random, sizes = np.random.default_rng(0), {v: SIZES[v.name] for v in program.sizes}
    found: list[np.ndarray] = []
    for t in program.inputs:
        shape = flat_shape(t, sizes)
        most = 0 if t.value_range is None else evaluate_size(t.value_range[1], sizes)
        drawn = random.normal(size=shape) if t.dtype.is_float else random.integers(0, most, shape)
        found.append(np.asarray(ends if not found else drawn).astype(numpy_dtype(t.dtype)))
    return found


def elaborated(name: str) -> Program:
    return elaborate(parse(text(name)).ops["rows"], {}, {})


@pytest.mark.parametrize("name", OPERATORS)
@given(ends=ENDS)
@examples(4)
def test_rows_in_any_order(name: str, ends: list[int]):
    program = elaborated(name)
    check_gradient(program, *arrays(program, ends))


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("order", [1, 2])
@given(ends=ENDS)
@examples(6)
def test_kernels_compute_what_the_text_says(name: str, order: int, ends: list[int]):
    f = derivative(name, order)
    given_arrays = arrays(f.program(), ends)
    for found, expected in zip(_several(f(*given_arrays)), _several(tx.interpret(f, *given_arrays))):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("dtype", "index"), [("f32", "i32"), ("f16", "i16"), ("f32", "u8"), ("bf16", "i64")])
@pytest.mark.parametrize("name", ["a sparse matrix", "a sparse matrix times a matrix", "two ends"])
def test_other_types(name: str, dtype: str, index: str):
    f = derivative(name, 1, dtype, index)
    given_arrays = arrays(f.program(), [5, 2, 2, 7, 0])
    for found, expected in zip(_several(f(*given_arrays)), _several(tx.interpret(f, *given_arrays))):
        np.testing.assert_allclose(
            np.asarray(found, "f8"),
            np.asarray(expected, "f8"),
            rtol=1e-2 if dtype != "f32" else 1e-5,
            atol=1e-5,
        )


def _several(found: object) -> tuple:
    return tuple(found) if isinstance(found, tuple | list) else (found,)


@pytest.mark.parametrize("sizes", [{"Q": 1, "Z": 3}, {"Q": 3, "Z": 0}, {"Q": 2, "Z": 1}])
def test_few_rows_and_elements(sizes: dict[str, int]):
    f = derivative("bags")
    x = np.ones((2, D))
    ends, places = np.arange(sizes["Q"]) % (sizes["Z"] + 1), np.zeros(sizes["Z"], "i8")
    count = max(0, int(ends[-1] - ends[0]))
    expected = [[count] * D, [0] * D]
    assert f(ends, places, x, np.ones((sizes["Q"] - 1, D))).tolist() == expected


def test_rows_are_gone_through():
    shown = str(tx.grad(tx.op(text("a sparse matrix"))))
    assert "dV[k + 0 * i] += dY[i] * x[C[k]]  for k in P[i]..P[i + 1]" in shown
    assert "dx[C[k] + 0 * i] += dY[i] * V[k]  for k in P[i]..P[i + 1]" in shown


@pytest.mark.parametrize("range_", ["0..P[i]", "P[i]..Z", "max(P[i] - 1, 0)..Z"])
def test_ranges_with_one_end_of_data_are_searched(range_: str):
    operator = OPERATORS["one end"].replace("0..P[i]", range_)
    shown = str(tx.grad(tx.op(f"op rows(P: i64[Q] in 0..Z + 1, {operator}".replace("T[", "f64["))))
    assert "dV[k] = sum(i:" in shown


@pytest.mark.parametrize("name", [n for n in OPERATORS if n not in ("one end", "a product")])
@pytest.mark.parametrize("order", [1, 2])
def test_no_loop_compares_all_elements_with_all_rows(name: str, order: int):
    """Loops over rows hold loops of the length of a row, or of a size that the sum has as well."""
    kernel = tx.schedule(derivative(name, order)).auto().kernel
    for loops in _loops_around_stores(kernel.body):
        sizes = [{v.name for v in variables(n.extent)} for n in loops if not tensors(n.extent)]
        assert not any("Q" in one for one in sizes) or not any("Z" in one for one in sizes)


def _loops_around_stores(body: tuple[Stmt, ...], around: tuple[For, ...] = ()) -> Iterator[tuple[For, ...]]:
    for s in body:
        if isinstance(s, For | If):
            yield from _loops_around_stores(s.body, (*around, s) if isinstance(s, For) else around)
        elif isinstance(s, Store):
            yield around


def test_second_derivatives_are_proven():
    for name in OPERATORS:
        check_program(grad(grad(elaborated(name))))

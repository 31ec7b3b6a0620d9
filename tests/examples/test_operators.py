"""The operators of `examples/operators`: compiled equals interpreted, and both equal NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from examples.operators import references

FOLDER = Path(references.__file__).parent
OPERATORS = {
    name: operator for path in sorted(FOLDER.glob("*.tx")) for name, operator in vars(tx.load(path)).items()
}
Random = np.random.Generator


def floats(*shape: int) -> Callable[[Random], np.ndarray]:
    return lambda r: r.standard_normal(shape)


def positive(*shape: int) -> Callable[[Random], np.ndarray]:
    return lambda r: r.uniform(0.5, 2, shape)


def integers(high: int, *shape: int, dtype: type = np.int32) -> Callable[[Random], np.ndarray]:
    return lambda r: r.integers(0, high, shape).astype(dtype)


def definite(n: int) -> Callable[[Random], np.ndarray]:
    """A symmetric matrix whose eigenvalues are well above zero."""

    def make(r: Random) -> np.ndarray:
        A = r.standard_normal((n, n))
        return A @ A.T + n * np.eye(n)

    return make


def fixed(value: object) -> Callable[[Random], np.ndarray]:
    return lambda r: np.asarray(value)


CASES: dict[str, tuple[list[Callable[[Random], np.ndarray]], dict[str, int]]] = {
    "gemm": ([floats(), floats(), floats(5, 7), floats(7, 6), floats(5, 6)], {}),
    "two_mm": ([floats(), floats(), floats(5, 7), floats(7, 6), floats(6, 3), floats(5, 3)], {}),
    "three_mm": ([floats(5, 7), floats(7, 6), floats(6, 3), floats(3, 4)], {}),
    "atax": ([floats(5, 7), floats(7)], {}),
    "bicg": ([floats(5, 7), floats(7), floats(5)], {}),
    "mvt": ([floats(6, 6), floats(6), floats(6), floats(6), floats(6)], {}),
    "gesummv": ([floats(), floats(), floats(6, 6), floats(6, 6), floats(6)], {}),
    "syrk": ([floats(), floats(), floats(6, 4), floats(6, 6)], {}),
    "trmm": ([floats(), floats(6, 6), floats(6, 4)], {}),
    "doitgen": ([floats(3, 4, 5), floats(5, 6)], {}),
    "trisolv": ([definite(9), floats(9)], {}),
    "cholesky": ([definite(9)], {}),
    "lu": ([definite(9)], {}),
    "covariance": ([floats(8, 5)], {}),
    "correlation": ([floats(8, 5)], {}),
    "power_iteration": ([definite(6), positive(6)], {"STEPS": 7}),
    "gram_schmidt": ([floats(5, 8)], {}),
    "jacobi_1d": ([floats(19)], {"STEPS": 5}),
    "jacobi_2d": ([floats(9, 11)], {"STEPS": 5}),
    "heat_3d": ([floats(5, 6, 7)], {"STEPS": 3}),
    "seidel_2d": ([floats(7, 9)], {"STEPS": 3}),
    "fdtd_2d": ([floats(6, 7), floats(6, 7), floats(6, 7), floats(5)], {}),
    "life": ([integers(2, 9, 11, dtype=np.uint8)], {"STEPS": 4}),
    "edit_distance": ([integers(3, 11), integers(3, 8)], {}),
    "common_subsequence": ([integers(3, 11), integers(3, 8)], {}),
    "knapsack": ([integers(8, 9), positive(9)], {"CAPACITY": 17}),
    "viterbi": ([floats(4), floats(4, 4), floats(4, 5), integers(5, 9)], {}),
    "floyd_warshall": ([positive(8, 8)], {}),
    "increasing": ([floats(19)], {}),
    "matrix_chain": ([integers(20, 8, dtype=np.int64), integers(9, 7, dtype=np.int64)], {}),
    "tridiagonal": ([floats(9), lambda r: 4 + r.random(9), floats(9), floats(9)], {}),
    "qr_columns": ([floats(8, 5)], {}),
    "solve_upper": ([definite(9), floats(9)], {}),
    "solve_right": ([definite(6), floats(4, 6)], {}),
    "ldl": ([definite(7)], {}),
    "durbin": ([fixed(0.3 ** np.arange(1, 9) * np.cos(np.arange(8)))], {}),
    "nussinov": ([integers(4, 14)], {}),
    "search_tree": ([positive(9)], {}),
    "palindrome": ([integers(3, 13)], {}),
    "knight": ([], {"N": 9, "M": 11}),
    "smith_waterman": ([integers(3, 11), integers(3, 9), fixed(2.0), fixed(-1.0), fixed(1.5)], {}),
    "gotoh": ([integers(3, 11), integers(3, 9), fixed(2.0), fixed(0.5)], {}),
    "warping": ([floats(9), floats(11)], {}),
    "viterbi_path": ([floats(4), floats(4, 4), floats(4, 5), integers(5, 9)], {}),
    "smoothing": ([positive(4), positive(4, 4), positive(4, 5), integers(5, 9)], {}),
    "biquad": ([floats(17), positive(3), fixed([1.3, -0.6, 0.2])], {}),
    "nearest_set": ([lambda r: np.arange(17) % 6 == 4], {}),
    "summed_area": ([floats(7, 9)], {}),
    "catalan": ([], {"N": 12}),
    "box": ([floats(7, 9)], {"R": 2}),
    "gaussian": ([floats(7, 9)], {}),
    "sobel": ([floats(7, 9)], {}),
    "bilateral": ([floats(7, 9), fixed(1.5), fixed(0.8)], {}),
    "mandelbrot": ([fixed(np.linspace(-2, 0.6, 13)), fixed(np.linspace(-1.2, 1.3, 9))], {"STEPS": 20}),
    "prefix_sum": ([floats(17)], {}),
    "moving_average": ([floats(17)], {"K": 4}),
    "exponential_average": ([floats(17), fixed(0.3)], {}),
    "dft": ([floats(12)], {}),
    "horner": ([floats(6), floats(9)], {}),
    "convolve": ([floats(9), floats(4)], {}),
    "histogram": ([integers(7, 40)], {"BINS": 7}),
    "nearest_centre": ([floats(12, 3), floats(4, 3)], {}),
    "move_centres": ([floats(12, 3), integers(3, 12, dtype=np.int64), floats(4, 3)], {}),
    "gravity": ([floats(7, 3), positive(7), fixed(0.1)], {}),
    "steps_below": ([fixed(np.linspace(-1, 1, 6)), floats(15)], {}),
}


def as_tuple(result: object) -> tuple[np.ndarray, ...]:
    return tuple(map(np.asarray, result)) if isinstance(result, tuple | list) else (np.asarray(result),)


def test_every_operator_has_a_case():
    assert set(CASES) == set(OPERATORS)


@pytest.mark.parametrize("name", CASES)
def test_compiled_equals_interpreted_equals_numpy(name):
    makers, constants = CASES[name]
    random = np.random.default_rng(len(name))
    inputs = [make(random) for make in makers]
    compiled = as_tuple(OPERATORS[name](*inputs, **constants))
    interpreted = as_tuple(tx.interpret(OPERATORS[name], *inputs, **constants))
    expected = as_tuple(getattr(references, name)(*inputs, **constants))
    assert len(compiled) == len(interpreted) == len(expected)
    for c, i, e in zip(compiled, interpreted, expected):
        assert c.shape == i.shape == e.shape and c.dtype == i.dtype
        np.testing.assert_allclose(i, e, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(c, i, rtol=1e-12, atol=1e-13)

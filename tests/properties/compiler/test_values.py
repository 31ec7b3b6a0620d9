"""What is compiled computes what the interpreter says.

Sums and products here are of small multiples of 1/4, which floats hold exactly, so any order of
summation and any fused multiply-add give the same bits. Where rounding matters the bound is stated.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.compare import assert_same_bits
from tests.compiler.operators import operators
from tests.strategies import LAYOUTS

OPS = operators()
DTYPES = ["f4", "f8", "i4", "i8", "u1", "f2", "i2"]


def numbers(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Small numbers that sums and products of a few hundred hold exactly."""
    generator = np.random.default_rng([seed, *shape])
    kind = np.dtype(dtype).kind
    if kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if kind in "iu":
        return generator.integers(0 if kind == "u" else -9, 10, shape).astype(dtype)
    return (generator.integers(-8, 9, shape) / (4 if dtype != "f2" else 1)).astype(dtype)


def tuple_of(result: object) -> tuple[np.ndarray, ...]:
    return result if isinstance(result, tuple) else (result,)  # type: ignore[return-value]


def check(op: tx.Op, *arrays: object, **constants: object) -> None:
    """The compiled operator and the interpreter give the same bits."""
    for found, expected in zip(
        tuple_of(op(*arrays, **constants)), tuple_of(tx.interpret(op, *arrays, **constants)), strict=True
    ):
        assert_same_bits(np.asarray(found), np.asarray(expected))


ELEMENTWISE = [(), (0,), (1,), (3,), (17,), (33,), (65,), (3, 5), (2, 0, 3), (2, 3, 7, 5)]


@pytest.mark.parametrize("shape", ELEMENTWISE, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise(dtype, shape):
    x, z = numbers(dtype, shape), numbers(dtype, shape, 1)
    for name in ("add", "extremes", "compare"):
        check(OPS[name], x, z)
    check(OPS["relu"], x)


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u4", "u8", "f2", "f8"])
@pytest.mark.parametrize("shape", [(), (33,), (3, 0), (3, 17)], ids=str)
def test_copies(dtype, shape):
    check(OPS["copy"], numbers(dtype, shape))


MATRICES = [
    (1, 1, 1),
    (3, 17, 2),
    (17, 3, 33),
    (33, 33, 33),
    (2, 65, 1),
    (1, 2, 65),
    (0, 3, 3),
    (3, 0, 3),
    (3, 3, 0),
    (8, 8, 16),
]


@pytest.mark.parametrize("m, k, n", MATRICES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
def test_products(dtype, m, k, n):
    a, b = numbers(dtype, (m, k)), numbers(dtype, (k, n), 1)
    check(OPS["matmul"], a, b)
    if (m, k, n) in MATRICES[1:6:2] + MATRICES[7:8]:
        check(OPS["nt"], a, np.ascontiguousarray(b.T))
        check(OPS["tn"], np.ascontiguousarray(a.T), b)
        check(OPS["matvec"], a, b[:, 0])


@pytest.mark.parametrize("rank", range(5))
def test_packs_of_any_rank(rank):
    front = (2, 1, 3, 2)[:rank]
    check(OPS["bmm"], numbers("f4", (*front, 3, 5)), numbers("f4", (*front, 5, 9)))
    check(OPS["total"], numbers("f4", front))
    check(OPS["rows"], numbers("f4", (*front, 33)))
    check(OPS["columns"], numbers("f4", (17, *front)))
    check(OPS["largest"], numbers("f4", (*front, 19)))
    check(OPS["places"], numbers("f4", (*front, 19)))
    check(OPS["any_all"], numbers("?", (*front, 5)))
    for axis in range(rank + 1):
        x, z = (
            numbers("i4", (*front[:axis], 3, *front[axis:])),
            numbers("i4", (*front[:axis], 5, *front[axis:]), 1),
        )
        check(OPS["concat"], x, z, axis=axis)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u1", "f2"])
@pytest.mark.parametrize("n", [1, 3, 17, 65, 200])
def test_reductions(dtype, n):
    x = numbers(dtype, (5, n))
    for name in ("rows", "largest", "places", "variance") if dtype != "f2" else ("largest", "places"):
        check(OPS[name], x)
    check(OPS["columns"], np.ascontiguousarray(x.T))


@pytest.mark.parametrize("n", [0, 1])
def test_empty_reductions(n):
    check(OPS["rows"], np.zeros((n, 0), np.float32))
    check(OPS["total"], np.zeros((n, 0), np.int32))
    check(OPS["any_all"], np.zeros((n, 0), bool))
    check(OPS["largest"], np.zeros((0, n), np.float32))
    check(OPS["softmax"], np.zeros((0, n), np.float32), axis=1)


@pytest.mark.parametrize("dtype", ["f4", "i8", "u1", "?"])
def test_movement(dtype):
    for shape in ((1, 1), (3, 5), (17, 33), (65, 2), (0, 3)):
        check(OPS["transpose"], numbers(dtype, shape))
    for n in (0, 1, 17, 33):
        check(OPS["diagonal"], numbers(dtype, (n, n)))
    check(OPS["flatten"], numbers(dtype, (2, 3, 5)))
    check(OPS["unflatten"], numbers(dtype, (3, 10)))
    check(OPS["embed"], numbers(dtype, (7, 5)), np.array([[0, 6], [3, 3]], np.int32))


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (5, 33), (33, 65)])
@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_guards(dtype, shape):
    check(OPS["shift"], numbers(dtype, shape))
    check(OPS["triangle"], numbers(dtype, shape))
    check(OPS["ragged"], numbers(dtype, (shape[1], shape[1])))


@pytest.mark.parametrize("s, p, w", [(1, 0, 9), (1, 1, 3), (2, 1, 17), (3, 2, 33), (2, 0, 80)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_convolutions(dtype, s, p, w):
    check(OPS["conv1d"], numbers(dtype, (2, 3, w)), numbers(dtype, (4, 3, 3), 1), S=s, P=p)
    check(OPS["maxpool"], numbers(dtype, (3, w)), R=3, S=s)
    if dtype == "f4":
        image = numbers(dtype, (2, 3, 5, w))
        check(OPS["conv2d"], image, numbers(dtype, (5, 3, 3, 3), 1), numbers(dtype, (5,), 2), S=s, P=p)
        check(OPS["conv2d"], image, numbers(dtype, (5, 3, 3, 3), 1), S=s, P=p)


def test_scatters():
    index = np.array([[4, 0, 4], [4, 2, 2]], np.int32)
    for dtype in ("f4", "i4", "f8"):
        check(OPS["scatter"], numbers(dtype, (2, 3, 17)), index, V=5)
        check(OPS["scatter"], numbers(dtype, (0, 3)), np.zeros(0, np.int32), V=5)
    check(OPS["histogram"], np.arange(1000).astype(np.uint8))


def test_inputs_that_are_sizes_or_defaults():
    check(OPS["biased"], numbers("f4", (9,)))
    check(OPS["biased"], numbers("f4", (9,)), numbers("f4", (9,), 1))
    for at in (0, 3, np.int32(5)):
        check(OPS["window"], numbers("f4", (9,)), at, L=4)
    check(OPS["statistics"], numbers("f4", (65,)))


def close(op: tx.Op, ulps: float, *arrays: object, **constants: object) -> None:
    """Within so many units in the last place of the largest element."""
    for found, expected in zip(
        tuple_of(op(*arrays, **constants)), tuple_of(tx.interpret(op, *arrays, **constants)), strict=True
    ):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        largest = np.max(np.abs(expected[np.isfinite(expected)]), initial=0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=ulps * np.spacing(largest))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [1, 3, 17, 65])
def test_functions(dtype, n):
    x = np.random.default_rng(n).standard_normal((5, n)).astype(dtype)
    close(OPS["softmax"], 8, x, axis=1)
    close(OPS["softmax"], 8, x, axis=0)
    close(OPS["layernorm"], 32, x, np.ones(n, dtype), np.zeros(n, dtype))
    for found, expected in zip(OPS["activations"](x), tx.interpret(OPS["activations"], x), strict=True):
        assert np.all(np.abs(found - expected) <= 4 * np.spacing(np.abs(x) + 1))


@pytest.mark.parametrize("lengths", [(1, 1), (5, 7), (17, 33)])
def test_calls_of_operators(lengths):
    generator = np.random.default_rng(0)
    q, k, v = (
        generator.standard_normal((2, n, 8)).astype(np.float32) for n in (lengths[0], lengths[1], lengths[1])
    )
    close(OPS["attention"], 32, q, k, v)


def test_gradients():
    x, g = (np.random.default_rng(seed).standard_normal((5, 33)).astype(np.float32) for seed in (0, 1))
    close(tx.grad(OPS["softmax"]), 16, x, g, axis=1)
    close(tx.grad(OPS["activations"]), 32, x, g, g, g)
    a, b, c = numbers("f4", (17, 5)), numbers("f4", (5, 33)), numbers("f4", (17, 33))
    check(tx.grad(OPS["matmul"]), a, b, c)
    check(
        tx.grad(OPS["conv1d"]),
        numbers("f4", (2, 3, 9)),
        numbers("f4", (4, 3, 3)),
        numbers("f4", (2, 4, 5)),
        S=2,
        P=1,
    )
    forward, backward = tx.vjp(OPS["matmul"])
    assert_same_bits(forward(a, b), OPS["matmul"](a, b))
    check(backward, a, b, c)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [1, 17, 1000, 5003])
def test_sums_are_within_their_bound(dtype, n):
    """|error| <= n * eps * sum |terms|: Higham, Accuracy and Stability, 2002, section 4.2; holds
    for any order.
    """
    generator = np.random.default_rng(n)
    x = (generator.standard_normal(n) * 10.0 ** generator.integers(-6, 6, n)).astype(dtype)
    exact = float(np.sum(x.astype(np.longdouble)))
    assert abs(float(OPS["total"](x)) - exact) <= n * np.finfo(dtype).eps * float(np.sum(np.abs(x)))
    a, b = generator.standard_normal((3, n)).astype(dtype), generator.standard_normal((n, 5)).astype(dtype)
    limit = n * np.finfo(dtype).eps * (np.abs(a) @ np.abs(b))
    assert np.all(np.abs(OPS["matmul"](a, b) - a.astype(np.longdouble) @ b.astype(np.longdouble)) <= limit)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    change = LAYOUTS[layout]
    a, b = numbers("f4", (17, 5)), numbers("f4", (5, 33))
    check(OPS["matmul"], change(a), change(b))
    check(OPS["relu"], change(numbers("i8", (3, 5, 7))))
    check(OPS["embed"], change(a), change(np.array([1, 16, 3, 0], np.int32)))
    expected = a @ b
    for shape in ((17, 33), (17, 33)):
        out = change(np.full(shape, np.nan, np.float32))
        if out.flags.writeable and layout != "every other":
            assert OPS["matmul"](change(a), change(b), out=out) is out
            np.testing.assert_array_equal(out, expected)


def test_broadcast_views():
    x = np.broadcast_to(numbers("f4", (1, 33)), (17, 33))
    check(OPS["relu"], x)
    check(OPS["matmul"], np.broadcast_to(np.float32(2), (3, 17)), x)


@pytest.mark.parametrize("shift", [-9, -1, 0, 1, 9])
def test_outputs_that_overlap_inputs(shift):
    memory = numbers("f4", (100,))
    x, out = memory[20:60], memory[20 + shift : 60 + shift]
    expected = tx.interpret(OPS["add"], x, x)
    assert OPS["add"](x, x, out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_a_transposed_output_over_its_input():
    square = numbers("f4", (33, 33))
    expected = square.T.copy()
    OPS["transpose"](square, out=square)
    np.testing.assert_array_equal(square, expected)

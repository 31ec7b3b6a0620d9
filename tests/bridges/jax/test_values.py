"""Operators inside JAX give what they give outside: dtypes, shapes, constants, results."""

from __future__ import annotations

import doctest
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr import ops
from texpr.bridges.jax.jax_operator import JaxOp

jax = pytest.importorskip("jax")
jnp = jax.numpy

AXPY = tx.op("op axpy<T: float>(a: T, X: T[*A], Y: T[*A]) -> Z: T[*A] { Z[*i] = a * X[*i] + Y[*i] }")
PRODUCT = tx.op(
    "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)
TAKE = tx.op("op take(X: f32[N], I: i64[M] in 0..N) -> Y: f32[M] { Y[i] = X[I[i]] }")
PARTS = tx.op(
    "op parts(X: f32[N], s: f32 = 1; K = 2) -> (A: f32[N], B: i32[N]) "
    "{ A[i] = X[i] * s + K\n B[i] = if X[i] > 0 then 1 else 0 }"
)


def numbers(seed: int, *shape: int, dtype: str = "float32"):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32)).astype(dtype)


def with_64_bits():
    """A block in which JAX has types of 64 bits."""
    return jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64()


@examples(20)
@given(
    st.lists(st.integers(0, 4), max_size=3),
    st.sampled_from(["float16", "bfloat16", "float32"]),
    st.booleans(),
)
def test_results_are_those_of_the_interpreter(shape, dtype, jitted):
    x, y = numbers(0, *shape, dtype=dtype), numbers(1, *shape, dtype=dtype)
    f = jax.jit(tx.jax.op(AXPY)) if jitted else tx.jax.op(AXPY)
    found = f(jnp.asarray(2, dtype), x, y)
    expected = tx.interpret(AXPY, np.asarray(2, x.dtype), np.asarray(x), np.asarray(y))
    assert found.shape == x.shape and found.dtype == x.dtype
    assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


@examples(12)
@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 9))
def test_products_are_those_of_the_operator(m, n, k):
    a, b = numbers(2, m, k), numbers(3, k, n)
    found = jax.jit(tx.jax.op(PRODUCT))(a, b)
    assert np.array_equal(found, PRODUCT(np.asarray(a), np.asarray(b)))


def test_a_kernel_that_threads_share_runs_on_threads_of_jax():
    a, b = numbers(4, 300, 200), numbers(5, 200, 400)
    f, expected = jax.jit(tx.jax.op(PRODUCT)), PRODUCT(np.asarray(a), np.asarray(b))
    with tx.options(threads=2), ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: np.asarray(f(a, b)), range(16)):
            assert np.array_equal(found, expected)


def test_several_results_are_a_named_tuple():
    found = tx.jax.op(PARTS)(jnp.asarray([-1.0, 2.0]))
    assert found._fields == ("A", "B") and found.A.tolist() == [1, 4] and found.B.tolist() == [0, 1]
    assert found.B.dtype == jnp.int32


def test_constants_and_inputs_by_name():
    f = tx.jax.op(PARTS)
    x = jnp.ones(2)
    assert f(x, K=5).A.tolist() == [6, 6]
    assert f(s=3, X=x).A.tolist() == [5, 5]
    assert f(x, 3.0, K=1).A.tolist() == [4, 4]
    assert jax.jit(lambda x, s: f(x, s=s).A)(x, 2.0).tolist() == [4, 4]
    assert f(x).A.tolist() == [3, 3]


def test_numbers_take_the_dtype_of_what_they_meet():
    f = tx.jax.op(AXPY)
    x = jnp.ones(2, "bfloat16")
    assert f(2, x, x).dtype == f(0.5, x, x).dtype == jnp.bfloat16
    assert jax.jit(f)(2, x, x).tolist() == [3, 3]


def test_integers_of_64_bits_are_narrow_in_jax():
    x = numbers(6, 3, 4)
    assert tx.jax.op(ops.reduce_argmax)(x, axis=1).tolist() == jnp.argmax(x, axis=1).tolist()
    assert tx.jax.op(ops.reduce_argmax)(x, axis=1).dtype == jnp.int32
    assert tx.jax.op(TAKE)(x[0], jnp.asarray([3, 0])).tolist() == x[0, jnp.asarray([3, 0])].tolist()


def test_64_bits_where_jax_has_them():
    with with_64_bits():
        x = jnp.asarray([1.0, 3.0], "float64")
        assert tx.jax.op(AXPY)(2, x, x).dtype == jnp.float64
        assert tx.jax.op(ops.reduce_argmax)(x).dtype == jnp.int64
        assert jax.grad(lambda x: tx.jax.op(AXPY)(2, x, x).sum())(x).dtype == jnp.float64


def test_orders_of_the_runtime():
    x = numbers(7, 5, 6)
    assert np.array_equal(tx.jax.op(ops.argsort)(x), jnp.argsort(x, axis=-1, stable=True))


def test_it_says_what_it_is():
    f = tx.jax.op(TAKE)
    assert repr(f) == "<jax op take(X: f32[N], I: i64[M] in 0..N) -> Y: f32[M]>"
    assert f.__name__ == "take" and f.operator is TAKE
    assert "= texpr[op=take] a b" in str(jax.make_jaxpr(f)(jnp.ones(3), jnp.zeros(1, "int32")))


@pytest.mark.parametrize("documented", [tx.jax.op, JaxOp])
def test_examples_of_docstrings(documented):
    test = doctest.DocTestParser().get_doctest(documented.__doc__, {"tx": tx, "np": np}, "op", None, 0)
    assert test.examples and doctest.DocTestRunner().run(test).failed == 0

"""Derivatives and batches of operators inside JAX, against those that JAX derives itself."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import ops

jax = pytest.importorskip("jax")
jnp = jax.numpy

SCALED = tx.op(
    "op scaled(X: f32[N], Y: f32[N], I: i32[N] in 0..N) -> (Z: f32[N], K: i32[N]) "
    "{ Z[i] = sin(X[i]) * Y[I[i]]\n K[i] = I[i] }"
)
PRODUCT = tx.op(
    "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)
SQUARE = tx.op("op square<T: float>(X: T[*A]) -> Y: T[*A] { Y[*i] = X[*i] * X[*i] }")


def numbers(seed: int, *shape: int):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


X, Y, PLACES = numbers(0, 5), numbers(1, 5), jnp.asarray([4, 0, 0, 2, 1], "int32")


def scaled(x, y, i):
    return jnp.sin(x) * y[i]


def ours(x, y, i):
    return tx.jax.op(SCALED)(x, y, i).Z


def product(a, b):
    return jnp.matmul(a, b, precision="highest")


def both(of_operator, of_jax, bound: float = 1e-5):
    one, two = jax.tree.leaves(of_operator), jax.tree.leaves(of_jax)
    assert len(one) == len(two) > 0
    for a, b in zip(one, two):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert np.allclose(a, b, rtol=bound, atol=bound)


TRANSFORMED = {
    "grad": lambda f: jax.grad(lambda x, y: f(x, y, PLACES).sum(), argnums=(0, 1))(X, Y),
    "grad of one": lambda f: jax.grad(lambda y: f(X, y, PLACES).sum())(Y),
    "value_and_grad": lambda f: jax.value_and_grad(lambda x: f(x, Y, PLACES).sum())(X),
    "grad in jit": lambda f: jax.jit(jax.grad(lambda x: f(x, Y, PLACES).sum()))(X),
    "jvp": lambda f: jax.jvp(lambda x, y: f(x, y, PLACES), (X, Y), (Y, X)),
    "jvp of jvp": lambda f: jax.jvp(lambda x: jax.jvp(lambda x: f(x, Y, PLACES), (x,), (Y,))[1], (X,), (Y,)),
    "jacrev": lambda f: jax.jacrev(f)(X, Y, PLACES),
    "jacfwd": lambda f: jax.jacfwd(f)(X, Y, PLACES),
    "hessian": lambda f: jax.hessian(lambda x: f(x, Y, PLACES).sum())(X),
    "reverse of reverse": lambda f: jax.grad(
        lambda x: (jax.grad(lambda x: f(x, Y, PLACES).sum())(x) ** 2).sum()
    )(X),
    "reverse of forward": lambda f: jax.grad(
        lambda x: jax.jvp(lambda x: f(x, Y, PLACES), (x,), (Y,))[1].sum()
    )(X),
    "third": lambda f: jax.grad(lambda x: jnp.diag(jax.hessian(lambda x: f(x, Y, PLACES).sum())(x)).sum())(X),
    "linearize": lambda f: jax.linearize(lambda x: f(x, Y, PLACES), X)[1](Y),
    "checkpoint": lambda f: jax.grad(
        lambda x: jax.checkpoint(lambda x: f(f(x, Y, PLACES), Y, PLACES).sum())(x)
    )(X),
    "scan": lambda f: jax.grad(
        lambda x: jax.lax.scan(lambda c, _: (f(c, Y, PLACES), c.sum()), x, None, length=3)[0].sum()
    )(X),
    "cond": lambda f: jax.grad(
        lambda x: jax.lax.cond(x[0] > 0, lambda x: f(x, Y, PLACES), lambda x: x, x).sum()
    )(X),
    "vmap": lambda f: jax.vmap(f, (0, None, 0))(jnp.stack([X, Y]), Y, jnp.stack([PLACES, PLACES[::-1]])),
    "vmap of another axis": lambda f: jax.vmap(f, (1, None, None), 1)(jnp.stack([X, Y], 1), Y, PLACES),
    "vmap of vmap": lambda f: jax.vmap(jax.vmap(f, (0, None, None)), (None, 0, None))(
        jnp.stack([X, Y]), jnp.stack([Y, X]), PLACES
    ),
    "vmap of grad": lambda f: jax.vmap(jax.grad(lambda x: f(x, Y, PLACES).sum()))(jnp.stack([X, Y])),
    "grad of vmap": lambda f: jax.grad(lambda x: jax.vmap(lambda x: f(x, Y, PLACES))(x).sum())(
        jnp.stack([X, Y])
    ),
    "vmap of hessian": lambda f: jax.vmap(jax.hessian(lambda x: f(x, Y, PLACES).sum()))(jnp.stack([X, Y])),
    "vmap of an empty batch": lambda f: jax.vmap(f, (0, None, None))(jnp.zeros((0, 5)), Y, PLACES),
    "vmap of grad of scan": lambda f: jax.vmap(
        jax.grad(lambda x: jax.lax.scan(lambda c, _: (f(c, Y, PLACES), c), x, None, length=2)[0].sum())
    )(jnp.stack([X, Y])),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations(name: str):
    transformed = TRANSFORMED[name]
    both(transformed(ours), transformed(scaled))


@pytest.mark.parametrize(
    "name", [n for n in TRANSFORMED if n in ("grad", "jvp", "hessian", "vmap of grad", "grad of vmap")]
)
def test_transformations_where_jax_has_64_bits(name: str):
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        both(TRANSFORMED[name](ours), TRANSFORMED[name](scaled))


def test_batches_are_one_call():
    """No loop of JAX, wherever the axis is."""
    for axes in ((0, None, None), (1, None, 0), (None, 0, None)):
        batch = [jnp.zeros((*s[:a], 2, *s[a:]) if a is not None else s) for s, a in zip(((5,), (5,)), axes)]
        places = jnp.zeros((2, 5), "int32") if axes[2] == 0 else PLACES
        assert "scan" not in str(jax.make_jaxpr(jax.vmap(ours, axes))(*batch, places))
    traced = str(jax.make_jaxpr(jax.vmap(jax.grad(lambda x: ours(x, Y, PLACES).sum())))(jnp.stack([X, X])))
    assert "scaled_forward_vmap" in traced and "scaled_backward_vmap" in traced and "scan" not in traced


def test_batches_inside_of_a_pack():
    x = numbers(8, 2, 3, 4)
    f, theirs = tx.jax.op(SQUARE), lambda x: x * x
    for axis in range(3):
        both(jax.vmap(f, axis, axis)(x), theirs(x))


def test_batches_of_an_operator_of_the_runtime():
    x = numbers(9, 3, 5)
    assert np.array_equal(jax.vmap(tx.jax.op(ops.argsort))(x), jnp.argsort(x, axis=1, stable=True))


def test_transposes_of_batches():
    def transposed(f):
        linear = jax.vmap(jax.linearize(lambda x: f(x, Y, PLACES), X)[1])
        return jax.linear_transpose(linear, jnp.stack([X, X, X]))(jnp.stack([Y, X, Y]))

    both(transposed(ours), transposed(scaled))


def test_products():
    a, b = numbers(2, 3, 4), numbers(3, 4, 5)
    f = tx.jax.op(PRODUCT)
    for transformed in (jax.jacrev, jax.jacfwd, lambda f: jax.hessian(lambda a, b: (f(a, b) ** 2).sum())):
        both(transformed(f)(a, b), transformed(product)(a, b), 1e-4)


def test_softmax():
    x = numbers(4, 3, 5)
    both(jax.hessian(tx.jax.op(ops.softmax))(x), jax.hessian(jax.nn.softmax)(x))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits(dtype: str):
    x = jnp.asarray([0.5, 1.0, -3.0], dtype)
    f = tx.jax.op(SQUARE)
    both(jax.grad(lambda x: f(x).sum())(x), 2 * x)
    both(jax.vmap(jax.grad(f))(x), 2 * x)


def test_residuals_of_integers_come_back():
    """The places of maxima are i64, which JAX narrows on their way to backward."""
    largest = tx.op("op largest(X: f32[M, N]) -> Y: f32[M] { Y[i] = max(j: X[i, j]) }")
    x = numbers(5, 3, 4)
    both(
        jax.grad(lambda x: (tx.jax.op(largest)(x) ** 2).sum())(x),
        jax.grad(lambda x: (x.max(1) ** 2).sum())(x),
    )


def test_residuals_of_f64_are_computed_again():
    """JAX has no f64 here; the backward half that would take them is not used."""
    wide = tx.op(
        "op wide(X: f32[N]) -> Y: f32[N] { t[i] = exp(f64(X[i]))\n u[i] = sin(t[i]) * t[i]\n Y[i] = f32(u[i]) }"
    )
    both(
        jax.grad(lambda x: tx.jax.op(wide)(x).sum())(X),
        jax.grad(lambda x: (jnp.sin(jnp.exp(x)) * jnp.exp(x)).sum())(X),
    )


def test_a_gradient_by_hand():
    name = "by_hand_in_jax"
    tx.register_vjp(name, f"op {name}_vjp(X: f32[N], dY: f32[N]) -> dX: f32[N] {{ dX[i] = 7 * dY[i] }}")
    f = tx.jax.op(tx.op(f"op {name}(X: f32[N]) -> Y: f32[N] {{ Y[i] = X[i] * X[i] }}"))
    assert jax.grad(lambda x: f(x).sum())(X).tolist() == [7] * 5


def test_what_has_no_derivative_is_refused():
    f = tx.jax.op(tx.op("op pick(X: f32[N], I: i32[N] in 0..N) -> Y: i32[N] { Y[i] = I[i] }"))
    assert jax.grad(lambda x: (f(x, PLACES) * x).sum())(X).tolist() == PLACES.tolist()
    g = tx.jax.op(tx.op("op bits(X: f32[N]) -> Y: f32[N] { Y[i] = floor(X[i]) }"))
    assert jax.grad(lambda x: g(x).sum())(X).tolist() == [0] * 5

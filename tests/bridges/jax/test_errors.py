"""Mistakes inside JAX: refused when a function is traced, or by XLA with a text, never by an abort."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

import texpr as tx

jax = pytest.importorskip("jax")
jnp = jax.numpy

TAKE = tx.op("op take(X: f32[N], I: i32[M, K] in 0..N) -> Y: f32[M, K] { Y[i, j] = X[I[i, j]] }")
SMALL = tx.op("op small(X: f32[N], I: u8[] in 0..3) -> Y: f32[N] { Y[i] = X[i] * f32(I) }")
SPREAD = tx.op(
    "op spread(X: f32[M, N], p: i32[M, N] in 0..N distinct) -> Y: f32[M, N] { Y[i, p[i, j]] = X[i, j] }"
)
PRODUCT = tx.op(
    "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)
HALF = tx.op("op half(X: f64[N]) -> Y: f64[N] { Y[i] = X[i] / 2 }")
X = jnp.arange(4.0)


def said_by_xla(call) -> str:
    """The text of an error of XLA, whose type depends on the version of JAX."""
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError)) as raised:
        jax.block_until_ready(call())
    return str(raised.value)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize(
    ("index", "text"),
    [
        ([[0, 3], [4, 9]], "`I[1, 0]` is 4, expected a value in 0..4"),
        ([[0, -7], [1, 1]], "`I[0, 1]` is -7, expected a value in 0..4"),
    ],
)
def test_values_outside_of_their_range(index, text, jitted):
    f = jax.jit(tx.jax.op(TAKE)) if jitted else tx.jax.op(TAKE)
    assert f"take: {text}" in said_by_xla(lambda: f(X, jnp.asarray(index, "int32")))
    assert f(X, jnp.zeros((2, 2), "int32")).tolist() == [[0, 0], [0, 0]]


def test_a_number_outside_of_its_range():
    f = tx.jax.op(SMALL)
    assert f(X, jnp.asarray(2, "uint8")).tolist() == [0, 2, 4, 6]
    assert "small: `I` is 200, expected a value in 0..3" in said_by_xla(
        lambda: f(X, jnp.asarray(200, "uint8"))
    )


@pytest.mark.parametrize("width", [4, 100])
def test_values_that_are_there_twice(width: int):
    f, order = tx.jax.op(SPREAD), np.random.default_rng(0).permuted(np.tile(np.arange(width), (2, 1)), axis=1)
    x = jnp.asarray(np.random.default_rng(1).normal(size=(2, width)).astype("f4"))
    p = jnp.asarray(order, "int32")
    assert np.array_equal(f(x, p), SPREAD(np.asarray(x), np.asarray(p)))
    assert np.array_equal(f(x, p[:, ::-1]), SPREAD(np.asarray(x), np.asarray(p)[:, ::-1]))
    text = f"spread: `p[1, 0]` and `p[1, 3]` are both {order[1, 0]}, expected distinct values"
    assert text in said_by_xla(lambda: f(x, p.at[1, 3].set(p[1, 0])))


def test_distinct_values_that_are_far_apart_are_sorted():
    """A fast check marks values that are near to each other; it cannot tell here."""
    far = tx.op("op far(X: f32[N], p: i64[K] in 0..N distinct) -> Y: f32[K] { Y[j] = X[p[j]] }")
    x, f = jnp.arange(1000.0), tx.jax.op(far)
    assert f(x, jnp.asarray([999, 0, 500])).tolist() == [999, 0, 500]
    said = said_by_xla(lambda: f(x, jnp.asarray([999, 0, 999])))
    assert "far: `p[0]` and `p[2]` are both 999, expected distinct values" in said


def test_shapes_that_do_not_fit():
    with pytest.raises(tx.CallError) as raised:
        jax.jit(tx.jax.op(PRODUCT))(jnp.ones((2, 3)), jnp.ones((2, 3)))
    assert str(raised.value).startswith(
        "error[shape]: product: axis 0 of `B` has extent 2, expected K = 3\n    given: A [2, 3], B [2, 3]"
    )


def refused(call, text: str):
    with pytest.raises(tx.Error) as raised:
        call()
    assert str(raised.value).split("\n---")[0].rstrip() == text


def test_dtypes_that_do_not_fit():
    refused(
        lambda: tx.jax.op(TAKE)(X, jnp.ones((1, 1))),
        'error[dtype]: take: `I` is float32, expected int32\n  help: convert it: I.astype("int32")',
    )
    refused(
        lambda: tx.jax.op(PRODUCT)(jnp.ones((2, 2), "complex64"), jnp.ones((2, 2))),
        "error[dtype]: product: `A` is complex64, which texpr does not have\n"
        '  help: convert it: A.astype("float32")',
    )
    refused(
        lambda: tx.jax.op(TAKE)(X, 0.5),
        'error[dtype]: take: `I` is float32, expected int32\n  help: convert it: I.astype("int32")',
    )


def test_f64_without_types_of_64_bits():
    refused(
        lambda: tx.jax.op(HALF)(X),
        "error[dtype]: half: `X` is f64, and JAX has no types of 64 bits here\n"
        '  help: jax.config.update("jax_enable_x64", True) lets JAX have them',
    )


def test_arguments_that_there_are_not():
    refused(lambda: tx.jax.op(TAKE)(X), "error[arguments]: take takes X, I; missing: I")
    with pytest.raises(tx.CallError, match="take has no argument `J`"):
        tx.jax.op(TAKE)(X, X, J=2)


def test_functions_of_python():
    tx.register_extern("thirds_for_jax", lambda A: A / 3)
    f = tx.jax.op(tx.op("extern op thirds_for_jax(A: f32[N]) -> B: f32[N]"))
    refused(
        lambda: f(X),
        "error[extern]: thirds_for_jax calls `texpr_extern_thirds_for_jax_f32`, a Python function, which XLA "
        "cannot\n  help: call it by jax.pure_callback, or register a C function of it",
    )


def test_a_kernel_that_is_not_known_here():
    """As a program that was compiled and kept by another process would ask."""
    call = jax.ffi.ffi_call("texpr", jax.ShapeDtypeStruct((4,), "float32"))
    tx.jax.op(PRODUCT)(jnp.ones((1, 1)), jnp.ones((1, 1)))
    for attributes in ({"kernel": np.int64(1)}, {}, {"other": 1.5}):
        said = said_by_xla(lambda attributes=attributes: call(X, **attributes))
        assert "texpr: this program was compiled in another process" in said


def test_buffers_of_other_shapes():
    """Nothing calls a kernel so but by hand."""
    f = jax.jit(tx.jax.op(PRODUCT))
    text = f.lower(jnp.ones((2, 2)), jnp.ones((2, 2))).as_text()
    number = np.int64(re.search(r"kernel = (-?\d+) : i64", text)[1])
    for shapes in (((2, 3), (2, 2)), ((2, 2),), ((2, 2), (2, 2), (2, 2)), ((4,), (2, 2))):
        call = jax.ffi.ffi_call("texpr", jax.ShapeDtypeStruct((2, 2), "float32"))
        said = said_by_xla(partial(call, *map(jnp.ones, shapes), kernel=number))
        assert "product: the kernel is for buffers of other shapes" in said
    call = jax.ffi.ffi_call("texpr", jax.ShapeDtypeStruct((2, 2), "float32"))
    assert call(jnp.ones((2, 2)), jnp.ones((2, 2)), kernel=number).tolist() == [[2, 2], [2, 2]]

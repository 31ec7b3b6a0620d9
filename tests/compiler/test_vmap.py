"""Operators for several examples at once: what the language has, against the interpreter on one
example after the other.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr.compiler.op import instance
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.printing.tensor import show_program
from texpr.poly import check_program

TEXTS = {
    "product": "op f(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
    "range of data": "op f(X: f32[N], n: i32[M] in 0..N+1) -> Y: f32[M] { Y[i] = sum(k in 0..n[i]: X[k]) }",
    "triangle": """op f(X: f32[N, N]) -> Y: f32[N, N] {
  Y[i, j] = sum(k in j..i + 1: X[i, k])  for j in 0..i + 1
  Y[i, j] = 0  for j in i + 1..N
}""",
    "left range of data": """op f(X: f32[N], n: i32 in 0..N+1) -> Y: f32[N] {
  Y[i] = 0
  Y[i] += X[i]  for i in 0..n
}""",
    "distinct": """op f(X: f32[N], p: i64[N] in 0..N distinct) -> Y: f32[N] { Y[p[i]] = X[i] }""",
    "recurrence": "op f(X: f32[L, D], a: f32) -> Y: f32[L, D] { Y[t, d] = a * Y[t - 1, d | 0] + X[t, d] }",
    "backward": "op f(X: f64[L]) -> Y: f64[L] { Y[t] = Y[t + 1 | 0] * 0.5 + X[t] }",
    "viterbi": """op f(S: f32[L, K], T: f32[K, K]) -> path: i64[L] in 0..K require L >= 1 {
  let before: i64[L, K] in 0..K
  let score: f32[L, K]
  score[t, j] = S[t, j] + (if t == 0 then 0 else max(i: score[max(t - 1, 0), i] + T[i, j]))
  before[t, j] = if t == 0 then 0 else argmax(i: score[t - 1, i] + T[i, j])
  path[L - 1] = argmax(i: score[L - 1, i])
  path[t] = before[t + 1, path[t + 1]]  for t in 0..L - 1
}""",
    "histogram": "op f(X: i32[N] in 0..8) -> H: i64[8] { H[k] = 0  H[X[n]] += 1 }",
    "folds": """op f(X: f32[N], p: i32[N] in 0..3) -> (A: f32[3], B: f32[3], C: f32[3]) {
  A[k] = 1  A[p[n]] *= X[n]
  B[k] = 0  B[p[n]] max= X[n]
  C[k] = 0  C[p[n]] min= X[n]
}""",
    "smear": "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i]  Y[i + 1 | drop] += 0.5 * X[i]  for i in 0..N }",
    "guards": """op f(X: f32[N], v: f32) -> (a: f32[N], b: f32[N], c: f32[N], d: f32[N]) require N >= 2 {
  a[i] = X[i + 1 | v]  b[i] = X[i + 1 | clamp]  c[i] = X[i + 1 | wrap]  d[i] = X[i + 1 | reflect]
}""",
    "groups": "op f(X: f32[N, (2, H)]) -> Y: f32[2, N, H] { Y[g, n, h] = X[n, (g, h)] }",
    "shared part": """op f(X: f32[N], W: f32[N]) -> (Y: f32[N], s: f32, Z: f32[N]) {
  Z[i] = exp(W[i])  s = sum(i: Z[i])  Y[i] = X[i] * Z[i] / s
}""",
    "call": """fn half(v) = v / 2
op center(X: f32[N, D]) -> (Y: f32[N, D], mean: f32[N]) { mean[i] = sum(j: X[i, j]) / f32(D)  Y[i, j] = X[i, j] - mean[i] }
op f(X: f32[N, D], Z: f32[N, D]) -> (V: f32[N], m: f32[N], W: f32[N]) {
  C, m = center(X)
  E, n = center(Z)
  V[i] = sum(j: half(C[i, j]) * C[i, j]) / f32(D)
  W[i] = n[i] + sum(j: E[i, j])
}""",
    "window": "op f(X: f32[N], pos: i32 in 0..N - L + 1; L = 2) -> Y: f32[L] require L <= N { Y[i] = X[pos + i] }",
    "random": "op f(X: f32[N], seed: u64) -> Y: f32[N] { Y[i] = X[i] + uniform(seed, i) }",
    "packs": "op f(X: f32[*A, N], w: f32[N]) -> Y: f32[*A] { Y[*a] = sum(i: X[*a, i] * w[i]) }",
    "place": "op f(X: f32[*A]) -> (m: i64, n: i64) { m = argmax(*a: X[*a])  n = numel(A) }",
    "names": "op f(B: f32[Batch], b: f32[Batch]) -> e: f32[Batch] { e[example] = B[example] * b[example] }",
    "sorted": """extern op argsort_rows(X: f32[*S, N]) -> p: i64[*S, N] in 0..N distinct
op f(X: f32[M, N]) -> Y: f32[M, N] {
  p = argsort_rows(X)
  Y[i, j] = X[i, p[i, j]]
}""",
}
random = np.random.default_rng(5)


def one_example(name: str, operator: tx.Op) -> list[np.ndarray]:
    """Inputs of one example, of the size 4."""
    sizes = {"K": 3, "D": 2, "A": 3}
    found = []
    for t in operator.program().inputs:
        shape = [
            2 * 2 if len(d.sizes) > 1 else sizes.get(str(getattr(d.sizes[0], "name", "")), 4) for d in t.dims
        ]
        if t.distinct:
            found.append(random.permutation(4))
        elif t.dtype.is_float:
            found.append(random.standard_normal(shape).astype(f"f{t.dtype.bytes}"))
        else:
            found.append(random.integers(0, 3, shape).astype(numpy_dtype(t.dtype)))
    return [np.asarray(a) for a in found]


def as_tuple(found: object) -> tuple[np.ndarray, ...]:
    return found if isinstance(found, tuple) else (found,)  # type: ignore[return-value]


def check(name: str, in_axes: Sequence[int | None], out: int) -> None:
    operator = tx.op(TEXTS[name])
    examples = [one_example(name, operator) for _ in range(3)]
    examples = [[a if p is not None else f for a, p, f in zip(e, in_axes, examples[0])] for e in examples]
    mapped = tx.vmap(operator, tuple(in_axes), out)
    arrays = [c[0] if p is None else np.stack(c, p) for c, p in zip(zip(*examples), in_axes)]
    expected = [np.stack(r, out) for r in zip(*(as_tuple(tx.interpret(operator, *e)) for e in examples))]
    again = tx.op(str(mapped))
    assert again.text() == mapped.text()
    for of in (tx.interpret(mapped, *arrays), mapped(*arrays), tx.interpret(again, *arrays)):
        for found, wanted in zip(as_tuple(of), expected, strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    check_program(mapped.program())


@pytest.mark.parametrize("name", TEXTS)
def test_all_inputs(name: str):
    check(name, (0,) * len(tx.op(TEXTS[name]).signature.inputs), 0)


@examples(40)
@given(st.data())
def test_any_axes(data: st.DataObject):
    """Some inputs along some dimension, the others shared by all examples."""
    name = data.draw(st.sampled_from(sorted(TEXTS)))
    program = tx.op(TEXTS[name]).program()

    def places(t) -> list[int]:
        packs = any(d.pack for d in t.dims)
        rank = len(t.dims)
        return [0] if t.distinct else [0, -1] if packs else list(range(-rank - 1, rank + 1))

    axes = [data.draw(st.none() | st.sampled_from(places(t))) for t in program.inputs]
    out = data.draw(st.sampled_from([0, -1]))
    if any(a is not None for a in axes):
        check(name, axes, out)


def test_the_text():
    matmul = tx.op(TEXTS["product"])
    assert (
        str(tx.vmap(matmul, in_axes=(0, -1), out_axes=1))
        == """op f_vmap(A: f32[Batch, M, K], B: f32[K, N, Batch]) -> C: f32[M, Batch, N] {
  C[i, b, j] = sum(k: A[b, i, k] * B[k, j, b])
}
"""
    )
    shared = tx.op(TEXTS["shared part"])
    assert (
        str(tx.vmap(shared, in_axes={"X": 0}, out_axes=(0, 0, None)))
        == """op f_vmap(X: f32[B, N], W: f32[N]) -> (Y: f32[B, N], s: f32[B], Z: f32[N]) {
  Z[i] = exp(W[i])
  s_once = sum(i: Z[i])
  Y[b, i] = X[b, i] * Z[i] / s_once
  s[b] = s_once
}
"""
    )


def test_nested():
    """Mapping twice is mapping along both, in either order."""
    dot = tx.op("op dot(X: f64[N], Y: f64[N]) -> z: f64 { z = sum(i: X[i] * Y[i]) }")
    x, y = random.standard_normal((3, 4, 5)), random.standard_normal((5, 3))
    inside, outside = tx.vmap(dot, (0, None)), tx.vmap(dot, (0, -1))
    found = tx.interpret(tx.vmap(inside, (0, -1)), x, y)
    np.testing.assert_array_equal(found, tx.interpret(tx.vmap(outside, (1, None), 1), x, y))
    np.testing.assert_allclose(found, np.einsum("abn,na->ab", x, y))
    gradient = tx.vmap(tx.vmap(tx.grad(dot, ["X"]), (0, None, 0)), (0, -1, 0))
    np.testing.assert_allclose(gradient(x, y, np.ones((3, 4))), np.broadcast_to(y.T[:, None], (3, 4, 5)))


@pytest.mark.parametrize(
    "name",
    ["product", "triangle", "recurrence", "smear", "shared part", "call", "guards", "packs", "distinct"],
)
def test_derivatives(name: str):
    """Forward mode and both halves of reverse mode of a mapped operator are those of each example."""
    operator = tx.op(TEXTS[name].replace("f32", "f64"))
    examples = [one_example(name, operator) for _ in range(2)]
    arrays = [np.stack(c) for c in zip(*examples)]
    mapped = tx.vmap(operator)
    assert tx.check_grad(mapped, *arrays) < 1e-6
    directions = [random.standard_normal(a.shape) for a in arrays if a.dtype.kind == "f"]
    along, of_each = tx.jvp(mapped), tx.vmap(tx.jvp(operator))
    for a, b in zip(as_tuple(along(*arrays, *directions)), as_tuple(of_each(*arrays, *directions))):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    forward, backward = (tx.vmap(half) for half in tx.vjp(operator))
    results = dict(zip((t.name for t in forward.program().outputs), as_tuple(forward(*arrays))))
    given = results | dict(zip((p.name for p in operator.signature.inputs), arrays))
    cotangents = {
        f"d{t.name}": random.standard_normal(results[t.name].shape) for t in operator.program().outputs
    }
    given |= cotangents
    found = as_tuple(backward(*(given[t.name] for t in backward.program().inputs)))
    for a, b in zip(found, as_tuple(tx.grad(mapped)(*arrays, *cotangents.values())), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_default_schedules_are_those_of_an_index_written_by_hand():
    pairs = {
        "product": """op f(A: f32[B, M, K], W: f32[B, K, N]) -> C: f32[B, M, N] {
  C[b, i, j] = sum(k: A[b, i, k] * W[b, k, j])
}""",
        "softmax": """op f(X: f32[B, N]) -> Y: f32[B, N] {
  m[b] = max(i: X[b, i])  e[b, i] = exp(X[b, i] - m[b])  Y[b, i] = e[b, i] / sum(j: e[b, j])
}""",
    }
    single = {
        "product": TEXTS["product"].replace("B: f32", "W: f32").replace("B[", "W["),
        "softmax": """op f(X: f32[N]) -> Y: f32[N] {
  m = max(i: X[i])  e[i] = exp(X[i] - m)  Y[i] = e[i] / sum(j: e[j])
}""",
    }
    sizes = {"product": {"M": 128, "N": 128, "K": 64}, "softmax": {"N": 512}}
    for name, text in pairs.items():
        mapped = tx.schedule(tx.vmap(tx.op(single[name])), B=64, **sizes[name]).auto()
        assert mapped.script() == tx.schedule(tx.op(text), B=64, **sizes[name]).auto().script()


def test_axes_count_the_dimensions_of_one_example():
    x = random.standard_normal((3, 2, 4, 5)).astype("f4")
    for axis, outer in itertools.product((-1, 0, 1, 2), (0, -1)):
        found = tx.vmap(tx.ops.softmax, outer, outer)(np.moveaxis(x, 0, outer), axis=axis)
        wanted = np.stack([tx.ops.softmax(e, axis=axis) for e in x], outer)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    with pytest.raises(tx.CallError) as e:
        tx.vmap(tx.ops.softmax)(x, axis=3)
    assert str(e.value) == (
        "error[rank]: softmax_vmap: axis = 3 is no axis of `X`, which has 4 dimensions\n"
        "  help: axis is -3 to 2 here"
    )


def test_optional_inputs():
    linear = tx.op(
        "op f(X: f32[I], W: f32[O, I], b: f32[O] = 0) -> Y: f32[O] { Y[o] = sum(i: X[i] * W[o, i]) + b[o] }"
    )
    x, w, b = (random.standard_normal(s).astype("f4") for s in ((3, 4), (2, 4), (3, 2)))
    rows = tx.vmap(linear, in_axes={"X": 0})
    np.testing.assert_allclose(rows(x, w), x @ w.T, rtol=1e-5)
    biases = tx.vmap(linear, in_axes={"b": 0})
    np.testing.assert_allclose(biases(x[0], w, b), x[0] @ w.T + b, rtol=1e-5)
    with pytest.raises(tx.CallError, match="missing: b"):
        biases(x[0], w)


def test_operators_of_the_runtime():
    """Once for each example; a gradient by hand is taken for each, and summed where all share."""
    tx.register_extern("scaled_thirds", lambda X, w: X / 3 * w)
    operator = tx.op("extern op scaled_thirds(X: f64[N], w: f64) -> Y: f64[N]")
    x, w, dy = random.standard_normal((4, 5)), np.float64(2), random.standard_normal((4, 5))
    mapped = tx.vmap(operator, (0, None))
    assert (
        str(mapped)
        == """extern op scaled_thirds_vmap_10(X: f64[B, N], w: f64) -> Y: f64[B, N]

op scaled_thirds_vmap(X: f64[B, N], w: f64) -> Y: f64[B, N] {
  Y = scaled_thirds_vmap_10(X, w)
}
"""
    )
    np.testing.assert_array_equal(mapped(x, w), x / 3 * w)
    np.testing.assert_array_equal(tx.vmap(operator, (1, None), 1)(x.T, w), (x / 3 * w).T)
    assert mapped(x[:0], w).shape == (0, 5)
    tx.register_vjp(
        "scaled_thirds",
        "op v(X: f64[N], w: f64, dY: f64[N]) -> (dX: f64[N], dw: f64) { dX[i] = dY[i] / 3 * w  dw = sum(i: X[i] * dY[i] / 3) }",
    )
    dx, dw = tx.grad(mapped)(x, w, dy)
    np.testing.assert_allclose(dx, dy / 3 * w)
    np.testing.assert_allclose(dw, np.sum(x * dy / 3))
    assert tx.check_grad(mapped, x, w) < 1e-6


def test_gradients_by_hand_stay():
    text = """op cubed(X: f64[N]) -> Y: f64[N] { Y[i] = X[i] ** 3 }
op f(X: f64[N], s: f64) -> y: f64 {
  c = cubed(X)
  y = s * sum(i: c[i])
}"""
    tx.register_vjp("cubed", "op v(X: f64[N], dY: f64[N]) -> dX: f64[N] { dX[i] = 100 * dY[i] }")
    f = tx.op(text)
    x, s = random.standard_normal((3, 4)), np.arange(1.0, 4)
    found = tx.grad(tx.vmap(f), ["X"])(x, s, np.ones(3))
    np.testing.assert_array_equal(found, np.broadcast_to(100 * s[:, None], (3, 4)))


def test_native_orders_of_arrays_with_more_dimensions():
    """A pack of the runtime's operator takes several dimensions of its caller."""
    x = random.standard_normal((2, 3, 7)).astype("f4")
    np.testing.assert_array_equal(tx.vmap(tx.ops.sort)(x), np.sort(x, -1))
    operator = tx.op(
        """extern op argsort_rows(X: f32[*S, N]) -> p: i64[*S, N] in 0..N distinct
op f(X: f32[A, B, N]) -> P: i64[A, B, N] in 0..N {
  p = argsort_rows(X)
  P[a, b, i] = p[a, b, i]
}"""
    )
    np.testing.assert_array_equal(operator(x), np.argsort(x, -1, kind="stable"))


def test_orders_of_several_ranks_in_one_kernel():
    """Each has code of its own."""
    operator = tx.op(
        """extern op argsort_rows(X: f32[*S, N]) -> p: i64[*S, N] in 0..N distinct
op f(X: f32[A, N], Y: f32[A, B, N]) -> (P: i64[A, N], Q: i64[A, B, N]) {
  p = argsort_rows(X)
  q = argsort_rows(Y)
  P[a, i] = p[a, i]
  Q[a, b, i] = q[a, b, i]
}"""
    )
    x, y = (random.standard_normal(s).astype("f4") for s in ((2, 5), (2, 3, 5)))
    for found, of in zip(operator(x, y), (x, y)):
        np.testing.assert_array_equal(found, np.argsort(of, -1, kind="stable"))


def test_pickles_and_identity():
    matmul = tx.op(TEXTS["product"])
    mapped = tx.vmap(matmul, (0, None))
    assert tx.vmap(matmul, {"A": 0}) is mapped
    again = pickle.loads(pickle.dumps(mapped))
    assert str(again) == str(mapped)


def test_no_examples():
    matmul = tx.vmap(tx.op(TEXTS["product"]))
    assert matmul(np.zeros((0, 2, 3), "f4"), np.zeros((0, 3, 4), "f4")).shape == (0, 2, 4)


REFUSED = {
    "inside of a pack": (
        lambda: tx.vmap(tx.op("op f(X: f32[*S]) -> Y: f32[*S] { Y[*s] = 2 * X[*s] }"), 1),
        """error[vmap]: vmap of `f`: axis 1 of `X: f32[*S]` is inside of a pack
  --> <op>:1:6
  1 | op f(X: f32[*S]) -> Y: f32[*S] { Y[*s] = 2 * X[*s] }
    |      ^^^^^^^^^^
  help: map along 0 or -1, and move the axis there: np.moveaxis, Tensor.movedim""",
    ),
    "no such axis": (
        lambda: tx.vmap(tx.op("op f(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }"), 2),
        """error[vmap]: vmap of `f`: axis 2 of `X`, which has 1 axis without the examples
  --> <op>:1:6
  1 | op f(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }
    |      ^^^^^^^^^
  help: it is -2 to 1""",
    ),
    "rows": (
        lambda: tx.vmap(tx.op(TEXTS["distinct"]), (0, 1)),
        """error[vmap]: vmap of `f`: `p` is distinct along its last axis, which the examples would be
  --> <op>:1:17
  1 | op f(X: f32[N], p: i64[N] in 0..N distinct) -> Y: f32[N] { Y[p[i]] = X[i] }
    |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^
  help: map it along another axis: its rows stay rows then""",
    ),
    "an output that differs": (
        lambda: tx.vmap(tx.op("op f(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }"), 0, None),
        """error[vmap]: vmap of `f`: `y` differs from example to example, and its out_axes is None
  --> <op>:1:20
  1 | op f(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }
    |                    ^^^^^^
  help: None is for outputs that depend on no mapped input; give it an axis""",
    ),
    "nothing mapped": (
        lambda: tx.vmap(tx.op(TEXTS["product"]), (None, None)),
        """error[arguments]: vmap of f: in_axes is (None, None), so no input is mapped
  help: in_axes=0 maps all inputs along their first axis""",
    ),
    "too few": (
        lambda: tx.vmap(tx.op(TEXTS["product"]), (0,)),
        """error[arguments]: in_axes has 1 axis, f has 2 inputs: A, B
  help: give one for each, None for those that all examples share""",
    ),
    "too many results": (
        lambda: tx.vmap(tx.op(TEXTS["product"]), 0, (0, 0)),
        """error[arguments]: out_axes has 2 axes, f has 1 output: C
  help: give one for each, or an int for all""",
    ),
    "no such input": (
        lambda: tx.vmap(tx.op(TEXTS["product"]), {"X": 0}),
        """error[arguments]: in_axes: f has no input `X`
  help: known are A, B""",
    ),
    "no axes": (
        lambda: tx.vmap(tx.op(TEXTS["product"]), "A"),  # type: ignore[arg-type]
        """error[arguments]: in_axes is 'A', expected an int, None, a tuple of these or a dict by name
  help: in_axes=0""",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str):
    call, message = REFUSED[what]
    with pytest.raises(tx.Error) as e:
        call()
    assert str(e.value) == message


def test_native_code_alone_is_refused():
    tx.register_extern("only_native", address=1)
    with pytest.raises(tx.CheckError) as e:
        str(tx.vmap(tx.op("extern op only_native(X: f64[N]) -> Y: f64[N]")))
    assert "native code of the runtime computes it, for one example at a time" in str(e.value)


def test_programs_that_are_shown_are_those_that_run():
    """What is printed is proven like any text."""
    for name in TEXTS:
        mapped = tx.vmap(tx.op(TEXTS[name]))
        program, _ = instance(mapped, tuple(np.stack([a]) for a in one_example(name, tx.op(TEXTS[name]))), {})
        assert tx.op(show_program(program, with_callees=True))

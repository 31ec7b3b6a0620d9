"""What operators compute: text, elaborated and interpreted, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.properties.lang.test_round_trip import OPS
from texpr.ir.dtypes import BF16, F16, F32, F64, I8, I32, I64
from texpr.ir.expr import Cast, Const, Reduce
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.traverse import equal, walk
from texpr.lang import elaborate, parse

RNG = np.random.default_rng(0)


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def run(name: str, *arrays, dtypes=None, sizes=None, absent=frozenset(), **constants):
    op = OPS[name]
    types = dtypes or {v.name: F32 for v in op.type_variables}
    result = interpret(elaborate(op, types, constants, absent), [np.asarray(a) for a in arrays], sizes)
    return result[0] if len(result) == 1 else result


def one(text: str, *arrays, dtypes=None, **constants):
    """The outputs of the last operator of a text."""
    op = list(parse(text).ops.values())[-1]
    result = interpret(elaborate(op, dtypes or {}, constants), [np.asarray(a) for a in arrays])
    return result[0] if len(result) == 1 else result


def close(a, b) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_matmul():
    a, b = f32(3, 4), f32(4, 5)
    close(run("matmul", a, b), a @ b)


@pytest.mark.parametrize("stride, pad", [(1, 0), (2, 1)])
def test_conv2d(stride, pad):
    x, f, b = f32(2, 3, 6, 5), f32(4, 3, 3, 2), f32(4)
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), axis=(2, 3))[:, :, ::stride, ::stride]
    expected = np.einsum("nchwrq,kcrq->nkhw", windows, f)
    close(run("conv2d", x, f, b, S=stride, P=pad), expected + b[:, None, None])
    close(run("conv2d", x, f, S=stride, P=pad, absent=frozenset({"b"})), expected)


def test_softmax_at_any_axis():
    x = f32(2, 3, 4)
    for axis in range(3):
        e = np.exp(x - x.max(axis, keepdims=True))
        close(run("softmax", x, axis=axis), e / e.sum(axis, keepdims=True))


def test_maxpool_of_a_guarded_read():
    x = f32(5)
    text = (
        "op pool(X: f32[W]; R = 3, P = 1) -> Y: f32[W + 2*P - R + 1] { Y[x] = max(r in 0..R: X[x + r - P | "
        "-inf]) }"
    )
    close(
        one(text, x),
        np.lib.stride_tricks.sliding_window_view(np.pad(x, 1, constant_values=-np.inf), 3).max(1),
    )


def test_layernorm():
    x, g = f32(3, 8), f32(8)
    text = """
op layernorm(X: f32[*B, D], g: f32[D]; eps = 1e-5) -> Y: f32[*B, D] {
  m[*b] = sum(d: X[*b, d]) / D
  v[*b] = sum(d: (X[*b, d] - m[*b])**2) / D
  Y[*b, d] = (X[*b, d] - m[*b]) * rsqrt(v[*b] + eps) * g[d]
}"""
    close(one(text, x, g), (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * g)


def test_embed_and_its_gradient():
    table, ids = f32(7, 3), np.array([[1, 6], [1, 0]], np.int32)
    close(run("embed", table, ids), table[ids])
    g, expected = f32(2, 2, 3), np.zeros((7, 3), np.float32)
    np.add.at(expected, ids, g)
    close(run("embed_grad", g, ids, V=7), expected)


def test_concat_flatten_shuffle():
    x, z = f32(2, 3, 4), f32(2, 5, 4)
    close(run("concat", x, z, axis=1), np.concatenate([x, z], 1))
    close(run("flatten", x), x.reshape(2, 12))
    p = f32(1, 8, 2, 3)
    close(
        run("pixel_shuffle", p), p.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6)
    )


def test_guards():
    x = f32(5)
    i = np.arange(5)
    for guard, expected in {
        "0": np.where(i < 4, x[np.minimum(i + 1, 4)], 0),
        "clamp": x[np.minimum(i + 1, 4)],
        "wrap": x[(i + 1) % 5],
        "reflect": x[np.where(i < 4, i + 1, 3)],
    }.items():
        close(
            one(f"op f(X: f32[N]) -> Y: f32[N] require N >= 2 {{ Y[i] = X[i + 1 | {guard}] }}", x), expected
        )


def test_heat_and_its_gradient():
    u = f32(6)
    left, right = u[[0, 0, 1, 2, 3, 4]], u[[1, 2, 3, 4, 5, 5]]
    close(run("heat", u, a=0.25), u + 0.25 * (left - 2 * u + right))
    dv, h = f32(6), 1e-2
    numeric = [
        np.dot(run("heat", u + h * e) - run("heat", u - h * e), dv) / (2 * h)
        for e in np.eye(6, dtype=np.float32)
    ]
    np.testing.assert_allclose(run("heat_dU", dv), numeric, atol=1e-3)


def test_attention_calls_softmax():
    q, k, v = f32(2, 3, 4), f32(2, 5, 4), f32(2, 5, 4)
    scores = q @ k.transpose(0, 2, 1) / 2
    scores[:, np.arange(5)[None, :] > np.arange(3)[:, None] + 2] = -np.inf
    e = np.exp(scores - scores.max(2, keepdims=True))
    close(run("attention", q, k, v), e / e.sum(2, keepdims=True) @ v)


def test_several_results():
    x = f32(3, 4)
    v, a = one(
        "op top(X: f32[N, D]) -> (v: f32[N], a: i64[N]) { v[i] = max(j: X[i, j])  a[i] = argmax(j: X[i, j]) "
        "}\n"
        "op both(X: f32[N, D]) -> (v: f32[N], a: i64[N]) { v, a = top(X) }",
        x,
    )
    close(v, x.max(1))
    np.testing.assert_array_equal(a, x.argmax(1))
    rows, columns = run("maxpool2_arg", f32(2, 2))
    assert rows.shape == columns.shape == (1, 1)


def test_recurrences():
    x = f32(5, 2)
    close(run("cumsum", x), np.cumsum(x, 0))


def test_a_rank_0_integer_is_a_parameter_of_indices():
    k, new = f32(6, 2), f32(2, 2)
    expected = k.copy()
    expected[3:5] = new
    close(run("kv_update", k, new, np.int32(3)), expected)


def test_functions_are_inlined_and_share_their_arguments():
    text = "fn square(v) = v * v\nop f(X: f32[N, D]) -> Y: f32[N] { Y[i] = square(sum(j: X[i, j])) }"
    x = f32(3, 4)
    close(one(text, x), x.sum(1) ** 2)
    program = elaborate(parse(text).ops["f"], {}, {})
    assert sum(isinstance(n, Reduce) for n in walk(program)) == 1


def test_where_and_if():
    x = f32(4, 4)
    close(
        one("op f(X: f32[N, N]) -> y: f32 { y = sum(i, j where i < j and X[i, j] > 0: X[i, j]) }", x),
        np.triu(x, 1).clip(0).sum(),
    )
    close(
        one("op f(X: f32[N, N]) -> Y: f32[N, N] { Y[i, j] = if 0 <= i - j < 2 then X[i, j] else 0 }", x),
        np.tril(x) - np.tril(x, -2),
    )
    close(
        one("op f(X: f32[N, N]) -> Y: f32[N, N] { Y[i, j] = 0  Y[i, j] += X[i, j] where i == j }", x),
        np.diag(np.diag(x)),
    )


def test_narrow_types_are_computed_wide():
    a, b = (RNG.integers(-128, 127, (3, 300)).astype(np.int8) for _ in range(2))
    text = "op dot(A: i8[N, K], B: i8[N, K]) -> y: i32[N] { y[i] = sum(k: A[i, k] * B[i, k]) }"
    np.testing.assert_array_equal(one(text, a, b), (a.astype(np.int32) * b).sum(1))
    half = RNG.standard_normal((2, 2000)).astype(np.float16)
    mean = one(
        "op mean<T: float>(X: T[N, D]) -> y: T[N] { y[i] = sum(j: X[i, j]) / D }", half, dtypes={"T": F16}
    )
    np.testing.assert_array_equal(
        mean, (np.cumsum(half.astype(np.float32), 1)[:, -1] / np.float32(2000)).astype(np.float16)
    )


def program(text: str, dtypes=None, **constants):
    return elaborate(list(parse(text).ops.values())[-1], dtypes or {}, constants)


def value(text: str, dtypes=None, **constants):
    return program(text, dtypes, **constants).equations[-1].value


def test_literals_are_rounded_once():
    e = value("op f(X: f32[N]; a = 0.1) -> Y: f32[N] { Y[i] = X[i] * (a * 3) }")
    assert isinstance(e.rhs, Const) and e.rhs.value == float(np.float32(0.1 * 3)) and e.rhs.dtype == F32


def test_sizes_are_computed_in_i64():
    e = value("op f(X: f32[N, M]) -> y: f32 { y = sum(i, j: X[i, j]) / (N * M) }")
    assert isinstance(e.rhs, Cast) and e.rhs.operand.dtype == I64


@pytest.mark.parametrize(
    "dtype, body, accumulator",
    [
        (BF16, "X[i]", F32),
        (F16, "X[i] * X[i]", F32),
        (I8, "X[i]", I32),
        (I64, "X[i]", I64),
        (F64, "X[i]", F64),
    ],
)
def test_accumulators(dtype, body, accumulator):
    made = program(f"op f<T>(X: T[N]) -> y: T {{ s = sum(i: {body})  y = T(s) }}", {"T": dtype})
    assert made.equations[0].target.dtype == accumulator


def test_a_stated_accumulator():
    e = value("op f(X: f32[N]) -> y: f32 { y = sum<f64>(i: X[i] * X[i]) }")
    assert isinstance(e, Cast) and e.operand.dtype == F64 and e.operand.body.lhs.dtype == F64


def test_instances_differ_by_constants_and_types():
    text = "op f<T>(X: T[N]; k = 1) -> Y: T[N] { Y[i] = X[i] * k }"
    assert not equal(program(text, {"T": F32}), program(text, {"T": F64}))
    assert program(text, {"T": F32}, k=3).constants == (("k", 3), ("T", F32))
    assert equal(program(text, {"T": F32}, k=1), program(text, {"T": F32}))


def test_signatures():
    op = parse("""
# Adds a bias.
# Twice.
op bias<T: float>(X: T[*A:axis, N, *B], b: T[N] = 0; axis, scale: f32 = 2.0) -> Y: T[*A, N, *B] {
  Y[*a, i, *b] = X[*a, i, *b]
}""").ops["bias"]
    assert op.doc == "Adds a bias.\nTwice."
    assert [(v.name, v.kind) for v in op.type_variables] == [("T", "float")]
    assert [(x.name, x.dtype, x.rank, x.least_rank, x.optional) for x in op.inputs] == [
        ("X", "T", None, 1, False),
        ("b", "T", 1, 1, True),
    ]
    assert [(c.name, c.dtype, c.required) for c in op.constants] == [
        ("axis", None, True),
        ("scale", "f32", False),
    ]
    assert op.text.startswith("op bias") and op.text.endswith("}")


def test_a_comment_that_begins_the_body_is_documentation():
    assert (
        parse("op f(X: f32[N]) -> Y: f32[N] {\n  # The same.\n  Y[i] = X[i]\n}").ops["f"].doc == "The same."
    )


def test_operators_of_other_texts():
    other = parse("op twice<T>(X: T[*S]) -> Y: T[*S] { Y[*s] = X[*s] * 2 }").ops
    op = parse("op f(X: f32[N, M]) -> Y: f32[N, M] { Y = twice(X) }").ops["f"]
    x = f32(2, 3)
    close(interpret(elaborate(op, {}, {}, resolve=other.get), [x])[0], 2 * x)


def test_definitions_may_follow_their_use():
    x = f32(4)
    close(one("op f(X: f32[N]) -> Y: f32[N] { Y[i] = t[i] + 1  t[i] = u[i] * 2  u[i] = X[i] }", x), x * 2 + 1)


def test_a_long_sum_is_no_problem():
    text = "op f(x: f32) -> y: f32 { y = x" + " + x" * 20_000 + " }"
    assert sum(1 for _ in walk(program(text))) == 20_000 + 20_003


def test_an_argmax_may_be_an_index():
    x, z = f32(3, 4), f32(4)
    close(
        one("op f(X: f32[N, D], Z: f32[D]) -> Y: f32[N] { Y[i] = Z[argmax(j: X[i, j])] }", x, z),
        z[x.argmax(1)],
    )


def test_definitions_are_put_before_their_uses_in_the_program():
    made = program("op f(X: f32[N]) -> Y: f32[N] { Y[i] = t[i]  Y[i] += u[i]  t[i] = u[i]  u[i] = X[i] }")
    assert [e.target.name for e in made.equations] == ["u", "t", "Y", "Y"]

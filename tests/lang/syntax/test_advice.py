"""Mistakes that people make, what is said about them, and that what is advised is right: the
text that follows the advice compiles.
"""

from __future__ import annotations

import pytest

import texpr as tx

MISTAKES = [
    # wrong, what the advice says, right
    (
        "op f(X: f32[N, M]) -> Y: f32[N, M], s: f32 { Y[i, j] = X[i, j]  s = sum(i, j: X[i, j]) }",
        "several outputs stand in parentheses: -> (Y: f32[N, M], ...)",
        "op f(X: f32[N, M]) -> (Y: f32[N, M], s: f32) { Y[i, j] = X[i, j]  s = sum(i, j: X[i, j]) }",
    ),
    (
        "op f(X: f32[N]) -> p: i64[] in 0..N, Y: f32[N] require N >= 1 { p = argmax(i: X[i])  Y[i] = X[i] }",
        "several outputs stand in parentheses: -> (p: i64[], ...)",
        "op f(X: f32[N]) -> (p: i64[] in 0..N, Y: f32[N]) require N >= 1 { p = argmax(i: X[i])  Y[i] = X[i] }",
    ),
    (
        "op f(X: f32[M, N]) -> Y: f32[M, N] { P = softmax(X)  Y[i, j] = 2 * P[i, j] }",
        "the library has it: write `use ops: softmax` before the operator",
        "use ops: softmax\nop f(X: f32[M, N]) -> Y: f32[M, N] { P = softmax(X)  Y[i, j] = 2 * P[i, j] }",
    ),
    (
        "op f(X: f32[M, N]) -> Y: f32[M, N] { Y = softmax(X, axis=0) }",
        "the library has it: write `use ops: softmax` before the operator",
        "use ops: softmax\nop f(X: f32[M, N]) -> Y: f32[M, N] { Y = softmax(X, axis=0) }",
    ),
    (
        "op f(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = 2 * gelu_tanh(X[i, j]) }",
        "write `use ops: gelu_tanh` before the operator, T = gelu_tanh(X) as a whole right side",
        "use ops: gelu_tanh\nop f(X: f32[M, N]) -> Y: f32[M, N] { T = gelu_tanh(X)  Y[i, j] = 2 * T[i, j] }",
    ),
    (
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = sort(X)[i] }",
        "a call gives one number",
        "use ops: sort\nop f(X: f32[N]) -> Y: f32[N] { T = sort(X)  Y[i] = T[i] }",
    ),
    (
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = sorted(X[i]) }",
        "`use ops: sort` (argsort, topk), T = sort(X)",
        "use ops: sort\nop f(X: f32[N]) -> Y: f32[N] { T = sort(X)  Y[i] = T[i] }",
    ),
    (
        "op f(X: f32[N]) -> Y: f32[K] { Y[i] = 0 }",
        "is a constant after `;`",
        "op f(X: f32[N]; K = 3) -> Y: f32[K] { Y[i] = 0 }",
    ),
    (
        "op f(X: f32[M, N]) -> Y: f32[M*N] { Y[i*N + j] = X[i, j] }",
        "declare the dimension as a group, Y: f32[(M, N)] with Y[(i, j)]",
        "op f(X: f32[M, N]) -> Y: f32[(M, N)] { Y[(i, j)] = X[i, j] }",
    ),
    (
        "op f(X: f32[M, N]) -> Y: f32[M - N] { Y[i] = 0 }",
        "add `require N <= M`",
        "op f(X: f32[M, N]) -> Y: f32[M - N] require N <= M { Y[i] = 0 }",
    ),
    (
        "op f(X: f32[N], n: i32) -> Y: f32[n] { Y[i] = 0 }",
        "make it a constant: op f(...; n)",
        "op f(X: f32[N]; n = 2) -> Y: f32[n] { Y[i] = 0 }",
    ),
    (
        "op f(X: f32[N], k: i32[N] in 0..n, n: i32) -> Y: f32[N] { Y[i] = 0 }",
        "is a constant after `;`",
        "op f(X: f32[N], k: i32[N] in 0..n; n = 2) -> Y: f32[N] { Y[i] = 0 }",
    ),
    (
        "op f(X: f32[N]) -> Y: f32[N/2] { Y[i] = X[2*i] }",
        "`//` is the quotient rounded down: N // 2",
        "op f(X: f32[N]) -> Y: f32[N // 2] { Y[i] = X[2*i] }",
    ),
    (
        "op f(X: f32[N]) -> f32[N] { Y[i] = X[i] }",
        "an output has a name and a type: -> Y: f32[N]",
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }",
    ),
    (
        "op f(X: f32[N]): Y: f32[N] { Y[i] = X[i] }",
        "op f(X: f32[N]) -> Y: f32[N]",
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }",
    ),
    (
        "op f(X[N]) -> Y: f32[N] { Y[i] = X[i] }",
        "a tensor has a name and a type: X: f32[N]",
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }",
    ),
    (
        "op f(X: f32[?]) -> Y: f32[N] { Y[i] = X[i] }",
        "sizes have names: f32[N]",
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }",
    ),
    (
        "op f(X: f32[..., N]) -> Y: f32[N] { Y[i] = 0 }",
        "any number of dimensions is a pack: f32[*S, N]",
        "op f(X: f32[*S, N]) -> Y: f32[N] { Y[i] = 0 }",
    ),
    (
        "op f(X: float32[N]) -> Y: f32[N] { Y[i] = X[i] }",
        "did you mean `f32`?",
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }",
    ),
    ("op f(X: f32) -> y: f32 { y[0] = X }", "it is one number: y", "op f(X: f32) -> y: f32 { y = X }"),
    (
        "op f(X: f32[N, M]) -> Y: f32[N, M] { Y = X }",
        "an equation is about elements: Y[i, j]",
        "op f(X: f32[N, M]) -> Y: f32[N, M] { Y[i, j] = X[i, j] }",
    ),
    (
        "op f(X: f32[N], idx: i32[M]) -> Y: f32[M] { Y[i] = X[idx[i]] }",
        "declare a range, `idx: i32[M] in 0..N`, or guard the read: X[idx[i] | 0]",
        "op f(X: f32[N], idx: i32[M] in 0..N) -> Y: f32[M] { Y[i] = X[idx[i]] }",
    ),
    (
        "op f(X: f32[N]) -> Y: i32[N] in 0..3 { Y[i] = i32(i) }",
        "clamp it: clamp(i32(i), 0, 2)",
        "op f(X: f32[N]) -> Y: i32[N] in 0..3 { Y[i] = clamp(i32(i), 0, 2) }",
    ),
    (
        "op g(E: f32[V], k: i32[B] in 0..V) -> Y: f32[B] { Y[i] = E[k[i]] }\nop f(E: f32[V], k: i32[B]) -> "
        "Y: f32[B] { Y = g(E, k) }",
        "declare `k: i32[B] in 0..V`",
        "op g(E: f32[V], k: i32[B] in 0..V) -> Y: f32[B] { Y[i] = E[k[i]] }\n"
        "op f(E: f32[V], k: i32[B] in 0..V) -> Y: f32[B] { Y = g(E, k) }",
    ),
    (
        "op g(X: f32[N]) -> Y: f32[N - 1] require N >= 2 { Y[i] = X[i] }\nop f(X: f32[N]) -> Y: f32[N - 1] "
        "require N >= 1 { Y = g(X) }",
        "add `require N >= 2`",
        "op g(X: f32[N]) -> Y: f32[N - 1] require N >= 2 { Y[i] = X[i] }\nop f(X: f32[N]) -> Y: f32[N - 1] "
        "require N >= 2 { Y = g(X) }",
    ),
    (
        "op f(X: f32[N]) -> Y: f32[N] requires N > 2 { Y[i] = X[i] }",
        "conditions on sizes come after `require`",
        "op f(X: f32[N]) -> Y: f32[N] require N > 2 { Y[i] = X[i] }",
    ),
]
BODIES = [
    ("Y[i] = sum(j in 0:N: X[j])", "a range is written lo..hi: 0..N", "Y[i] = sum(j in 0..N: X[j])"),
    (
        "Y[i] = sum(X[j] for j in 0..N)",
        "a reduction begins with what it runs over: sum(k in 0..N: X[k])",
        "Y[i] = sum(k in 0..N: X[k])",
    ),
    ("Y[i] = sum(X)", "sum(k: X[k])", "Y[i] = sum(k: X[k])"),
    ("Y[i] = mean(j: X[j])", "a mean is sum(k: X[k]) / N", "Y[i] = sum(k: X[k]) / N"),
    ("Y[i] = count(j: X[j])", "sum(k: if c then 1 else 0)", "Y[i] = f32(sum(k: if X[k] > 0 then 1 else 0))"),
    ("Y[i] = X[i] if i > 0 else 0", "if c then a else b", "Y[i] = if i > 0 then X[i] else 0"),
    ("Y[i] = i > 0 ? X[i] : 0", "if c then a else b", "Y[i] = if i > 0 then X[i] else 0"),
    ("Y[i] = where(X[i] > 0, X[i], 0)", "if c then a else b", "Y[i] = if X[i] > 0 then X[i] else 0"),
    ("Y[i] = if X[i] > 0 then 1", "if c then a else b", "Y[i] = if X[i] > 0 then 1 else 0"),
    (
        "Y[i] = if X[i] = 0 then 1 else 0",
        "comparison is written with `==`",
        "Y[i] = if X[i] == 0 then 1 else 0",
    ),
    (
        "Y[i] = if X[i] > 0 && i > 0 then 1 else 0",
        "logic is `and`, `or`, `not`",
        "Y[i] = if X[i] > 0 and i > 0 then 1 else 0",
    ),
    ("Y[i] = relu(X[i])", "write max(x, 0)", "Y[i] = max(X[i], 0)"),
    ("Y[i] = ln(X[i])", "log(x)", "Y[i] = log(X[i])"),
    ("Y[i] = pow(X[i], 2)", "x ** y", "Y[i] = X[i] ** 2"),
    ("Y[i] = float(i)", "f32(x)", "Y[i] = f32(i)"),
    ("Y[i] = clip(X[i], 0, 1)", "clamp(x, lo, hi)", "Y[i] = clamp(X[i], 0, 1)"),
    ("Y[i] = X[N - i]", "guard the read: X[N - i | 0]", "Y[i] = X[N - i | 0]"),
    ("Y[i] = X[-1]", "the last element is X[N - 1]", "Y[i] = X[N - 1]"),
    ("Y[i] = X[i+1 | edge]", "write `| clamp`", "Y[i] = X[i+1 | clamp]"),
    ("Y[i] = X[i+1 | zero]", "write `| 0`", "Y[i] = X[i+1 | 0]"),
    ("Y[i] = X[i/2]", "`//` is the quotient rounded down", "Y[i] = X[i//2]"),
    ("Y[:] = X[:]", "every index has a name", "Y[i] = X[i]"),
    ("Y(i) = X(i)", "elements stand in square brackets: Y[i] = X[i]", "Y[i] = X[i]"),
    ("for i in 0..N { Y[i] = X[i] }", "Y[i] = X[i]  for i in 0..N", "Y[i] = X[i]  for i in 0..N"),
    ("Y[i] = X[i] for i in range(N)", "a range is written lo..hi: 0..N", "Y[i] = X[i] for i in 0..N"),
    ("Y[i] = X[i] for i < N", "i in 0..N", "Y[i] = X[i] for i in 0..N"),
    ("Y[i] = X[i],", "statements need no separator", "Y[i] = X[i]"),
    ("Y[i] = X[i];", "statements need no separator", "Y[i] = X[i]"),
    (
        "let T: f32[N] = 0   Y[i] = T[i]",
        "an equation says the values: T[i] = 0",
        "let T: f32[N]   T[i] = 0   Y[i] = T[i]",
    ),
    ("let T = X[i]   Y[i] = T[i]", "T[i] = 2 * X[i]", "T[i] = 2 * X[i]   Y[i] = T[i]"),
    (
        "T[i] = 1   Y[i] = T[i]",
        "write its range at the end of the equation: for i in 0..N",
        "T[i] = f32(1)  for i in 0..N   Y[i] = T[i]",
    ),
    ("Y[i] = 2X[i]", "a product is written with `*`: 2 * X", "Y[i] = 2 * X[i]"),
    ("Y[i] += X[i]", "define it: Y[i] = 0", "Y[i] = 0   Y[i] += X[i]"),
    ("Y[i] = Y[i-1] + X[i]", "guard the read: Y[i-1 | 0]", "Y[i] = Y[i-1 | 0] + X[i]"),
    ("Y[i] = X[i] + i", "convert one of them: f32(i)", "Y[i] = X[i] + f32(i)"),
    ("Y[i] = X[i] > 0", "choose: if X[i] > 0 then 1 else 0", "Y[i] = if X[i] > 0 then 1 else 0"),
    (
        "Y[i] = (X[i] > 0) * X[i]",
        "choose a number: if X[i] > 0 then 1 else 0",
        "Y[i] = (if X[i] > 0 then 1 else 0) * X[i]",
    ),
    ("Y[i] = if X[i] then 1 else 0", "compare: X[i] != 0", "Y[i] = if X[i] != 0 then 1 else 0"),
    ("Y[i] = K[i]", "convert it: f32(K[i])", "Y[i] = f32(K[i])"),
    ("Y[i] = K[i] * 0.5", "convert the integer: f32(K[i])", "Y[i] = f32(K[i]) * 0.5"),
    ("Y[i] = X[X[i]]", "convert it: i64(X[i])", "Y[i] = X[i64(X[i]) | 0]"),
    ("Y[i] = X[i] * D[i]", "convert one of them: f64(X[i])", "Y[i] = f64(X[i]) * D[i]"),
    ("Y[i] = x[i]", "did you mean `X`?", "Y[i] = X[i]"),
    ("Y[i] = X[i] // twice\n", "a comment begins with `#`", "Y[i] = X[i] # twice\n"),
    (
        "Y[i] = max(k in 1..N: X[k])",
        "add `require N >= 2`",
        "Y[i] = if N >= 2 then max(k in 1..N: X[k]) else 0",
    ),
    (
        "Y[i] = max(j where X[j] > 0: X[j] * 2)",
        "max(j: if X[j] > 0 then X[j] * 2 else lowest(f32))",
        "Y[i] = max(j: if X[j] > 0 then X[j] * 2 else lowest(f32))",
    ),
    (
        "Y[i] = min(j where X[j] > 0: X[j])",
        "min(j: if X[j] > 0 then X[j] else inf)",
        "Y[i] = min(j: if X[j] > 0 then X[j] else inf)",
    ),
    (
        "Y[i] = f32(argmin(j where X[j] > 0: K[j]))",
        "argmin(j: if X[j] > 0 then K[j] else 2147483647)",
        "Y[i] = f32(argmin(j: if X[j] > 0 then K[j] else 2147483647))",
    ),
    (
        "Y[i] = X[i] where X[i] > 0   Y[i] = 0 where X[i] <= 0",
        "stand in one equation: Y[i] = if c then a else b",
        "Y[i] = if X[i] > 0 then X[i] else 0",
    ),
    ("Y[i] = X[i+2 | reflect]", "add `require N >= 3`", "Y[i] = X[i+2 | clamp]"),
]
HEAD = "op f(X: f32[N], K: i32[N] in 0..N, D: f64[N]) -> Y: f32[N] {\n  "


def check(wrong: str, said: str, right: str) -> str:
    with pytest.raises(tx.Error) as e:
        tx.op(wrong)
    assert said in str(e.value)
    tx.op(right)
    return f"{e.value}\n"


def test_heads(golden):
    golden("\n".join(check(*mistake) for mistake in MISTAKES))


def test_bodies(golden):
    golden(
        "\n".join(check(HEAD + wrong + "\n}", said, HEAD + right + "\n}") for wrong, said, right in BODIES)
    )


def test_an_operator_of_the_library_that_is_not_used():
    text = "op f(X: f32[M, N]) -> Y: f32[M, N] { P = softmax(X)  Y[i, j] = 2 * P[i, j] }"
    with pytest.raises(tx.CheckError) as caught:
        tx.op(text)
    assert (
        str(caught.value)
        == """error[name]: unknown operator `softmax`
  --> <op>:1:42
  1 | op f(X: f32[M, N]) -> Y: f32[M, N] { P = softmax(X)  Y[i, j] = 2 * P[i, j] }
    |                                          ^^^^^^^
  help: the library has it: write `use ops: softmax` before the operator"""
    )
    assert caught.value.fixed == f"use ops: softmax\n{text}"


def test_what_no_library_has_is_not_proposed():
    with pytest.raises(tx.CheckError) as caught:
        tx.op("op f(X: f32[M, N]) -> Y: f32[M, N] { Y = sofmax(X) }")
    assert "use ops" not in str(caught.value)

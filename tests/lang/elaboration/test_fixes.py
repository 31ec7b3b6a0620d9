"""Advice that proposes text: the text that follows it is accepted. Where it takes two steps,
each says the next.
"""

from __future__ import annotations

import re

import pytest

import texpr as tx

REFUSED = {
    # Extents, ranges and windows.
    "op f(X: f32[N]; W = 5) -> Y: f32[N - W + 1] { Y[i] = sum(k in 0..W: X[i + k]) }": "add `require N >= 4`",
    "op f(X: f32[N]; W = 5) -> Y: f32[N - W] { Y[i] = X[i] }": "add `require N >= 5`",
    "op f(X: f32[M, N]) -> Y: f32[M - N] { Y[i] = 0 }": "add `require N <= M`",
    "op f(X: f32[N]; W = 5) -> Y: f32[N] { T[i] = sum(k in 0..W: X[i + k]) for i in 0..N - W + 1  Y[i] = T[i "
    "| 0] }": "add `require N >= 4`",
    "op f(X: f32[N]; W = 5) -> Y: f32[N] { Y[i] = sum(k in 0..W: X[i + k - 2]) / 5 }": "guard the read: X[i "
    "+ k - 2 | 0]",
    "op f(X: f32[N]; W = 5) -> Y: f32[N] { Y[i] = sum(k in 0..W: X[k]) }": "guard the read: X[k | 0]",
    "op f(X: f32[N]; W = 5) -> Y: f32[N] { Y[i] = sum(k in 0..W: X[i + k - 2 | reflect]) / 5 }": "add `require N >= 3`",
    "op f(X: f32[N]; W = 5) -> Y: f32[N] { Y[i] = sum(k in 0..W: X[i + k | wrap]) / 5 }": "add `require N >= "
    "4`",
    "op f(X: f32[N]; W = 5) -> Y: f32[N // W] { Y[i] = max(k in 0..W: X[i * W + k + 1]) }": "guard the read: "
    "X[i * W + k + 1 "
    "| 0]",
    "op f(X: f32[N]; W = 5) -> Y: f32[N] { Y[i] = max(k in i - W + 1..i + 1: X[k]) }": "guard the read: X[k "
    "| 0]",
    "op f(X: f32[N]; W = 5) -> Y: f32[N] { Y[i] = max(k in max(i - W, 0)..min(i + W, N - 4): X[k]) }": "add `require N >= 5`",
    "op f(X: f32[N]; W = 5) -> Y: f32[N] { Y[i] = max(k in max(i - W + 1, 0)..min(i, N): X[k]) }": "make the range of its binders non-empty for every element",
    "op f(X: f32[N]) -> y: f32 { y = max(k in 1..N: X[k]) }": "add `require N >= 2`",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[N - i] }": "guard the read: X[N - i | 0]",
    "op f(b: bool[N]) -> Y: bool[N] { Y[i] = b[i + 1] }": "guard the read: b[i + 1 | false]",
    "op f(X: f32[N]) -> y: f32 { y = X[-1] }": "the last element is X[N - 1]",
    "op f(X: f32[M, N]) -> Y: f32[M] { Y[i] = X[i, -1] }": "the last index is N - 1",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = Y[i - 1] + X[i] }": "guard the read: Y[i - 1 | 0]",
    "op f(X: f32[N], Z: f32[M]) -> Y: f32[N] { Y[i] = X[i] + Z[i] }": "where N and M are one size, give both "
    "one name; else guard the read: Z[i | "
    "0]",
    "op f(X: f32[N], Z: f32[M]) -> y: f32 { y = sum(j: X[j] * Z[j]) }": "give both one name",
    "op f(X: f32[N], k: i32[M]) -> Y: f32[M] { Y[i] = X[k[i]] }": "declare a range, `k: i32[M] in 0..N`, or "
    "guard the read: X[k[i] | 0]",
    "op f(X: f32[N], k: i32[M]) -> Y: f32[M] { s[i] = k[i] + 1  Y[i] = X[s[i]] }": "guard the read: X[s[i] | "
    "0]",
    "op f(X: f32[M, N]) -> Y: f32[M*N] { Y[i*N + j] = X[i, j] }": "declare the dimension as a group, Y: "
    "f32[(M, N)] with Y[(i, j)]",
    "op f(X: f32[M*N], Z: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = X[i*N + j] + Z[i, j] }": "declare the "
    "dimension as a "
    "group, X: f32[(M, "
    "N)] with X[(i, "
    "j)]; or guard the "
    "read: X[i*N + j | "
    "0]",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = 0  Y[i + 1] += X[i] }": "restrict the indices (`for i in "
    "lo..hi`), or drop what lies outside: Y[i "
    "+ 1 | drop]",
    "op f(X: f32[N], k: i32[N]) -> Y: f32[N] { Y[i] = 0  Y[k[i]] += X[i] }": "declare a range, `k: i32[N] in "
    "0..N`, or restrict the indices "
    "(`for i in lo..hi`), or drop "
    "what lies outside: Y[k[i] | "
    "drop]",
    # What is defined.
    "op f(X: f32[N]) -> Y: f32[N + 1] { Y[i + 1] = X[i] }": "define the rest, Y[0] = 0, or widen the range "
    "of an index with `for`",
    "op f(X: f32[N, M]) -> Y: f32[N + 1, M] { Y[i + 1, j] = X[i, j] }": "define the rest, Y[0, j] = 0, or "
    "widen the range of an index with "
    "`for`",
    "op f(X: f32[N]) -> Y: bool[N + 1] { Y[i + 1] = X[i] > 0 }": "define the rest, Y[0] = false, or widen "
    "the range of an index with `for`",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i]  for i in 2..N }": "add an equation for the rest, or widen "
    "the range of an index with `for`",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] += X[i] }": "before `+=`, define it: Y[i] = 0",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] max= X[i] }": "before `max=`, define it: Y[i] = -inf",
    "op f(X: i8[N]) -> Y: i8[N] { Y[i] min= X[i] }": "before `min=`, define it: Y[i] = 127",
    "op f(X: f32[N], k: i32[N] in 0..M, Z: f32[M]) -> Y: f32[M] { T[k[i]] += X[i]  Y[j] = T[j] + Z[j] }": "declare it, let T: f32[M], and write T[i] = 0",
    # Shapes that are declared.
    "op f(X: f32[N]) -> Y: f32[N] { h[i + 1] = h[i | 0] + X[i]  Y[i] = X[i] }": "only bare, distinct indices "
    "say a shape; declare it: "
    "let h: f32[N + 1]",
    "op f(X: f32[N]) -> Y: f32[N] { h[0] = 1  h[i + 1] = h[i] * X[i]  Y[i] = X[i] }": "declare its shape: "
    "let h: f32[N + 1]",
    "op f(X: f32[N]) -> Y: f32[N] { h[i] = X[i]  for i in 1..N  Y[i] = X[i] }": "declare it: let h: f32[N]",
    "op f(X: f32[N]; R = 2) -> Y: f32[N] { w[i, d] = X[i + d | 0]  for i in 0..N, d in -R..R + 1  Y[i] = "
    "sum(d in -R..R + 1: w[i, d]) }": "elements begin at 0: let `d` run over 0..5 and read it as d - 2",
    "op f(X: f32[H, W], r: f32[R]) -> Y: f32[H, W] { w[y, x, a, b] = X[y + a, x + b | 0] for y in 0..H, x in "
    "0..W, a in -R..R+1, b in -1..2"
    "  Y[y, x] = sum(a in -R..R + 1, b in -1..2: w[y, x, a, b]) }": "elements begin at 0: let `a` run over "
    "0..R * 2 + 1 and read it as a - R, let "
    "`b` run over 0..3 and read it as b - 1",
    # Ranges that are written.
    "op f(X: f32[H, W]) -> Y: f32[H, W] { w[y, x] = X[y - 1, x | 0]  Y[y, x] = w[y, x] }": "write its range "
    "at the end of "
    "the equation: "
    "for y in 0..H, x "
    "in 0..W",
    "op f(X: f32[N]) -> Y: f32[N] { T[i] = 1  Y[i] = X[i] }": "write its range at the end of the equation: "
    "for i in 0..N",
    "op f(X: f32[N], Z: f32[M]) -> Y: f32[N] { Y[i] = sum(k: Z[k - i | 0]) }": "write its range: k in 0..M",
    "op f(X: f32[N], Z: f32[M]) -> Y: f32[N] { Y[i] = sum(k: i * k) }": "write its range: k in 0..N",
    # Types.
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + i }": "convert one of them: f32(i)",
    "op f(X: f32[N], d: f64[N]) -> Y: f32[N] { Y[i] = X[i] * d[i] }": "convert one of them: f64(X[i])",
    "op f(k: i32[N]) -> Y: f32[N] { Y[i] = k[i] }": "convert it: f32(k[i])",
    "op f(k: i32[N]) -> Y: f32[N] { Y[i] = k[i] * 0.5 }": "convert the integer: f32(k[i])",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] > 0 }": "choose: if X[i] > 0 then 1 else 0",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = (X[i] > 0) * X[i] }": "choose a number: if X[i] > 0 then 1 else 0",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = if X[i] then 1 else 0 }": "compare: X[i] != 0",
    "op f(X: f32[N]) -> Y: bool[N] { Y[i] = X[i] }": "compare: X[i] != 0",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[X[i]] }": "convert it: i64(X[i])",
    "op f(X: f32[N]) -> Y: i32 { Y = sum<i32>(j: X[j]) }": "convert it: i32(X[j])",
    "op f(X: f32[N]) -> Y: f32[N/2] { Y[i] = X[2*i] }": "`//` is the quotient rounded down: N // 2",
    "op f(X: f32[N]) -> Y: i32[N] in 0..3 { Y[i] = i32(i) }": "clamp it: clamp(i32(i), 0, 2)",
    # Names.
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = x[i] }": "did you mean `X`?",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = sqr(X[i]) }": "did you mean `sqrt`?",
    "op f(X: float32[N]) -> Y: f32[N] { Y[i] = X[i] }": "did you mean `f32`?",
    "op f(X: f32[N], weight: f32) -> Y: f32[N] { Y[i] = X[i] * weigth }": "did you mean `weight`?",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1 | edge] }": "write `| clamp`",
    # Choices of nothing, and calls.
    "op f(X: f32[N]) -> y: f32 { y = max(j where X[j] > 0: X[j] * 2) }": "write the filter into the body: "
    "max(j: if X[j] > 0 then X[j] * 2 "
    "else lowest(f32))",
    "op f(X: f32[N]) -> y: i64 { y = argmin(j where X[j] > 0: X[j]) }": "write the filter into the body: "
    "argmin(j: if X[j] > 0 then X[j] "
    "else inf)",
    "op g(E: f32[V], k: i32[B] in 0..V) -> Y: f32[B] { Y[i] = E[k[i]] }\nop f(E: f32[V], k: i32[B]) -> Y: "
    "f32[B] { Y = g(E, k) }": "declare `k: i32[B] in 0..V`",
    "op g(X: f32[N]) -> Y: f32[N - 1] require N >= 2 { Y[i] = X[i] }\nop f(X: f32[N]) -> Y: f32[N - 1] "
    "require N >= 1 { Y = g(X) }": "add `require N >= 2`",
    "op g(X: f32[N], Z: f32[N]) -> Y: f32[N] { Y[i] = X[i] * Z[i] }\nop f(X: f32[N], Z: f32[M]) -> Y: f32[N] "
    "{ Y = g(X, Z) }": "give both one name, or state it: require N == M",
}
PROPOSING = re.compile(
    r"`require |declare .*:|guard the read: |drop what|: let |clamp it: |convert .*: |did you mean|choose.*: "
    r"|compare: |"
    r"define it: |define the rest, |body: "
)


@pytest.mark.parametrize("text", REFUSED)
def test_what_follows_advice_is_accepted(text: str):
    with pytest.raises(tx.Error) as e:
        tx.op(text)
    assert e.value.help == REFUSED[text]
    fixed, steps = e.value.fixed, 0
    assert (fixed is not None) >= bool(PROPOSING.search(e.value.help))
    while fixed is not None and steps < 3:
        fixed, steps = next_of(fixed), steps + 1
    assert fixed is None


def next_of(text: str) -> str | None:
    """What an error in the text proposes; None where there is none."""
    try:
        tx.op(text)
    except tx.Error as error:
        assert error.fixed is not None
        return error.fixed
    return None


def test_advice_that_leaves_another_mistake_is_kept():
    with pytest.raises(tx.Error) as e:
        tx.op("op f(X: f32[N]) -> (Y: f32[N], Z: f32[N]) { Y[i] = X[i + 1]  Z[i] = x[i] }")
    assert e.value.help == "did you mean `X`?"
    with pytest.raises(tx.Error) as e:
        tx.op("op f(X: f32[N]) -> (Y: f32[N], Z: f32[N]) { Y[i] = X[i + 1]  Z[i] = X[i - 1] }")
    assert e.value.help == "guard the read: X[i + 1 | 0]"


def test_a_fix_in_a_file_that_is_used(tmp_path):
    (tmp_path / "a.tx").write_text("op g(X: f32[N]) -> Y: f32[N - 3] { Y[i] = X[i] }\n")
    (tmp_path / "b.tx").write_text(
        'use "a.tx": g\nop f(X: f32[N]) -> Y: f32[N - 3] require N >= 3 { Y = g(X) }\n'
    )
    with pytest.raises(tx.Error) as e:
        tx.load(tmp_path / "b.tx")
    assert e.value.help == "add `require N >= 3`"
    assert e.value.fixed == "op g(X: f32[N]) -> Y: f32[N - 3] require N >= 3 { Y[i] = X[i] }\n"

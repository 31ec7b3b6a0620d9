"""Mistakes that once went through, or came out as a bug of ours."""

from __future__ import annotations

import pytest

import texpr as tx

MISTAKES = [
    (
        "op f(X: f32[N]) -> Y: f32[N] require X[0] > 1 { Y[i] = X[i] }",
        "a requirement is about sizes and constants; this one reads `X`",
    ),
    ("op f(X: f32[N], k: i32) -> Y: f32[N] require k < N { Y[i] = X[i] }", "this one reads `k`"),
    ("op f<T: bad>(X: T[N]) -> Y: T[N] { Y[i] = X[i] }", "unknown class of types `bad`"),
    (
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i * 9223372036854775807 | 0] }",
        "the product with a size may not fit i64",
    ),
    (
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i * 65536 * 65536 * 65536 % N] }",
        "281474976710656 in an index",
    ),
    ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i - 1152921504606846976 | clamp] }", "may not fit i64"),
]


@pytest.mark.parametrize(("text", "complaint"), MISTAKES)
def test_refused(text: str, complaint: str) -> None:
    with pytest.raises(tx.CheckError) as e:
        tx.op(text)
    assert complaint in e.value.message


@pytest.mark.parametrize("nothing", [5, b"op f() -> Y: f32 { Y = 1 }", len, dict])
def test_no_text_and_no_operator(nothing: object) -> None:
    with pytest.raises(tx.CallError, match="a text or a Python function, not of a"):
        tx.op(nothing)  # type: ignore[arg-type]
    for use in (tx.schedule, tx.interpret, tx.grad, tx.vjp, tx.jvp, tx.check_grad):
        with pytest.raises(tx.CallError, match="operator"):
            use(nothing)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrt", [[], ["X", "X"], [3]])
def test_wrt_names_inputs(wrt: list) -> None:
    with pytest.raises(tx.CallError, match="expected names of inputs, each once"):
        tx.grad(tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }"), wrt=wrt)

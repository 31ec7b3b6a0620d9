"""Wrong texts and the whole of what is said about them. The pictures are in
`golden/test_complaints/`.
"""

from __future__ import annotations

import pytest

from tests.work import at_most
from texpr.ir.dtypes import F32, I32
from texpr.lang import elaborate, parse
from texpr.support.errors import CheckError, Error, ParseError, ResourceError

HEAD = "op f(X: f32[N], Z: f32[M], A: f32[N, M], k: i32[N] in 0..M, s: f32) -> Y: f32[N] {\n  "
TAIL = "\n}\nop g<T: float>(X: T[D]; q = 1) -> Y: T[D] { Y[i] = X[i] * q }\nfn h(v) = v * w\nfn r(v) = r(v)"

SYNTAX = [
    "",
    " \n ",
    "# only a comment",
    "op",
    "C[i] = 3",
    "op f(X: f32[N] -> Y: f32[N] { Y[i] = 1 }",
    "op f(X: f32[N]) { Y[i] = 1 }",
    "op f(X: f32[N]) -> Y: f32[N] Y[i] = 1 }",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i]",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = 1 }}",
    "op f(X f32[N]) -> Y: f32[N] { Y[i] = 1 }",
    "op in(X: f32[N]) -> Y: f32[N] { Y[i] = 1 }",
    "fn f(x) = x + \x00",
    "fn f(x) = x + \ud800",
    "fn f(x) = е",
    "fn f(x) = x \u202e",
    "fn f(x) = x + ١",
    "fn f(x) = x × 2",
    "fn f(x) = 1e999",
    "fn f(x) = " + "9" * 5000,
    "fn f(x) = 0x1p4",
    "fn f(x) = 1__0",
    "fn f(x) = 1.",
    "fn f(x) = .5",
    "fn f(x) = x $ 2",
    "fn f(x) = x & 1",
    "fn f(x) = x != y !",
    "fn f(x) = if x > 0 then 1",
    "fn f(x) = bar(k: x)",
    "fn f(x) = sum(x)",
    "fn f(x) = max(x)",
    "fn f(x) = sum(k + 1: x)",
    "fn f(x) = g(k in 0..3)",
    "fn f(x) = g(a=1, 2)",
    "fn f(x) = (x",
    "fn f(x) = x)",
    "fn f(x) = x y",
    "fn f(x) = x = 1",
    "fn f(x) = x[1 | drop]",
]
BODIES_SYNTAX = [
    "Y[i] = X[i,j\n  T[i] = 2",
    "Y[i] := X[i]",
    "Y[i] == X[i]",
    "Y[i] = X[i] | 0",
    "Y[i] = A[i][0]",
    "Y[i] = X[i];",
    "Y[i] = X[i] @ Z[i]",
    "Y[i | 0] = X[i]",
    "let Y f32[N]",
    "for i in 0..N",
    "Y[i] = sum(j X[j])",
    "Y[i] = X[i] if s",
    "Y[i]",
    "3 = X[i]",
    "let in: f32",
]
MEANINGS = [
    "Y[i] = X[j]",
    "Y[i] = X[i, i]",
    "Y[i] = X",
    "Y[i] = Q[i]",
    "Y[i] = x[i]",
    "Y[i] = sum(j: X[j] * Z[j])",
    "Y[i] = sum(j: s)",
    "Y[i] = sum(j in 0..N: 1)",
    "Y[i] = X[i] + k[i]",
    "Y[i] = X[i] + f64(s)",
    "Y[i] = k[i]",
    "Y[i] = f32(k[i] / 2)",
    "Y[i] = X[s]",
    "Y[i] = sum(i: X[i])",
    "Y[i] = sum(N: X[N])",
    "Y[i] = 1  Z[i] = 2",
    "Y[i] = 1  T[i + 1] = 2",
    "T[i] = X[i]",
    "Y[i] += X[i]",
    "Y[i] = 0  Y[i] += X[i]  Y[i] *= 2",
    "Y[i] = 0  Y[i] += Y[i]",
    "Y[i] = 0  Y[i] += 1  Y[0] = 2",
    "Y[i] = expp(X[i])",
    "Y[i] = exp(X[i], 2)",
    "Y[i] = exp(k[i])",
    "Y[i] = g(X[i])",
    "Y = g(s)",
    "Y = g(A)",
    "Y, T = g(X)",
    "Y = g(X, Z)",
    "Y = g(X, p=2)",
    "Y = g(X + 1)",
    "Y = g()",
    "Y = g(Z)",
    "Y = g(k)",
    "Y = f(X, Z, A, k, s)",
    "Y[i] = T[i]  T[i] = Q[i]  Q[i] = T[i]",
    "T[i] = X[i]\n  T[i] = Z[i]\n  Y[i] = T[i]",
    "Y[i] = X[*i]",
    "Y[(i, j)] = 1",
    "Y[i] = 1 for j in 0..N",
    "Y[i] = 1 for i in 0..N, i in 0..M",
    "let Y: f32[N]\n  Y[i] = 1",
    "let q: f32[N]\n  Y[i] = 1",
    "Y[i] = if X[i] then 1 else 2",
    "Y[i] = 1e39",
    "Y[i] = f32(k[i] + 3000000000)",
    "Y[i] = X[1 / 2]",
    "Y[i] = X[N // 0]",
    "Y[i] = uniform(s, i)",
    "Y[i] = numel(N)",
    "Y[i] = lowest(f33)",
    "Y[i] = f32(any(j: X[j]))",
    "Y[i] = sum(j: X[j] > 0)",
    "Y[i] = h(X[i])",
    "Y[i] = r(X[i])",
    "Y[i] = X[i | k[i]]",
    "Y[i] = f32(argmax<3>(j: X[j]))",
    "Y[i] = sum<f99>(j: X[j])",
    "Y[i], T[i] = X[i]",
    "Y[i] = (X[i], 1)",
    "Y[i] = X(i)",
    "Y[sum(j: k[j])] = 1",
    "Y[i] = sum(j, j: A[j, j])",
    "Y[i] = X[i] % true",
    "T[i, i] = X[i]  Y[i] = T[i, i]",
    "Y[i] = uniform()",
    "Y[i] = normal(-1, i)",
    "Y[i] = normal(1, s)",
    "Y[i] = uniform(1, *i)",
    "Y[i] = uniform(1, i=i)",
    "T[i] = X[i] for i in 1..N  Y[i] = T[i]",
    "f32 = 1",
    "Y[i] = sum<i32>(j: X[j])",
    "Y[i] = f32(place(i))",
    "Y[i] = f32(place(*i))",
]
SIGNATURES = [
    "op f<T: real>(X: T[N]) -> Y: T[N] { Y[i] = X[i] }",
    "op f(X: float[N]) -> Y: f32[N] { Y[i] = X[i] }",
    "op f(X: f32[N], X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }",
    "op f(N: f32[N]) -> Y: f32[N] { Y[i] = N[i] }",
    "op f(X: f32[N]) -> Y: f32[M] { Y[i] = 1 }",
    "op f(X: f32[N + 1]) -> Y: f32[N] { Y[i] = X[i] }",
    "op f(X: f32[N]; S) -> Y: f32[N] { Y[i] = X[i] }",
    "op f(X: f32[N]; S = 0) -> Y: f32[N] require S >= 1 { Y[i] = X[i] }",
    "op f(X: f32[(C, H)]) -> Y: f32[C, H] { Y[c, h] = X[(c, h)] }",
    "op f(X: f32[*S, N]) -> Y: f32[S] { Y[i] = 1 }",
    "op f(X: f32[*S, S]) -> y: f32 { y = 1 }",
    "op f(X: f32[*S]) -> Y: f32[*S] { Y[s] = X[s] }",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[*s] }",
    "op f(X: f32[*A:axis, N]; axis = -1) -> y: f32 { y = 1 }",
    "op f(X: f32[N] in 0..3) -> y: f32 { y = 1 }",
    "op f(X: f32[3 - 4]) -> y: f32 { y = 1 }",
    "op f(X: f32[*6]) -> y: f32 { y = 1 }",
    "op f() -> y: f32 { y = 1 }\nop f() -> y: f32 { y = 2 }",
    "op f() -> y: f32 { y = g() }\nop g() -> y: f32 { y = f() }",
    "extern op f(X: f32[N]) -> Y: f32[M]",
    "op f(X: f32[N]; a = X) -> y: f32 { y = a }",
    "op f(X: f32[N]; a: i32 = 0.5) -> y: f32 { y = a }",
    "fn f32(v) = v\nop f() -> y: f32 { y = 1 }",
    "fn exp(v) = v\nop f() -> y: f32 { y = 1 }",
]


def complaint(text: str) -> str:
    with pytest.raises(Error) as e:
        elaborate(parse(text, "f.tx").ops["f"], {"T": F32}, {})
    assert isinstance(e.value, ParseError | CheckError)
    return str(e.value)


def listing(texts: list[str], wrap) -> str:
    shown = [
        (text if len(text) < 300 else text[:40] + "...").encode("unicode_escape").decode() for text in texts
    ]
    return "\n".join(
        f"==== {said}\n{complaint(wrap(text)).replace(chr(0xFFFD), '?')}\n"
        for said, text in zip(shown, texts)
    )


def test_syntax(golden):
    golden(listing(SYNTAX, lambda text: text) + listing(BODIES_SYNTAX, lambda body: HEAD + body + TAIL))


def test_meanings(golden):
    golden(listing(MEANINGS, lambda body: HEAD + body + TAIL))


def test_signatures(golden):
    golden(listing(SIGNATURES, lambda text: text))


def test_what_is_passed(golden):
    op = parse("op f<T: float>(X: T[N]; S) -> Y: T[N] { Y[i] = X[i] * S }", "f.tx").ops["f"]
    wrong = [
        ({}, {"S": 1}),
        ({"T": I32}, {"S": 1}),
        ({"T": F32}, {}),
        ({"T": F32}, {"S": 1, "s": 2}),
        ({"T": F32}, {"S": "one"}),
        ({"T": F32}, {"S": 1 << 70}),
    ]
    said = []
    for dtypes, constants in wrong:
        with pytest.raises(CheckError) as e:
            elaborate(op, dtypes, constants)
        said.append(str(e.value))
    golden("\n\n".join(said))


@pytest.mark.parametrize(
    "text",
    [
        "fn f(x) = " + "(" * 100_000 + "x" + ")" * 100_000,
        "fn f(x) = " + "(" * 201 + "x" + ")" * 201,
        "fn f(x) = " + "-" * 100_000 + "x",
        "fn f(x) = " + "not " * 1000 + "x",
        "fn f(x) = " + "if x then x else " * 201 + "x",
        "fn f(x) = " + "x ** " * 201 + "x",
        "fn f(x) = " + "g(" * 201 + "x" + ")" * 201,
        "fn f(x) = " + "X[" * 201 + "x" + "]" * 201,
    ],
    ids=range(8),
)
def test_deep_nesting_is_refused_at_once(text):
    with pytest.raises(ParseError, match="nesting deeper than 200"), at_most(2_000_000):
        parse(text)


def test_nesting_up_to_the_limit_is_accepted():
    deep = "op f(x: f32) -> y: f32 { y = " + "(" * 190 + "x" + " + 1)" * 190 + " }"
    assert elaborate(parse(deep).ops["f"], {}, {}).name == "f"


@pytest.mark.parametrize(
    "text, message",
    [
        ("#" * 1_000_001, "the text has 1000001 characters; at most 1000000 are read"),
        (
            "fn h0(v) = v + 1\n"
            + "".join(f"fn h{k}(v) = h{k - 1}(h{k - 1}(v))\n" for k in range(1, 40))
            + "op f(x: f32) -> y: f32 { y = h39(x) }",
            "more than 20000 calls of scalar functions are inlined",
        ),
        (
            "op g99(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }\n"
            + "".join(f"op g{k}(X: f32[N]) -> Y: f32[N] {{ Y = g{k + 1}(X) }}\n" for k in range(99))
            + "op f(X: f32[N]) -> Y: f32[N] { Y = g0(X) }",
            "operators call each other more than 40 deep",
        ),
    ],
    ids=["long", "inlining", "calls"],
)
def test_limits(text, message):
    with pytest.raises(ResourceError) as e:
        elaborate(parse(text).ops["f"], {}, {})
    assert e.value.message == message


def test_byte_order_marks_and_line_ends_are_accepted():
    op = parse("\ufeffop f(X: f32[N]) -> Y: f32[N] {\r\n\tY[i] = X[i]\r\n}\r\n").ops["f"]
    assert elaborate(op, {}, {}).name == "f"
    with pytest.raises(ParseError) as e:
        parse("\ufeffop f(X: f32[N]) ->\r\n Y: f32[N] {\r\n\tY[i] = \r\n}\r\n", "f.tx")
    assert (
        str(e.value)
        == """found `}`, expected an expression
  --> f.tx:4:1
  4 | }
    | ^"""
    )

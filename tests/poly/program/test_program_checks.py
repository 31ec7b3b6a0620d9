"""What the proofs say about wrong programs, in full, and what they require of sizes of zero."""

from __future__ import annotations

import pytest

from texpr.ir.dtypes import F32, I32
from texpr.ir.expr import Tensor, Var, plain
from texpr.ir.printing.expr import show
from texpr.ir.tensor import Invoke, Program
from texpr.lang import parse
from texpr.lang.elaboration.elaborate import elaborate, unproven
from texpr.poly import check_program
from texpr.support.errors import CheckError


def program(text: str) -> Program:
    """The last operator of a text."""
    op = list(parse(text, "op.tx").ops.values())[-1]
    return unproven(op, {v.name: F32 for v in op.type_variables}, {})


def complaint(text: str) -> str:
    op = list(parse(text, "op.tx").ops.values())[-1]
    with pytest.raises(CheckError) as e:
        elaborate(op, {v.name: F32 for v in op.type_variables}, {})
    said = str(e.value)
    assert e.value.holds == said.partition("holds when  ")[2].partition("\n")[0]
    return said


PICTURES = {
    "a read past the end": (
        """op f(X: f32[W], F: f32[Q]) -> Y: f32[(W + 1)//2] require Q <= 3 {
  Y[x] = sum(q: X[2*x + q] * F[q])
}""",
        """
error[bounds]: X is read outside its shape
  --> op.tx:2:19
  2 |   Y[x] = sum(q: X[2*x + q] * F[q])
    |                   ^^^^^^^ axis 0 has size W = 1, index is 1
    at W=1, Q=2, x=0, q=1
  help: guard the read: X[2*x + q | 0]
""",
    ),
    "a read of another shape": (
        """op f(A: f32[N, M]) -> B: f32[M, N] { B[i, j] = A[i, j] }""",
        """
error[bounds]: A is read outside its shape
  --> op.tx:1:48
  1 | op f(A: f32[N, M]) -> B: f32[M, N] { B[i, j] = A[i, j] }
    |                                                ^^^^^^^ axis 0 has size N = 1, index is 1
    at N=1, M=2, i=1, j=0        holds when  M <= N
  help: where M and N are one size, give both one name; else guard the read: A[i, j | 0]
""",
    ),
    "an index of data without a range": (
        """op f(E: f32[V], idx: i32[B]) -> Y: f32[B] { Y[b] = E[idx[b]] }""",
        """
error[bounds]: E may be read outside its shape
  --> op.tx:1:54
  1 | op f(E: f32[V], idx: i32[B]) -> Y: f32[B] { Y[b] = E[idx[b]] }
    |                                                      ^^^^^^ axis 0 has size V = 1, index is idx[b]
    at V=1, B=1, b=0
  help: declare a range, `idx: i32[B] in 0..V`, or guard the read: E[idx[b] | 0]
""",
    ),
    "an index of data beyond its range": (
        """op f(E: f32[V], idx: i32[B] in 0..V) -> Y: f32[B] { Y[b] = E[idx[b] + 1] }""",
        """
error[bounds]: E may be read outside its shape
  --> op.tx:1:62
  1 | op f(E: f32[V], idx: i32[B] in 0..V) -> Y: f32[B] { Y[b] = E[idx[b] + 1] }
    |                                                              ^^^^^^^^^^ axis 0 has size V = 1, index is idx[b] + 1
    at V=1, B=1, b=0
  help: guard the read: E[idx[b] + 1 | 0]
""",
    ),
    "a product of sizes": (
        """op f(A: f32[L], W: f32[H, K]) -> B: f32[H, K] { B[i, j] = A[i*K + j] }""",
        """
error[bounds]: A may be read outside its shape
  --> op.tx:1:61
  1 | op f(A: f32[L], W: f32[H, K]) -> B: f32[H, K] { B[i, j] = A[i*K + j] }
    |                                                             ^^^^^^^ axis 0 has size L = 1, index is i*K + j
    at L=1, H=1, K=1, i=0, j=0
  help: guard the read: A[i*K + j | 0]
""",
    ),
    "folding twice": (
        """op f(A: f32[N]) -> B: f32[N] { B[i] = A[i + 2 | wrap] }""",
        """
error[bounds]: wrap cannot bring this index of A back inside
  --> op.tx:1:41
  1 | op f(A: f32[N]) -> B: f32[N] { B[i] = A[i + 2 | wrap] }
    |                                         ^^^^^ axis 0 has size N = 1, index is 2
    at N=1, i=0        holds when  N >= 2
  help: add `require N >= 2`
""",
    ),
    "a write outside": (
        """op f(A: f32[N], idx: i32[M] in 0..N) -> B: f32[N] { B[i] = 0.0  B[idx[i] + 1] += A[idx[i]] }""",
        """
error[bounds]: B may be written outside its shape
  --> op.tx:1:67
  1 | op f(A: f32[N], idx: i32[M] in 0..N) -> B: f32[N] { B[i] = 0.0  B[idx[i] + 1] += A[idx[i]] }
    |                                                                   ^^^^^^^^^^ axis 0 has size N = 1, index is idx[i] + 1
    at N=1, M=1, i=0
  help: restrict the indices (`for i in lo..hi`), or drop what lies outside: B[idx[i] + 1 | drop]
""",
    ),
    "a negative extent": (
        """op f(A: f32[N]) -> B: f32[N - 2] { B[i] = A[i + 2] }""",
        """
error[bounds]: an extent of B can be negative
  --> op.tx:1:20
  1 | op f(A: f32[N]) -> B: f32[N - 2] { B[i] = A[i + 2] }
    |                    ^^^^^^^^^^^^^ N - 2 is -1
    at N=1        holds when  N >= 2
  help: add `require N >= 2`
""",
    ),
    "an element nothing defines": (
        """op f(A: f32[N]) -> B: f32[N] { B[i] = A[i] for i in 1..N }""",
        """
error[coverage]: B is not defined everywhere
  --> op.tx:1:32
  1 | op f(A: f32[N]) -> B: f32[N] { B[i] = A[i] for i in 1..N }
    |                                ^^^^^^^^^^^^^^^^^^^^^^^^^ no equation defines B[0]
    at N=1
  help: define the rest, B[0] = 0, or widen the range of an index with `for`
""",
    ),
    "an intermediate nothing defines": (
        """op f(A: f32[N]) -> B: f32[N] { let T: f32[N]  T[i] = A[i] for i in 1..N  B[i] = T[i] }""",
        """
error[coverage]: T is read where nothing defines it
  --> op.tx:1:81
  1 | op f(A: f32[N]) -> B: f32[N] { let T: f32[N]  T[i] = A[i] for i in 1..N  B[i] = T[i] }
    |                                                                                 ^^^^ no equation defines T[0]
    at N=1
  help: define the rest, T[0] = 0, or widen the range of an index with `for`
""",
    ),
    "elements where a quotient of data says": (
        """op f(A: f32[N], p: i64[N] in 0..4) -> B: f32[N, 2] { B[i, p[i] // 2] = A[i] }""",
        """
error[coverage]: B is not defined everywhere
  --> op.tx:1:54
  1 | op f(A: f32[N], p: i64[N] in 0..4) -> B: f32[N, 2] { B[i, p[i] // 2] = A[i] }
    |                                                      ^^^^^^^^^^^^^^^^^^^^^^ no equation defines B[0, 0]
    at N=1
  help: add an equation for the rest, or widen the range of an index with `for`
""",
    ),
    "a quotient of data beyond the end": (
        """op f(A: f32[2], p: i64[N] in 0..9) -> B: f32[N] { B[i] = A[p[i] // 2] }""",
        """
error[bounds]: A may be read outside its shape
  --> op.tx:1:60
  1 | op f(A: f32[2], p: i64[N] in 0..9) -> B: f32[N] { B[i] = A[p[i] // 2] }
    |                                                            ^^^^^^^^^ axis 0 has size 2, index is p[i] // 2
    at N=1, i=0
  help: guard the read: A[p[i] // 2 | 0]
""",
    ),
    "a circle through the places of one case": (
        "op f(X: f32[4]) -> A: f32[4] { A[if i < 2 then 1 - i else i] = if i < 2 then A[i] else X[i] for "
        "i in 0..4 }",
        """
error[cycle]: A is defined by itself
  --> op.tx:1:78
  1 | op f(X: f32[4]) -> A: f32[4] { A[if i < 2 then 1 - i else i] = if i < 2 then A[i] else X[i] for i in 0..4 }
    |                                                                              ^^^^ comes back to the same element: A[1] -> A[0] -> A[1]
    at i=0
  help: an element may only need others that do not need it
""",
    ),
    "two definitions": (
        """op f(A: f32[N]) -> B: f32[N] { B[0] = 0.0  B[i] = A[i] for i in 0..N }""",
        """
error[twice]: B is defined twice
  --> op.tx:1:44
  1 | op f(A: f32[N]) -> B: f32[N] { B[0] = 0.0  B[i] = A[i] for i in 0..N }
    |                                            ^^^^^^^^^^^^^^^^^^^^^^^^^ an element this defines has a definition already
    at N=1: (no indices) and (i=0) define the same element
  help: restrict the equations with `for` or `where` so that they do not meet
""",
    ),
    "one definition, several times": (
        """op f(A: f32[N]) -> B: f32[N] { B[i // 2] = A[i] for i in 0..N }""",
        """
error[twice]: B is defined twice
  --> op.tx:1:32
  1 | op f(A: f32[N]) -> B: f32[N] { B[i // 2] = A[i] for i in 0..N }
    |                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ an element this defines has a definition already
    at N=2: (i=0) and (i=1) define the same element
  help: use `+=` after a definition to fold several values
""",
    ),
    "a maximum over nothing": (
        """op f(A: f32[N, K]) -> B: f32[N] { B[i] = max(k in 1..K: A[i, k]) }""",
        """
error[empty]: max over an empty range
  --> op.tx:1:42
  1 | op f(A: f32[N, K]) -> B: f32[N] { B[i] = max(k in 1..K: A[i, k]) }
    |                                          ^^^^^^^^^^^^^^^^^^^^^^^ nothing to choose from
    at K=1        holds when  K >= 2
  help: add `require K >= 2`
""",
    ),
    "a maximum over what data selects": (
        """op f(A: f32[N], m: bool[N]) -> b: f32 { b = max(j where m[j]: A[j]) }""",
        """
error[empty]: max over an empty range
  --> op.tx:1:45
  1 | op f(A: f32[N], m: bool[N]) -> b: f32 { b = max(j where m[j]: A[j]) }
    |                                             ^^^^^^^^^^^^^^^^^^^^^^^ nothing to choose from
    at N=1
  help: write the filter into the body: max(j: if m[j] then A[j] else lowest(f32))
""",
    ),
    "an element that needs itself": (
        """op f(A: f32[N]) -> B: f32[N] { B[i] = B[i] + A[i] }""",
        """
error[cycle]: B is defined by itself
  --> op.tx:1:39
  1 | op f(A: f32[N]) -> B: f32[N] { B[i] = B[i] + A[i] }
    |                                       ^^^^ the element that is being defined
    at N=1, i=0
  help: an element may only need others that do not need it
""",
    ),
    "two elements that need each other": (
        """op f(A: f32[N]) -> B: f32[N] { B[i] = B[2 - i | 0] + A[i] }""",
        """
error[cycle]: B is defined by itself
  --> op.tx:1:39
  1 | op f(A: f32[N]) -> B: f32[N] { B[i] = B[2 - i | 0] + A[i] }
    |                                       ^^^^^^^^^^^^ the element that is being defined
    at N=2, i=1        holds when  N <= 1
  help: an element may only need others that do not need it
""",
    ),
    "a circle of tensors": (
        """op f(A: f32[N]) -> (B: f32[N], C: f32[N]) { B[i] = C[i] + A[i]  C[i] = B[i] }""",
        """
error[cycle]: B is defined by itself
  --> op.tx:1:52
  1 | op f(A: f32[N]) -> (B: f32[N], C: f32[N]) { B[i] = C[i] + A[i]  C[i] = B[i] }
    |                                                    ^^^^ comes back to the same element: B[0] -> C[0] -> B[0]
    at N=1, i=0
  help: an element may only need others that do not need it
""",
    ),
    "a circle that only some sizes have": (
        "op f(A: f32[N]) -> (B: f32[N], C: f32[N]) require N >= 2 { B[i] = C[N - 1 - i] + A[i]  C[i] = "
        "B[i] }",
        """
error[cycle]: B is defined by itself
  --> op.tx:1:67
  1 | op f(A: f32[N]) -> (B: f32[N], C: f32[N]) require N >= 2 { B[i] = C[N - 1 - i] + A[i]  C[i] = B[i] }
    |                                                                   ^^^^^^^^^^^^ comes back to the same element: B[1] -> C[1] -> B[1]
    at N=3, i=1
  help: an element may only need others that do not need it
""",
    ),
    "a value outside its range": (
        "op f(X: f32[N], k: i64[M]) -> Y: f32[M] { let c: i64[M] in 0..N  c[i] = min(k[i], N - 1)  Y[i] = "
        "X[c[i]] }",
        """
error[range]: c in 0..N is not proven
  --> op.tx:1:73
  1 | op f(X: f32[N], k: i64[M]) -> Y: f32[M] { let c: i64[M] in 0..N  c[i] = min(k[i], N - 1)  Y[i] = X[c[i]] }
    |                                                                         ^^^^^^^^^^^^^^^^ this value may be outside
    at N=1, M=1, i=0
  help: clamp it: clamp(min(k[i], N - 1), 0, N - 1)
""",
    ),
    "a value beyond its range": (
        """op f(X: f32[N]) -> Y: f32[N] { let c: i64[N] in 0..N  c[i] = 2*i  Y[i] = X[c[i]] }""",
        """
error[range]: c in 0..N is not proven
  --> op.tx:1:62
  1 | op f(X: f32[N]) -> Y: f32[N] { let c: i64[N] in 0..N  c[i] = 2*i  Y[i] = X[c[i]] }
    |                                                              ^^^ this value may be outside
    at N=2, i=1        holds when  N <= 1
  help: clamp it: clamp(2*i, 0, N - 1)
""",
    ),
}


@pytest.mark.parametrize("name", PICTURES)
def test_complaint(name: str):
    text, expected = PICTURES[name]
    assert complaint(text) == expected.strip("\n")


CALLEES = {
    "op g(X: f32[N], k: i32[M] in 0..N) -> Y: f32[M] { Y[i] = X[k[i]] }": """
error[require]: g requires k in 0..N
  label: k has no range
  help: declare `k: i32[M] in 0..N`""",
    "op g(X: f32[N], k: i32[M]) -> Y: f32[M] require M <= N { Y[i] = X[i] }": """
error[require]: g requires M <= N
    at N=1, M=2        holds when  M <= N
  help: add `require M <= N`""",
}


@pytest.mark.parametrize("callee", CALLEES)
def test_a_call_whose_requirements_nothing_guarantees(callee: str):
    """The language adds what a callee requires to its caller; programs made elsewhere may lack
    it.
    """
    n, m = Var("N"), Var("M")
    A, k, B = Tensor("A", F32, plain(n)), Tensor("k", I32, plain(m)), Tensor("B", F32, plain(m))
    caller = Program("f", (A, k), (B,), (Invoke((B,), program(callee), (A, k)),), (n, m))
    with pytest.raises(CheckError) as e:
        check_program(caller)
    label = [f"  label: {e.value.label}"] if e.value.label == "k has no range" else []
    lines = str(e.value).splitlines()
    assert "\n".join([lines[0], *label, *lines[1:]]) == CALLEES[callee].strip("\n")


RESULTS = {
    "let p: i64[N] in 0..N distinct  p[i] = i // 2  Y[p[i]] = X[i]": (
        "error[distinct]: p distinct is not proven",
        "",
    ),
    "let p: i64[N] in 0..N distinct  p[i] = if i > 0 then i else 0  Y[p[i]] = X[i]": (
        "error[distinct]: p distinct is not proven",
        "",
    ),
    "let p: i64[N] in 0..N distinct  p[i] = 0 where i < N  p[i] += 0  Y[p[i]] = X[i]": (
        "error[range]: p in 0..N, but it is updated",
        "",
    ),
    "let p: i64[N] in 0..N distinct  p = g(k)  Y[p[i]] = X[i]": (
        "error[distinct]: p distinct is not proven",
        "q of g need not be",
    ),
    "let p: i64[N] in 0..3  p = g(k)  Y[i] = X[i]": (
        "error[range]: p in 0..3 is not proven",
        "g gives values in 0..N",
    ),
    "let p: i64[N] in 0..N  p = h(k)  Y[i] = X[p[i]]": (
        "error[range]: p in 0..N is not proven",
        "q of h has no range",
    ),
}


@pytest.mark.parametrize("body", RESULTS)
def test_what_is_declared_of_results(body: str):
    callees = (
        "op g(k: i64[N] in 0..N) -> q: i64[N] in 0..N { q[i] = k[i] }  op h(k: i64[N]) -> q: i64[N] { q[i] = "
        "k[i] }  "
    )
    with pytest.raises(CheckError) as e:
        check_program(program(callees + f"op f(X: f32[N], k: i64[N] in 0..N) -> Y: f32[N] {{ {body} }}"))
    assert (str(e.value).splitlines()[0], e.value.label) == (
        RESULTS[body][0],
        RESULTS[body][1] or e.value.label,
    )


REQUIRED = {
    "op f(X: f32[N, D]) -> Y: f32[N] { Y[i] = max(j: X[i, j]) }": ["D >= 1 or N == 0"],
    "op f(X: f32[N, D]) -> Y: f32[N] require D >= 1 { Y[i] = max(j: X[i, j]) }": [],
    "op f(X: f32[N, D]) -> Y: f32[N] require D >= 1 or N == 0 { Y[i] = max(j: X[i, j]) }": [],
    "op f(X: f32[N]) -> y: f32 { y = X[N - 1] }": ["N >= 1"],
    "op f(X: f32[N, M]) -> Y: f32[M] { Y[i] = X[0, i] }": ["N >= 1 or M == 0"],
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = sum(j: X[j]) + X[i - 1 | clamp] }": [],
    "op f(X: f32[N]) -> Y: f32[N - 1] { Y[i] = X[i + 1] - X[i] }": ["N >= 1"],
    "op g(X: f32[D]) -> y: f32 { y = max(i: X[i]) }  op f(X: f32[N]) -> y: f32 { y = g(X) }": ["N >= 1"],
    "op g(X: f32[*S]) -> y: f32 { y = max(*i: X[*i]) }  op f(X: f32[N, M]) -> y: f32 { y = g(X) }": [
        "M >= 1",
        "N >= 1",
    ],
}


@pytest.mark.parametrize("text", REQUIRED)
def test_required_of_zero(text: str):
    assert [show(r) for r in check_program(program(text))] == REQUIRED[text]


PROVEN = [
    "op f(X: f32[N]) -> Y: f32[2*N] { Y[2*i] = X[i] for i in 0..N  Y[2*i + 1] = -X[i] for i in 0..N }",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] for i in 0..N where i < 3  Y[i] = 0.0 for i in 3..N }",
    "op f(X: f32[N]) -> Y: f32[N] require N >= 3 { Y[i] = X[i + 2 | wrap] + X[i - 2 | reflect] }",
    "op f(X: f32[N]) -> Y: f32[N] { let T: f32[N]  T[i] = X[i] for i in 1..N  Y[i] = if i >= 1 then T[i] "
    "else T[i + 1 | 1.0] }",
    "op f(X: f32[N], p: i32[N] in 0..N distinct) -> Y: f32[N] { Y[p[i]] = X[i] }",
    "op f(X: f32[N]) -> Y: f32[N] { let p: i64[N] in 0..N distinct  p[i] = N - 1 - i  Y[p[i]] = X[i] }",
    "op f(X: f32[N], q: i64[A, N] in 0..N distinct) -> p: i64[A, N] in 0..2*N distinct { p[a, i] = a - a + "
    "2*q[a, i] }",
    "op g(k: i64[N] in 0..N distinct) -> q: i64[N] in 0..N distinct { q[i] = k[i] }"
    "  op f(X: f32[M], k: i64[M] in 0..M distinct) -> Y: f32[M] { p = g(k)  Y[p[i]] = X[i] }",
    "op f(X: f32[N], k: i32 in 0..N) -> Y: f32[N] { Y[i] = if i >= k then X[i - k] else X[i - k + N] }",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = if i == 0 then X[0] else Y[i // 2] + X[i] }",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = Y[i + 1 | 0] + X[i] }",
    "op f(X: f32[N, M]) -> Y: f32[N, M] { Y[i, j] = X[i, j] + Y[i-1, j+1 | 0] + Y[i, j-1 | 0] }",
    "op f(L: f32[N, N], b: f32[N]) -> x: f32[N] { x[i] = b[i] - sum(j in 0..i: L[i, j] * x[j]) }",
    "op f(X: f32[N]) -> (a: f32[N], b: f32[N]) { a[i] = b[i - 1 | 0] + X[i]  b[i] = a[i] * 2 }",
    "op f(X: f32[N]) -> (a: i64, y: f32) { a = argmax(i: X[i])  y = X[a] }",
    "op f(X: f32[N], k: i64[M]) -> Y: f32[M] { let c: i64[M] in 0..N  c[i] = max(min(k[i], N - 1), 0)  Y[i] "
    "= X[c[i]] }",
    "op f(k: u8[M]) -> c: i64[M] in 0..256 { c[i] = i64(k[i]) }",
    "op f(k: i16[M]) -> c: i32[M] in -32768..32768 { c[i] = i32(k[i]) }",
]


@pytest.mark.parametrize("text", PROVEN)
def test_proven(text: str):
    check_program(program(text))


@pytest.mark.parametrize("declared", ["0..255", "1..256"])
def test_a_byte_may_be_any(declared: str):
    text = f"op f(k: u8[M]) -> c: i64[M] in {declared} {{ c[i] = i64(k[i]) }}"
    assert complaint(text).startswith(f"error[range]: c in {declared} is not proven")


def test_many_requirements_that_are_disjunctions_do_not_hide_what_is_defined():
    several = ", ".join(f"K >= {k} or N <= {k} or M <= {k}" for k in range(1, 6))
    text = f"""op f(X: f32[M, K, N]) -> Y: f32[M, N] require {several} {{
  Y[i, j] = 1  for i in 0..M // 2
  Y[i, j] = 2  for i in M // 2..M
}}"""
    assert check_program(program(text)) == ()


@pytest.mark.parametrize("of", ["f32", "i64"])
@pytest.mark.parametrize("position", ["a - 1", "a // 2", "K - 1 - (a - 1)"])
def test_arithmetic_with_positions_stays_inside(position, of):
    stored = f"op f(X: {of}[K]) -> y: {of} {{ a = argmax(r in 1..K + 1: X[r - 1])  y = X[{position}] }}"
    assert check_program(program(stored)) != ()
    direct = (
        f"op f(X: {of}[K]) -> y: {of} {{ y = X[{position.replace('a', 'argmax(r in 1..K + 1: X[r - 1])')}] }}"
    )
    assert check_program(program(direct)) != ()


@pytest.mark.parametrize(
    "index, said",
    [
        ("i % M", ""),
        ("(7*i - 3) % M", ""),
        ("i % N", "bounds"),
        ("i % M + 1", "bounds"),
        ("M % (i + 1)", "bounds"),
    ],
)
def test_a_remainder_is_below_its_divisor(index, said):
    text = f"op f(X: f32[N], Z: f32[M]) -> Y: f32[N] {{ Y[i] = X[i] * Z[{index}] }}"
    if said:
        assert f"error[{said}]" in complaint(text)
    else:
        assert [show(e) for e in check_program(program(text))] == ["M >= 1 or N == 0"]


@pytest.mark.parametrize(
    "start, guard, is_inside",
    [
        (0, "0", True),
        (0, "N - 1", True),
        (0, "-5", False),
        (0, "N", False),
        (1, "0", False),
        (0, "q[i]", True),
        (0, "q[i] + 1", False),
    ],
)
def test_a_guard_gives_its_value_whatever_is_declared_of_the_elements(start, guard, is_inside):
    """Elements of `p` lie in its range. What stands outside of it is what the guard says."""
    text = (
        f"op f(X: f32[N], p: i64[N] in {start}..N, q: i64[N] in 0..N) -> Y: f32[N] {{ Y[i] = X[p[i + 1 | "
        f"{guard}] - {start}] }}"
    )
    if is_inside:
        check_program(program(text))
    else:
        assert "error[bounds]: X may be read outside its shape" in complaint(text)


def test_a_guard_of_a_place_that_was_found():
    found = (
        "op f(X: f32[N], Z: f32[M]) -> Y: f32[M] {{ let a: i64[M]  a[i] = argmax(k in 0..N: X[k] * Z[i])  "
        "Y[i] = X[a[i + 1 | {}]] }}"
    )
    assert [show(e) for e in check_program(program(found.format("0")))] == ["N >= 1 or M == 0"]
    assert "error[bounds]: X may be read outside its shape" in complaint(found.format("N"))


@pytest.mark.parametrize("index", ["i64(inf)", "i64(a < 2)", "i64(2.5)"])
def test_nothing_is_known_of_what_is_no_integer(index):
    assert "error[bounds]: X may be read outside its shape" in complaint(
        f"op f(X: f32[4], a: i32) -> y: f32 {{ y = X[{index}] }}"
    )


def test_what_is_not_known_is_not_called_wrong():
    said = complaint("op f(X: f32[N]) -> Y: f32[N] { Y[(i + 1) % N] = X[i]  for i in 0..N }")
    assert said.startswith("error[twice]: Y may be defined twice")


def test_a_recurrence_that_only_a_size_of_zero_closes():
    text = "op f(W: f32[N], X: f32[M]) -> Y: f32[M] { Y[i] = Y[i - N | 0] * 0.5 + X[i] }"
    assert [show(r) for r in check_program(program(text))] == ["N >= 1 or M == 0"]


CALLED = """op g(X: f32[N]) -> (A: f32[N], B: f32[N]) { A[i] = X[i]  B[i] = X[i] }
op f(Z: f32[N]) -> (Y: f32[N], B: f32[N]) {
  let A: f32[N]
  let C: f32[N]
  A, B = g(C)
  C[i] = A[i] + 1
  Y[i] = A[i] }"""
BOTH_WAYS = """op f(X: f32[N], Z: f32[M], W: f32[K]) -> Y: f32[N] {
  Y[i] = X[i] + (if i < M then Y[i - K | 0] else if i > M then Y[i + K | 0] else 0) }"""
"""Without a circle, if K is not 0; in each half another order would do."""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CALLED, "A, B needs itself through a call"),
        (BOTH_WAYS, "no order was found in which Y can be computed"),
    ],
)
def test_elements_that_need_each_other(text: str, said: str):
    assert complaint(text).startswith(f"error[cycle]: {said}\n")

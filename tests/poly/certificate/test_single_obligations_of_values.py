"""Kernels made for single arguments of the certificate about sums, places and values."""

from __future__ import annotations

import pytest

from tests.poly.certificate.tables import Rows, changed, kernel, out, refused, under

TWO = "two(X: f32[2, 8], W: f32[8], n: i64[2] in 0..9) -> (y: f32[2], z: f32)"
SUMS = f"op {TWO} {{\n  y[i] = sum(k: X[i, k])\n  z = sum(k: W[k]) }}"
PRODUCTS = f"op {TWO} {{\n  y[i] = prod(k: X[i, k])\n  z = sum(k: W[k]) }}"
TERM_OF, PART_OF = "\n{0} {1}= X[i, {2}]  at[i, {2}]", "\nfor {0} in 0..8\n  {1} += W[{0}]  eq 1  at[{0}]"


def two(*parts: str) -> str:
    return kernel(out(TWO), *parts)


def first(*parts: str, start: str = "0.0") -> str:
    """The sum of each row."""
    return under(
        "for i in 0..2", "\nlet acc: f32", f"\nacc = {start}  start  at[i]", *parts, "\ny[i] = acc  at[i]"
    )


SECOND = "\nlet s: f32\ns = 0.0  start eq 1\nfor k in 0..8\n  s += W[k]  eq 1  at[k]\nz = s  eq 1"
PARTS = "\nlet s: f32\nlet q: f32[2]\ns = 0.0  start eq 1\nfor l in 0..2\n  q[l] = 0.0  start eq 1"
JOIN = "\nfor l2 in 0..2\n  s += q[l2]  reassoc eq 1\nz = s  eq 1"
HALVES = "\nfor k in 0..4\n  for l1 in 0..2\n    q[l1] += W[k * 2 + l1]  eq 1  at[k * 2 + l1]"
ROW = under("for k in 0..8", TERM_OF.format("acc", "+", "k"))
MASKED = SUMS.replace("(k: X", "(k where W[k] > 0 or i > n[0]: X")
MASKED_PARTS = (
    "\nlet q: f32[2]\nfor l in 0..2\n  q[l] = 0.0  start  at[i]"
    + under(
        "for k in 0..4",
        under(
            "for l1 in 0..2",
            under("if W[k * 2 + l1] > 0.0 or i > n[0]", "\nq[l1] += X[i, k * 2 + l1]  at[i, k * 2 + l1]"),
        ),
    )
    + ("\nfor l2 in 0..2\n  acc += q[l2]  reassoc  at[i]")
)
HALF_ROWS = (
    "\nlet q: f32[2]\nfor l in 0..2\n  q[l] = 0.0  start  at[i]"
    + under("for k in 0..4", under("for l1 in 0..2", "\nq[l1] += X[i, k * 2 + l1]  at[i, k * 2 + l1]"))
    + "\nfor l2 in 0..2\n  acc += q[l2]  reassoc  at[i]"
)
ROWS_OF_PARTS = two(
    "\nlet acc: f32[2]\nlet q: f32[2, 2]"
    + under(
        "for i in 0..2",
        "\nacc[i] = 0.0  start  at[i]",
        "\nfor l in 0..2\n  q[i, l] = 0.0  start  at[i]",
        under("for k in 0..4", under("for l1 in 0..2", "\nq[i, l1] += X[i, k * 2 + l1]  at[i, k * 2 + l1]")),
    )
    + under(
        "for i in 0..2",
        "\nfor l2 in 0..2\n  acc[i] += q[{0}, l2]  reassoc  at[{0}]",
        "\ny[i] = acc[i]  at[i]",
    ),
    SECOND,
)
PRODUCT_PARTS = HALF_ROWS.replace("0.0", "1.0").replace("+=", "*=")
LATE = (
    "\nlet acc: f32[2]"
    + under(
        "for r in 0..3",
        under("if 1 <= r", "\nfor k in 0..8\n  acc[r - 1] += X[r - 1, k]  at[r - 1, k]"),
        under("if r < 2", "\nacc[r] = 0.0  start  at[r]"),
    )
    + "\nfor i in 0..2\n  y[i] = acc[i]  at[i]"
)
STEPS = "steps(X: f32[4], w: f32[4], v: f32[4]) -> Y: f32[4]"
IN_STEPS = f"op {STEPS} {{\n  Y[i] = X[i]\n  Y[i] += w[i]\n  Y[i] += v[i] }}"
IN_HALVES = f"op {STEPS} {{\n  Y[i] = X[i]\n  Y[i] += w[i] for i in 0..2\n  Y[i + 2] += v[i] for i in 0..2 }}"
GIVE, ADD_W, ADD_V = (
    f"\nfor {v} in 0..4\n  Y[{v}] {rest}[{v}]"
    for v, rest in (("i0", "= X[i0]  at"), ("i1", "+= w[i1]  eq 1  at"), ("i2", "+= v[i2]  eq 2  at"))
)
HALF_W = "\nfor i1 in 0..2\n  Y[i1] += w[i1]  eq 1  at[i1]"
HALF_V = "\nfor i2 in 0..2\n  Y[i2 + 2] += v[i2]  eq 2  at[i2]"
FOLDS: Rows = {
    "two sums": (SUMS, two(first(ROW), SECOND), ""),
    "in blocks": (
        SUMS,
        two(
            first(under("for o in 0..4", under("for h in 0..2", TERM_OF.format("acc", "+", "o * 2 + h")))),
            SECOND,
        ),
        "",
    ),
    "backwards": (SUMS, two(first(ROW.replace("k]", "7 - k]")), SECOND), "order"),
    "blocks backwards": (
        SUMS,
        two(
            first(
                under("for o in 0..4", under("for h in 0..2", TERM_OF.format("acc", "+", "6 - o * 2 + h")))
            ),
            SECOND,
        ),
        "order",
    ),
    "backwards in blocks": (
        SUMS,
        two(
            first(
                under("for o in 0..4", under("for h in 0..2", TERM_OF.format("acc", "+", "o * 2 + 1 - h")))
            ),
            SECOND,
        ),
        "order",
    ),
    "a product": (PRODUCTS, two(first(ROW.replace("+=", "*="), start="1.0"), SECOND), ""),
    "a product backwards": (
        PRODUCTS,
        two(first(ROW.replace("+=", "*=").replace("k]", "7 - k]"), start="1.0"), SECOND),
        "order",
    ),
    "a product in two parts": (
        PRODUCTS,
        two(
            first(
                "\nlet q: f32[2]\nfor l in 0..2\n  q[l] = 1.0  start  at[i]",
                "\nfor k in 0..4\n  for l1 in 0..2\n    q[l1] *= X[i, k * 2 + l1]  at[i, k * 2 + l1]",
                "\nfor l2 in 0..2\n  acc *= q[l2]  at[i]",
                start="1.0",
            ),
            SECOND,
        ),
        "order",
    ),
    "parts of a sum": (SUMS, two(first(ROW), PARTS, HALVES, JOIN), ""),
    "parts of what data says": (MASKED, two(first(MASKED_PARTS), SECOND), ""),
    "parts of what data says of another row": (
        MASKED,
        two(first(MASKED_PARTS.replace("if W[k * 2 + l1]", "if W[0]")), SECOND),
        "values",
    ),
    "one part of two": (SUMS, two(first(ROW), PARTS, HALVES, JOIN.replace("0..2", "0..1")), "sums"),
    "parts that are joined otherwise": (
        SUMS,
        two(first(ROW), PARTS, HALVES, JOIN.replace("+=", "max=")),
        "values",
    ),
    "parts of an instance": (
        SUMS,
        two(first(ROW), PARTS, HALVES, JOIN.replace("eq 1", "eq 1  at[l2]", 1)),
        "values",
    ),
    "parts of no instance": (
        SUMS,
        two(first(HALF_ROWS.replace("reassoc  at[i]", "reassoc")), SECOND),
        "values",
    ),
    "parts of another instance": (
        SUMS,
        two(first(HALF_ROWS.replace("reassoc  at[i]", "reassoc  at[1 - i]")), SECOND),
        "sums",
    ),
    "parts of rows in each other's sum": (SUMS, ROWS_OF_PARTS.format("i"), ""),
    "parts of rows in another one's sum": (SUMS, ROWS_OF_PARTS.format("1 - i"), "sums"),
    "parts of a product that are added": (
        PRODUCTS,
        two(first(PRODUCT_PARTS.replace("acc *=", "acc +="), start="1.0"), SECOND),
        "values",
    ),
    "parts of an equation that there is not": (
        SUMS,
        two(
            first(ROW),
            "\nlet s: f32\nlet q: f32",
            under(
                "for o in 0..2",
                under("if o == 1", "\ns += q  reassoc eq 9"),
                under("if o == 0", "\ns = 0.0  start eq 9\nq = 0.0  start eq 9"),
            ),
            SECOND.replace("s:", "r:").replace("s =", "r =").replace("s +=", "r +=").replace("= s", "= r"),
        ),
        "values",
    ),
    "a sum in double precision": (
        SUMS,
        two(
            first(ROW)
            .replace("acc: f32", "acc: f64")
            .replace("+= X[i, k]", "+= f64(X[i, k])")
            .replace("= acc", "= f32(acc)"),
            SECOND,
        ),
        "values",
    ),
    "terms that are joined otherwise": (SUMS, two(first(ROW.replace("+=", "max=")), SECOND), "values"),
    "terms of no instance": (SUMS, two(first(ROW.replace("at[i, k]", "at[i]")), SECOND), "values"),
    "parts that are joined before they are done": (
        SUMS,
        two(first(ROW), PARTS, under("for o in 0..2", under("if o == 0", JOIN), under("if o == 1", HALVES))),
        "sums",
    ),
    "parts of one sum in another": (
        SUMS,
        two(
            PARTS,
            HALVES,
            first(ROW, under("if i == 0", "\nfor l3 in 0..2\n  acc += q[l3]  reassoc eq 1")),
            JOIN,
        ),
        "sums",
    ),
    "a part that is joined twice": (
        SUMS,
        two(first(ROW), PARTS, HALVES, JOIN.replace("q[l2]", "q[0]")),
        "sums",
    ),
    "parts that have a term twice": (
        SUMS,
        two(first(ROW), PARTS, HALVES.replace("k * 2 + l1", "k + l1"), JOIN),
        "sums",
    ),
    "a sum that is started after its terms": (SUMS, two(LATE, SECOND), ""),
    "as many terms as data says": (SUMS, two(first(ROW.replace("0..8", "0..n[i]")), SECOND), "sums"),
    "terms under what data says": (
        SUMS,
        two(first(under("for k in 0..8", under("if k < n[i]", TERM_OF.format("acc", "+", "k")))), SECOND),
        "sums",
    ),
    "one fold after the other": (IN_STEPS, kernel(out(STEPS), GIVE, ADD_W, ADD_V), ""),
    "one fold before the other": (IN_STEPS, kernel(out(STEPS), GIVE, ADD_V, ADD_W), "order"),
    "folds into other elements": (IN_HALVES, kernel(out(STEPS), GIVE, HALF_V, HALF_W), ""),
    "a fold twice": (IN_STEPS, kernel(out(STEPS), GIVE, ADD_W, ADD_W.replace("i1", "j1"), ADD_V), "sums"),
    "a fold that is left out": (IN_STEPS, kernel(out(STEPS), GIVE, ADD_W), "sums"),
    "a fold of less": (IN_STEPS, kernel(out(STEPS), GIVE, ADD_W, ADD_V.replace("0..4", "0..3")), "sums"),
    "a fold into what comes after": (IN_STEPS, kernel(out(STEPS), ADD_W, GIVE, ADD_V), "initialised"),
}

GREATEST = """op greatest(X: f32[N, M], W: f32[N, M], p: i64[M] in 0..N, m: bool[M]) -> (
    y: f32[N], z: f32, v: f32[N], u: f32) require M >= 1 {
  a[n] = argmax(j: X[n, j])
  y[n] = X[n, a[n]]
  z = sum(n: X[n, a[n]])
  v[n] = 0
  v[p[a[n]]] += W[n, a[n]]
  u = sum(n where m[a[n]]: W[n, 0]) }"""
GREATEST_LOOPS = """
kernel greatest(X: f32[N, M], W: f32[N, M], p: i64[M] in 0..N, m: bool[M]) -> (y: f32[N], z: f32, v: f32[N], u: f32)
  require M >= 1
  let b: f32[N]
  let a: i64[N]
  let s: f32
  let t: f32
  for n0 in 0..N
    let c: f32
    c = -inf  start  at[n0]
    for j0 in 0..M
      c max= X[n0, j0]  at[n0, j0]
    b[n0] = c  at[n0]
  for n1 in 0..N
    let d: i64
    d = 9223372036854775807  start eq 1  at[n1]
    for j1 in 0..M
      d min= if X[n1, j1] == b[n1] or X[n1, j1] != X[n1, j1] then j1 else 9223372036854775807  eq 1  at[n1, j1]
    a[n1] = d  eq 1  at[n1]
  for n2 in 0..N
    y[n2] = X[n2, a[n2]]  eq 2  at[n2]
  s = 0.0  start eq 3
  for n3 in 0..N
    s += X[n3, a[n3]]  eq 3  at[n3]
  z = s  eq 3
  for n4 in 0..N
    v[n4] = 0.0  eq 4  at[n4]
  for n5 in 0..N
    v[p[a[n5]]] += W[n5, a[n5]]  eq 5  at[n5]
  t = 0.0  start eq 6
  for n6 in 0..N
    if m[a[n6]]
      t += W[n6, 0]  eq 6  at[n6]
  u = t  eq 6
"""
CALLED = """extern op argsort(X: f32[N]; down = false) -> p: i64[N] in 0..N distinct
extern op swap(A: f32[N], B: f32[M]) -> (P: f32[M], Q: f32[N])
op called(X: f32[N], W: f32[M], U: f32[K]) -> (Y: f32[N], V: f32[M]) require K == N {
  Z[i] = 2 * X[i]
  p = argsort(Z, down=true)
  P, Q = swap(Z, W)
  Y[i] = Z[p[i]] + Q[i]
  V[i] = P[i] }"""
CALLED_LOOPS = """
kernel called(X: f32[N], W: f32[M], U: f32[K]) -> (Y: f32[N], V: f32[M])
  let Z: f32[N]
  let p: i64[N] in 0..N distinct
  let P: f32[M]
  let Q: f32[N]
  let O: f32[N + 1]
  for i in 0..N
    Z[i] = 2.0 * X[i]  at[i]
  p = extern argsort(Z; down=True)  eq 1
  P, Q = extern swap(Z, W)  eq 2
  for j in 0..N
    Y[j] = Z[p[j]] + Q[j]  eq 3  at[j]
  for k in 0..M
    V[k] = P[k]  eq 4  at[k]
"""


GREATEST_ROWS = changed(
    GREATEST,
    GREATEST_LOOPS,
    {
        "elements at an index that is computed": ("", "", ""),
        "one further": ("X[n2, a[n2]]", "X[n2, a[n2] + 1]", "bounds"),
        "of another tensor": ("X[n2, a[n2]]", "W[n2, a[n2]]", "values"),
        "of another row": ("X[n2, a[n2]]", "X[n2, a[N - 1 - n2]]", "bounds"),
        "in a sum, of another row": ("X[n3, a[n3]]", "X[n3, a[N - 1 - n3]]", "bounds"),
        "in a sum, of another instance": ("eq 3  at[n3]", "eq 3  at[N - 1 - n3]", "bounds"),
        "where it is written, of another row": ("v[p[a[n5]]]", "v[p[a[N - 1 - n5]]]", "bounds"),
        "in a condition, of another row": ("if m[a[n6]]", "if m[a[N - 1 - n6]]", "bounds"),
        "in a loop that is too long": ("for n2 in 0..N\n", "for n2 in 0..N + 1\n", "bounds"),
    },
)
CALLS = changed(
    CALLED,
    CALLED_LOOPS,
    {
        "what is called": ("", "", ""),
        "another function": ("argsort(Z", "argmin(Z", "values"),
        "another constant": ("down=True", "down=False", "values"),
        "no constant": ("; down=True", "", "values"),
        "a call that is an equation": ("eq 1\n", "eq 0\n", "values"),
        "a call past the last equation": ("eq 1\n", "eq 5\n", "values"),
        "a call of another call": ("eq 1\n", "eq 2\n", "values"),
        "another array": ("argsort(Z", "argsort(X", "values"),
        "an array of another length": ("argsort(Z", "argsort(O", "values"),
        "one array more": ("argsort(Z", "argsort(Z, X", "values"),
        "a call under a condition": ("  p = extern", "  if N > 3\n    p = extern", "values"),
        "a call in a loop": ("  p = extern", "  for q in 0..N - 3\n    p = extern", "values"),
        "another array of the same length": ("swap(Z, W)", "swap(X, W)", "values"),
        "arrays exchanged": ("swap(Z, W)", "swap(W, Z)", "values"),
        "an array of a length that is required": ("let Z: f32[N]", "let Z: f32[K]", ""),
        "a result of another length": ("let Q: f32[N]", "let Q: f32[N + 1]", "values"),
        "results exchanged": ("P, Q =", "Q, P =", "values"),
        "one array that is not all written": ("for i in 0..N\n", "for i in 0..N - 1\n", "initialised"),
        "a call before its array is written": (
            "  for i in 0..N\n    Z[i] = 2.0 * X[i]  at[i]\n  p = extern argsort(Z; down=True)  eq 1\n",
            "  p = extern argsort(Z; down=True)  eq 1\n  for i in 0..N\n    Z[i] = 2.0 * X[i]  at[i]\n",
            "initialised",
        ),
        "a call after its result is read": (
            "  P, Q = extern swap(Z, W)  eq 2\n  for j in 0..N\n    Y[j] = Z[p[j]] + Q[j]  eq 3  at[j]\n",
            "  for j in 0..N\n    Y[j] = Z[p[j]] + Q[j]  eq 3  at[j]\n  P, Q = extern swap(Z, W)  eq 2\n",
            "initialised",
        ),
    },
)


PLAIN = "plain(X: f32[4, 4], m: bool[4]) -> Y: f32[4, 4]"


def plain(value: str, op: str) -> tuple[str, str]:
    """A kernel that computes each element at once, and an operator."""
    return f"op {PLAIN} {{{op} }}", kernel(
        out(PLAIN), under("for i in 0..4", under("for j in 0..4", f"\nY[i, j] = {value}"))
    )


DOUBLED = " Y[i, j] = X[i, j] * 2"
MIRRORED = (
    "\n  let T: f32[4, 4]\n  T[3 - i, j] = X[i, j] * 2 for i in 0..4, j in 0..4\n  Y[i, j] = T[i, j] + 1"
)
CROSSED = "\n  T[j, i] = X[i, j] * 2\n  Y[i, j] = T[i, j] + 1"
CHOICES = " Y[i, j] = if X[i, j] > 0 then X[i, j] * 2 else 1"
SIGNED = "\n  P[i, j] = X[i, j] + 1\n  Y[i, j] = if P[i, j] > 0 and m[j] then X[i, j] * 2 else X[i, j] * {}"


def by_what_is_computed(factor: int) -> tuple[str, str]:
    """A kernel that chooses where its operator does not."""
    chosen = f"if P > 0.0 and m[j] then X[i, j] * 2.0 else X[i, j] * {factor}.0"
    stored = "\nP = X[i, j] + 1.0  at[i, j]", f"\nY[i, j] = ({chosen}) - P  eq 1  at[i, j]"
    return (
        f"op {PLAIN} {{\n  P[i, j] = X[i, j] + 1\n  Y[i, j] = X[i, j] * 2 - P[i, j] }}",
        kernel(out(PLAIN), under("for i in 0..4", under("for j in 0..4", "\nlet P: f32", *stored))),
    )


POSITIVE = " Y[i, j] = if X[i, j] > 0 and m[j] then (if X[i, j] > 0 then X[i, j] else 1) else 2"
VALUES: Rows = {
    "a choice of the same": (
        *plain("if X[i, j] > 0.0 then X[i, j] * 2.0 else X[i, j] * 2.0  at[i, j]", DOUBLED),
        "",
    ),
    "a choice of another if it holds": (
        *plain("if X[i, j] > 0.0 then X[i, j] * 3.0 else X[i, j] * 2.0  at[i, j]", DOUBLED),
        "values",
    ),
    "a choice of another if not": (
        *plain("if X[i, j] > 0.0 then X[i, j] * 2.0 else X[i, j] * 3.0  at[i, j]", DOUBLED),
        "values",
    ),
    "a choice of data that holds": (
        *plain("if X[i, j] > 0.0 and m[j] then X[i, j] else 2.0  at[i, j]", POSITIVE),
        "",
    ),
    "a choice of data that does not hold": (
        *plain("if X[i, j] > 0.0 and m[j] then 1.0 else 2.0  at[i, j]", POSITIVE),
        "values",
    ),
    "a choice of other data": (
        *plain("if X[i, j] > 0.0 and m[i] then X[i, j] else 2.0  at[i, j]", POSITIVE),
        "values",
    ),
    "a choice": (*plain("if X[i, j] > 0.0 then X[i, j] * 2.0 else 1.0  at[i, j]", CHOICES), ""),
    "a choice of another": (
        *plain("if X[i, j] > 0.0 then X[i, j] * 3.0 else 1.0  at[i, j]", CHOICES),
        "values",
    ),
    "a choice of something else": (
        *plain("if X[i, j] > 0.0 then X[i, j] * 2.0 else 0.0  at[i, j]", CHOICES),
        "values",
    ),
    "a choice by another": (
        *plain("if X[j, i] > 0.0 then X[i, j] * 2.0 else 1.0  at[i, j]", CHOICES),
        "values",
    ),
    "a choice by another limit": (
        *plain("if X[i, j] > 1.0 then X[i, j] * 2.0 else 1.0  at[i, j]", CHOICES),
        "values",
    ),
    "a choice the other way": (
        *plain("if X[i, j] <= 0.0 then 1.0 else X[i, j] * 2.0  at[i, j]", CHOICES),
        "values",
    ),
    "a choice of the same by what is computed": (
        *plain("X[i, j] * 2.0  eq 1  at[i, j]", SIGNED.format(2)),
        "",
    ),
    "a choice of another by what is computed": (
        *plain("X[i, j] * 2.0  eq 1  at[i, j]", SIGNED.format(3)),
        "values",
    ),
    "a choice by what is computed": (
        *plain(
            "if X[i, j] + 1.0 > 0.0 and m[j] then X[i, j] * 2.0 else X[i, j] * 3.0  eq 1  at[i, j]",
            SIGNED.format(3),
        ),
        "",
    ),
    "a choice by what the kernel computes": (*by_what_is_computed(2), ""),
    "a choice of another by what the kernel computes": (*by_what_is_computed(3), "values"),
    "a choice twice": (
        *plain(
            "if X[i, j] > 0.0 then (if X[i, j] > 0.0 then X[i, j] * 2.0 else 9.0) else X[i, j] * 2.0  at[i, "
            "j]",
            DOUBLED,
        ),
        "",
    ),
    "a choice against itself": (
        *plain(
            "if X[i, j] > 0.0 then X[i, j] * 2.0 else (if X[i, j] > 0.0 then 9.0 else X[i, j] * 2.0)  at[i, "
            "j]",
            DOUBLED,
        ),
        "",
    ),
    "a choice twice, of another": (
        *plain(
            "if X[i, j] > 0.0 then (if X[i, j] > 0.0 then 9.0 else X[i, j] * 2.0) else X[i, j] * 2.0  at[i, "
            "j]",
            DOUBLED,
        ),
        "values",
    ),
    "a choice of less": (*plain("if X[i, j] > 0.0 then X[i, j] else 2.0  at[i, j]", POSITIVE), "values"),
    "from the other end": (*plain("X[3 - i, j] * 2.0 + 1.0  eq 1  at[i, j]", MIRRORED), ""),
    "not from the other end": (*plain("X[i, j] * 2.0 + 1.0  eq 1  at[i, j]", MIRRORED), "values"),
    "crosswise": (*plain("X[j, i] * 2.0 + 1.0  eq 1  at[i, j]", CROSSED), ""),
    "not crosswise": (*plain("X[i, j] * 2.0 + 1.0  eq 1  at[i, j]", CROSSED), "values"),
    "of an equation that there is not": (*plain("X[i, j] * 2.0  eq 1  at[i, j]", DOUBLED), "values"),
    "of no instance": (*plain("X[i, j] * 2.0  at[i]", DOUBLED), "values"),
    "of an instance too many": (*plain("X[i, j] * 2.0  at[i, j, 0]", DOUBLED), "values"),
    "of another element": (*plain("X[j, i] * 2.0  at[j, i]", DOUBLED), "values"),
}
NAMED = {"folds": FOLDS, "indices": GREATEST_ROWS, "calls": CALLS, "values": VALUES}
TABLES = {f"{table}: {name}": row for table, rows in NAMED.items() for name, row in rows.items()}


@pytest.mark.parametrize("name", TABLES)
def test_what_is_proven(name: str):
    op, loops, obligation = TABLES[name]
    assert refused(op, loops) == obligation

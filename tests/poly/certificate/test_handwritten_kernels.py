"""Kernels that no schedule leads to, for single conditions of the certificate: most are wrong in
a way that little tells.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import texpr as tx
import texpr.targets.all_instructions  # noqa: F401  fills the table
from tests.poly.certificate.tables import Rows, changed, kernel, out, refused
from texpr.compiler.pass_pipeline import ready
from texpr.ir.expr import Read, Select
from texpr.ir.instructions import INSTRUCTIONS
from texpr.ir.traverse import rewrite, walk
from texpr.lang import parse_kernel
from texpr.poly.certificate import certify

TOTAL = "op total(X: f32[4, 6]) -> y: f32[4] { y[i] = sum(k: X[i, k]) }"
COPIED = """
kernel total(X: f32[4, 6]) -> (y: f32[4])
  let acc: f32[4]
  let more: f32[4]
  for i0 in 0..4
    acc[i0] = 0.0  start  at[i0]
  for i1 in 0..4
    for k in 0..6
      acc[i1] += X[i1, k]  at[i1, k]
  for i2 in 0..4
    more[i2] = acc[i2]  copy
  for i3 in 0..4
    y[i3] = more[i3]  at[i3]
"""
MORE = "  for i4 in 0..4\n    more[i4] += X[i4, 0]  at[i4, 0]\n  for i3"
FOLDED = "op f(b: i32[3], V: i32[4], X: i32[4] in 0..3) -> H: i32[3] { H[v] = b[v]  H[X[i]] += V[i] }"
FOLD = """
kernel f(b: i32[3], V: i32[4], X: i32[4] in 0..3) -> (H: i32[3])
  let T: i32[3]
  for v in 0..3
    T[v] = b[v]  at[v]
  for i in 0..4
    T[i64(X[i])] += V[i]  eq 1  at[i]
  for v1 in 0..3
    H[v1] = T[v1]  copy
"""
COPIES: Rows = {
    **changed(
        TOTAL,
        COPIED,
        {
            "a sum that is copied": ("", "", ""),
            "and then more of it": ("  for i3", MORE, "sums"),
            "a start of more than an instance": ("start  at[i0]", "start  at[i0, 1]", "values"),
        },
    ),
    **changed(
        FOLDED,
        FOLD,
        {
            "a fold that is copied": ("", "", ""),
            "and then folded again": (
                "copy\n",
                "copy\n  for i1 in 0..4\n    H[i64(X[i1])] += V[i1]  eq 1  at[i1]\n",
                "sums",
            ),
            "none of a fold, and some elements that are no elements of it": (
                "    T[v] = b[v]  at[v]\n  for i in 0..4\n    T[i64(X[i])] += V[i]  eq 1  at[i]\n",
                "    if v < 1\n      T[v] = b[v]  at[v]\n    if v >= 1\n      T[v] = b[v] * 2  copy\n",
                "sums",
            ),
        },
    ),
}

PIECES = "op pieces(X: f32[4, 8]) -> Y: f32[4, 8] { Y[i, j] = X[i, j] * 2 }"
COPIED_IN_PIECES = """
kernel pieces(X: f32[4, 8]) -> (Y: f32[4, 8])
  let T: f32[4, 8]
  for i in 0..4
    for j in 0..5
      T[i, j] = X[i, j]  copy
    for k in 0..3
      T[i, k + 5] = X[i, k + 5]  copy
    for j1 in 0..4
      Y[i, j1] = T[i, j1] * 2.0  at[i, j1]
    for j2 in 0..4
      Y[i, j2 + 4] = T[i, j2 + 4] * 2.0  at[i, j2 + 4]
"""
ONE_ROW = COPIED_IN_PIECES.replace("let T: f32[4, 8]", "let T: f32[8]").replace("T[i, ", "T[")
IN_PIECES: Rows = {
    **changed(
        PIECES,
        COPIED_IN_PIECES,
        {
            "pieces that cover a row": ("", "", ""),
            "pieces that overlap": ("for j in 0..5", "for j in 0..7", ""),
            "a hole between pieces": ("for j in 0..5", "for j in 0..4", "initialised"),
            "no last element": ("for k in 0..3", "for k in 0..2", "initialised"),
            "a piece of the row before": ("T[i, k + 5] = X[i, k", "T[(i + 3) % 4, k + 5] = X[i, k", "values"),
            "a piece under a condition": (
                "    for k in 0..3\n      T[i, k + 5] = X[i, k + 5]  copy",
                "    if i > 0\n      for k in 0..3\n        T[i, k + 5] = X[i, k + 5]  copy",
                "initialised",
            ),
        },
    ),
    **changed(
        PIECES,
        ONE_ROW,
        {
            "pieces in one row of memory": ("", "", ""),
            "a piece that only the row before wrote": ("for k in 0..3", "for k in 0..3 - i", "values"),
            "a piece below its reader": (
                "    for k in 0..3\n      T[k + 5] = X[i, k + 5]  copy\n    for j1 in 0..4\n"
                "      Y[i, j1] = T[j1] * 2.0  at[i, j1]\n    for j2 in 0..4\n"
                "      Y[i, j2 + 4] = T[j2 + 4] * 2.0  at[i, j2 + 4]\n",
                "    for j1 in 0..4\n      Y[i, j1] = T[j1] * 2.0  at[i, j1]\n    for j2 in 0..4\n"
                "      Y[i, j2 + 4] = T[j2 + 4] * 2.0  at[i, j2 + 4]\n"
                "    for k in 0..3\n      T[k + 5] = X[i, k + 5]  copy\n",
                "initialised",
            ),
        },
    ),
}

SOME = (
    "op f(X: f32[4]) -> Y: f32[4] { let t: f32[4]  t[i] = X[i] + 1 for i in 0..2  Y[i] = if i < 2 then t[i] "
    "else X[i] }"
)
COPY_OF_SOME = """
kernel f(X: f32[4]) -> (Y: f32[4])
  let t: f32[4]
  let u: f32[4]
  for i in 0..2
    t[i] = X[i] + 1.0  at[i]
  for i1 in 0..4
    u[i1] = t[i1]  copy
  for i2 in 0..4
    Y[i2] = if i2 < 2 then u[i2] else X[i2]  eq 1  at[i2]
"""
ALL = "op f(X: f32[4]) -> Y: f32[4] { t[i] = X[i] + 1  Y[i] = t[i] }"
COPY_OF_ALL = """
kernel f(X: f32[4]) -> (Y: f32[4])
  let u: f32[4]
  for r in 0..2
    let t: f32[4]
    for i in 0..4
      t[i] = X[i] + 1.0  at[i]
    for i1 in 0..4
      u[i1] = t[i1]  copy
  for i2 in 0..4
    Y[i2] = u[i2]  eq 1  at[i2]
"""
PAST = (
    "op f(X: f32[5]) -> Y: f32[3, 5] { let h: f32[3, 5]  h[0, i] = X[i]  h[t, i] = h[t - 1, i] * 2 for t in "
    "1..3  Y[t, i] = h[t, i] }"
)
PAST_THE_END = """
kernel f(X: f32[5]) -> (Y: f32[3, 5])
  let h: f32[3, 8]
  for i in 0..5
    h[0, i] = X[i]  at[i]
  for t in 0..2
    for i1 in 0..8
      h[t + 1, i1] = h[t, i1] * 2.0  eq 1  at[t + 1, i1]
  for t2 in 0..3
    for i2 in 0..5
      Y[t2, i2] = h[t2, i2]  eq 2  at[t2, i2]
"""
PAST_SUM = (
    "op f(X: f32[5, 3]) -> Y: f32[5] { let h: f32[5, 3]  h[i, k] = X[i, k]  Y[i] = sum(k: h[i, k] * 2) }"
)
SUM_PAST_THE_END = """
kernel f(X: f32[5, 3]) -> (Y: f32[5])
  let h: f32[8, 3]
  let u: f32[8, 3]
  let acc: f32[8]
  for i in 0..5
    for j in 0..3
      h[i, j] = X[i, j]  at[i, j]
  for i3 in 0..8
    for j3 in 0..3
      u[i3, j3] = h[i3, j3]  copy
  for i1 in 0..8
    acc[i1] = 0.0  start eq 1  at[i1]
    for k in 0..3
      acc[i1] += u[i1, k] * 2.0  eq 1  at[i1, k]
  for i2 in 0..5
    Y[i2] = acc[i2]  eq 1  at[i2]
"""
PAST_BOTH = """op f(X: f32[5]) -> Y: bool[3, 5] {
  let h: bool[3, 5]
  h[0, i] = X[i] > 0
  h[t, i] = h[t - 1, i] and X[0] > 1 for t in 1..3
  Y[t, i] = h[t, i]
}"""
BOTH_PAST_THE_END = (
    PAST_THE_END.replace("(Y: f32", "(Y: bool")
    .replace("h: f32", "h: bool")
    .replace("X[i]  at", "X[i] > 0.0  at")
    .replace("h[t, i1] * 2.0", "h[t, i1] and X[0] > 1.0")
)
NOTHING: Rows = {
    **changed(
        PAST_BOTH,
        BOTH_PAST_THE_END,
        {
            "what decides whether more is read": ("", "", "initialised"),
            "up to the end": ("for i1 in 0..8", "for i1 in 0..5", ""),
        },
    ),
    **changed(
        PAST_SUM,
        SUM_PAST_THE_END,
        {
            "terms of a sum past the end": ("", "", ""),
            "which come into another sum": ("acc[i1] += u", "acc[i1 % 5] += u", "initialised"),
            "past the end of the terms": (
                "for k in 0..3\n      acc[i1] += u[i1, k]",
                "for k in 0..4\n      acc[i1] += u[i1, k]",
                "initialised",
            ),
            "of the wrong rows": ("+= u[i1, k]", "+= u[7 - i1, k]", "initialised"),
        },
    ),
    **changed(
        SOME,
        COPY_OF_SOME,
        {
            "a copy of what is written in part": ("", "", ""),
            "and one of the rest is used": ("if i2 < 2 then u", "if i2 < 3 then u", "initialised"),
            "copied before it is written": (
                "  for i in 0..2\n    t[i] = X[i] + 1.0  at[i]\n  for i1 in 0..4\n    u[i1] = t[i1]  copy",
                "  for i1 in 0..4\n    u[i1] = t[i1]  copy\n  for i in 0..2\n    t[i] = X[i] + 1.0  at[i]",
                "initialised",
            ),
            "a copy of the copy": (
                "  for i2",
                "  let v: f32[4]\n  for i3 in 0..4\n    v[i3] = u[i3]  copy\n  for i2",
                "initialised",
            ),
            "more than a copy": ("u[i1] = t[i1]  copy", "u[i1] = t[i1] * 1.0  copy", "initialised"),
        },
    ),
    **changed(
        ALL,
        COPY_OF_ALL,
        {
            "copies again and again": ("", "", ""),
            "of nothing, the last time": (
                "    for i in 0..4\n      t",
                "    for i in 0..4\n     if r < 1\n      t",
                "initialised",
            ),
        },
    ),
    **changed(
        ALL,
        COPY_OF_ALL.replace("u[i1]", "Y[i1]").replace("  let u: f32[4]\n", "").partition("  for i2")[0],
        {
            "copies to the output": ("", "", ""),
            "of nothing, to the output": (
                "    for i in 0..4\n      t",
                "    for i in 0..4\n     if r < 1\n      t",
                "initialised",
            ),
        },
    ),
    **changed(
        PAST,
        PAST_THE_END,
        {
            "past the end": ("", "", ""),
            "places that are read past the end": (
                "h[t, i1] * 2.0",
                "h[t, i1] * 2.0 + X[i64(h[t, i1])]",
                "initialised",
            ),
            "chosen by what lies past the end": (
                "= h[t, i1] * 2.0",
                "= if h[t, i1] < 1.0 then h[t, i1] * 2.0 else h[t, i1] * 2.0",
                "initialised",
            ),
        },
    ),
}

CHOSEN = "op f(b: i32[4], w: i32[4], q: i64[4, 2] in 0..4) -> y: i32[4] { y[v] = b[v]  y[q[i, 1]] += w[i] }"
PLACE = """
kernel f(b: i32[4], w: i32[4], q: i64[4, 2] in 0..4) -> (y: i32[4])
  for v in 0..4
    y[v] = b[v]  at[v]
  for i in 0..4
    let p: i64[1] in 0..4
    for j0 in 0..1
      p[0] = q[i, 0]  copy
    for j1 in 0..1
      p[0] = q[i, 1]  copy
      y[p[0]] += w[i]  eq 1  at[i]
"""
LENT = (
    PLACE.replace("copy\n    for j1", "copy\n      t[0] = y[p[0]]  copy\n    for j1")
    .replace("y[p[0]] += w[i]  eq 1  at[i]", ("t[0] += w[i]  eq 1  at[i]\n      y[p[0]] = t[0]  copy"))
    .replace("    for j0", "    let t: i32[1]\n    for j0")
)
LOANS: Rows = {
    "an element that data says": (CHOSEN, PLACE, ""),
    "an element that is put back elsewhere, as other data says": (CHOSEN, LENT, "once"),
    "an element that is put back elsewhere, of a buffer without dimensions": (
        CHOSEN,
        LENT.replace("p[0]", "p").replace("t[0]", "t").replace("[1] in", " in").replace("i32[1]", "i32"),
        "once",
    ),
    "an element that is put back elsewhere, by a remainder": (
        CHOSEN,
        LENT.replace("y[p[0]]", "y[p[0] % 4]"),
        "once",
    ),
}

ROWS = (
    "op rows(V: i32[R, N, K]) -> H: i32[R, 4] { H[r, v] = 1 for v in 0..4\n H[r, (i + j) % 4] += V[r, i, j] }"
)
IN_TURNS = """
kernel rows(V: i32[R, N, K]) -> (H: i32[R, 4])
  let P: i32[2, 4]
  for r0 in 0..R
    for v in 0..4
      H[r0, v] = 1  at[r0, v]
  for r in 0..R
    for v1 in 0..4
      P[r % 2, v1] = 0  part eq 1  at[r, v1]
    for i in 0..N
      for j in 0..K
        P[r % 2, (i + j) % 4] += V[r, i, j]  reassoc eq 1  at[r, i, j]
    for v2 in 0..4
      H[r, v2] += P[r % 2, v2]  reassoc eq 1
"""
NEXT = "op sums(X: f32[N, M]) -> Y: f32[N] { Y[n] = sum(m: X[n, m]) }"
AHEAD = """
kernel sums(X: f32[N, M]) -> (Y: f32[N])
  let acc: f32[2]
  for p in 0..min(N, 1)
    acc[0] = 0.0  start  at[p]
    for m0 in 0..M
      acc[0] += X[p, m0]  at[p, m0]
  for n in 0..N
    Y[n] = acc[n % 2]  at[n]
    if n + 1 < N
      acc[(n + 1) % 2] = 0.0  start  at[n + 1]
      for m1 in 0..M
        acc[(n + 1) % 2] += X[n + 1, m1]  at[n + 1, m1]
"""
AGAIN = """extern op turn(A: f32[4]) -> P: f32[4]
op again(X: f32[2, 4]) -> (Y: f32[4], V: f32[4]) {
  A[t, i] = X[t, i] * 2
  B[i] = A[1, i]
  P = turn(B)
  Y[i] = A[0, i] + 1
  V[i] = P[i] }"""
PASSED = """
kernel again(X: f32[2, 4]) -> (Y: f32[4], V: f32[4])
  let T: f32[4]
  let P: f32[4]
  for i0 in 0..4
    T[i0] = X[0, i0] * 2.0  at[0, i0]
  for i1 in 0..4
    Y[i1] = T[i1] + 1.0  eq 3  at[i1]
  for i2 in 0..4
    T[i2] = X[1, i2] * 2.0  at[1, i2]
  P = extern turn(T)  eq 2
  for i3 in 0..4
    V[i3] = P[i3]  eq 4  at[i3]
"""
REUSED: Rows = {
    **changed(
        ROWS,
        IN_TURNS,
        {
            "parts of rows in turns": ("", "", ""),
            "parts of the row before": ("+= P[r % 2", "+= P[(r + 1) % 2", "initialised"),
            "parts of no row": ("at[r, v1]", "at[v1]", "values"),
        },
    ),
    **changed(
        NEXT,
        AHEAD,
        {
            "sums ahead": ("", "", ""),
            "terms of no equation": ("  at[n + 1, m1]", "  eq 9  at[n + 1, m1]", "once"),
            "terms of no instance": ("  at[n + 1, m1]", "", "once"),
            "a result of no instance": ("acc[n % 2]  at[n]", "acc[n % 2]", "values"),
        },
    ),
    "what outside code is given, after something else": (AGAIN, PASSED, "values"),
}

SUMMED = (
    "op f(A: i32[4, 5], X: i32[4] in 0..3) -> H: i32[3] { H[v] = 1 for v in 0..3\n H[X[i]] += sum(k: A[i, "
    "k]) }"
)
TOTALS = """
kernel f(A: i32[4, 5], X: i32[4] in 0..3) -> (H: i32[3])
  let S: i32[4]
  let P: i32[3]
  for v0 in 0..3
    H[v0] = 1  at[v0]
    P[v0] = 0  part eq 1  at[v0]
  for i in 0..4
    S[i] = 0  start eq 1  at[i]
    for k in 0..5
      S[i] += A[i, k]  reassoc eq 1  at[i, k]
    P[i64(X[i])] += S[i]  reassoc eq 1  at[i]
  for v in 0..3
    H[v] += P[v]  reassoc eq 1
"""
WHOLE, PARTS = "    P[v0] = 0  part eq 1  at[v0]\n", "    P[v0] = 0  part eq 7  at[v0]\n"
FOLDS: Rows = changed(
    SUMMED,
    TOTALS,
    {
        "sums that are folded into parts": ("", "", ""),
        "parts of no equation": (WHOLE, PARTS, "values"),
        "parts of what is no fold": ("0  part eq 1", "0  part eq 0", "values"),
    },
)

STEP_BY_STEP = (
    "op steps(X: f32[4]) -> (A: f32[4], Y: f32[4]) {\n  A[i] = X[i]\n  A[i] += X[i]\n  Y[i] = A[i] }"
)
AT_ONCE = """
kernel steps(X: f32[4]) -> (A: f32[4], Y: f32[4])
  for o in 0..5 parallel
    if o < 4
      A[o] = X[o]  at[o]
    if 1 <= o
      A[o - 1] += X[o - 1]  eq 1  at[o - 1]
  for i in 0..4
    Y[i] = A[i]  eq 2  at[i]
"""
RACES: Rows = changed(
    STEP_BY_STEP,
    AT_ONCE,
    {
        "elements that the iteration before began": (" parallel", "", ""),
        "elements that another iteration begins": ("", "", "races"),
    },
)

CLAMPED = "op c(X: f32[8]) -> Y: bool[8] { Y[i] = max(i, 2) < 5 }"
TURNED = (
    "op r(X: {0}[4]) -> Y: {0}[4] {{ let T: {0}[4]\n T[3 - i] = X[i] * 2 for i in 0..4\n Y[i] = T[i] + 1 }}"
)


def each(op: str, value: str, rest: str = "", extent: int = 4) -> tuple[str, str]:
    """A kernel of one loop that computes one value, and its operator."""
    head = op.partition("op ")[2].partition(" {")[0]
    return op, kernel(out(head), f"\nfor i in 0..{extent}\n  Y[i] = {value}  {rest}at[i]")


VALUES: Rows = {
    "a condition in other words": (*each(CLAMPED, "i < 5", extent=8), ""),
    "a condition that is another where nothing is clamped": (
        *each(CLAMPED, "max(i, 2) < 3", extent=8),
        "values",
    ),
    "from the other end": (*each(TURNED.format("i32"), "X[3 - i] * 2 + 1", "eq 1  "), ""),
    "not from the other end": (*each(TURNED.format("i32"), "X[i] * 2 + 1", "eq 1  "), "values"),
}
RANGED = (
    "op moved(X: i64[4] in 0..4, E: f32[4]) -> Y: f32[4] { let T: i64[4] in 0..4\n T[i] = X[i]  Z[i] = "
    "E[T[i]]  Y[i] = Z[i] * 2 }"
)
PADDED = """
kernel moved(X: i64[4] in 0..4, E: f32[4]) -> (Y: f32[4])
  let T: i64[5]
  let Z: f32[5]
  for i in 0..5
    T[i] = if i < 4 then X[i] else 9  at[i]
  for i1 in 0..5
    Z[i1] = E[T[i1]]  eq 1  at[i1]
  for i2 in 0..4
    Y[i2] = Z[i2] * 2.0  eq 2  at[i2]
"""
PADS: Rows = changed(
    RANGED,
    PADDED,
    {
        "places that are not needed, looked up where there is nothing": ("", "", "values"),
        "places that are needed": ("0..5", "0..4", ""),
    },
)
NAMED = {
    "pads": PADS,
    "copies": COPIES,
    "nothing": NOTHING,
    "in pieces": IN_PIECES,
    "loans": LOANS,
    "reused": REUSED,
    "folds": FOLDS,
    "races": RACES,
    "values": VALUES,
}
TABLES = {f"{table}: {name}": row for table, rows in NAMED.items() for name, row in rows.items()}


@pytest.mark.parametrize("name", TABLES)
def test_what_is_proven(name: str):
    op, loops, obligation = TABLES[name]
    assert refused(op, loops) == obligation


@pytest.mark.parametrize(
    "name", [name for name, each in INSTRUCTIONS.items() if each.flushes_denormals or each.reorders]
)
def test_an_instruction_that_rounds_as_it_likes_has_to_be_permitted(name: str):
    loops = COPIED.replace("for i1 in 0..4", f"for i1 in 0..4 instruction.{name}")
    permitted = parse_kernel(loops.replace("at[i1, k]", "reassoc  at[i1, k]"))
    assert certify(permitted, ready(tx.op(TOTAL).program())).flushed == (
        ("y",) if INSTRUCTIONS[name].flushes_denormals else ()
    )
    with pytest.raises(tx.ScheduleError, match="an instruction adds floats in an order of its own") as e:
        certify(parse_kernel(loops), ready(tx.op(TOTAL).program()))
    assert e.value.label == "order"


LAST = """
kernel f(X: f32[4]) -> (Y: f32[4])
  let T: f32
  for i in 0..4
    if i < {}
      T = X[i] * 2.0  at[i]
    Y[i] = if i < 2 then T else T + 1.0  eq 1  at[i]
"""


@pytest.mark.parametrize(("written", "proven"), [(4, True), (2, False)])
def test_a_read_that_stands_in_two_places_finds_its_value_in_both(written: int, proven: bool):
    """One node: where it is not written, the last value is still there."""
    program = ready(
        tx.op(
            "op f(X: f32[4]) -> Y: f32[4] { T[i] = X[i] * 2  Y[i] = if i < 2 then T[i] else T[i] + 1 }"
        ).program()
    )
    made = parse_kernel(LAST.format(written))
    first, second = (n for n in walk(made) if isinstance(n, Read) and n.tensor.name == "T")
    shared = rewrite(made, lambda n: first if n is second else None)
    if proven:
        certify(shared, program)
        return
    with pytest.raises(tx.ScheduleError):
        certify(shared, program)


@pytest.mark.parametrize("stored, said", [("reassoc  at", "reassociated: y"), ("at", "bit-exact")])
def test_sums_that_may_run_in_any_order_are_named(stored: str, said: str):
    loops = COPIED.replace("at[i1, k]", f"{stored}[i1, k]")
    assert certify(parse_kernel(loops), ready(tx.op(TOTAL).program())).rounding == said


def test_a_size_times_a_number_that_may_be_negative():
    op = tx.op("op f(X: f32[N], k: i64 in -4..4) -> Y: f32[N] { Y[i] = if k * N >= 0 then X[i] else 0.0 }")
    naive = tx.schedule(op).kernel
    certify(naive, ready(op.program()))
    with pytest.raises(tx.ScheduleError, match="where its equation says `0.0`"):
        certify(rewrite(naive, lambda n: n.then if isinstance(n, Select) else None), ready(op.program()))


AHEAD = "op f(m: i32[N], X: f32[4, N]) -> y: f32[4] { y[i] = sum(j where m[0] > 0: X[i, j]) }"
ASKED_AHEAD = """
kernel f(m: i32[N], X: f32[4, N]) -> (y: f32[4])
  let acc: f32
  for i in 0..4
    acc = 0.0  start  at[i]
    if m[0] > 0
      for j in 0..N
        acc += X[i, j]  at[i, j]
    y[i] = acc  at[i]
"""


def test_a_condition_is_asked_whether_the_loops_inside_run_or_not():
    assert refused(AHEAD, ASKED_AHEAD) == "bounds"  # With N = 0 there is no m[0].
    assert (
        refused(AHEAD.replace("m: i32[N]", "m: i32[1]"), ASKED_AHEAD.replace("m: i32[N]", "m: i32[1]")) == ""
    )


RAGGED = "op ragged(X: f32[M, K], n: i32[M] in 0..K + 1) -> y: f32[M] { y[i] = sum(j in 0..n[i]: X[i, j]) }"


CSR = """op csr(first: i64[P] in 0..K + 1, V: f32[K], c: i32[K] in 0..N, x: f32[N]) -> y: f32[P - 1] require P > 0 {
  y[i] = sum(k in first[i]..first[i + 1]: V[k] * x[c[k]]) }"""


@pytest.mark.parametrize("op", [RAGGED, CSR], ids=["ragged", "csr"])
@pytest.mark.parametrize(
    "script",
    ['split("{0}", 4)', 'split("i", 4)\nsplit("{0}", 4)\nparallel("io")', 'split("i", 4, tail="peel")'],
)
def test_a_range_is_read_under_the_conditions_around_it(op: str, script: str):
    assert tx.schedule(tx.op(op)).replay(script.format("k" if op == CSR else "j")).certificate().bit_exact


def test_partial_sums_of_rows_of_a_sparse_matrix():
    certificate = tx.schedule(tx.op(CSR)).replay('split("k", 8)\nrfactor("ki", reassoc=True)').certificate()
    assert certificate.rounding == "reassociated: y"
    tx.schedule(tx.op(CSR), P=50, K=300, N=70).auto().certificate()


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("", "", ""),
        ("j - ", "j // 2 - ", "sums"),
        ("first[i + 1] - first[i]", "first[i + 1] - first[i] - 1", "sums"),
        ("first[i + 1] - first[i]", "first[i + 1]", "values"),
    ],
    ids=["right", "twice", "one less", "more"],
)
def test_rows_of_a_sparse_matrix(old: str, new: str, said: str):
    loops = """
kernel csr(first: i64[P] in 0..K + 1, V: f32[K], c: i32[K] in 0..N, x: f32[N]) -> (y: f32[P - 1])
  for i in 0..P - 1
    let acc: f32
    acc = 0.0  start  at[i]
    for j in 0..first[i + 1] - first[i]
      acc += V[j - 0 + first[i]] * x[i64(c[j - 0 + first[i]])]  at[i, j - 0 + first[i]]
    y[i] = acc  at[i]
"""
    assert refused(CSR, loops.replace(old, new)) == said


def test_a_range_is_not_read_under_the_conditions_in_it():
    split = tx.schedule(tx.op(RAGGED)).split("i", 4).kernel
    inner = split.body[0].body[0]
    guard = inner.body[0]
    start, loop, store = guard.body
    late = replace(loop, body=(replace(guard, body=loop.body),))
    wrong = replace(
        split,
        body=(
            replace(
                split.body[0],
                body=(
                    replace(inner, body=(replace(guard, body=(start,)), late, replace(guard, body=(store,)))),
                ),
            ),
        ),
    )
    with pytest.raises(tx.ScheduleError, match="n is read outside its shape"):
        certify(wrong, ready(tx.op(RAGGED).program()))

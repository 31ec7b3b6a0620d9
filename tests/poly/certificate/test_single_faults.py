"""Certificates of kernels that are right in all parts but one: a dimension of two, a case of
two, a condition of two.
"""

from __future__ import annotations

import pytest

from tests.poly.certificate.tables import Rows, changed, kernel, out, refused, under
from texpr.ir.expr import Add, FloorDiv, Mod, Mul, Var, index
from texpr.poly.certificate.engine.reindexing import recombine_quotients

SQUARE = "square(X: f32[4, 4], k: i64[4], m: bool[4]) -> Y: f32[4, 4]"
DOUBLED = f"op {SQUARE} {{ Y[i, j] = X[i, j] * 2 }}"


def where(*conditions: str) -> str:
    """Loops that double what a condition lets through, one for each condition."""
    return kernel(
        out(SQUARE),
        *(
            under(
                f"for i{n} in 0..4",
                under(
                    f"for j{n} in 0..4",
                    under(
                        f"if {c}".replace("I", f"i{n}").replace("J", f"j{n}"),
                        f"\nY[i{n}, j{n}] = X[i{n}, j{n}] * 2.0  at[i{n}, j{n}]",
                    ),
                ),
            )
            for n, c in enumerate(conditions)
        ),
    )


CONDITIONS: Rows = {
    "a choice that always holds": (DOUBLED, where("if I < 2 then J < 4 else J < 5"), ""),
    "a choice that fails where it is chosen": (DOUBLED, where("if I < 2 then J < 3 else J < 4"), "covered"),
    "a choice that fails otherwise": (DOUBLED, where("if I < 2 then J < 4 else J < 3"), "covered"),
    "two choices that make a whole": (
        DOUBLED,
        where("if I < 2 then J < 3 else J < 2", "if I < 2 then J >= 3 else J >= 2"),
        "",
    ),
    "two choices that leave a gap": (
        DOUBLED,
        where("if I < 2 then J < 3 else J < 2", "if I < 2 then J >= 3 else J >= 3"),
        "covered",
    ),
    "both of two": (DOUBLED, where("I < 4 and J < 4"), ""),
    "both of two, the first of which fails": (DOUBLED, where("I < 3 and J < 4"), "covered"),
    "both of two, the second of which fails": (DOUBLED, where("I < 4 and J < 3"), "covered"),
    "one of two": (DOUBLED, where("I < 2 or I >= 2"), ""),
    "one of two, with a gap": (DOUBLED, where("I < 2 or I >= 3"), "covered"),
    "none of two": (DOUBLED, where("not (I < 0 or J >= 4)"), ""),
    "none of two, one of which holds": (DOUBLED, where("not (I < 0 or J >= 3)"), "covered"),
}

CHOSEN = (
    "op square(X: f32[4, 4], k: i64[4], m: bool[4]) -> Y: f32[4, 4] {{ Y[i, j] = if {0} then X[i, j] else 2 "
    "}}"
)


def chosen(wanted: str, found: str) -> tuple[str, str]:
    """A choice of an operator, and of its kernel."""
    return CHOSEN.format(wanted), kernel(
        out(SQUARE),
        under(
            "for i in 0..4", under("for j in 0..4", f"\nY[i, j] = if {found} then X[i, j] else 2.0  at[i, j]")
        ),
    )


CHOICES: Rows = {
    "more than is needed": (*chosen("X[i, j] > 0", "X[i, j] > 0.0 and i < 4"), ""),
    "less than is needed": (*chosen("X[i, j] > 0 and i - 4 < j", "X[i, j] > 0.0"), ""),
    "less than is asked": (*chosen("X[i, j] > 0 and i < 3", "X[i, j] > 0.0"), "values"),
    "more than is asked": (*chosen("X[i, j] > 0", "X[i, j] > 0.0 and i < 3"), "values"),
    "in another order": (*chosen("X[i, j] > 0 and m[j]", "m[j] and X[i, j] > 0.0"), ""),
    "one of them twice": (*chosen("X[i, j] > 0 or m[j]", "m[j] or X[i, j] > 0.0 or m[j]"), ""),
    "one for both": (*chosen("X[i, j] > 0 or m[j]", "m[j] and X[i, j] > 0.0"), "values"),
    "the opposite": (*chosen("not (X[i, j] > 0 or m[j])", "not (X[i, j] > 0.0) and not m[j]"), ""),
    "not the opposite": (*chosen("not (X[i, j] > 0 or m[j])", "not (X[i, j] > 0.0 and m[j])"), "values"),
    "numbers of data": (*chosen("k[i] < 2", "not (2 <= k[i])"), ""),
    "other numbers of data": (*chosen("k[i] < 2", "not (2 <= k[j])"), "values"),
}

PAIRS = """extern op swap(A: f32[N, M], B: f32[K, N]) -> (P: f32[M, N], Q: f32[N, N])
op pairs(X: f32[N, M], W: f32[K, N]) -> (Y: f32[M, N], V: f32[N, N]) {
  P, Q = swap(X, W)
  Y[i, j] = P[i, j]
  V[i, j] = Q[i, j] }"""
PAIRS_LOOPS = """
kernel pairs(X: f32[N, M], W: f32[K, N]) -> (Y: f32[M, N], V: f32[N, N])
  let P: f32[M, N]
  let Q: f32[N, N]
  let A: f32[N, M]
  for a in 0..N
    for b in 0..M
      A[a, b] = X[a, b]  copy
  P, Q = extern swap(A, W)
  for i in 0..M
    for j in 0..N
      Y[i, j] = P[i, j]  eq 1  at[i, j]
  for i1 in 0..N
    for j1 in 0..N
      V[i1, j1] = Q[i1, j1]  eq 2  at[i1, j1]
"""
SHAPES: Rows = changed(
    PAIRS,
    PAIRS_LOOPS,
    {
        "arrays of two dimensions": ("", "", ""),
        "a first dimension that is too long": ("let A: f32[N, M]", "let A: f32[N + 1, M]", "values"),
        "a second dimension that is too long": ("let A: f32[N, M]", "let A: f32[N, M + 1]", "values"),
        "a result whose first dimension is too long": ("let P: f32[M, N]", "let P: f32[M + 1, N]", "values"),
        "a result whose second dimension is too long": ("let Q: f32[N, N]", "let Q: f32[N, N + 1]", "values"),
        "an output whose first dimension is too long": ("(Y: f32[M, N], V", "(Y: f32[M + 1, N], V", "bounds"),
        "an output whose second dimension is too long": (
            "(Y: f32[M, N], V",
            "(Y: f32[M, N + 1], V",
            "bounds",
        ),
        "an input whose first dimension is too long": ("(X: f32[N, M], W", "(X: f32[N + 1, M], W", "bounds"),
        "an input whose second dimension is too long": ("(X: f32[N, M], W", "(X: f32[N, M + 1], W", "bounds"),
        "all but a row": ("for a in 0..N", "for a in 0..N - 1", "initialised"),
        "all but a column": ("for b in 0..M", "for b in 0..M - 1", "initialised"),
        "rows that go on too far": ("for a in 0..N", "for a in 0..N + 1", "bounds"),
        "columns that go on too far": ("for b in 0..M", "for b in 0..M + 1", "bounds"),
    },
)

MOVED = "moved(X: i64[4] in 0..4, E: f32[4]) -> Y: f32[4]"
DROPPED = (
    f"op {MOVED} {{\n  let T: i64[4] in 0..4\n  T[i + 1 | drop] = X[i]\n  T[i] = 0 for i in 0..1\n  Y[i] = "
    f"E[T[i]] }}"
)
DROP = kernel(
    out(MOVED),
    "\nlet T: i64[5]",
    "\nfor i in 0..4\n  if i < 3\n    T[i + 1] = X[i]  at[i]",
    "\nfor i1 in 0..1\n  T[i1] = 0  eq 1  at[i1]",
    "\nfor i2 in 0..4\n  Y[i2] = E[T[i2]]  eq 2  at[i2]",
)
DROPS: Rows = changed(
    DROPPED,
    DROP,
    {
        "what is dropped is not written": ("", "", ""),
        "what is dropped is written elsewhere": ("if i < 3", "if i < 4", "values"),
    },
)
ROWS = "rows(X: f32[4, 8]) -> Y: f32[4]"
SUM_OF_ROWS = f"op {ROWS} {{ Y[i] = sum(k: X[i, k]) }}"


def rows(first: str, second: str, term: str) -> str:
    """Sums of rows from the last to the first, which one of two stores starts."""
    return kernel(
        out(ROWS),
        under(
            "for i in 0..4",
            "\nlet acc: f32[1]",
            under("if i < 2", f"\nacc[0] = 0.0  start  at[{first}]"),
            under("if i >= 2", f"\nacc[0] = 0.0  start  at[{second}]"),
            f"\nfor k in 0..8\n  acc[0] += X[{term}, k]  at[{term}, k]",
            "\nY[3 - i] = acc[0]  at[3 - i]",
        ),
    )


STARTS: Rows = {
    "two starts of one row": (SUM_OF_ROWS, rows("3 - i", "3 - i", "3 - i"), ""),
    "two starts of two rows": (SUM_OF_ROWS, rows("3 - i", "i", "3 - i"), "values"),
    "two starts of another row": (SUM_OF_ROWS, rows("i", "i", "3 - i"), "sums"),
    "terms of another row": (SUM_OF_ROWS, rows("3 - i", "3 - i", "i"), "sums"),
    "a row from the first on": (SUM_OF_ROWS, rows("i", "i", "i"), "values"),
}
SHIFTED = "shifted(X: f32[4]) -> Y: f32[4]"
BACK = {
    "wrap": {-2: "X[i + 2]", 2: "X[i - 2]"},
    "clamp": {-2: "X[0]", 2: "X[3]"},
    "reflect": {-2: "X[2 - i]", 2: "X[4 - i]"},
    "0": {-2: "0.0", 2: "0.0"},
}
"""Where an index outside comes back inside, by the guard and by how far the index is off."""


def shifted(by: int, guard: str) -> str:
    inside, back = f"X[i + {by}]", BACK[guard][by]
    return kernel(
        out(SHIFTED),
        under(
            "for i in 0..4",
            f"\nY[i] = if i < 2 then {back if by < 0 else inside} else {inside if by < 0 else back}  at[i]",
        ),
    )


GUARDS: Rows = {
    f"{wanted} as {found}, by {by}": (
        f"op {SHIFTED} {{ Y[i] = X[i + {by} | {wanted}] }}",
        shifted(by, found),
        "" if wanted == found else "values",
    )
    for by in (-2, 2)
    for wanted in BACK
    for found in BACK
}
LAZY = "lazy(X: f32[4]) -> Y: f32[8]"


def lazy(wanted: str, found: str) -> tuple[str, str]:
    """A condition whose second part is only asked where the first leaves it open."""
    return (
        f"op {LAZY} {{ Y[i] = if {wanted} then 1 else 2 for i in 0..8 }}",
        kernel(out(LAZY), under("for i in 0..8", f"\nY[i] = if {found} then 1.0 else 2.0  at[i]")),
    )


ASKED: Rows = {
    "where the first holds": (*lazy("i < 4 and X[i] > 0", "i < 4 and X[i] > 0.0"), ""),
    "where the first fails": (*lazy("i >= 4 or X[i] > 0", "i >= 4 or X[i] > 0.0"), ""),
    "one further where it holds": (*lazy("i < 4 and X[i] > 0", "i < 5 and X[i] > 0.0"), "bounds"),
    "one further where it fails": (*lazy("i >= 4 or X[i] > 0", "i >= 5 or X[i] > 0.0"), "bounds"),
    "both the other way": (*lazy("i >= 4 or X[i] > 0", "i >= 4 and X[i] > 0.0"), "bounds"),
    "either instead of both": (*lazy("i < 4 and X[i] > 0", "i < 4 or X[i] > 0.0"), "bounds"),
    "the first last": (*lazy("i < 4 and X[i] > 0", "X[i] > 0.0 and i < 4"), "bounds"),
    "the first last, where it fails": (*lazy("i >= 4 or X[i] > 0", "X[i] > 0.0 or i >= 4"), "bounds"),
}
NAMED = {
    "asked": ASKED,
    "guards": GUARDS,
    "starts": STARTS,
    "conditions": CONDITIONS,
    "choices": CHOICES,
    "shapes": SHAPES,
    "drops": DROPS,
}
TABLES = {f"{table}: {name}": row for table, rows in NAMED.items() for name, row in rows.items()}


@pytest.mark.parametrize("name", TABLES)
def test_what_is_proven(name: str):
    op, loops, obligation = TABLES[name]
    assert refused(op, loops) == obligation


X = Var("x")


@pytest.mark.parametrize("by, times, kept", [(4, 4, False), (4, 8, True), (4, 1, True), (1, 1, False)])
def test_quotients_and_remainders_are_put_together(by: int, times: int, kept: bool):
    quotient, rest = FloorDiv(X, index(by)), Mod(X, index(by))
    assert (recombine_quotients(Add(Mul(quotient, index(times)), rest)) is X) is not kept

"""Tiles that are fetched, updated and put back: what the certificate proves of them, and why it
refuses others.
"""

from __future__ import annotations

import pytest

import texpr as tx
from tests.poly.certificate.tables import Rows, kernel, refused, under
from texpr.compiler.pass_pipeline import ready
from texpr.lang import parse_kernel
from texpr.poly.certificate import certify

HEAD = "total(X: f32[4, 6], m: bool[4], n: i64[4] in 0..3, w: f32[4])"
TOTAL = f"op {HEAD} -> y: f32[4] {{ y[i] = sum(k: X[i, k]) }}"
SOME = f"op {HEAD} -> y: f32[4] {{ y[i] = sum(k where k == 1 or m[i]: X[i, k]) }}"
ADDED = f"op {HEAD} -> y: f32[4] {{\n  y[i] = w[i]\n  y[r % 4] += X[r % 4, r // 4] for r in 0..24 }}"
START = """
for i0 in 0..4
  acc[i0] = 0.0  start  at[i0]"""
FETCH = """
for a in 0..2
  tile[a] = acc[h * 2 + a]  copy"""
TERMS = """
for k in 0..3
  for b in 0..2
    tile[b] += X[h * 2 + b, o * 3 + k]  at[h * 2 + b, o * 3 + k]"""
RETURN = """
for c in 0..2
  acc[h * 2 + c] = tile[c]  copy"""
RESULT = """
for i1 in 0..4
  y[i1] = acc[i1]  at[i1]"""
EARLY = """
if o == 1
  for d in 0..2
    y[h * 2 + d] = {}[{}d]  at[h * 2 + d]"""


def total(*parts: str) -> str:
    return kernel(f"{HEAD} -> (y: f32[4])", *parts)


def tiles(*parts: str, start: str = START, result: str = RESULT, tile: str = "tile: f32[2]") -> str:
    """A sum of which two blocks of terms are added to two elements at a time."""
    inner = under("for o in 0..2", under("for h in 0..2", f"\nlet {tile}", *parts))
    return total("\nlet acc: f32[4]", start, inner, result)


def elements(*parts: str) -> str:
    """A sum whose terms are added to each element on its own."""
    return total("\nlet acc: f32[4]", START, under("for i in 0..4", "\nlet tile: f32", *parts), RESULT)


def one(k: int) -> str:
    return f"\ntile += X[i, {k}]  at[i, {k}]"


TAKE, BRING, FIVE = "\ntile = acc[i]  copy", "\nacc[i] = tile  copy", "".join(map(one, range(2, 6)))
LATE_START = under("if o == 0", "\nfor i0 in 0..2\n  acc[h * 2 + i0] = 0.0  start  at[h * 2 + i0]")
LAST_TERM = "\nfor e in 0..2\n  acc[h * 2 + e] += X[h * 2 + e, o * 3 + 2]  at[h * 2 + e, o * 3 + 2]"
AGAIN = FETCH.replace("a in", "f in").replace("[a]", "[f]").replace("+ a]", "+ f]")
COPY = RESULT.replace("at[i1]", "copy")
SCRATCH = "\nlet S: f32[2]\nfor d in 0..2\n  S[d] = tile[d]  copy"
FOLDED = TERMS.replace("h * 2 + b, o * 3 + k", "R % 4, R // 4", 1).partition("  at")[0].replace(
    "R", "(o * 12 + k * 4 + h * 2 + b)"
) + ("  eq 1  at[o * 12 + k * 4 + h * 2 + b]")
GIVEN = "\nfor i0 in 0..4\n  acc[i0] = w[i0]  at[i0]"
LOOKED_UP = "op total(X: i64[3], Z: i64[9]) -> y: i64 { y = sum(k: X[k]) }"
LOOK_UP = """kernel total(X: i64[3], Z: i64[9]) -> (y: i64)
  let acc: i64[1]
  acc[0] = 0  start
  for o in 0..3
    let tile: i64[1]
    for a in 0..1
      tile[a] = acc[0]  copy
    for b in 0..1
      tile[b] += X[o]  at[o]
    acc[0] = Z[tile[0]]  copy
  y = acc[0]
"""
ALL_FETCH, ALL_RETURN = (
    "\nfor a in 0..4\n  tile[a] = acc[a]  copy",
    "\nfor c in 0..4\n  acc[c] = tile[c]  copy",
)
COME, MORE, BACK = "\ntile[b] = acc[b]  copy", "\ntile[b] += X[b, o]  at[b, o]", "\nacc[b] = tile[b]  copy"


def rows(*parts: str, terms: int = 6) -> str:
    """A sum of which one term is added to all elements at a time."""
    return total(
        "\nlet acc: f32[4]", START, under(f"for o in 0..{terms}", "\nlet tile: f32[4]", *parts), RESULT
    )


def ended(*parts: str, terms: int = 3, again: int = 1, result: str = "") -> str:
    """A sum of which the second block of terms is added to what is fetched, `again` times of so
    many terms.
    """
    first, last = (
        TERMS.replace("o * 3 + ", ""),
        TERMS.replace("o * 3", "o + 3").replace("0..3", f"0..{terms}"),
    )
    first, last = (
        under("for h in 0..2", "\nlet tile: f32[2]", FETCH, *each)
        for each in ((first, RETURN), (last, *parts))
    )
    last = under(f"for o in 0..{again}", last)
    return total(
        "\nlet acc: f32[4]", START, first.replace("tile", "early"), last, result.replace("h * 2 + ", "")
    )


USED = "\nfor d in 0..2\n  y[h * 2 + d] = tile[d]  at[h * 2 + d]"

LOANS: Rows = {
    "a tile that is put back": (TOTAL, tiles(FETCH, TERMS, RETURN), ""),
    "and read meanwhile": (TOTAL, tiles(FETCH, TERMS, EARLY.format("tile", ""), RETURN, result=""), ""),
    "an element that is read before it is put back": (
        TOTAL,
        tiles(FETCH, TERMS, EARLY.format("acc", "h * 2 + "), RETURN, result=""),
        "once",
    ),
    "an element that is updated before it is put back": (
        TOTAL,
        tiles(FETCH, TERMS.replace("0..3", "0..2"), LAST_TERM, RETURN),
        "once",
    ),
    "an element that is started after it is fetched": (
        TOTAL,
        tiles(FETCH, LATE_START, TERMS, RETURN, start=""),
        "initialised",
    ),
    "a tile that is put back before it is updated": (TOTAL, tiles(FETCH, RETURN, TERMS), "once"),
    "a tile that is fetched after it is updated": (TOTAL, tiles(TERMS, FETCH, RETURN), "once"),
    "a tile that is fetched again": (TOTAL, tiles(FETCH, TERMS, AGAIN, RETURN), "once"),
    "a tile that is added to what it was fetched from": (
        TOTAL,
        tiles(FETCH, TERMS, RETURN.replace(" =", " +=")),
        "sums",
    ),
    "half of a tile that is put back": (TOTAL, tiles(FETCH, TERMS, RETURN.replace("0..2", "0..1")), "once"),
    "half of a tile that is put back, and the whole copied": (
        TOTAL,
        tiles(FETCH, TERMS, RETURN.replace("0..2", "0..1"), SCRATCH),
        "once",
    ),
    "half of a tile that is fetched, and another half": (
        TOTAL,
        tiles(FETCH.replace("0..2", "0..1"), TERMS, RETURN),
        "once",
    ),
    "an element that is fetched past the end": (
        TOTAL,
        tiles(FETCH.replace("0..2", "0..3"), TERMS, RETURN, tile="tile: f32[3]"),
        "bounds",
    ),
    "a tile past the end of its buffer": (TOTAL, tiles(FETCH, TERMS, RETURN, tile="tile: f32[1]"), "once"),
    "what is fetched from one sum and put back to another": (
        TOTAL,
        tiles(FETCH, TERMS, RETURN.replace("acc", "y"), result=""),
        "sums",
    ),
    "an element that is put back from another tensor": (
        TOTAL,
        tiles(FETCH, TERMS, RETURN.replace("tile[c]", "w[c]")),
        "once",
    ),
    "elements that data says are fetched": (
        TOTAL,
        tiles(FETCH.replace("\n ", "\n  if m[a]\n   "), TERMS, RETURN),
        "once",
    ),
    "elements that data says are put back": (
        TOTAL,
        tiles(FETCH, TERMS, RETURN.replace("\n ", "\n  if m[c]\n   ")),
        "once",
    ),
    "as many elements fetched as data says": (
        TOTAL,
        tiles(FETCH.replace("0..2", "0..n[h]"), TERMS, RETURN),
        "once",
    ),
    "as many elements put back as data says": (
        TOTAL,
        tiles(FETCH, TERMS, RETURN.replace("0..2", "0..min(2, n[h])")),
        "once",
    ),
    "terms that data says are there": (
        SOME,
        elements(TAKE, under("if m[i]", one(0)), one(1), under("if m[i]", FIVE), BRING),
        "",
    ),
    "terms under one condition of data": (
        TOTAL.replace("(k:", "(k where m[i]:"),
        elements(under("if m[i]", TAKE, one(0), one(1), FIVE, BRING)),
        "",
    ),
    "and what is read outside of it": (
        TOTAL.replace("(k:", "(k where m[i]:"),
        elements(under("if m[i]", TAKE, one(0), one(1), FIVE, BRING), "\ny[i] = tile  at[i]").replace(
            RESULT.replace("\n", "\n  "), ""
        ),
        "once",
    ),
    "a term that no condition of data is around": (
        SOME,
        elements(under("if m[i]", TAKE, one(0)), one(1), under("if m[i]", FIVE, BRING)),
        "once",
    ),
    "terms put back under another condition": (
        SOME,
        elements(TAKE, under("if m[i]", one(0)), one(1), under("if m[i]", FIVE, BRING)),
        "once",
    ),
    "the elements that data says": (
        TOTAL.replace("m:", "p: i32[2] in 0..4 distinct, m:"),
        total(
            "\nlet acc: f32[4]",
            START,
            under(
                "for o in 0..6",
                "\nlet tile: f32[4]\nfor a in 0..2\n  tile[i64(p[a])] = acc[i64(p[a])]  copy",
                "\nfor b in 0..4\n  tile[b] += X[b, o]  at[b, o]\nfor c in 0..4\n  acc[c] = tile[c]  copy",
            ),
            RESULT,
        ).replace("m:", "p: i32[2] in 0..4 distinct, m:"),
        "once",
    ),
    "elements of a histogram": (ADDED, tiles(FETCH, FOLDED, RETURN, start=GIVEN, result=COPY), ""),
    "an element of a histogram that starts anew": (
        ADDED,
        tiles(
            FETCH.replace("0..2", "0..1"),
            "\ntile[1] = w[h * 2 + 1]  at[h * 2 + 1]",
            FOLDED,
            RETURN,
            start=GIVEN,
            result=COPY,
        ),
        "once",
    ),
    "two tensors that are fetched from": (
        TOTAL,
        tiles(
            FETCH.replace("0..2", "0..1"),
            "\ntile[1] = other[h * 2 + 1]  copy",
            TERMS,
            RETURN,
            start=f"{START}\nlet other: f32[4]{START.replace('acc', 'other').replace('i0', 'j0')}",
        ),
        "once",
    ),
    "what is put back is looked up": (LOOKED_UP, LOOK_UP, "once"),
    "a fetch past the end of a tile, of what exists": (
        TOTAL,
        tiles(FETCH.replace("0..2", "0..3 - h"), TERMS, RETURN),
        "once",
    ),
    "a tile that is fetched before a loop": (TOTAL, rows(ALL_FETCH, under("for b in 0..4", MORE, BACK)), ""),
    "a tile that is fetched before a loop, of what is updated before the loop": (
        TOTAL,
        rows(
            ALL_FETCH,
            "\nfor e in 0..4\n  acc[e] += X[e, o]  at[e, o]",
            under("for b in 0..4", MORE.replace("o]", "o + 3]"), BACK),
            terms=3,
        ),
        "once",
    ),
    "a tile that is put back after a loop": (TOTAL, rows(under("for b in 0..4", COME, MORE), ALL_RETURN), ""),
    "a tile that is updated after a loop": (
        TOTAL,
        rows(
            under("for d in 0..4", COME.replace("[b]", "[d]"), BACK.replace("[b]", "[d]")),
            under("for b in 0..4", MORE),
        ),
        "once",
    ),
    "a tile that is used and not put back": (TOTAL, ended(USED), ""),
    "that is used and put back in part": (TOTAL, ended(USED, RETURN.replace("0..2", "0..1")), "once"),
    "that is not put back, and used where it was fetched": (
        TOTAL,
        ended(USED.replace("tile[d]", "acc[h * 2 + d]")),
        "sums",
    ),
    "and used there later": (TOTAL, ended(result=RESULT), "sums"),
    "and updated there later": (
        TOTAL,
        ended(USED, terms=2, result=LAST_TERM.replace("o * 3 + 2", "5")),
        "sums",
    ),
    "that is fetched again and not put back": (
        TOTAL,
        ended(EARLY.format("tile", "").replace("o == 1", "o == 2"), terms=1, again=3),
        "sums",
    ),
    "that is fetched from a result and not put back": (
        TOTAL,
        ended().replace("acc", "y").replace("\n  let y: f32[4]", ""),
        "sums",
    ),
    "an element that data says": (
        ADDED.partition("y[r")[0] + "y[n[r]] += w[r] }",
        total(
            GIVEN.replace("acc", "y"),
            under(
                "for i in 0..4",
                "\nlet tile: f32",
                TAKE.replace("acc[i]", "y[n[i]]"),
                "\ntile += w[i]  eq 1  at[i]",
                BRING.replace("acc[i]", "y[n[i]]"),
            ),
        ),
        "",
    ),
}

RUNNING = "op run(w: f32[4], m: bool[4], p: i64[4] in 0..4) -> y: f32[4] { y[i] = y[i - 1 | 0] + w[i] }"
STEP = "\ntile[1] = (if 0 <= i - 1 then tile[0] else 0.0) + w[i]  at[i]"
COME_2 = "\nfor a in 0..2\n  if 0 <= i - 1 + a\n    tile[a] = y[i - 1 + a]  copy"
BACK_2 = "\nfor c in 0..2\n  if 0 <= i - 1 + c\n    y[i - 1 + c] = tile[c]  copy"


def running(*parts: str, tile: str = "tile: f32[2]") -> str:
    """A recurrence whose last two elements are in a tile."""
    return kernel(
        "run(w: f32[4], m: bool[4], p: i64[4] in 0..4) -> (y: f32[4])",
        under("for i in 0..4", f"\nlet {tile}", *parts),
    )


COUNTED = f"op {HEAD} -> y: f32[4] {{\n  y[i] = w[i]\n  y[n[r]] += w[r] }}"
MADE = "\nfor a in 0..2\n  tile[a] = w[h * 2 + a]  at[h * 2 + a]"
PUT = "\nfor c in 0..2\n  y[h * 2 + c] = tile[c]  copy"
COUNTS = "\nfor r in 0..4\n  y[n[r]] += w[r]  eq 1  at[r]"


def counted(*parts: str) -> str:
    """A histogram whose elements begin in a tile."""
    return total(under("for h in 0..2", "\nlet tile: f32[2]", *parts), COUNTS)


LOOKED = "\nlet q: i64[4]\nfor j in 0..4\n  q[j] = n[j]  copy"
UNDER = "if 0 <= q[i] and q[i] < 2"
ADD = "\ntile += w[i]  eq 1  at[i]"


def looked(*parts: str) -> str:
    """A histogram each of whose elements is fetched from where a buffer says."""
    return total(GIVEN.replace("acc", "y"), LOOKED, under("for i in 0..4", "\nlet tile: f32", *parts))


FIND, LEAVE = TAKE.replace("acc[i]", "y[q[i]]"), BRING.replace("acc[i]", "y[q[i]]")
SOME_COUNTED = COUNTED.replace("w[r] }", "w[r] for r in 0..4 where n[r] < 2 }")

LOANS |= {
    "the last elements of a recurrence": (RUNNING, running(COME_2, STEP, BACK_2), ""),
    "one that is fetched after it is computed": (RUNNING, running(STEP, COME_2, BACK_2), "initialised"),
    "one that is put back before it is computed": (RUNNING, running(COME_2, BACK_2, STEP), "initialised"),
    "one that is computed and not put back": (
        RUNNING,
        running(COME_2, STEP, BACK_2.replace("0..2", "0..1")),
        "initialised",
    ),
    "one that was not fetched": (
        RUNNING,
        running(COME_2.replace("i - 1 + a\n", "i - 2 + a\n"), STEP, BACK_2),
        "initialised",
    ),
    "elements of a histogram that begin in a tile": (COUNTED, counted(MADE, PUT), ""),
    "and are put back twice": (
        COUNTED,
        counted(MADE, PUT, PUT.replace("c in", "d in").replace("[c]", "[d]").replace("+ c", "+ d")),
        "sums",
    ),
    "half of them": (COUNTED, counted(MADE.replace("0..2", "0..1"), PUT), "initialised"),
    "of which half is put back": (COUNTED, counted(MADE, PUT.replace("0..2", "0..1")), "sums"),
    "where data says": (COUNTED, counted(MADE.replace("\n  ", "\n  if m[a]\n    "), PUT), "covered"),
    "which are put in one place": (COUNTED, counted(MADE, PUT.replace("h * 2 + c]", "h * 2]")), "sums"),
    "where a buffer says": (SOME_COUNTED, looked(under(UNDER, FIND, ADD, LEAVE)), ""),
    "where a buffer says, which is written meanwhile": (
        SOME_COUNTED,
        looked(under(UNDER, FIND, "\nq[i] = n[i]  copy", ADD, LEAVE)),
        "values",
    ),
    "and put where another one says": (
        SOME_COUNTED,
        looked(under(UNDER, FIND, ADD, LEAVE.replace("q[i]", "n[i]"))),
        "once",
    ),
    "under conditions that are alike": (
        SOME_COUNTED,
        looked(under(UNDER, FIND), under(UNDER, ADD), under(UNDER, LEAVE)),
        "",
    ),
    "under other conditions": (
        SOME_COUNTED,
        looked(under(UNDER, FIND), under(UNDER, ADD), under("if q[i] < 1", LEAVE)),
        "once",
    ),
}


@pytest.mark.parametrize("name", LOANS)
def test_what_is_proven(name: str):
    op, loops, obligation = LOANS[name]
    assert refused(op, loops) == obligation


def test_a_refusal_points_at_the_store_as_it_is_written():
    """Where a buffer stands for what it was fetched from, too."""
    loops = tiles(FETCH, TERMS, RETURN, result=RESULT.replace("acc[i1]", "acc[3 - i1]"))
    with pytest.raises(tx.ScheduleError) as e:
        certify(parse_kernel(loops), ready(tx.op(TOTAL).program()))
    assert "16 |     y[i1] = acc[3 - i1]" in str(e.value)

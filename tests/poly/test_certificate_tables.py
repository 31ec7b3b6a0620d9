"""Kernels made for single arguments of the certificate, put together of parts: what is proven, and why the others are refused."""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.compiler.pipeline import ready
from texpr.lang import parse_kernel
from texpr.poly.certify import certify

Rows = dict[str, tuple[str, str, str]]
"""By name: an operator, loops, and the obligation that is not proven; nothing if the loops are right."""

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


def under(head: str, *parts: str) -> str:
    """Statements in a loop or under a condition."""
    return f"\n{head}" + "".join(parts).replace("\n", "\n  ")


def kernel(head: str, *parts: str) -> str:
    """A kernel of these statements."""
    return f"kernel {head}" + "".join(parts).replace("\n", "\n  ") + "\n"


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
FOLDED = TERMS.replace("h * 2 + b, o * 3 + k", "R % 4, R // 4", 1).partition("  at")[0].replace("R", "(o * 12 + k * 4 + h * 2 + b)") + (
    "  eq 1  at[o * 12 + k * 4 + h * 2 + b]")
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
ALL_FETCH, ALL_RETURN = "\nfor a in 0..4\n  tile[a] = acc[a]  copy", "\nfor c in 0..4\n  acc[c] = tile[c]  copy"
COME, MORE, BACK = "\ntile[b] = acc[b]  copy", "\ntile[b] += X[b, o]  at[b, o]", "\nacc[b] = tile[b]  copy"


def rows(*parts: str, terms: int = 6) -> str:
    """A sum of which one term is added to all elements at a time."""
    return total("\nlet acc: f32[4]", START, under(f"for o in 0..{terms}", "\nlet tile: f32[4]", *parts), RESULT)


LOANS: Rows = {
    "a tile that is put back": (TOTAL, tiles(FETCH, TERMS, RETURN), ""),
    "and read meanwhile": (TOTAL, tiles(FETCH, TERMS, EARLY.format("tile", ""), RETURN, result=""), ""),
    "an element that is read before it is put back": (
        TOTAL, tiles(FETCH, TERMS, EARLY.format("acc", "h * 2 + "), RETURN, result=""), "once"),
    "an element that is updated before it is put back": (TOTAL, tiles(FETCH, TERMS.replace("0..3", "0..2"), LAST_TERM, RETURN), "once"),
    "an element that is started after it is fetched": (TOTAL, tiles(FETCH, LATE_START, TERMS, RETURN, start=""), "initialised"),
    "a tile that is put back before it is updated": (TOTAL, tiles(FETCH, RETURN, TERMS), "once"),
    "a tile that is fetched after it is updated": (TOTAL, tiles(TERMS, FETCH, RETURN), "once"),
    "a tile that is fetched again": (TOTAL, tiles(FETCH, TERMS, AGAIN, RETURN), "once"),
    "a tile that is added to what it was fetched from": (TOTAL, tiles(FETCH, TERMS, RETURN.replace(" =", " +=")), "sums"),
    "half of a tile that is put back": (TOTAL, tiles(FETCH, TERMS, RETURN.replace("0..2", "0..1")), "once"),
    "half of a tile that is put back, and the whole copied": (TOTAL, tiles(FETCH, TERMS, RETURN.replace("0..2", "0..1"), SCRATCH), "once"),
    "half of a tile that is fetched, and another half": (TOTAL, tiles(FETCH.replace("0..2", "0..1"), TERMS, RETURN), "once"),
    "an element that is fetched past the end": (TOTAL, tiles(FETCH.replace("0..2", "0..3"), TERMS, RETURN, tile="tile: f32[3]"), "bounds"),
    "a tile past the end of its buffer": (TOTAL, tiles(FETCH, TERMS, RETURN, tile="tile: f32[1]"), "once"),
    "what is fetched from one sum and put back to another": (
        TOTAL, tiles(FETCH, TERMS, RETURN.replace("acc", "y"), result=""), "sums"),
    "an element that is put back from another tensor": (TOTAL, tiles(FETCH, TERMS, RETURN.replace("tile[c]", "w[c]")), "once"),
    "elements that data says are fetched": (TOTAL, tiles(FETCH.replace("\n ", "\n  if m[a]\n   "), TERMS, RETURN), "once"),
    "elements that data says are put back": (TOTAL, tiles(FETCH, TERMS, RETURN.replace("\n ", "\n  if m[c]\n   ")), "covered"),
    "as many elements fetched as data says": (TOTAL, tiles(FETCH.replace("0..2", "0..n[h]"), TERMS, RETURN), "once"),
    "as many elements put back as data says": (TOTAL, tiles(FETCH, TERMS, RETURN.replace("0..2", "0..min(2, n[h])")), "covered"),
    "terms that data says are there": (SOME, elements(TAKE, under("if m[i]", one(0)), one(1), under("if m[i]", FIVE), BRING), ""),
    "terms under one condition of data": (
        TOTAL.replace("(k:", "(k where m[i]:"), elements(under("if m[i]", TAKE, one(0), one(1), FIVE, BRING)), ""),
    "and what is read outside of it": (TOTAL.replace("(k:", "(k where m[i]:"), elements(
        under("if m[i]", TAKE, one(0), one(1), FIVE, BRING), "\ny[i] = tile  at[i]").replace(RESULT.replace("\n", "\n  "), ""), "covered"),
    "a term that no condition of data is around": (
        SOME, elements(under("if m[i]", TAKE, one(0)), one(1), under("if m[i]", FIVE, BRING)), "covered"),
    "terms put back under another condition": (
        SOME, elements(TAKE, under("if m[i]", one(0)), one(1), under("if m[i]", FIVE, BRING)), "covered"),
    "the elements that data says": (TOTAL.replace("m:", "p: i32[2] in 0..4 distinct, m:"), total(
        "\nlet acc: f32[4]", START, under("for o in 0..6", "\nlet tile: f32[4]\nfor a in 0..2\n  tile[i64(p[a])] = acc[i64(p[a])]  copy",
                                         "\nfor b in 0..4\n  tile[b] += X[b, o]  at[b, o]\nfor c in 0..4\n  acc[c] = tile[c]  copy"),
        RESULT).replace("m:", "p: i32[2] in 0..4 distinct, m:"), "once"),
    "elements of a histogram": (ADDED, tiles(FETCH, FOLDED, RETURN, start=GIVEN, result=COPY), ""),
    "an element of a histogram that starts anew": (ADDED, tiles(
        FETCH.replace("0..2", "0..1"), "\ntile[1] = w[h * 2 + 1]  at[h * 2 + 1]", FOLDED, RETURN, start=GIVEN, result=COPY), "once"),
    "two tensors that are fetched from": (
        TOTAL, tiles(FETCH.replace("0..2", "0..1"), "\ntile[1] = other[h * 2 + 1]  copy", TERMS, RETURN,
                     start=f"{START}\nlet other: f32[4]{START.replace('acc', 'other').replace('i0', 'j0')}"), "once"),
    "what is put back is looked up": (LOOKED_UP, LOOK_UP, "once"),
    "a fetch past the end of a tile, of what exists": (TOTAL, tiles(FETCH.replace("0..2", "0..3 - h"), TERMS, RETURN), "once"),
    "a tile that is fetched before a loop": (TOTAL, rows(ALL_FETCH, under("for b in 0..4", MORE, BACK)), ""),
    "a tile that is fetched before a loop, of what is updated before the loop": (TOTAL, rows(
        ALL_FETCH, "\nfor e in 0..4\n  acc[e] += X[e, o]  at[e, o]", under("for b in 0..4", MORE.replace("o]", "o + 3]"), BACK),
        terms=3), "once"),
    "a tile that is put back after a loop": (TOTAL, rows(under("for b in 0..4", COME, MORE), ALL_RETURN), ""),
    "a tile that is updated after a loop": (
        TOTAL, rows(under("for d in 0..4", COME.replace("[b]", "[d]"), BACK.replace("[b]", "[d]")), under("for b in 0..4", MORE)), "once"),
    "an element that data says": (ADDED.partition("y[r")[0] + "y[n[r]] += w[r] }", total(GIVEN.replace("acc", "y"), under(
        "for i in 0..4", "\nlet tile: f32", TAKE.replace("acc[i]", "y[n[i]]"), "\ntile += w[i]  eq 1  at[i]",
        BRING.replace("acc[i]", "y[n[i]]"))), ""),
}


def test_a_refusal_points_at_the_store_as_it_is_written():
    """Where a buffer stands for what it was fetched from, too."""
    loops = tiles(FETCH, TERMS, RETURN, result=RESULT.replace("acc[i1]", "acc[3 - i1]"))
    with pytest.raises(tx.ScheduleError) as e:
        certify(parse_kernel(loops), ready(tx.op(TOTAL).program()))
    assert "16 |     y[i1] = acc[3 - i1]" in str(e.value)


TURNED = "op turned(X: f32[N, 32]) -> Y: f32[N, 32] { Y[n, t] = X[n, 31 - t] for t in 0..32 }"
SUMMED = "op summed(X: f32[8, 32]) -> y: f32[32] { y[t] = sum(k: X[k, 31 - t]) for t in 0..32 }"
WHOLE = "op whole(X: f32[32]) -> y: f32 { y = sum(t: X[t]) }"
LANES = "op lanes(X: f32[32]) -> y: f32[16] { y[j] = sum(k in 0..2: X[j * 2 + k]) for j in 0..16 }"
EVERY = "op every(X: f32[4]) -> Y: f32[2] {\n  T[i] = X[i] * 2\n  Y[j] = T[j + 2] for j in 0..2 }"
THREADS = "for t in 0..32 thread.x"
BARRIER = "\nbarrier"
PUT, TURN = "\nS[t] = X[n, t]  copy", "\nY[n, t] = S[31 - t]  at[n, t]"
ROUND, ADD = "\nS[t] = X[k, t]  copy", "\nacc += S[31 - t]  at[t, k]"


def turned(*parts: str) -> str:
    """Threads that write to memory and read what others wrote."""
    return kernel("turned(X: f32[N, 32]) -> (Y: f32[N, 32])", under("for n in 0..N block.x", "\nlet S: f32[32]", *parts))


def summed(*parts: str) -> str:
    """Rounds in which threads write to memory and read what others wrote."""
    return kernel("summed(X: f32[8, 32]) -> (y: f32[32])", "\nlet S: f32[32]", under(
        THREADS, "\nlet acc: f32", "\nacc = 0.0  start  at[t]", *parts, "\ny[t] = acc  at[t]"))


def whole(*parts: str) -> str:
    return kernel("whole(X: f32[32]) -> (y: f32)", "\nlet total: f32", *parts)


ZERO, TERM, DONE = "\ntotal = 0.0  start", "\ntotal += X[t]  at[t]", "\ny = total"
RACES: Rows = {
    "a barrier between": (TURNED, turned(under(THREADS, PUT, BARRIER, TURN)), ""),
    "a barrier in a loop that may not run": (TURNED, turned(under(THREADS, PUT, under("for k in 0..N - 1", BARRIER), TURN)), "races"),
    "a barrier under a condition": (TURNED, turned(under(THREADS, PUT, under("if N > 3", BARRIER), TURN)), "races"),
    "two barriers in a round": (SUMMED, summed(under("for k in 0..8", ROUND, BARRIER, ADD, BARRIER)), ""),
    "a barrier before a round": (SUMMED, summed(under("for k in 0..8", BARRIER, ROUND, BARRIER, ADD)), ""),
    "a barrier after two rounds": (
        SUMMED, summed(under("for o in 0..4", under("for i in 0..2", (ROUND + BARRIER + ADD).replace("k", "o * 2 + i")), BARRIER)),
        "races"),
    "rounds between barriers": (SUMMED, summed(under(
        "for o in 0..1", under("for i in 0..8", BARRIER + ROUND.replace("k", "i") + BARRIER + ADD.replace("k", "i")))), ""),
    "a sum that threads share": (WHOLE, whole(ZERO, under(THREADS, BARRIER, TERM), DONE), "races"),
    "a sum of one thread": (WHOLE, whole(ZERO, under("for t in 0..32", TERM), DONE), ""),
    "a sum that is written out": (WHOLE, whole(ZERO, under("for t in 0..32 unroll", TERM), DONE), ""),
    "a sum whose terms are added at once": (WHOLE, whole(ZERO, under("for t in 0..32 parallel", TERM), DONE), "races"),
    "a sum of lanes": (WHOLE, whole(ZERO, under("for t in 0..32 vector", TERM.replace("  at", "  reassoc  at")), DONE), ""),
    "a sum of lanes in order": (WHOLE, whole(ZERO, under("for t in 0..32 vector", TERM), DONE), "races"),
    "a sum of pairs of lanes": (WHOLE, whole(ZERO, under(
        "for l in 0..16 vector", TERM.replace("t]", "l]").replace("  at", "  reassoc  at"),
        TERM.replace("[t]", "[l + 16]").replace("  at", "  reassoc  at")), DONE), "races"),
    "a sum that is started beside its terms": (WHOLE, whole(under(
        "for o in 0..2 parallel", under("if o == 1", under("for t in 0..32", TERM)), under("if o == 0", ZERO)), DONE), "races"),
    "a sum that is read beside its terms": (WHOLE, whole(ZERO, under(
        "for o in 0..2 parallel", under("if o == 0", under("for t in 0..32", TERM)), under("if o == 1", DONE))), "races"),
    "sums of which two lanes have one": (LANES, kernel(
        "lanes(X: f32[32]) -> (y: f32[16])", "\nlet acc: f32[16]\nfor j0 in 0..16\n  acc[j0] = 0.0  start  at[j0]",
        "\nfor i in 0..32 vector\n  acc[i // 2] += X[i]  reassoc  at[i // 2, i % 2]", "\nfor j in 0..16\n  y[j] = acc[j]  at[j]"), "races"),
    "an element that every lane writes": (WHOLE, whole(
        ZERO, under("for t in 0..32", TERM), "\nlet S: f32", under("for l in 0..4 vector", "\nS = total  copy"), "\ny = S"), "races"),
    "an element that two iterations write": (EVERY, kernel(
        "every(X: f32[4]) -> (Y: f32[2])", "\nlet T: f32[2]", "\nfor i in 0..4 parallel\n  T[i % 2] = X[i] * 2.0  at[i]",
        "\nfor j in 0..2\n  Y[j] = T[j]  eq 1  at[j]"), "races"),
    "an element that two iterations write in turn": (EVERY, kernel(
        "every(X: f32[4]) -> (Y: f32[2])", "\nlet T: f32[2]", "\nfor i in 0..4\n  T[i % 2] = X[i] * 2.0  at[i]",
        "\nfor j in 0..2\n  Y[j] = T[j]  eq 1  at[j]"), ""),
    "what the next thread writes": (TURNED.replace("31 - t", "t"), turned(under(
        THREADS, PUT, under("if t < 31", PUT.replace("t]", "t + 1]")), TURN.replace("31 - t", "t"), BARRIER)), "races"),
    "what the thread before writes": (TURNED.replace("31 - t", "t"), turned(under(
        THREADS, PUT, under("if t > 0", PUT.replace("t]", "t - 1]")), TURN.replace("31 - t", "t"), BARRIER)), "races"),
    "threads in two dimensions": (TURNED, turned(under(
        "for u in 0..4 thread.y", under("for v in 0..8 thread.x", (PUT + BARRIER + TURN).replace("t]", "(u * 8 + v)]")))), ""),
}


TABLES = {f"{table}: {name}": row for table, rows in {"loans": LOANS, "races": RACES}.items() for name, row in rows.items()}


@pytest.mark.parametrize("name", TABLES)
def test_what_is_proven(name: str):
    op, loops, obligation = TABLES[name]
    program = ready(tx.op(op).program())
    if not obligation:
        certify(parse_kernel(loops), program)
        return
    with pytest.raises(tx.ScheduleError) as e:
        certify(parse_kernel(loops), program)
    assert e.value.code == "certificate"
    assert e.value.label == obligation, str(e.value)

"""Kernels made for single arguments of the certificate: what is proven, and why the others are
refused.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import texpr as tx
from tests.poly.certificate.tables import Rows, kernel, out, refused, under
from texpr.compiler.pass_pipeline import ready
from texpr.ir.loop import For
from texpr.lang import parse_kernel
from texpr.poly.certificate import certify

TURNED = "op turned(X: f32[N, 32]) -> Y: f32[N, 32] { Y[n, t] = X[n, 31 - t] for t in 0..32 }"
AHEAD = "op ahead(X: f32[8, 32]) -> y: f32[31] { y[t] = sum(k: X[k, t + 1]) for t in 0..31 }"
BEHIND = AHEAD.replace("t + 1", "t")
SUMMED = "op summed(X: f32[8, 32]) -> y: f32[32] { y[t] = sum(k: X[k, 31 - t]) for t in 0..32 }"
WHOLE = "op whole(X: f32[32]) -> y: f32 { y = sum(t: X[t]) }"
LANES = "op lanes(X: f32[32]) -> y: f32[16] { y[j] = sum(k in 0..2: X[j * 2 + k]) for j in 0..16 }"
EVERY = "op every(X: f32[4]) -> Y: f32[2] {\n  T[i] = X[i] * 2\n  Y[j] = T[j + 2] for j in 0..2 }"
THREADS = "for t in 0..32 thread.x"
BARRIER = "\nbarrier"
PUT, TURN = "\nS[t] = X[n, t]  copy", "\nY[n, t] = S[31 - t]  at[n, t]"
DIRECT = "\nY[n, t] = X[n, 31 - t]  at[n, t]"
ROUND, ADD = "\nS[t] = X[k, t]  copy", "\nacc += S[31 - t]  at[t, k]"
NEXT = under("if t < 31", "\nacc += S[t + 1]  at[t, k]")


def turned(*parts: str) -> str:
    """Threads that write to memory and read what others wrote."""
    return kernel(
        "turned(X: f32[N, 32]) -> (Y: f32[N, 32])", under("for n in 0..N block.x", "\nlet S: f32[32]", *parts)
    )


def summed(*parts: str) -> str:
    """Rounds in which threads write to memory and read what others wrote."""
    return kernel(
        "summed(X: f32[8, 32]) -> (y: f32[32])",
        "\nlet S: f32[32]",
        under(THREADS, "\nlet acc: f32", "\nacc = 0.0  start  at[t]", *parts, "\ny[t] = acc  at[t]"),
    )


def ahead(*parts: str) -> str:
    """Rounds in which threads read what the next one wrote."""
    return kernel(
        "ahead(X: f32[8, 32]) -> (y: f32[31])",
        "\nlet S: f32[32]",
        under(
            THREADS,
            "\nlet acc: f32",
            under("if t < 31", "\nacc = 0.0  start  at[t]"),
            under("for k in 0..8", *parts),
            under("if t < 31", "\ny[t] = acc  at[t]"),
        ),
    )


def behind(*parts: str) -> str:
    """Rounds in which they read what the one before wrote."""
    return (
        ahead(*parts)
        .replace("if t < 31", "if t > 0")
        .replace("S[t + 1]", "S[t - 1]")
        .replace("y[t]", "y[t - 1]")
        .replace("at[t", "at[t - 1")
    )


def whole(*parts: str) -> str:
    return kernel("whole(X: f32[32]) -> (y: f32)", "\nlet total: f32", *parts)


ZERO, TERM, DONE = "\ntotal = 0.0  start", "\ntotal += X[t]  at[t]", "\ny = total"
RACES: Rows = {
    "a barrier between": (TURNED, turned(under(THREADS, PUT, BARRIER, TURN)), ""),
    "a barrier in a loop that may not run": (
        TURNED,
        turned(under(THREADS, PUT, under("for k in 0..N - 1", BARRIER), TURN)),
        "races",
    ),
    "a barrier under a condition": (
        TURNED,
        turned(under(THREADS, PUT, under("if N > 3", BARRIER), TURN)),
        "races",
    ),
    "a barrier for some threads": (
        TURNED,
        turned(under(THREADS, PUT, under("if t < 31", BARRIER), TURN)),
        "races",
    ),
    "as many barriers as threads": (
        TURNED,
        turned(under(THREADS, PUT, under("for k in 0..t", BARRIER), TURN)),
        "races",
    ),
    "a barrier where data says": (
        TURNED,
        turned(under(THREADS, PUT, under("if X[n, 0] > 0.0", BARRIER), TURN)),
        "races",
    ),
    "two barriers in a round that reads what the next thread wrote": (
        AHEAD,
        ahead(ROUND, BARRIER, NEXT, BARRIER),
        "",
    ),
    "one barrier in a round that reads what the next thread wrote": (
        AHEAD,
        ahead(ROUND, BARRIER, NEXT),
        "races",
    ),
    "two barriers in a round that reads what the thread before wrote": (
        BEHIND,
        behind(ROUND, BARRIER, NEXT, BARRIER),
        "",
    ),
    "one barrier in a round that reads what the thread before wrote": (
        BEHIND,
        behind(ROUND, BARRIER, NEXT),
        "races",
    ),
    "a barrier that is not needed": (TURNED, turned(under(THREADS, DIRECT, BARRIER)), ""),
    "a barrier that is not needed, in a loop": (
        TURNED,
        turned(under(THREADS, DIRECT, under("for k in 0..N", BARRIER))),
        "",
    ),
    "a barrier that is not needed, for some threads": (
        TURNED,
        turned(under(THREADS, DIRECT, under("if t < 31", BARRIER))),
        "races",
    ),
    "barriers that are not needed, as many as threads": (
        TURNED,
        turned(under(THREADS, DIRECT, under("for k in 0..t", BARRIER))),
        "races",
    ),
    "a barrier that is not needed, where data says": (
        TURNED,
        turned(under(THREADS, DIRECT, under("if X[n, 0] > 0.0", BARRIER))),
        "races",
    ),
    "an array of each thread": (
        SUMMED,
        summed(under("for k in 0..8", ROUND, BARRIER, ADD, BARRIER))
        .replace("acc: f32", "q: f32[2]")
        .replace("acc", "q[1]"),
        "",
    ),
    "two barriers in a round": (SUMMED, summed(under("for k in 0..8", ROUND, BARRIER, ADD, BARRIER)), ""),
    "a barrier before a round": (SUMMED, summed(under("for k in 0..8", BARRIER, ROUND, BARRIER, ADD)), ""),
    "a barrier after two rounds": (
        SUMMED,
        summed(
            under(
                "for o in 0..4",
                under("for i in 0..2", (ROUND + BARRIER + ADD).replace("k", "o * 2 + i")),
                BARRIER,
            )
        ),
        "races",
    ),
    "rounds between barriers": (
        SUMMED,
        summed(
            under(
                "for o in 0..1",
                under("for i in 0..8", BARRIER + ROUND.replace("k", "i") + BARRIER + ADD.replace("k", "i")),
            )
        ),
        "",
    ),
    "a sum that threads share": (WHOLE, whole(ZERO, under(THREADS, BARRIER, TERM), DONE), "races"),
    "a sum of one thread": (WHOLE, whole(ZERO, under("for t in 0..32", TERM), DONE), ""),
    "a sum that is written out": (WHOLE, whole(ZERO, under("for t in 0..32 unroll", TERM), DONE), ""),
    "a sum whose terms are added at once": (
        WHOLE,
        whole(ZERO, under("for t in 0..32 parallel", TERM), DONE),
        "races",
    ),
    "a sum of lanes": (
        WHOLE,
        whole(ZERO, under("for t in 0..32 vector", TERM.replace("  at", "  reassoc  at")), DONE),
        "",
    ),
    "a sum of lanes in order": (WHOLE, whole(ZERO, under("for t in 0..32 vector", TERM), DONE), "races"),
    "a sum of pairs of lanes": (
        WHOLE,
        whole(
            ZERO,
            under(
                "for l in 0..16 vector",
                TERM.replace("t]", "l]").replace("  at", "  reassoc  at"),
                TERM.replace("[t]", "[l + 16]").replace("  at", "  reassoc  at"),
            ),
            DONE,
        ),
        "races",
    ),
    "a sum that is started beside its terms": (
        WHOLE,
        whole(
            under(
                "for o in 0..2 parallel",
                under("if o == 1", under("for t in 0..32", TERM)),
                under("if o == 0", ZERO),
            ),
            DONE,
        ),
        "races",
    ),
    "a sum that is read beside its terms": (
        WHOLE,
        whole(
            ZERO,
            under(
                "for o in 0..2 parallel",
                under("if o == 0", under("for t in 0..32", TERM)),
                under("if o == 1", DONE),
            ),
        ),
        "races",
    ),
    "sums of which two lanes have one": (
        LANES,
        kernel(
            "lanes(X: f32[32]) -> (y: f32[16])",
            "\nlet acc: f32[16]\nfor j0 in 0..16\n  acc[j0] = 0.0  start  at[j0]",
            "\nfor i in 0..32 vector\n  acc[i // 2] += X[i]  reassoc  at[i // 2, i % 2]",
            "\nfor j in 0..16\n  y[j] = acc[j]  at[j]",
        ),
        "races",
    ),
    "an element that every lane writes": (
        WHOLE,
        whole(
            ZERO,
            under("for t in 0..32", TERM),
            "\nlet S: f32",
            under("for l in 0..4 vector", "\nS = total  copy"),
            "\ny = S",
        ),
        "races",
    ),
    "an element that two iterations write": (
        EVERY,
        kernel(
            "every(X: f32[4]) -> (Y: f32[2])",
            "\nlet T: f32[2]",
            "\nfor i in 0..4 parallel\n  T[i % 2] = X[i] * 2.0  at[i]",
            "\nfor j in 0..2\n  Y[j] = T[j]  eq 1  at[j]",
        ),
        "races",
    ),
    "an element that two iterations write in turn": (
        EVERY,
        kernel(
            "every(X: f32[4]) -> (Y: f32[2])",
            "\nlet T: f32[2]",
            "\nfor i in 0..4\n  T[i % 2] = X[i] * 2.0  at[i]",
            "\nfor j in 0..2\n  Y[j] = T[j]  eq 1  at[j]",
        ),
        "",
    ),
    "what the next thread writes": (
        TURNED.replace("31 - t", "t"),
        turned(
            under(
                THREADS,
                PUT,
                under("if t < 31", PUT.replace("t]", "t + 1]")),
                TURN.replace("31 - t", "t"),
                BARRIER,
            )
        ),
        "races",
    ),
    "what the thread before writes": (
        TURNED.replace("31 - t", "t"),
        turned(
            under(
                THREADS,
                PUT,
                under("if t > 0", PUT.replace("t]", "t - 1]")),
                TURN.replace("31 - t", "t"),
                BARRIER,
            )
        ),
        "races",
    ),
    "threads in two dimensions": (
        TURNED,
        turned(
            under(
                "for u in 0..4 thread.y",
                under("for v in 0..8 thread.x", (PUT + BARRIER + TURN).replace("t]", "(u * 8 + v)]")),
            )
        ),
        "",
    ),
}


AHEAD = "\nT[0] = {0}\nfor i in 0..4\n  if i < 3\n    T[(i + 1) % 2] = {1}\n  {2}"
"""The value of the next iteration is computed before the one of this iteration is used."""


def ahead(head: str, value: str, use: str, to: str = "at[I]", dtype: str = "f32") -> str:
    """A buffer of two elements, which hold the values of all iterations in turn."""
    stored = [f"{value}  {to}".replace("I", at) for at in ("0", "i + 1")]
    return kernel(head, f"\nlet T: {dtype}[2]", AHEAD.format(*stored, use.replace("\n", "\n  ")))


CHOSEN = "chosen(X: f32[4]) -> Y: f32[4]"
CHOICE = "Y[i] = if T[i % 2] > 0.0 then 1.0 else 2.0  eq 1  at[i]"
BRANCHES = f"op {CHOSEN} {{\n  T[i] = X[i] * 2\n  Y[i] = if T[i] > 0 then 1 else 2 }}"
NUMBERED = "numbered(X: f32[4], k: i64[4] in 0..4) -> Y: f32[4]"
INDEXED = f"op {NUMBERED} {{\n  T[i] = (k[i] + 1) % 4\n  Y[i] = X[T[i] | 0] }}"
SPREAD = (
    f"op {NUMBERED} {{\n  let T: i64[4] in 0..4\n  T[i] = (k[i] + 1) % 4\n  Y[j] = 0 for j in 0..4\n  "
    f"Y[T[i]] += X[i] for i in 0..4 }}"
)
LENGTHS = "lengths(X: f32[4, 9], n: i64[4] in 0..3) -> Y: f32[4]"
TWICE_AS_LONG = f"op {LENGTHS} {{\n  T[i] = n[i] * 2\n  Y[i] = sum(j in 0..T[i]: X[i, j | 0]) }}"
LOOKED = "looked(E: f32[9], k: i64[4] in 0..9) -> Y: f32[4]"
FOLDED_IN = "folded(X: f32[4], w: f32[4]) -> Y: f32[4]"
FOLDED_THEN = f"op {FOLDED_IN} {{\n  let T: f32[4]\n  T[i] = X[i]\n  T[i] += w[i]\n  Y[i] = T[i] * 2 }}"
PRODUCT = "product(X: f32[2, 4], w: f32[4]) -> Y: f32[2]"
PADDED = "padded(X: f32[4, 4]) -> Y: f32[4, 4]"


ZEROS = "\nfor j0 in 0..4\n  Y[j0] = 0.0  eq 1  at[j0]"
BEFORE = "\n  let T: i64[2]", f"{ZEROS}\nlet T: i64[2] in 0..4".replace("\n", "\n  ")
PAD = "\nfor q in 0..5\n  P[{0} % 2, q] = if 1 <= q then X[{0}, q - 1] else 0.0  copy"
TURNS: Rows = {
    "values in turn": (BRANCHES, ahead(out(CHOSEN), "X[I] * 2.0", CHOICE), ""),
    "values in turn, one late": (
        BRANCHES,
        ahead(out(CHOSEN), "X[I] * 2.0", CHOICE.replace("i %", "(i + 1) %")),
        "values",
    ),
    "values in turn that a condition reads": (
        BRANCHES,
        ahead(
            out(CHOSEN),
            "X[I] * 2.0",
            "if T[i % 2] > 0.0\n  Y[i] = 1.0  eq 1  at[i]\nif not T[i % 2] > 0.0\n  Y[i] = 2.0  eq 1  at[i]",
        ),
        "values",
    ),
    "values in turn that an extent reads": (
        TWICE_AS_LONG,
        ahead(
            out(LENGTHS),
            "n[I] * 2",
            "let acc: f32\nacc = 0.0  start eq 1  at[i]\nfor j in 0..T[i % 2]\n"
            "  acc += if j < 9 then X[i, j] else 0.0  eq 1  at[i, j]\nY[i] = acc  eq 1  at[i]",
            dtype="i64",
        ),
        "values",
    ),
    "values in turn, the first a constant": (
        BRANCHES,
        ahead(out(CHOSEN), "X[I] * 2.0", CHOICE).replace("X[0] * 2.0  at[0]", "0.0  copy"),
        "values",
    ),
    "values in turn of an equation that there is not": (
        BRANCHES,
        ahead(out(CHOSEN), "X[I] * 2.0", CHOICE, "eq 7  at[I]"),
        "values",
    ),
    "values in turn of no instance": (BRANCHES, ahead(out(CHOSEN), "X[I] * 2.0", CHOICE, ""), "values"),
    "copies in turn of what data says": (
        f"op {LOOKED} {{ Y[i] = E[k[i]] }}",
        ahead(out(LOOKED), "E[k[I]]", "Y[i] = T[i % 2]  at[i]", "copy"),
        "values",
    ),
    "indices in turn": (
        INDEXED,
        ahead(
            out(NUMBERED),
            "(k[I] + 1) % 4",
            "Y[i] = if 0 <= T[i % 2] and T[i % 2] < 4 then X[T[i % 2]] else 0.0  eq 1  at[i]",
            dtype="i64",
        ),
        "",
    ),
    "places in turn": (
        SPREAD,
        ahead(out(NUMBERED), "(k[I] + 1) % 4", "Y[T[i % 2]] += X[i]  eq 2  at[i]", dtype="i64").replace(
            *BEFORE
        ),
        "",
    ),
    "places in turn, one late": (
        SPREAD,
        ahead(
            out(NUMBERED), "(k[I] + 1) % 4", "if i < 3\n  Y[T[(i + 1) % 2]] += X[i]  eq 2  at[i]", dtype="i64"
        ).replace(*BEFORE),
        "sums",
    ),
    "folds in turn": (
        FOLDED_THEN,
        ahead(out(FOLDED_IN), "X[I]", "T[i % 2] += w[i]  eq 1  at[i]\nY[i] = T[i % 2] * 2.0  eq 2  at[i]"),
        "",
    ),
    "folds in turn, one early": (
        FOLDED_THEN,
        ahead(
            out(FOLDED_IN),
            "X[I]",
            "if i < 3\n  T[(i + 1) % 2] += w[i + 1]  eq 1  at[i + 1]\nY[i] = T[i % 2] * 2.0  eq 2  at[i]",
        ),
        "sums",
    ),
    "terms in turn": (
        f"op {PRODUCT} {{ Y[n] = sum(i: X[n, i] * w[i]) }}",
        kernel(
            out(PRODUCT),
            "\nlet T: f32[2]",
            under(
                "for n in 0..2",
                "\nlet acc: f32\nacc = 0.0  start  at[n]",
                AHEAD.format("X[n, 0]  copy", "X[n, i + 1]  copy", "acc += T[i % 2] * w[i]  at[n, i]"),
                "\nY[n] = acc  at[n]",
            ),
        ),
        "",
    ),
    "terms in turn of no instance": (
        f"op {PRODUCT} {{ Y[n] = sum(i: X[n, i] * w[i]) }}",
        kernel(
            out(PRODUCT),
            "\nlet T: f32[2]",
            under(
                "for n in 0..2",
                "\nlet acc: f32\nacc = 0.0  start  at[n]",
                AHEAD.format("X[n, 0]  copy", "X[n, i + 1]  copy", "acc += T[i % 2] * w[i]  at[n]"),
                "\nY[n] = acc  at[n]",
            ),
        ),
        "values",
    ),
    "terms in turn of one row": (
        f"op {PRODUCT} {{ Y[n] = sum(i: X[n, i] * w[i]) }}",
        kernel(
            out(PRODUCT),
            "\nlet T: f32[2]",
            under(
                "for n in 0..2",
                "\nlet acc: f32\nacc = 0.0  start  at[n]",
                AHEAD.format("X[n, 0]  copy", "X[0, i + 1]  copy", "acc += T[i % 2] * w[i]  at[n, i]"),
                "\nY[n] = acc  at[n]",
            ),
        ),
        "values",
    ),
    "padded rows in turn": (
        f"op {PADDED} {{ Y[n, j] = X[n, j - 1 | 0] + X[n, j] }}",
        kernel(
            out(PADDED),
            "\nlet P: f32[2, 5]",
            PAD.format("0").replace("q", "r"),
            under(
                "for n in 0..4",
                under("if n < 3", PAD.format("(n + 1)")),
                "\nfor j in 0..4\n  Y[n, j] = P[n % 2, j] + P[n % 2, j + 1]  at[n, j]",
            ),
        ),
        "",
    ),
}

SCATTERED = "scattered(X: f32[N], Z: f32[N], p: i64[N] in 0..N distinct) -> Y: f32[N]"
PLACED = f"op {SCATTERED} {{\n  let T: f32[N]\n  T[p[i]] = X[i]\n  Y[i] = T[i] + T[N - 1 - i] }}"
PLACE, USE = "\nT[p[i]] = X[i]  at[i]", "\nY[j] = T[j] + T[N - 1 - j]  eq 1  at[j]"


def scattered(*parts: str, buffer: str = "\nlet T: f32[N]") -> str:
    return kernel(out(SCATTERED), buffer, *parts)


SCATTERS: Rows = {
    "elements where data says": (
        PLACED,
        scattered(under("for i in 0..N", PLACE), under("for j in 0..N", USE)),
        "",
    ),
    "and folded into": (
        PLACED.replace("  Y", "  T[k] += Z[k]\n  Y"),
        scattered(
            under("for i in 0..N", PLACE),
            "\nfor k in 0..N\n  T[k] += Z[k]  eq 1  at[k]",
            under("for j in 0..N", USE.replace("eq 1", "eq 2")),
        ),
        "",
    ),
    "and not folded into": (
        PLACED.replace("  Y", "  T[k] += Z[k]\n  Y"),
        scattered(under("for i in 0..N", PLACE), under("for j in 0..N", USE.replace("eq 1", "eq 2"))),
        "sums",
    ),
    "all but one": (
        PLACED,
        scattered(under("for i in 0..N - 1", PLACE), under("for j in 0..N", USE)),
        "sums",
    ),
    "where a condition holds": (
        PLACED,
        scattered(under("for i in 0..N", under("if X[i] > 0.0", PLACE)), under("for j in 0..N", USE)),
        "sums",
    ),
    "read in the same loop": (
        PLACED,
        scattered(under("for i in 0..N", PLACE, USE.replace("j", "i"))),
        "initialised",
    ),
    "read before": (
        PLACED,
        scattered(under("for j in 0..N", USE), under("for i in 0..N", PLACE)),
        "initialised",
    ),
    "elsewhere": (
        PLACED,
        scattered(
            under("for i in 0..N", PLACE.replace("[p[i]]", "[p[N - 1 - i]]")), under("for j in 0..N", USE)
        ),
        "values",
    ),
    "a buffer for each iteration": (
        PLACED,
        scattered(
            under("for n in 0..N", "\nlet T: f32[N]", under("for i in 0..N", PLACE), USE.replace("j", "n")),
            buffer="",
        ),
        "covered",
    ),
    "as a copy": (
        PLACED,
        scattered(under("for i in 0..N", PLACE.replace("at[i]", "copy")), under("for j in 0..N", USE)),
        "covered",
    ),
    "sums where data says": (
        f"op {SCATTERED} {{ Y[p[i]] = sum(k in 0..2: X[i]) }}",
        scattered(
            under(
                "for i in 0..N", "\nY[p[i]] = 0.0  start  at[i]\nfor k in 0..2\n  Y[p[i]] += X[i]  at[i, k]"
            ),
            buffer="",
        ),
        "covered",
    ),
}
NAMED = {"races": RACES, "turns": TURNS, "scatters": SCATTERS}
TABLES = {f"{table}: {name}": row for table, rows in NAMED.items() for name, row in rows.items()}


@pytest.mark.parametrize("name", TABLES)
def test_what_is_proven(name: str):
    op, loops, obligation = TABLES[name]
    assert refused(op, loops) == obligation


def test_loops_and_stores_are_told_apart():
    """Two loops with one variable would be taken for one, and two places of a store for one."""
    made, program = parse_kernel(ahead(out(CHOSEN), "X[I] * 2.0", CHOICE)), ready(tx.op(BRANCHES).program())
    first, loop = made.body[-2:]
    assert isinstance(loop, For)
    with pytest.raises(tx.ScheduleError, match="two loops have one variable"):
        certify(
            replace(
                made,
                body=(*made.body[:-1], replace(loop, body=loop.body[:1]), replace(loop, body=loop.body[1:])),
            ),
            program,
        )
    with pytest.raises(tx.ScheduleError, match="a store stands at two places"):
        certify(replace(made, body=(*made.body, first)), program)

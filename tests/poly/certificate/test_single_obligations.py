"""Kernels made for single arguments of the certificate: what is proven, and why the others are
refused.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import texpr as tx
from tests.poly.certificate.tables import Rows, changed, kernel, out, refused, under
from texpr.compiler.pipeline import ready
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
SPREAD = f"op {NUMBERED} {{\n  let T: i64[4] in 0..4\n  T[i] = (k[i] + 1) % 4\n  Y[j] = 0 for j in 0..4\n  Y[T[i]] += X[i] for i in 0..4 }}"
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
NAMED = {
    "races": RACES,
    "turns": TURNS,
    "scatters": SCATTERS,
    "folds": FOLDS,
    "indices": GREATEST_ROWS,
    "calls": CALLS,
    "values": VALUES,
}
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

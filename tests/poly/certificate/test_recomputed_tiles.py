"""What overlapping tiles do again: elements begin twice with one value, and buffers are filled
anew in each iteration.
"""

from __future__ import annotations

import pytest

from tests.poly.certificate.tables import Rows, kernel, refused, under

HEAD = "f(X: f32[4, 6], w: f32[4], n: i64[4] in 0..3)"
COUNTED = f"op {HEAD} -> y: f32[4] {{\n  y[i] = w[i]\n  y[n[r]] += w[r] }}"
BEGIN = "\nfor h in 0..2\n  for a in 0..3\n    y[h + a] = w[h + a]  at[h + a]"
COUNT = "\nfor r in 0..4\n  y[n[r]] += w[r]  eq 1  at[r]"
TOTAL = f"op {HEAD} -> y: f32[4] {{ y[i] = sum(k: X[i, k]) }}"
SUM = """
s[l] = 0.0  start  at[{0}]
for k in 0..6
  s[l] += X[{0}, k]  at[{0}, k]
y[{0}] = s[l]  at[{0}]"""
TILE = SUM.format("h + l")


def counted(*parts: str) -> str:
    return kernel(f"{HEAD} -> (y: f32[4])", *parts)


def sums(*parts: str, tile: str = "s: f32[3]", lanes: str = "serial") -> str:
    """Sums in tiles that overlap, all in one buffer."""
    kind = "" if lanes == "serial" else f" {lanes}"
    return kernel(
        f"{HEAD} -> (y: f32[4])",
        f"\nlet {tile}",
        under("for h in 0..2", under(f"for l in 0..3{kind}", *parts)),
    )


AGAIN: Rows = {
    "elements that begin twice": (COUNTED, counted(BEGIN, COUNT), ""),
    "with another value": (COUNTED, counted(BEGIN.replace("= w[h + a]", "= w[h]"), COUNT), "values"),
    "of another instance": (
        COUNTED,
        counted(BEGIN.replace("at[h + a]", "at[h]").replace("= w[h + a]", "= w[h]"), COUNT),
        "values",
    ),
    "after what is folded into them": (
        COUNTED,
        counted(
            BEGIN, COUNT, BEGIN.replace("for h", "for g").replace("for a", "for b").replace("h + a", "g + b")
        ),
        "sums",
    ),
    "and do not begin": (COUNTED, counted(BEGIN.replace("a in 0..3", "a in 0..2"), COUNT), "covered"),
    "in two places, of which one is folded into": (
        COUNTED,
        counted(
            "\nlet s: f32[2, 4]",
            under("for c in 0..2", "\nfor i in 0..4\n  s[c, i] = w[i]  at[i]"),
            COUNT.replace("y[", "s[0, "),
            "\nfor j in 0..4\n  y[j] = s[1, j]  copy",
        ),
        "once",
    ),
    "sums in tiles that overlap": (TOTAL, sums(TILE), ""),
    "in lanes": (TOTAL, sums(TILE, lanes="vector"), ""),
    "in lanes that share an element": (TOTAL, sums(TILE.replace("s[l]", "s[0]"), lanes="vector"), "sums"),
    "and in one element": (TOTAL, sums(TILE.replace("s[l]", "s[0]")), ""),
    "that begin in the first tile": (
        TOTAL,
        sums(under("if h == 0", TILE.partition("\nfor")[0]), "\nfor" + TILE.partition("\nfor")[2]),
        "values",
    ),
    "that are read before they begin": (
        TOTAL,
        sums(
            TILE.rpartition("\ny")[0].replace("s[l] = 0.0  start  at[h + l]\n", ""),
            "\ny[h + l] = s[l]  at[h + l]",
            TILE.split("\nfor")[0],
        ),
        "initialised",
    ),
    "of one term too few": (TOTAL, sums(TILE.replace("0..6", "0..5")), "sums"),
    "past the end of their buffer": (TOTAL, sums(TILE, tile="s: f32[2]"), "bounds"),
}


@pytest.mark.parametrize("name", AGAIN)
def test_what_is_proven(name: str):
    op, loops, obligation = AGAIN[name]
    assert refused(op, loops) == obligation

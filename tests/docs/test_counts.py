"""No page names a count that is near the real one and another: such a number is stale."""

from __future__ import annotations

import re

from scripts.counts import counts
from tests.repo.source import ROOT, files

NEAR = 0.2
"""Relative difference of a number that is meant as a count of the same things."""
RECORDS = ("docs/adr/", "docs/benchmarks/", "docs/developer/next.md", "CHANGELOG")
"""Pages about their day."""
PAGES = [p.as_posix() for p in files("*.md") if not p.as_posix().startswith(RECORDS)]


def stale(text: str) -> list[str]:
    """Numbers beside `operators`, `steps` and so on that are near the count, but not it."""
    found = []
    for thing, count in counts().items():
        for number in re.findall(rf"\b(\d[\d,]*)\s+{thing}\b", text):
            n = int(number.replace(",", ""))
            if n != count and count > 10 and abs(n - count) <= NEAR * count:
                found.append(f"{number} {thing}, there are {count}")
    return found


def test_pages():
    """One test: a case for each of two hundred pages takes longer than the pages."""
    found = {page: stale((ROOT / page).read_text(encoding="utf-8")) for page in PAGES}
    assert {page: wrong for page, wrong in found.items() if wrong} == {}


def test_a_stale_count_is_found():
    count = counts()["operators"]
    assert stale(f"All {count - 1} operators are right.") == [f"{count - 1} operators, there are {count}"]
    assert not stale(f"All {count} operators are right, {count * 2} operators in all.")

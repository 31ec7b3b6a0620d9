"""The page about the litmus suite: the table's cases exist, and have the verdicts that it says."""

from __future__ import annotations

import re
from pathlib import Path

from tests.litmus.cases import cases

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "litmus.md"


def test_cases_of_the_table():
    rows = re.findall(r"^(illegal|legal) +(\w+) +(refused|accepted) ", PAGE.read_text(encoding="utf-8"), re.M)
    legal = {case.name: case.legal for case in cases()}
    assert len(rows) > 30
    assert [row for row in rows if row[0] != _verdict(legal[row[1]]) or row[2] != _said(legal[row[1]])] == []


def _verdict(legal: bool) -> str:
    return "legal" if legal else "illegal"


def _said(legal: bool) -> str:
    """The word of a compiler that is right."""
    return "accepted" if legal else "refused"

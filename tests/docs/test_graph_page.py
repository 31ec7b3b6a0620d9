"""The page about whole programs: its Python runs."""

from __future__ import annotations

from pathlib import Path

from tests.docs.page import run

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "programs.md"


def test_python():
    names = run(PAGE)
    assert str(names["picture"]).startswith("<svg")

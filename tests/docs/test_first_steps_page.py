"""The first page of the guide: its Python runs, its outputs and errors are as shown."""

from __future__ import annotations

from pathlib import Path

from tests.docs.page import run

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "first_steps.md"


def test_python():
    names = run(PAGE)
    assert names["accuracy"] >= 0.9

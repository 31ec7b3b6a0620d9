"""The page about networks: its Python runs."""

from __future__ import annotations

from pathlib import Path

from tests.docs.page import run

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "networks.md"


def test_python():
    assert {"Scale", "Cubic", "Signs", "history"} <= set(run(PAGE))

"""The guide about operators shows mistakes."""

from __future__ import annotations

from pathlib import Path

from tests.docs.page import blocks

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "operators.md"


def test_each_part_shows_a_mistake():
    assert sum(block.error is not None for block in blocks(PAGE)) >= 12

"""The guide about operators: its operators equal the interpreter, its errors are as shown."""

from __future__ import annotations

from pathlib import Path

from tests.docs.page import blocks, run

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "operators.md"


def test_blocks():
    assert "ordered" in run(PAGE)


def test_each_part_shows_a_mistake():
    assert sum(block.error is not None for block in blocks(PAGE)) >= 12

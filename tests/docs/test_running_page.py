"""The page about running: its Python runs."""

from __future__ import annotations

from pathlib import Path

from tests.docs.page import blocks

PAGE = Path(__file__).parents[2] / "docs" / "running.md"


def test_python():
    names: dict[str, object] = {}
    for block in blocks(PAGE):
        exec(compile(block.text, "example.py", "exec"), names)
        assert block.error is None
    assert "kernel" in names

"""The page about tuning names what a search leaves out."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "tuning.md"


def test_steps_that_a_search_leaves_out_are_named():
    from texpr.tune.space import _OPTIONAL

    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert all(f"`{name}`" in text for name in _OPTIONAL)

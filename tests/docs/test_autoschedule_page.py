"""The page about default schedules names every template."""

from __future__ import annotations

from pathlib import Path

from texpr.autoschedule.registry import CPU, GPU

PAGE = Path(__file__).parents[2] / "docs" / "developer" / "autoschedule.md"


def test_every_template_is_named():
    text = PAGE.read_text(encoding="utf-8")
    missing = [t.name for templates in (CPU, GPU) for t in templates if f"`{t.name}`" not in text]
    assert not missing

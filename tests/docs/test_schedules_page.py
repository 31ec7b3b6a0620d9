"""The page about schedules: its Python runs, its error is as shown, its table has every step."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.page import run
from texpr.schedule.steps.registry import rules

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "scheduling.md"


def test_python():
    run(PAGE)


def test_every_step_is_there():
    """In the table of the guide, or in the reference, which the registry writes."""
    steps = PAGE.read_text(encoding="utf-8").partition("\n## On GPUs")[0]
    table = [line for line in steps.splitlines() if line.startswith("| `")]
    named = {name for line in table for name in re.findall(r"`(\w+)[(`]", line.split("|")[1])}
    reference = (PAGE.parent / "reference" / "steps").glob("*.md")
    sections = {
        name
        for page in reference
        for name in re.findall(r"^## (\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named <= rules().keys() == sections and len(named) > 40

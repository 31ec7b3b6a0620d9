"""The page about schedules: its pictures are those of its schedules, its table has every step."""

from __future__ import annotations

import re
from pathlib import Path

from scripts import loop_pictures
from texpr.schedule.steps.registry import rules

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "scheduling.md"


def test_pictures_are_current():
    made = loop_pictures.pictures()
    stale = [path.name for path, svg in made.items() if path.read_text(encoding="utf-8") != svg]
    assert not stale, "run `python scripts/loop_pictures.py`"
    assert set(made) == set((PAGE.parent / "pictures").glob("*.svg")) and len(made) > 20


def test_pictures_show_how_loops_run():
    svg = (PAGE.parent / "pictures" / "blur_parallel.svg").read_text(encoding="utf-8")
    assert re.findall(r'<rect class="(\w+)" x="\S+" y="\S+" width="5"', svg) == [
        "parallel",
        "vector",
        "guard",
    ]
    assert "prefers-color-scheme: dark" in svg and "for Y.ii in 0..8 vector" in svg


def test_every_step_is_in_the_table_with_a_link_to_its_kind():
    table = PAGE.read_text(encoding="utf-8").partition("## Which step for what")[2]
    linked = {
        (name, kind) for name, kind in re.findall(r"\[`(\w+)`\]\(\.\./reference/steps/(\w+)\.md#\1\)", table)
    }
    assert linked == {(name, rule.kind) for name, rule in rules().items()}

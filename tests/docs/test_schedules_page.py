"""The page about schedules: its Python runs, its error is as shown, its table has every step."""

from __future__ import annotations

import re
from pathlib import Path

import texpr as tx
from tests.docs.page import blocks
from texpr.schedule.script import STEPS

PAGE = Path(__file__).parents[2] / "docs" / "schedules.md"


def test_python():
    names: dict[str, object] = {}
    for block in blocks(PAGE):
        error = None
        try:
            exec(compile(block.text, "example.py", "exec"), names)
        except tx.Error as e:
            error = str(e)
        assert error == block.error, f"line {block.line}"


def test_every_step_is_there():
    table = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    named = {name for line in table for name in re.findall(r"`(\w+)[(`]", line.split("|")[1])}
    assert named == set(STEPS)

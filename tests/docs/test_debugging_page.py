"""The page about debugging: its variables and commands exist."""

from __future__ import annotations

import re
from pathlib import Path

from texpr.support.options import NAMES

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "debugging.md"


def test_variables_are_options():
    named = re.findall(r"TEXPR_(\w+)", PAGE.read_text(encoding="utf-8"))
    assert named and {name.lower() for name in named} <= set(NAMES)

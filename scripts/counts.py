"""Counts that pages may name, from the program itself: `python scripts/counts.py`."""

from __future__ import annotations

import sys
from functools import cache
from inspect import isclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.pages.commands import commands  # noqa: E402
from scripts.pages.errors import raised  # noqa: E402
from texpr import nn, ops  # noqa: E402
from texpr.schedule.steps.registry import rules  # noqa: E402
from texpr.support.options import NAMES  # noqa: E402
from texpr.targets import target_names  # noqa: E402


@cache  # it reads the whole package, and the tests ask for each page
def counts() -> dict[str, int]:
    """Numbers by the plural of the thing: `operators`, `steps`, and so on."""
    found = [value for name in nn.__all__ if isclass(value := getattr(nn, name))]
    return {
        "operators": len(ops.names()),
        "steps": len(rules()),
        "modules": sum(issubclass(each, nn.Module) for each in found),
        "options": len(NAMES),
        "codes": len(raised() | set(rules())),
        "commands": len(list(commands())),
        "targets": len(target_names()),
        "tutorials": len(list((ROOT / "docs" / "tutorials").glob("*.py"))),
    }


if __name__ == "__main__":
    for thing, count in counts().items():
        print(f"{count:5} {thing}")

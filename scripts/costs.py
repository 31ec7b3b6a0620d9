"""Writes docs/developer/costs.md from the records of tuned numbers: `python scripts/costs.py`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from texpr.autoschedule.core.cost_model import CostModel
from texpr.autoschedule.registry import COST_MODELS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "developer" / "costs.md"
HEAD = """# Tuned numbers of default schedules

Written by `python scripts/costs.py` from the records of `texpr/autoschedule` (`CostModel`). The
docstring under each field says what it decides.

A number was measured where the last column has a processor. "times of kernels; processor not
recorded" stands where the history has neither a time nor a processor: such numbers are the first to
be measured again. Dates are those of the commits that chose the numbers. A new measurement writes
processor and date into the field. How costs are used: [default schedules](autoschedule.md#costs).
"""


def page() -> str:
    """The page as it should be."""
    return HEAD + "".join("\n" + _section(costs) for costs in COST_MODELS)


def _section(costs: CostModel) -> str:
    """The table of one record."""
    kind = type(costs)
    file = Path(inspect.getfile(kind)).relative_to(ROOT).as_posix()
    rows = (f"| {' | '.join(row)} |\n" for row in _rows(costs))
    summary = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
    return (
        f"## `{kind.__name__}`\n\n{summary}\n`{file}`\n\n"
        "| field | value | unit | source | measured |\n|---|---|---|---|---|\n" + "".join(rows)
    )


def _rows(costs: CostModel) -> Iterator[tuple[str, ...]]:
    for each in fields(costs):  # pyright: ignore[reportArgumentType]
        told: dict[str, Any] = dict(each.metadata)
        value = getattr(costs, each.name)
        yield f"`{each.name}`", str(value), told["unit"], told["source"], told["measured"]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

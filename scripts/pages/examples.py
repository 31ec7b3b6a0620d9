"""Blocks of Python that pages show, run here: results and errors on a page are those of a run."""

from __future__ import annotations

from difflib import Differ

import texpr as tx
from scripts.reference.docstrings import fenced
from texpr.ir.printing.loop import show_kernel

FILE = "example.py"
"""Errors name it as the place of a step; tests of pages compile blocks under the same name."""
LONGEST = 12
"""Lines of a listing that stands beside its successor; of longer ones the difference is shown."""


def run(text: str, names: dict[str, object]) -> None:
    """Run a block, with the names that earlier blocks left."""
    exec(compile(text.rstrip() + "\n", FILE, "exec"), names)


def refused(text: str, names: dict[str, object]) -> str:
    """The whole error of a block that must be refused.

    Raises:
        AssertionError: it is accepted.
    """
    try:
        run(text, names)
    except tx.Error as error:
        return str(error)
    raise AssertionError(f"this is accepted:\n{text}")


def stepped(text: str, names: dict[str, object]) -> tuple[str, str]:
    """The listings of the schedule `s` before and after the last line of a block."""
    before, last = text.rstrip().rsplit("\n", 1)
    run(before, names)
    first = _listing(names)
    run(text, names)
    return first, _listing(names)


def rewrite(before: str, after: str) -> str:
    """Two listings: one after the other if they are short, else one with marks on what changed."""
    if max(before.count("\n"), after.count("\n")) <= LONGEST:
        return f"{fenced(before, 'text')}\n\nbecomes\n\n{fenced(after, 'text')}"
    lines = Differ().compare(before.splitlines(), after.splitlines())
    marked = [line.rstrip() for line in lines if not line.startswith("?")]
    return "Lines with `-` become those with `+`:\n\n" + fenced("\n".join(marked), "diff")


def _listing(names: dict[str, object]) -> str:
    schedule = names["s"]
    assert isinstance(schedule, tx.Schedule)
    return show_kernel(schedule.kernel)

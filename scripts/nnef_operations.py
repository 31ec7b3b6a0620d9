"""Writes `docs/reference/nnef.md`: the operations of NNEF that are read, from their declarations and
functions.

    PYTHONPATH=. python scripts/nnef_operations.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import texpr.nnef.operators  # noqa: F401  fills the table
from texpr.nnef.model_files import DECLARING
from texpr.nnef.operation_declarations import STANDARD, TRACT, declared
from texpr.nnef.operation_table import OPERATIONS
from texpr.nnef.syntax.graph_tree import Fragment
from texpr.nnef.writing.library_rules import NAMES

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "nnef.md"
HEAD = """# NNEF operations

Written by `scripts/nnef_operations.py` from the declarations and functions of `tx.nnef.load`.
[Models in NNEF](../guide/nnef.md) shows how to use them. The operators that are written by name are
at the end.

An operation is computed by a function of texpr, or by other operations, as its fragment has it.
Names with `=` have a default.
"""
WRITTEN = """## Operators that are written by name

`tx.nnef.save` writes these operators of `tx.ops` by these operations, and all others by their
equations, as far as NNEF has the functions that are in them.

| `tx.ops` | NNEF |
|---|---|"""


def themes(text: str) -> Iterator[tuple[str, list[str]]]:
    """Headings of a file of declarations, with the operations below each."""
    held = files("texpr.nnef").joinpath(text).read_text(encoding="utf-8")
    heading, found = "Inputs and variables", []
    for line in held.splitlines():
        named = re.match(r"fragment (\w+)", line)
        if named:
            found.append(named[1])
        elif re.match(r"# [A-Z][a-z]+(, [a-z]+| [a-z]+)*$", line):
            yield heading, found
            heading, found = line[2:], []
    yield heading, found


def row(fragment: Fragment) -> str:
    """An operation: its parameters, and how it is computed."""
    text = fragment.source.text
    parameters = ", ".join(
        f"`{p.name}`" if p.default is None else f"`{p.name} = {text[p.default.start : p.default.stop]}`"
        for p in fragment.parameters
    )
    return f"| `{fragment.name}` | {parameters} | {_how(fragment)} |"


def _how(fragment: Fragment) -> str:
    if fragment.name in DECLARING:
        return "declared"
    if fragment.name in OPERATIONS:
        return "function"
    return "fragment" if fragment.body is not None else "**refused**"


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for title, text in (("NNEF 1.0.5", STANDARD), ("tract's extensions", TRACT)):
        parts += [f"## {title}\n"]
        for heading, names in themes(text):
            if text == STANDARD:
                parts += [f"### {heading}\n"]
            parts += ["| operation | parameters | computed by |", "|---|---|---|"]
            parts += [*(row(declared(text)[n]) for n in names), ""]
    parts += [WRITTEN, *(f"| `{name}` | `{NAMES[name]}` |" for name in sorted(NAMES)), ""]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""Docstrings of steps in parts: the rewrite, arguments, errors, an example, a refusal, and the names
that other systems have for the step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from inspect import cleandoc

from scripts.reference.docstrings import fenced, items, read, wrapped
from texpr.schedule.steps.registry import Rule

SYSTEMS = ("Halide", "TVM", "Exo", "MLIR")


@dataclass(frozen=True)
class Described:
    """A step in words.

    Attributes:
        body: paragraphs and rewrites, as Markdown.
        args: arguments with their meaning; empty where signatures say all.
        raises: errors with their reasons.
        source: of the algorithm; empty where there is none.
        example: Python that ends with the step on a schedule `s`.
        refused: Python whose last step is refused, behind the example.
        elsewhere: the name in each of `SYSTEMS`, or "none".
    """

    body: str
    args: dict[str, str]
    raises: dict[str, str]
    source: str
    example: str
    refused: str
    elsewhere: dict[str, str]


def described(rule: Rule) -> Described:
    """The parts of a step's docstring.

    Raises:
        KeyError: a section is missing.
    """
    text, sections = read(rule.function.__doc__)
    return Described(
        "\n\n".join(_paragraph(block) for block in text.split("\n\n")),
        dict(items(sections.get("Args", ""))),
        dict(items(sections["Raises"])),
        _joined(sections.get("Source", "")),
        _code(sections["Example"]),
        _code(sections["Refused"]),
        _names(_joined(sections["Elsewhere"])),
    )


def summary(rule: Rule) -> str:
    """The first sentence of a step."""
    text = _joined(read(rule.function.__doc__).text.split("\n\n", 1)[0])
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def _paragraph(block: str) -> str:
    """A paragraph, or a rewrite as code."""
    lines = block.splitlines()
    if "->" in block and not lines[0].rstrip().endswith((".", ",")):
        return fenced(block, "text")
    return wrapped(_joined(block))


def _names(text: str) -> dict[str, str]:
    parts = [part.split(" ", 1) for part in text.rstrip(".").split("; ")]
    found = {system: name for system, name in parts}
    assert tuple(found) == SYSTEMS, text
    return found


def _joined(text: str) -> str:
    return " ".join(text.split())


def _code(text: str) -> str:
    return cleandoc(text).replace("'''", '"""')

"""Docstrings as Markdown: sections become lists, examples become code."""

from __future__ import annotations

import re
from inspect import cleandoc
from textwrap import dedent, wrap
from typing import NamedTuple

SECTIONS = ("Args", "Attributes", "Shapes", "Returns", "Raises", "Source", "Example")
STEPS = ("Refused", "Elsewhere")
"""Sections that steps of schedules have as well."""
HEAD = re.compile(rf"^({'|'.join(SECTIONS + STEPS)}):(.*)$")
ITEM = re.compile(r"^ {4}([*\w][\w*., ()]*): (.*)$")
COLUMNS = 100
CELL = 190
"""Characters of a cell."""


class Docstring(NamedTuple):
    """A docstring: its text, and its sections by name."""

    text: str
    sections: dict[str, str]

    @property
    def first(self) -> str:
        """The first sentence, or where it is too long for a cell of a table, its part before a colon."""
        line = " ".join(self.text.split("\n\n")[0].split())
        sentence = re.split(r"(?<=[.])\s+(?=[A-Z`])", line)[0]
        return sentence if len(sentence) <= CELL else re.split(r"[:;]\s", sentence)[0]


def read(text: str | None) -> Docstring:
    """A docstring in its parts. A section is what follows its name, indented, or the paragraph that
    begins in its line.
    """
    body: list[str] = []
    sections: dict[str, list[str]] = {}
    lines = body
    for line in cleandoc(text or "").splitlines():
        head = HEAD.match(line)
        if head:
            lines = sections.setdefault(head[1], [])
            lines.append(head[2].strip())
        elif lines is not body and line and not line.startswith(" ") and not _is_within(lines):
            lines = body
            lines.append(line)
        else:
            lines.append(line)
    return Docstring("\n".join(body).strip(), {name: _joined(found) for name, found in sections.items()})


def _is_within(lines: list[str]) -> bool:
    """True in a paragraph that begins in the line of its section's name."""
    return bool(lines) and bool(lines[0]) and "" not in lines


def _joined(lines: list[str]) -> str:
    return "\n".join(lines[1:] if not lines[0] else lines).rstrip()


def markdown(text: str | None) -> str:
    """A docstring as Markdown."""
    parts = read(text)
    found = [_paragraphs(parts.text)]
    found += [_section(name, parts.sections[name]) for name in SECTIONS if name in parts.sections]
    return "\n\n".join(filter(None, found))


def _paragraphs(text: str) -> str:
    found: list[str] = []
    for block in filter(None, re.split(r"\n\s*\n", text)):
        code = block.startswith("    ")
        found.append(fenced(dedent(block), "py") if code else filled(block))
    return "\n\n".join(found)


def _section(name: str, text: str) -> str:
    """A section: one line of text, a list, or code."""
    if name == "Example":
        return fenced(dedent(text), "pycon")
    if not text.startswith("    "):
        return filled(f"**{name}**: {text}")
    found = items(text) if name != "Returns" else [("", " ".join(text.split()))]
    said = [f"{named(each)}: {meaning}" if each else meaning for each, meaning in found]
    return "\n".join([f"**{name}**", "", *(filled(each, "* ") for each in said)])


def items(text: str) -> list[tuple[str, str]]:
    """The entries of a section, `name: meaning` each, with what follows on more indented lines; the
    name is empty where there is none.
    """
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        item = ITEM.match(line)
        if item:
            found.append((item[1], item[2]))
        elif found:
            found[-1] = found[-1][0], f"{found[-1][1]} {line.strip()}".rstrip()
        else:
            found.append(("", line.strip()))
    return found


def named(names: str) -> str:
    """Names of arguments, separated by commas, as code."""
    return ", ".join(f"`{name.strip('` ')}`" for name in names.split(","))


def filled(text: str, bullet: str = "") -> str:
    """A paragraph or an item of plain text, whose signs mean nothing to Markdown."""
    return wrapped(escaped(" ".join(text.split())), bullet)


def wrapped(text: str, bullet: str = "") -> str:
    """A paragraph or an item of Markdown in lines that are short enough; code in backquotes stays
    together.
    """
    lines = wrap(
        re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text),
        COLUMNS,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace("\0", " ")


def escaped(text: str) -> str:
    """Text whose signs mean nothing to Markdown outside of backquotes."""
    pieces = re.split(r"(`[^`]*`|\*\*\w+\*\*|\[[^\]]*\]\([^)]*\.md\))", text)
    return "".join(
        each if k % 2 else re.sub(r"(?<!\w)([-+#])(?= )|([*<\[\]|])", r"\\\1\2", each)
        for k, each in enumerate(pieces)
    )


def fenced(text: str, language: str = "") -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```"

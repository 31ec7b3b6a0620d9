"""Lines of code have at most 110 columns, prose has 100: docstrings, comments, Markdown."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.repo.source import ROOT, files

CODE, PROSE = 110, 100
FREE = re.compile(r"https?://|# (type|noqa|pyright)|^\|")
"""Lines that may be longer: addresses, remarks for tools, rows of tables."""
GENERATED = {"docs/reference/steps/", "docs/reference/operators", "docs/benchmarks/"}
"""Pages that are tables, and pages that commands write."""


def too_long(path: Path, text: str) -> list[str]:
    """Lines of Python that are wider than they may be, but for those inside of strings of several
    lines, and for strings that no break would make more readable: keys, expressions, markup.
    """
    wide = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > CODE and not FREE.search(line)
    ]
    if not wide:  # few files have such a line, and to find strings takes a hundred times as long
        return []
    inside = {
        row
        for start, end in strings(text)
        if start[0] < end[0] or end[1] - start[1] > 80
        for row in range(start[0], end[0] + 1)
    }
    return [f"{path}:{number}: {len(line)} columns" for number, line in wide if number not in inside]


def strings(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Begin and end, as row and column, of each string. From Python 3.12 on, an f-string is several
    tokens, with others in between.
    """
    begins = {getattr(tokenize, f"{kind}STRING_START", None) for kind in "FT"} - {None}
    ends = {getattr(tokenize, f"{kind}STRING_END", None) for kind in "FT"} - {None}
    open_ones: list[tuple[int, int]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            yield token.start, token.end
        elif token.type in begins:
            open_ones.append(token.start)
        elif token.type in ends:
            yield open_ones.pop(), token.end


def test_code():
    paths = [
        path for path in files("*.py") if "tutorials" not in path.parts and path.name != "coefficients.py"
    ]
    found = [each for path in paths for each in too_long(path, (ROOT / path).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def wide_prose(path: Path, text: str) -> list[str]:
    """Lines of Markdown outside of code and tables."""
    found, code = [], False
    for number, line in enumerate(text.splitlines(), 1):
        code ^= line.lstrip().startswith("```")
        if not code and len(line) > PROSE and not FREE.search(line):
            found.append(f"{path}:{number}: {len(line)} columns")
    return found


def test_prose():
    paths = [path for path in files("*.md") if not path.as_posix().startswith(tuple(GENERATED))]
    found = [each for path in paths for each in wide_prose(path, (ROOT / path).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_wide_lines_are_found():
    assert too_long(Path("a.py"), "x = 1\n" + "y = " + "1 + " * 40 + "1\n") == ["a.py:2: 165 columns"]
    assert too_long(Path("a.py"), 'x = {"' + "a" * 120 + '": 1}\n') == []
    assert too_long(Path("a.py"), 'x = """\n' + "a" * 200 + '\n"""\n') == []
    assert too_long(Path("a.py"), 'x = f"""\n{1}' + "a" * 200 + '\n"""\n') == []
    assert wide_prose(Path("a.md"), "a" * 101 + "\n```\n" + "b" * 120 + "\n```\n| " + "c" * 120) == [
        "a.md:1: 101 columns"
    ]

"""Pages are short: sentences, paragraphs and cells of tables have limits of length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.repo.source import ROOT, files

SENTENCE, AVERAGE, PARAGRAPH, CELL = 40, 25, 120, 200
"""Words of a sentence, words of a page's sentences on average, words of a paragraph, characters of a
cell.
"""
FREE = ("docs/adr/", "docs/benchmarks/", "docs/developer/next.md", "docs/developer/costs.md")
"""Records and tables that commands write."""
UNFINISHED = {
    line
    for line in (Path(__file__).parent / "long_pages.txt").read_text(encoding="utf-8").split("\n")
    if line and not line.startswith("#")
}
FENCE = re.compile(r"^( *)(`{3,}|~{3,}|:{3,}).*?^\1\2[^\n]*$", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"^\s*(?:[*+-]|\d+\.)\s+")

END = re.compile(r"(?<=[.!?:])[)\"*_]*\s+(?=[A-Z`*(\"\[])")


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs and items of lists, without code, tables and headings."""
    for block in re.split(r"\n\s*\n", FENCE.sub("\n", text)):
        lines: list[str] = []
        for line in block.splitlines():
            if line.lstrip().startswith(("|", "#")):
                continue
            if ITEM.match(line) and lines:
                yield " ".join(lines)
                lines = []
            lines.append(ITEM.sub("", line).strip())
        if words(" ".join(lines)):
            yield " ".join(lines)


def words(text: str) -> list[str]:
    """The words, where code in backquotes counts as one and addresses of links do not count."""
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`+[^`]*`+", "x", text))
    return re.findall(r"[\w'’%.-]*\w[\w'’%.-]*", text)


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; a colon ends one as a full stop does."""
    return END.split(re.sub(r"`[^`]*`", "`x`", paragraph))


def cells(text: str) -> Iterator[str]:
    """Cells of tables, as they are read: addresses of links do not count."""
    for line in FENCE.sub("\n", text).splitlines():
        if line.lstrip().startswith("|"):
            yield from (re.sub(r"\]\([^)]*\)", "]", cell).strip() for cell in re.split(r"(?<!\\)\|", line))


def faults(text: str) -> list[str]:
    """What is too long on a page."""
    found, lengths = [], []
    for paragraph in paragraphs(text):
        if len(words(paragraph)) > PARAGRAPH:
            found.append(f"a paragraph of {len(words(paragraph))} words: {paragraph[:60]}...")
        for sentence in sentences(paragraph):
            lengths.append(len(words(sentence)))
            if lengths[-1] > SENTENCE:
                found.append(f"a sentence of {lengths[-1]} words: {sentence[:60]}...")
    if lengths and sum(lengths) > AVERAGE * len(lengths):
        found.append(f"sentences have {sum(lengths) / len(lengths):.0f} words on average")
    return found + [f"a cell of {len(c)} characters: {c[:60]}..." for c in cells(text) if len(c) > CELL]


PAGES = [p.as_posix() for p in files("*.md") if not p.as_posix().startswith(FREE)]


def test_pages():
    """One test: a case for each of two hundred pages takes longer than the pages."""
    pages = [p for p in PAGES if p not in UNFINISHED]
    found = [f"{p}: {fault}" for p in pages for fault in faults((ROOT / p).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_each_unfinished_page_is_too_long():
    kept = [p for p in UNFINISHED if p not in PAGES or not faults((ROOT / p).read_text(encoding="utf-8"))]
    assert not kept, "remove them from long_pages.txt"


def test_faults_are_found():
    long = "One " + "word " * 45 + "ends. "
    assert faults(long)[0].startswith("a sentence of 47 words")
    assert faults("Short one. " * 80)[0].startswith("a paragraph of 160 words")
    assert faults("| a | " + "b" * 201 + " |")[0].startswith("a cell of 201 characters")
    assert faults("```\n" + long + "\n```\n\n| a | b |\n\nShort `" + "x " * 50 + "`.") == []

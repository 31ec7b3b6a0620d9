"""Text with places: where in which text a thing was written."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from texpr.support.frozen_dataclass import frozen
from texpr.support.once import once

_WINDOW = 100  # of a very long line, so many characters are shown on each side


@dataclass(frozen=True)
class Source:
    """A named text, such as the argument of `tx.op` or a `.tx` file."""

    name: str
    text: str = field(repr=False)

    @once
    def _line_starts(self) -> list[int]:
        return [0] + [i + 1 for i, c in enumerate(self.text) if c == "\n"]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of line `number` (from 1), without its newline."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")


@frozen
class Span:
    """The characters `start..stop` of a source.

    Attributes:
        now: what has become of what is written there, shown under the caret where nothing else is
            said.
    """

    source: Source
    start: int
    stop: int
    now: str = field(default="", compare=False, repr=False)

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.stop]

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    def to_dict(self) -> dict[str, object]:
        """The place as data: see `Error.to_dict`."""
        line, column = self.source.position(self.start)
        end_line, end_column = self.source.position(self.stop)
        return {
            "file": self.source.name,
            "line": line,
            "column": column,
            "end_line": end_line,
            "end_column": end_column,
            "start": self.start,
            "stop": self.stop,
        }

    def caret(self, label: str = "") -> str:
        """The line of the span with carets under it, as compilers print it."""
        line, column = self.source.position(self.start)
        text = self.source.line(line).replace("\t", " ")
        if len(text) > 2 * _WINDOW:
            left = max(0, column - _WINDOW)
            text, column = text[left : left + 2 * _WINDOW], column - left
        width = max(1, min(self.stop - self.start, len(text) - column + 1))
        gutter = str(line)
        label = label or (f"now `{self.now}`" if self.now else "")
        under = " " * (column - 1) + "^" * width + (f" {label}" if label else "")
        return f"  {gutter} | {text}\n  {' ' * len(gutter)} | {under}"

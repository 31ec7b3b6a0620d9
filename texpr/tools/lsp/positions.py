"""Places in a document as the protocol counts them: lines from 0, columns in code units.

A line ends at `\\n`, `\\r\\n` or `\\r`. Columns are code units of UTF-16, unless client and server
agreed on another encoding (Language Server Protocol 3.17, "Position").
"""

from __future__ import annotations

import re
from bisect import bisect_right

_END = re.compile(r"\r\n|\n|\r")
UTF16 = "utf-16"
_WIDTH = {
    "utf-8": lambda text: len(text.encode("utf-8", "surrogatepass")),
    UTF16: lambda text: len(text) + sum(c > "\uffff" for c in text),
    "utf-32": len,
}


class Lines:
    """The lines of a text: character offsets to positions and back.

    Args:
        encoding: of columns: `utf-8`, `utf-16` or `utf-32`.
    """

    def __init__(self, text: str, encoding: str = UTF16) -> None:
        self.text = text
        self._width = _WIDTH[encoding]
        ends = list(_END.finditer(text))
        self.starts = [0, *(end.end() for end in ends)]
        self._stops = [*(end.start() for end in ends), len(text)]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset) - 1
        return line, self._width(self.text[self.starts[line] : min(offset, self._stops[line])])

    def offset(self, line: int, column: int) -> int:
        """Character offset of a position. A position beyond its line is the line's end, one beyond
        the text the text's end.
        """
        if line >= len(self.starts):
            return len(self.text)
        start, stop = self.starts[max(line, 0)], self._stops[max(line, 0)]
        for k in range(start, stop):
            column -= self._width(self.text[k])
            if column < 0:
                return k
        return stop

    @property
    def ending(self) -> str:
        """Line end of the text: that of its first line."""
        found = _END.search(self.text)
        return found.group() if found else "\n"

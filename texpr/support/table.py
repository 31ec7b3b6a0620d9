"""Tables of text, printed at once or row by row.

Kept by hand: rows of measurements are printed while others are still measured, which tabulate does
not do. Reports at run time are tables too; there, rich would be a dependency.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

_FORMAT = re.compile(r"([<>])(\d*)(.*)")


def aligned(rows: Iterable[Sequence[str]], alignment: str) -> str:
    """Lines of cells, each column as wide as its longest cell.

    Args:
        alignment: a character for each column: `<` for flush left, `>` for flush right. The last
            one holds for all columns after it.
    """
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    alignment = alignment.ljust(len(widths), alignment[-1])
    return "\n".join(_line(row, alignment, widths) for row in cells)


class Table:
    """Columns with titles.

    Args:
        columns: by title, a format of Python: alignment, least width, digits (`<28`, `>10.3f`).
    """

    def __init__(self, columns: Mapping[str, str]) -> None:
        parts = [found.groups() for spec in columns.values() if (found := _FORMAT.fullmatch(spec))]
        assert len(parts) == len(columns), "a format begins with < or >"
        self._titles = list(columns)
        self._alignment, self._digits = "".join(p[0] for p in parts), [p[2] for p in parts]
        self._widths = [max(len(title), int(p[1] or 0)) for title, p in zip(self._titles, parts)]

    def header(self) -> str:
        """The line of titles, over rows that are printed one by one."""
        return _line(self._titles, self._alignment, self._widths)

    def row(self, *cells: object) -> str:
        """A line: texts as they are, numbers with the digits of their columns, None as an empty
        cell.

        Cells at the end may be left out.
        """
        return _line(self._texts(cells), self._alignment, self._widths)

    def text(self, rows: Iterable[Sequence[object]]) -> str:
        """Titles and rows, with columns as wide as their longest cell."""
        return aligned([self._titles, *map(self._texts, rows)], self._alignment)

    def _texts(self, cells: Sequence[object]) -> list[str]:
        texts = [_text(cell, digits) for cell, digits in zip(cells, self._digits)]
        return texts + [""] * (len(self._titles) - len(texts))


def _line(cells: Sequence[str], alignment: str, widths: Sequence[int]) -> str:
    padded = (
        cell.ljust(w) if side == "<" else cell.rjust(w) for cell, side, w in zip(cells, alignment, widths)
    )
    return "  ".join(padded).rstrip()


def _text(cell: object, digits: str) -> str:
    if cell is None or isinstance(cell, str):
        return cell or ""
    return format(cell, digits)


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, foot: Sequence[str] = (), left: int = 1
) -> str:
    """A table whose first `left` columns are texts and whose others are numbers; all of it is
    escaped.
    """
    body = "".join(_row("td", row, left) for row in rows)
    last = f"<tfoot>{_row('th', foot, left)}</tfoot>" if foot else ""
    return f"<table><thead>{_row('th', head, left)}</thead><tbody>{body}</tbody>{last}</table>"


def _row(tag: str, cells: Sequence[str], left: int) -> str:
    places = ("left" if k < left else "right" for k in range(len(cells)))
    return (
        "<tr>"
        + "".join(f'<{tag} style="text-align:{p}">{escape(c)}</{tag}>' for c, p in zip(cells, places))
        + "</tr>"
    )


def html_curve(
    values: Sequence[float], others: Sequence[float] = (), width: int = 160, height: int = 40
) -> str:
    """A line over the values from left to right, and a lighter one over others of the same
    scale; what is not finite is left out.
    """
    finite = [v for v in (*values, *others) if abs(v) < float("inf")]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    scale = (height - 4) / (high - low) if high > low else 0.0
    lines = ""
    for line, opacity in ((others, 0.4), (values, 1.0)):
        step = (width - 4) / max(len(line) - 1, 1)
        points = " ".join(
            f"{2 + k * step:.1f},{height - 2 - (v - low) * scale:.1f}"
            for k, v in enumerate(line)
            if abs(v) < float("inf")
        )
        lines += (
            f'<polyline points="{points}" fill="none" stroke="currentColor" opacity="{opacity}"/>'
            if points
            else ""
        )
    return f'<svg width="{width}" height="{height}">{lines}</svg>'

"""Tables as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


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

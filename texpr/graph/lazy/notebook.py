"""A tensor in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from texpr.graph.lazy.tensor_values import TensorValues

MOST = 8
"""Rows and columns that are shown of each end."""


def table(x: TensorValues) -> str:
    """The values as a table, its middle left out where it is large; more than two axes as text."""
    head = (
        f"<div>tensor "
        f"{x.dtype}[{', '.join(map(str, x.shape))}]{' requires grad' if x.requires_grad else ''}</div>"
    )
    values = np.asarray(x.numpy())
    if values.ndim not in (1, 2) or not values.size:
        return f"{head}<pre>{html.escape(np.array2string(values, separator=', '))}</pre>"
    rows = values[None] if values.ndim == 1 else values
    lines = "".join(
        "<tr>" + "".join(f"<td>{_shown(cell)}</td>" for cell in _ends(list(row))) + "</tr>"
        if row is not None
        else "<tr><td>&#8942;</td></tr>"
        for row in _ends(list(rows))
    )
    return f"{head}<table>{lines}</table>"


def _ends(items: list) -> list:
    return items if len(items) <= 2 * MOST else [*items[:MOST], None, *items[-MOST:]]


def _shown(cell: object) -> str:
    return (
        "&hellip;"
        if cell is None
        else html.escape(f"{cell:.6g}" if isinstance(cell, float | np.floating) else str(cell))
    )

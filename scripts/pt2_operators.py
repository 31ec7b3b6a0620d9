"""Writes `docs/reference/pt2.md`: operators of PyTorch's archives that are read, from the table of
converters.

    PYTHONPATH=. python scripts/pt2_operators.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import texpr.pt2.aten  # noqa: F401  fills the table
from texpr.pt2.converters_of_aten import CONVERTERS, Converter
from texpr.pt2.weights import _OTHERS, _TYPES

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "pt2.md"
SUBJECTS = {
    "aten_elements": "Elementwise",
    "aten_layers": "Products, convolutions, normalization",
    "aten_attention": "Attention",
    "aten_windows": "Pooling and resizing",
    "aten_reductions": "Reductions and running sums",
    "aten_shapes": "Shapes, joins and parts",
    "aten_places": "Places and orders",
    "aten_copies": "Copies, conversions, constants",
    "aten_sizes": "Sizes, checks, parts of programs",
}
COLUMNS = 4
REFUSED = ("item", "_local_scalar_dense", "nonzero", "masked_select", "unique_dim", "_unique2", "is_nonzero")
"""In the table for their error alone."""
HEAD = """# PyTorch archives

Written by `scripts/pt2_operators.py` from the converters of `tx.pt2.load`.
[Archives of PyTorch](../guide/pytorch_archives.md) shows how to use it.

## Operators that are read

Names are those behind `torch.ops.aten.`, all overloads of a name unless one is said. An operator
that works in place (`relu_`) is read where its function (`relu`) is. The arguments are those of
PyTorch's schema; what is refused of them says so when a program is loaded or called.
"""


def subject(converter: Converter) -> str:
    """The heading of an operator: by the file of its converter.

    Raises:
        KeyError: the file has no heading yet.
    """
    return SUBJECTS[converter.convert.__module__.rpartition(".")[2]]


def grid(names: Sequence[str]) -> Iterator[str]:
    """A table of names, without a heading."""
    yield "|" + " |" * COLUMNS + "\n|" + "---|" * COLUMNS
    for at in range(0, len(names), COLUMNS):
        row = [f"`{name}`" for name in names[at : at + COLUMNS]]
        yield "| " + " | ".join(row + [""] * (COLUMNS - len(row))).rstrip() + " |"


def operators() -> Iterator[str]:
    """A grid of names for each subject."""
    order = list(SUBJECTS.values())
    rows = sorted((order.index(subject(c)), name) for name, c in CONVERTERS.items() if name not in REFUSED)
    for k, group in groupby(rows, key=lambda row: row[0]):
        yield f"\n### {order[k]}\n"
        yield from grid([name for _, name in group])


def page() -> str:
    """The text of the page."""
    parts = [
        HEAD.rstrip("\n"),
        *operators(),
        "\n## Element types\n\nRead:\n",
        *grid([str(t) for t in _TYPES.values()]),
        "\nRefused:\n",
        *grid([name for name in _OTHERS.values() if name != "unknown"]),
        "\nThese operators are refused, since values of tensors decide what they give:\n",
        *grid(sorted(REFUSED)),
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

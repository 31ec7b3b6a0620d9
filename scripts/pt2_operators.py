"""Writes `docs/reference/pt2.md`: operators of PyTorch's archives that are read, from the table of
converters.

    PYTHONPATH=. python scripts/pt2_operators.py
"""

from __future__ import annotations

from pathlib import Path

import texpr.pt2.aten  # noqa: F401  fills the table
from scripts.pages.name_grids import grid, grids
from texpr.pt2.converters_of_aten import CONVERTERS
from texpr.pt2.weights import _OTHERS, _TYPES

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "pt2.md"
SUBJECTS = {
    "aten_elements": "Elementwise",
    "aten_layers": "Products, convolutions, normalization",
    "aten_attention": "Attention",
    "aten_windows": "Pooling and resizing",
    "aten_reductions": "Reductions and running sums",
    "aten_recurrences": "Recurrences, choices",
    "aten_shapes": "Shapes, joins and parts",
    "aten_places": "Places and orders",
    "aten_copies": "Copies, conversions, constants",
    "aten_sizes": "Sizes, checks, parts of programs",
}
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


def page() -> str:
    """The text of the page."""
    parts = [
        HEAD.rstrip("\n"),
        *grids(((n, c) for n, c in CONVERTERS.items() if n not in REFUSED), SUBJECTS),
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

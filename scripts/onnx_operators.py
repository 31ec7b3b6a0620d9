"""Writes `docs/reference/onnx.md`: operators of ONNX that are read, from the converters; operators of the
library that are written by a name of ONNX, from the writers; element types.

    PYTHONPATH=. python scripts/onnx_operators.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import texpr.onnx.operators  # noqa: F401  fills the table of converters
from scripts.pages.name_grids import grid, grids
from texpr.onnx.converters import CONVERTERS, DOMAINS, NEWEST, OLDEST
from texpr.onnx.element_types import FROM_ONNX, OTHERS
from texpr.onnx.model_export import OLDEST_WRITTEN
from texpr.onnx.narrow_types import NARROW
from texpr.onnx.text_values import TEXT
from texpr.onnx.writing.layers import NAMES

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "onnx.md"
SUBJECTS = {
    "elementwise_operators": "Elementwise",
    "neural": "Products and normalization",
    "windows": "Convolution and pooling",
    "recurrent_operators": "Recurrent layers",
    "reduction_operators": "Reductions and running sums",
    "movement": "Shapes, parts, gather and scatter",
    "shape_operators": "Results that depend on shapes and constants",
    "quantized": "Quantization",
    "resize": "Resizing",
    "sampling": "Sampling and boxes",
    "image_regions": "Regions, and taps that move",
    "fourier": "Fourier transforms and spectra",
    "ngrams": "Counts of sequences",
    "text_operators": "Texts",
    "random_nodes": "Random numbers",
    "control": "Control flow, sequences, optionals",
    "ml": "Features of ai.onnx.ml",
    "ml_models": "Linear models and support vectors of ai.onnx.ml",
    "tree_ensembles": "Trees of ai.onnx.ml",
    "training_operators": "ai.onnx.preview.training",
}
ORDINALS = ("1st", "2nd", "3rd", "4th", "5th")
HEAD = f"""# ONNX operators

Written by `scripts/onnx_operators.py` from the converters of `tx.onnx.load` and the writers of
`tx.onnx.save`. [Models in ONNX](../guide/models.md) shows how to use both.

## Operators that are read

`tx.onnx.load` reads versions {OLDEST} to {NEWEST} of these operators. Operators that ONNX itself defines by
them, such as `Attention`, are computed by that definition. So are a model's own functions.
"""
KNOWN = """
### Inputs with known values

The values of these inputs must be known when the program is made. They are constants, or inputs of
the model: then there is a program for each value.

| operator | inputs |
|---|---|"""
FROZEN = """
### Inputs that training does not change

| operator | inputs |
|---|---|"""
WRITTEN = f"""
## Operators that are written by name

`tx.onnx.save` writes version {OLDEST_WRITTEN} or later. It writes these operators of `tx.ops` as operators of
ONNX, and all others by their equations.

| ONNX | `tx.ops` |
|---|---|"""


def ordinals(positions: Iterable[int]) -> str:
    """Positions of inputs in words."""
    return ", ".join(ORDINALS[k] for k in positions)


def inputs_of(field: str) -> Iterator[str]:
    """A row for each operator that has such inputs: `known` or `kept` of its converter."""
    for (_, name), c in sorted(CONVERTERS.items(), key=lambda item: item[0][1]):
        if positions := getattr(c, field):
            yield f"| `{name}` | {ordinals(positions)} |"


def written_operators() -> Iterator[str]:
    """A row for each operator of ONNX."""
    by_name: dict[str, list[str]] = {}
    for name in sorted(NAMES):
        for op in NAMES[name].split(", "):
            by_name.setdefault(op, []).append(f"`{name}`")
    for op in sorted(by_name):
        yield f"| `{op}` | {', '.join(by_name[op])} |"


def page() -> str:
    """The text of the page."""
    domains = "\n".join(f"* `{d}`" for d in DOMAINS.values())
    parts = [
        HEAD,
        f"Domains:\n\n{domains}",
        *grids(((name, c) for (_, name), c in CONVERTERS.items()), SUBJECTS),
        KNOWN,
        *inputs_of("known"),
        FROZEN,
        *inputs_of("kept"),
        WRITTEN,
        *written_operators(),
        "\n## Element types\n\nRead and written:\n",
        *grid([str(t) for t in FROM_ONNX.values()]),
        "\nRead:\n",
        *grid([t.name for t in NARROW.values()]),
        "\nRead, by operators that run in Python when a program is made:\n",
        *grid([TEXT.name]),
        "\nRefused:\n",
        *grid(list(OTHERS.values())),
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

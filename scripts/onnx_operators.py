"""Writes `docs/reference/onnx.md`: operators of ONNX that are read, from the converters; operators of the
library that are written by a name of ONNX, from the writers; element types.

    PYTHONPATH=. python scripts/onnx_operators.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import texpr.onnx.operators  # noqa: F401  fills the table of converters
from texpr.onnx.converters import CONVERTERS, DOMAINS, NEWEST, OLDEST, Converter
from texpr.onnx.element_types import FROM_ONNX, OTHERS
from texpr.onnx.model_export import OLDEST_WRITTEN
from texpr.onnx.narrow_types import NARROW
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
    "random_nodes": "Random numbers",
    "control": "Control flow, sequences, optionals",
    "ml": "ai.onnx.ml",
    "tree_ensembles": "Trees of ai.onnx.ml",
    "training_operators": "ai.onnx.preview.training",
}
COLUMNS = 4
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


def subject(converter: Converter) -> str:
    """The heading of an operator: by the file of its converter.

    Raises:
        KeyError: the file has no heading yet.
    """
    return SUBJECTS[converter.convert.__module__.rpartition(".")[2]]


def ordinals(positions: Iterable[int]) -> str:
    """Positions of inputs in words."""
    return ", ".join(ORDINALS[k] for k in positions)


def read_operators() -> Iterator[str]:
    """A grid of names for each subject."""
    order = list(SUBJECTS.values())
    rows = sorted((order.index(subject(c)), name) for (_, name), c in CONVERTERS.items())
    for k, group in groupby(rows, key=lambda row: row[0]):
        yield f"\n### {order[k]}\n"
        yield from grid([name for _, name in group])


def grid(names: Sequence[str]) -> Iterator[str]:
    """A table of names, without a heading."""
    yield "|" + " |" * COLUMNS + "\n|" + "---|" * COLUMNS
    for at in range(0, len(names), COLUMNS):
        row = [f"`{name}`" for name in names[at : at + COLUMNS]]
        yield "| " + " | ".join(row + [""] * (COLUMNS - len(row))).rstrip() + " |"


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
        *read_operators(),
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
        "\nRefused:\n",
        *grid(list(OTHERS.values())),
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

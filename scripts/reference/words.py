"""The words of the Python form: names of `texpr` that have a meaning inside of `@tx.op`."""

from __future__ import annotations

from textwrap import wrap

from scripts.reference.docstrings import fenced, filled, read
from scripts.reference.entries import WIDTH, cell, docstring_of
from texpr.lang.python_form.vocabulary import WORDS

SCALAR = " of the language, on traced values."
"""The docstrings of functions of single elements end so."""


def words() -> list[str]:
    """A section: words with a meaning of their own in a table, functions of elements in a list."""
    scalar = [name for name, word in WORDS.items() if docstring_of(word).endswith(SCALAR)]
    rows = [
        f"| `tx.{name}` | {cell(read(docstring_of(word)).first)} |"
        for name, word in WORDS.items()
        if name not in scalar
    ]
    return [
        "## Words of the Python form",
        filled(
            "These names have a meaning inside of operators that are Python functions: "
            "[The Python form](python_form.md) shows them."
        ),
        "\n".join(["| name | what it is |", "|---|---|", *rows]),
        "Functions and types of single elements, as in [the language](language.md):",
        fenced("\n".join(wrap(" ".join(f"tx.{name}" for name in scalar), WIDTH))),
    ]

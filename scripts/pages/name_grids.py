"""Grids of the names of operators that a format's converters read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

COLUMNS = 4


def grid(names: Sequence[str]) -> Iterator[str]:
    """A table of names, without a heading."""
    yield "|" + " |" * COLUMNS + "\n|" + "---|" * COLUMNS
    for at in range(0, len(names), COLUMNS):
        row = [f"`{name}`" for name in names[at : at + COLUMNS]]
        yield "| " + " | ".join(row + [""] * (COLUMNS - len(row))).rstrip() + " |"


def grids(converters: Iterable[tuple[str, Any]], subjects: Mapping[str, str]) -> Iterator[str]:
    """A grid of names below each heading.

    Args:
        converters: names with their converters.
        subjects: headings by the files of converters, in order.
    Raises:
        KeyError: a file has no heading yet.
    """
    order = list(subjects)
    files = [(name, c.convert.__module__.rpartition(".")[2]) for name, c in converters]
    if unknown := {file for _, file in files} - set(order):
        raise KeyError(*sorted(unknown))
    rows = sorted((order.index(file), name) for name, file in files)
    for k, group in groupby(rows, key=lambda row: row[0]):
        yield f"\n### {subjects[order[k]]}\n"
        yield from grid([name for _, name in group])

"""The pages with their texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from scripts.reference.docstrings import filled
from scripts.reference.entries import Entry, entry, row
from scripts.reference.functional_page import functional_page
from scripts.reference.numpy_page import numpy_page
from scripts.reference.pages import API, NN, PAGES, TENSORS, Page, group_of, page_of, public
from scripts.reference.tensor_page import tensor_class
from scripts.reference.words import words

ROOT = Path(__file__).parents[2]
FOLDER = Path("docs/reference")
NOTE = "Written by `python -m scripts.reference` from docstrings."


def written() -> dict[Path, str]:
    """The pages by their paths."""
    found: dict[Page, list[Entry]] = defaultdict(list)
    for each in public():
        found[page_of(each)].append(each)
    pages = {FOLDER / page.path: page_text(page, found[page]) for page in PAGES}
    others = {
        "nn/index.md": index(found),
        "nn/functional.md": functional_page(),
        "numpy_functions.md": numpy_page(),
    }
    return {**{FOLDER / name: text for name, text in others.items()}, **pages}


FIRST = ("Operators", "Schedules and kernels", "Gradients", "Options", "Measuring and tuning")
"""Groups that readers look for first; the others follow by their names."""


def page_text(page: Page, entries: Sequence[Entry]) -> str:
    """A page: its opening, a table of its names, and the entries by groups."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for each in sorted(entries, key=lambda e: e.short.lower()):
        groups[group_of(each)].append(each)
    parts = [f"# {page.title}", filled(page.text), NOTE]
    if page is TENSORS:
        parts.append(tensor_class())
    for group in sorted(groups, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name)):
        parts += [f"## {group}", contents(groups[group])]
        parts += [entry(each, 3) for each in groups[group] if each.name != "tx.Tensor"]
    if page is API:
        parts += words()
    return "\n\n".join(parts) + "\n"


def contents(entries: Sequence[Entry], page: str = "") -> str:
    return "\n".join(["| name | what it is |", "|---|---|", *(row(each, page) for each in entries)])


def index(found: dict[Page, list[Entry]]) -> str:
    """The index of `nn`: all names by pages."""
    links = "\n".join([*(Path(page.path).stem for page in NN), "functional"])
    parts = [
        "# Networks: `texpr.nn`",
        filled(
            "All public names of `texpr.nn`, by pages. The guide [Networks](../../guide/networks.md) says how "
            "they work together."
        ),
        NOTE,
        f"```{{toctree}}\n:hidden:\n\n{links}\n```",
    ]
    for page in NN:
        name = Path(page.path).name
        entries = sorted(found[page], key=lambda e: e.short.lower())
        parts += [f"## [{page.title}]({name})", contents(entries, name)]
    parts += ["## [Functions](functional.md)", "`texpr.nn.functional`, with the names of torch."]
    return "\n\n".join(parts) + "\n"

"""The reference of the Python form names every word."""

from __future__ import annotations

import re
from pathlib import Path

from texpr.lang.python_form.traced import Element
from texpr.lang.python_form.vocabulary import WORDS

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = DOCS / "reference" / "python_form.md"


def test_the_reference_names_every_word():
    text = REFERENCE.read_text(encoding="utf-8")
    named = set(re.findall(r"\btx\.(\w+)", text))
    assert set(WORDS) <= named, f"missing: {sorted(set(WORDS) - named)}"
    assert named <= {*WORDS, "op", "NAME"}, f"not there: {sorted(named - {*WORDS, 'op', 'NAME'})}"
    updates = {name for name in vars(Element) if not name.startswith("_")}
    assert updates <= _methods(text)


def _methods(text: str) -> set[str]:
    """The methods of elements that the page shows."""
    return set(re.findall(r"[\]`]?\.(\w+)\(v\)", text))

"""Pages of the operator library: every operator has an entry, which says what its text says; entries
with gradients and models of ONNX are made again for a part of them, for all with `--all`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import texpr as tx
from scripts.operators import PAGES, described, index, operators_of, section, themes
from texpr import ops

FOLDER = Path(__file__).parents[2] / PAGES
THEMES = {name: theme for theme in themes() for name in operators_of(theme)}
BLOCK = re.compile(r"^```texpr\n(.*?)^```$", re.MULTILINE | re.DOTALL)
AGAIN = "run `python scripts/operators.py`"


def text_of(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8")


def test_every_operator_has_an_entry():
    headings = [h for theme in themes() for h in re.findall(r"^## (\w+)$", text_of(theme), re.MULTILINE)]
    assert sorted(headings) == list(ops.names()), AGAIN
    assert {p.stem for p in FOLDER.glob("*.md")} == {"index", *themes()}


@pytest.mark.parametrize("theme", themes())
def test_texts_and_comments_are_current(theme: str):
    page = text_of(theme)
    stale = [name for name in operators_of(theme) if described(theme, name) not in page]
    assert not stale, AGAIN


def test_the_index():
    assert text_of("index") == index(), AGAIN


@pytest.mark.parametrize("name", ops.names())
def test_entry(name: str):
    entry = section(THEMES[name], name)
    assert entry in text_of(THEMES[name]), AGAIN
    for block in BLOCK.findall(entry + "\n"):
        assert tx.op(block).signature

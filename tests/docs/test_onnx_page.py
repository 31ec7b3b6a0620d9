"""The page about ONNX: its Python runs, its error is as shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.page import blocks, run_python

pytest.importorskip("onnx")

from texpr.onnx.converters import CONVERTERS  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "models.md"


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(PAGE):
        run_python(block, names)


def test_the_page_lists_the_operators():
    listed = (
        PAGE.read_text(encoding="utf-8")
        .partition("## Operators that are read")[2]
        .partition("Operators that ONNX defines")[0]
    )
    assert {name for _, name in CONVERTERS} - set(re.findall(r"\w+", listed)) == set() and len(
        CONVERTERS
    ) >= 138

"""The page about ONNX: its Python runs, its error is as shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.page import blocks, run_python

pytest.importorskip("onnx")
PAGE = Path(__file__).parents[2] / "docs" / "onnx.md"


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(PAGE):
        run_python(block, names)

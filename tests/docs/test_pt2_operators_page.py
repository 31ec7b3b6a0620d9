"""The page of PyTorch's operators is what the table of converters says."""

from __future__ import annotations

import runpy

from tests.repo.source import ROOT

script = runpy.run_path(str(ROOT / "scripts" / "pt2_operators.py"))


def test_page_is_current():
    text = (ROOT / "docs" / "reference" / "pt2.md").read_text(encoding="utf-8")
    assert script["page"]() == text, "run: python scripts/pt2_operators.py"


def test_networks_are_counted():
    networks = runpy.run_path(str(ROOT / "scripts" / "pt2_networks.py"))["NAMES"]
    text = (ROOT / "docs" / "guide" / "pytorch_archives.md").read_text(encoding="utf-8")
    assert len(networks) == 19 and "nineteen networks" in text

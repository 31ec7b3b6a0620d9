"""The page about gradients: what it says of limits is so."""

from __future__ import annotations

from pathlib import Path

from texpr.autodiff.reverse.stride_residues import MOST

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "gradients.md"


def test_the_number_of_equations():
    assert f"up to {MOST} of them" in PAGE.read_text(encoding="utf-8")

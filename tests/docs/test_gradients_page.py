"""The page about gradients: its Python runs, its error is as shown, what it says of limits is
so.
"""

from __future__ import annotations

from pathlib import Path

from tests.docs.page import run
from texpr.autodiff.reverse.stride_residues import MOST

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "gradients.md"


def test_python():
    assert {"backward", "safe"} <= set(run(PAGE))


def test_the_number_of_equations():
    assert f"up to {MOST} of them" in PAGE.read_text(encoding="utf-8")

"""The page about gradients: its Python runs, its error is as shown, what it says of limits is so."""

from __future__ import annotations

from pathlib import Path

import texpr as tx
from tests.docs.page import blocks
from texpr.autodiff.phases import MOST

PAGE = Path(__file__).parents[2] / "docs" / "gradients.md"


def test_python():
    names: dict[str, object] = {}
    for block in blocks(PAGE):
        error = None
        try:
            exec(compile(block.text, "example.py", "exec"), names)
        except tx.Error as e:
            error = str(e)
        assert error == block.error, f"line {block.line}"
    assert {"backward", "safe"} <= set(names)


def test_the_number_of_equations():
    assert f"up to {MOST} of them" in PAGE.read_text(encoding="utf-8")

"""Every block of the page about the language: operators compile and equal the interpreter,
Python runs, errors are as shown.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.docs.page import Block, blocks, run_operators

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "language.md"
BLOCKS = blocks(PAGE)


def result_of(run) -> str | None:
    """The whole text of the error, None if there is none."""
    try:
        run()
    except tx.Error as error:
        return str(error)
    return None


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.kind == "texpr"], ids=lambda b: f"line {b.line}")
def test_operators(block: Block):
    tx.register_extern("argsort", lambda x: np.argsort(x, axis=-1, kind="stable"))
    assert result_of(lambda: run_operators(block)) == block.error


def test_python():
    names: dict[str, object] = {}
    for block in BLOCKS:
        if block.kind == "python":
            code = compile(block.text, f"{PAGE.name}, line {block.line}", "exec")
            assert result_of(lambda code=code: exec(code, names)) == block.error, f"line {block.line}"


def test_the_page_shows_rules_and_errors():
    assert len(BLOCKS) > 50 and sum(b.error is not None for b in BLOCKS) > 20
    assert all(b.error != "" for b in BLOCKS)

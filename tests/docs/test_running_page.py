"""The page about running: its Python runs."""

from __future__ import annotations

from pathlib import Path

import texpr as tx
from tests.docs.page import blocks

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "running.md"


def test_python(tmp_path):
    names: dict[str, object] = {}
    with tx.options(cache_dir=tmp_path):
        for block in blocks(PAGE):
            exec(compile(block.text, "example.py", "exec"), names)
            assert block.error is None
    assert {"kernel", "c"} <= set(names)

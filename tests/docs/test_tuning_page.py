"""The page about tuning: its Python runs, with records of its own."""

from __future__ import annotations

from pathlib import Path

import texpr as tx
from tests.docs.page import run

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "tuning.md"


def test_python(tmp_path: Path):
    with tx.options(cache_dir=tmp_path):
        names = run(PAGE)
    assert isinstance(names["kernel"], tx.CompiledKernel) and list((tmp_path / "tuned").iterdir())


def test_steps_that_a_search_leaves_out_are_named():
    from texpr.tune.space import _OPTIONAL

    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert all(f"`{name}`" in text for name in _OPTIONAL)

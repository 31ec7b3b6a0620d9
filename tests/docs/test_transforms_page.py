"""The page about `vmap`, `scan`, `cond` and `while_loop`: its Python runs, its error is as shown."""

from __future__ import annotations

from pathlib import Path

from tests.docs.page import run

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "transforms.md"


def test_python():
    assert {"jacobian", "table", "states", "damped", "halvings"} <= set(run(PAGE))

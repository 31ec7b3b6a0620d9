"""The page about schedules for GPUs: its Python runs."""

from __future__ import annotations

from pathlib import Path

import texpr as tx
from tests.docs.page import run

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "gpu_schedules.md"


def test_python(tmp_path: Path):
    with tx.options(cache_dir=tmp_path):
        run(PAGE)

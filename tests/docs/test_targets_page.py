"""The page about targets: its Python runs, its errors are as shown, its table has all targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.page import run
from texpr.targets import find_target, registry, target_names

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guide" / "targets.md"


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_added", [])
    run(PAGE)
    find_target.cache_clear()


def test_all_targets_are_in_the_table():
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    missing = [
        name for name in target_names() if f"`{name}`" not in "".join(rows) and not name.startswith("sm_")
    ]
    assert not missing and "`sm_70` to `sm_90a`" in "".join(rows)


def test_the_c_that_is_shown_is_the_golden_one():
    golden = (ROOT / "tests/examples/golden/test_c_target/test_text-conv2d.txt").read_text(encoding="utf-8")
    shown = [b.strip() for b in PAGE.read_text(encoding="utf-8").split("```\n")[-4].splitlines()]
    written = [line.strip() for line in golden.splitlines()]
    assert any(written[k : k + len(shown)] == shown for k in range(len(written))), shown

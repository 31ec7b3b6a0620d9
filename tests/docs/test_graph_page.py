"""The page about the graph compiler: its files exist, its numbers are the program's."""

from __future__ import annotations

import re

from tests.repo.source import ROOT
from texpr.graph.execution.in_place_updates import LEAST_BYTES
from texpr.runtime.call.kernel_sequence import SWEPT
from texpr.runtime.slabs import LEAST, MOST, SLAB

PAGE = ROOT / "docs" / "developer" / "graph.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_files_exist():
    named = re.findall(r"`([\w/]+(?:\.py|/\w+))`", TEXT)
    inside = ROOT / "texpr" / "graph" / "fusion"
    paths = [ROOT / n if "/" in n else inside / n for n in named]
    assert len(paths) > 10 and not [p for p in paths if not p.exists()]


def test_numbers():
    assert f"save {LEAST_BYTES >> 10} KB or more" in TEXT and f"pieces of {SWEPT} elements" in TEXT
    assert f"from {LEAST >> 10} KB to {MOST >> 20} MB are cut from slabs of {SLAB >> 20} MB" in TEXT

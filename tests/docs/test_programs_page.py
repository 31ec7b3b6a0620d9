"""The page about whole programs explains each kind of decision."""

from __future__ import annotations

import re

from tests.repo.source import ROOT
from texpr.graph.fusion.producer_consumer import Decision
from texpr.graph.passes import check_names

PAGE = ROOT / "docs" / "guide" / "programs.md"


def test_kinds_are_explained():
    table = PAGE.read_text(encoding="utf-8").partition("| kind | question |")[2].partition("\n## ")[0]
    (kinds,) = re.findall(r"kind: ([^.]*)\.", Decision.__doc__ or "")
    assert set(re.findall(r"`(\w+)`", kinds)) == set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


def test_passes_can_be_left_out():
    named = re.findall(r'disable="([\w,]+)"', PAGE.read_text(encoding="utf-8"))
    check_names([name for each in named for name in each.split(",")] + ["fuse", "sweep", "in_place"])

"""The pages about NNEF: the table is current, the guide's claims hold."""

from __future__ import annotations

import runpy

from tests.repo.source import ROOT
from texpr import ops
from texpr.nnef.operation_declarations import STANDARD, TRACT, declared
from texpr.nnef.writing.library_rules import NAMES, RULES

script = runpy.run_path(str(ROOT / "scripts" / "nnef_operations.py"))
TEXT = (ROOT / "docs" / "reference" / "nnef.md").read_text(encoding="utf-8")


def test_page_is_current():
    assert script["page"]() == TEXT, "run: python scripts/nnef_operations.py"


def test_every_operation_is_listed_once():
    read = TEXT.partition("## Operators that are written by name")[0]
    for name in {*declared(STANDARD), *declared(TRACT)}:
        assert read.count(f"\n| `{name}` |") == 1, name


def test_operators_that_are_written_are_of_the_library():
    assert all(hasattr(ops, name) for name in NAMES) and set(NAMES) == set(RULES)


def test_nothing_is_refused():
    assert "**refused**" not in TEXT

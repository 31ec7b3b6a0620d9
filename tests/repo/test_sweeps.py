"""`tests/sweeps.txt` names tests that exist, and leaves cases of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import conftest
from tests.conftest import SWEEPS

ROOT = Path(__file__).parents[2]


def test_names_are_those_of_tests():
    gone = [
        name
        for name in SWEEPS
        for file, _, test in [name.partition("::")]
        if not re.search(
            rf"def {re.escape(test.rpartition('::')[2])}\(", (ROOT / file).read_text(encoding="utf-8")
        )
    ]
    assert not gone


@dataclass(frozen=True)
class _Item:
    nodeid: str


def test_each_third_stays_and_none_of_what_takes_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(conftest, "SWEEPS", {"a.py::many": 3, "a.py::long": 0})
    names = [*(f"a.py::many[{k}]" for k in range(7)), "a.py::long", "a.py::short", "b.py::many[0]"]
    items, gone = [_Item(n) for n in names], list[_Item]()
    hook = SimpleNamespace(pytest_deselected=lambda items: gone.extend(items))
    conftest._thin_out(SimpleNamespace(hook=hook), items)
    assert [i.nodeid for i in items] == [
        "a.py::many[0]",
        "a.py::many[3]",
        "a.py::many[6]",
        "a.py::short",
        "b.py::many[0]",
    ]
    assert len(items) + len(gone) == len(names)

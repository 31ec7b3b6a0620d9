"""docs/developer/layout.md: every folder with a sentence, and files that exist."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def layout(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    monkeypatch.delitem(sys.modules, "layout", raising=False)
    import layout

    return layout


def test_the_page_is_as_its_script_writes_it(layout):
    assert layout.PAGE.read_text(encoding="utf-8") == layout.page()


def test_every_folder_says_what_is_there(layout):
    folders = dict(layout._folders())
    assert [folder for folder, said in folders.items() if len(said) < 12] == []
    assert (
        folders["texpr/schedule/steps/loops"]
        == "Steps that change loops: split, fuse, reorder, vectorize, and others."
    )


def test_places_of_the_table_exist(layout):
    places = re.findall(r"`((?:texpr|tests|scripts)/[\w/]+(?:\.py)?)", layout.HEAD)
    assert len(places) > 12 and [p for p in places if not (ROOT / p).exists()] == []

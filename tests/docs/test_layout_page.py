"""docs/developer/layout.md: every folder with a sentence, and files that exist."""

from __future__ import annotations

import re
from pathlib import Path

from scripts import layout

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_as_its_script_writes_it():
    assert layout.PAGE.read_text(encoding="utf-8") == layout.page()


def test_every_folder_says_what_is_there():
    folders = dict(layout._folders())
    assert [folder for folder, said in folders.items() if len(said) < 12] == []
    assert (
        folders["texpr/schedule/steps/loops"]
        == "Steps that change loops: split, fuse, reorder, vectorize, and others."
    )


def test_places_of_the_table_exist():
    places = re.findall(r"`((?:texpr|tests|scripts)/[\w/]+(?:\.py)?)", layout.HEAD)
    assert len(places) > 12 and [p for p in places if not (ROOT / p).exists()] == []

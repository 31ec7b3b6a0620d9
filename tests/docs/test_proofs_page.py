"""The page about proofs: its obligations are those of the certificate, its files exist."""

from __future__ import annotations

import re
from pathlib import Path

from texpr.poly.certificate.certify import MEANINGS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "developer" / "proofs.md"


def test_obligations():
    table = PAGE.read_text(encoding="utf-8").partition("| obligation |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(MEANINGS)


def test_files_exist():
    text = PAGE.read_text(encoding="utf-8")
    certificate = ROOT / "texpr" / "poly" / "certificate"
    folders = [ROOT, certificate.parent, certificate, certificate / "engine", certificate / "rewrites"]
    named = {name for name in re.findall(r"`([\w/]+\.(?:py|txt))`", text) if "NAME" not in name}
    assert (
        len(named) > 15
        and [name for name in named if not any((folder / name).exists() for folder in folders)] == []
    )

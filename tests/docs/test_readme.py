"""The README runs, its links lead somewhere, and its figures are those of the benchmark's page."""

from __future__ import annotations

import re
import runpy

import numpy as np

import texpr as tx
from tests.docs.page import run
from tests.repo.source import ROOT

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
benchmarks = runpy.run_path(str(ROOT / "scripts" / "benchmarks.py"))


def test_python():
    names = run(README)
    operator, X = names["rms_norm"], names["X"]
    np.testing.assert_allclose(names["Y"], X / np.sqrt(1 + 1e-5), rtol=1e-6)
    assert str(tx.grad(operator)).strip() == re.findall(r"^```text\n(.*?)^```$", TEXT, re.M | re.S)[0].strip()
    assert "matches" in str(names["s"].certificate()) or names["s"].certificate()


def test_links():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", TEXT)
    assert links and not [link for link in links if not (ROOT / link).exists()]


def test_figures_are_those_of_the_page():
    page = (ROOT / "docs/benchmarks/first.md").read_text(encoding="utf-8")
    assert not [row for row in benchmarks["quoted"](page) if row not in TEXT], (
        "run: make benchmarks PAGES=first"
    )

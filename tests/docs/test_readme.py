"""The README runs, its links lead somewhere, and its figures are those of the benchmark's page."""

from __future__ import annotations

import re
import runpy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import texpr as tx
from tests.docs.page import run
from tests.repo.source import ROOT
from texpr.ir.build import neg
from texpr.ir.loop import Store
from texpr.ir.printing.loop import full_listing
from texpr.ir.traverse import rewrite, walk
from texpr.lang import parse_kernel
from texpr.poly.certificate import certify

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
benchmarks = runpy.run_path(str(ROOT / "scripts" / "benchmarks.py"))


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the blocks of the README leave."""
    return run(README)


def test_python(names: dict[str, Any]):
    operator, X = names["rms_norm"], names["X"]
    np.testing.assert_allclose(names["Y"], X / np.sqrt(1 + 1e-5), rtol=1e-6)
    assert str(tx.grad(operator)).strip() == re.findall(r"^```text\n(.*?)^```$", TEXT, re.M | re.S)[0].strip()
    assert str(names["s"]) and "reassociated: r" in str(names["s"].certificate())


def test_the_certificate_is_made_from_the_loops_alone(names: dict[str, Any]):
    """Those of the README's schedule, read back from their listing: no step is known then."""
    loops = names["s"].kernel
    again = parse_kernel(full_listing(loops))
    assert certify(again, loops.program)
    written = next(n for n in walk(again) if isinstance(n, Store) and n.tensor in again.outputs)
    wrong = rewrite(again, lambda n: replace(n, value=neg(n.value)) if n is written else None)
    with pytest.raises(tx.ScheduleError, match="are not proven to compute it"):
        certify(wrong, loops.program)


def test_a_step_that_would_change_the_result_is_refused_with_an_example(names: dict[str, Any]):
    with pytest.raises(tx.ScheduleError) as refused:
        tx.schedule(names["rms_norm"], N=4096, D=1024).vectorize("r.j")
    assert refused.value.witness
    assert "iteration (i=0, j=0) runs before iteration (i=0, j=1)" in str(refused.value)


def test_links():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", TEXT)
    assert links and not [link for link in links if not (ROOT / link).exists()]


def test_figures_are_those_of_the_page():
    page = (ROOT / "docs/benchmarks/first.md").read_text(encoding="utf-8")
    assert not [row for row in benchmarks["quoted"](page) if row not in TEXT], (
        "run: make benchmarks PAGES=first"
    )

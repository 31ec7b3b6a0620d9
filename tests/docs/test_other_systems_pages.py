"""Pages for people who know another system: the names in their tables exist, and code of the other
system runs where it is installed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.correspondences import faults, spans
from tests.docs.page import run

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
NEEDS = {"from_numpy": "numpy", "from_torch": "torch", "from_tvm": "tvm", "from_halide": "halide"}
"""The package that the blocks marked `no-run` need. Triton's kernels need a GPU."""
PAGES = [*NEEDS, "from_triton", "comparison"]


@pytest.mark.parametrize(("page", "package"), NEEDS.items())
def test_python_of_the_other_system(page: str, package: str):
    pytest.importorskip(package)
    run(GUIDE / f"{page}.md", every=True)


@pytest.mark.parametrize("page", PAGES)
def test_names_in_tables_exist(page: str):
    found = list(spans((GUIDE / f"{page}.md").read_text(encoding="utf-8")))
    assert page == "comparison" or len(found) > 10
    assert [f for span in found for f in faults(span)] == []


@pytest.mark.parametrize(
    "span", ["x.permuted(1, 0)", "s.join('i', 'j')", "tx.nothing", "x.sum(dims=1)", "nn.Lienar(3, 4)"]
)
def test_wrong_names_are_found(span: str):
    assert list(spans(f"| NumPy | texpr |\n|---|---|\n| `a` | `{span}` |\n")) == [span]
    assert list(faults(span))

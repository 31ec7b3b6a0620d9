"""Every page with code, in the documentation and in the root: its operators equal the interpreter,
its Python runs, its outputs and errors are as shown.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import texpr as tx
from tests.docs.page import blocks, run
from tests.repo.source import ROOT
from texpr.support import options

ELSEWHERE = {
    "docs/developer/add_a_target.md": "test_add_a_target_page.py looks at the target that it makes",
    "docs/guide/ahead_of_time.md": "test_ahead_page.py compiles its C",
    "docs/guide/devices.md": "test_devices_page.py uses an emulated GPU",
    "docs/guide/targets.md": "test_targets_page.py takes the target away that it adds",
    "docs/reference/language.md": "test_language_page.py takes each block alone",
    "README.md": "test_readme.py looks at what it prints",
}
"""Pages that other tests run, and why."""
FOLDERS = ("docs/tutorials/", "docs/reference/operators/")
"""Pages that are run as notebooks, or entry by entry (`test_operators_pages.py`)."""
NEEDS = {
    "docs/guide/models.md": "onnx",
    "docs/guide/editors.md": "pygments",
    "docs/guide/inside_jax.md": "jax",  # `make bridges` runs these
    "docs/guide/inside_torch.md": "torch",
    "docs/guide/pytorch_archives.md": "torch",
}
"""Packages that pages use."""
DEFINED = {
    "docs/guide/debugging.md": {"running", "stages", "kernel"},
    "docs/guide/distributed.md": {"everyone", "error", "share"},
    "docs/guide/editors.md": {"changed", "page"},
    "docs/guide/gradients.md": {"backward", "safe"},
    "docs/guide/inside_jax.md": {"f", "curvature", "take"},
    "docs/guide/inside_torch.md": {"compiled", "exported", "g", "net"},
    "docs/guide/networks.md": {"Block", "Squares", "Losses", "Scale", "Cubic", "Signs", "history"},
    "docs/guide/operators.md": {"ordered"},
    "docs/guide/programs.md": {"plan", "training", "in_place", "single"},
    "docs/guide/running.md": {"kernel", "c"},
    "docs/guide/scikit_learn.md": {"model", "search", "regressor"},
    "docs/guide/tensors.md": {"step", "train", "sign", "along"},
    "docs/guide/transforms.md": {"jacobian", "table", "states", "damped", "halvings"},
}
"""Names that pages leave: a page that lost a block fails."""
CHECKS = {
    "docs/developer/graph.md": lambda names: str(names["picture"]).startswith("<svg"),
    "docs/guide/first_steps.md": lambda names: names["accuracy"] >= 0.9,
    "docs/guide/tuning.md": lambda names: isinstance(names["kernel"], tx.CompiledKernel),
}
ALONE = ("gpu_schedules", "performance", "rounding", "running", "tuning")
"""Pages of the guide that need a cache without results of other runs."""


def pages() -> list[str]:
    """The pages with code, by their paths."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    paths = {path.relative_to(ROOT).as_posix(): path for path in files}
    kept = [
        name
        for name in paths
        if name not in ELSEWHERE and (not name.startswith(FOLDERS) or name.endswith("operators/index.md"))
    ]
    return sorted(name for name in kept if any(b.kind in ("python", "texpr") for b in blocks(paths[name])))


@pytest.mark.timeout(600)  # one page is as long as fifty other tests, and the machine may have other work
@pytest.mark.parametrize("page", pages())
def test_code(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(options, "_process", None)
    alone = {"cache_dir": tmp_path} if Path(page).stem in ALONE else {}
    with tx.options(**alone):
        names = run(ROOT / page)
    assert DEFINED.get(page, set()) <= names.keys()
    assert page not in CHECKS or CHECKS[page](names)


def test_tables_name_pages():
    found = {*ELSEWHERE, *NEEDS, *DEFINED, *CHECKS, *(f"docs/guide/{name}.md" for name in ALONE)}
    assert [page for page in found if not (ROOT / page).exists()] == []

"""The tutorials run, with small sizes, and their notebooks are theirs: the same cells, with
outputs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))


def notebook_cells(path: Path) -> list[dict]:
    return json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda p: p.stem)
def test_tutorial_runs(path: Path):
    pytest.importorskip("matplotlib")
    environment = {**os.environ, "TEXPR_TUTORIAL_FAST": "1", "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, str(path)], env=environment, capture_output=True, text=True, timeout=100
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda p: p.stem)
def test_notebook_is_of_this_tutorial(path: Path):
    code = ["".join(cell["source"]) for cell in notebook_cells(path) if cell["cell_type"] == "code"]
    parts = path.read_text(encoding="utf-8").split("\n# %%")[1:]
    assert code == [part.lstrip("\n").rstrip("\n") for part in parts if not part.startswith(" [markdown]")], (
        "run: make notebooks"
    )


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda p: p.stem)
def test_notebook_was_run_and_shows_no_machine(path: Path):
    cells = [cell for cell in notebook_cells(path) if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] == number for number, cell in enumerate(cells, 1))
    said = json.dumps([cell["outputs"] for cell in cells])
    assert "image/png" in said and '"output_type": "error"' not in said and "Traceback" not in said
    assert not [word for word in ("/home/", "/root/", "/usr/", "/tmp" + "/", "C:\\\\") if word in said]

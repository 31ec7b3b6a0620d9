"""The tutorials run, with small sizes; their notebooks have the same cells, with outputs of one run;
the claim of each quotes its run, and no figure of a run is written by hand.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.repo.test_prose import faults

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
CODE, PROSE = 88, 100
"""Columns of a line."""
PLACEHOLDER = "{{result}}"
FIGURE = re.compile(
    r"\d\s?(ms|us|ns|s|seconds?|minutes?|[GTM]FLOP/s|GB/s|nats|percent|%|times (faster|slower|less|more))\b|\d ?%"
)
"""A measured number with its unit."""

NEEDS = {"15_a_pretrained_model": "magika", "16_two_ranks": "mpi4py"}
"""Packages without which a tutorial is not run: `make models` installs the first one, the extra `mpi`
the second.
"""

each_tutorial = pytest.mark.parametrize("path", TUTORIALS, ids=lambda p: p.stem)


class Cell(NamedTuple):
    """A cell of a tutorial."""

    kind: str
    tags: list[str]
    text: str


def tutorial_cells(path: Path) -> list[Cell]:
    """The cells of a script in the percent format, behind its header."""
    return [_cell(part) for part in path.read_text(encoding="utf-8").split("\n# %%")[1:]]


def _cell(part: str) -> Cell:
    head, _, body = part.partition("\n")
    if head.strip() == "[markdown]":
        lines = [re.sub("^# ?", "", line) for line in body.strip("\n").splitlines()]
        return Cell("markdown", [], "\n".join(lines))
    tags = re.fullmatch(r" tags=(\[.*\])", head)
    return Cell("code", json.loads(tags[1]) if tags else [], body.strip("\n"))


def notebook_cells(path: Path) -> list[dict]:
    return json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]


def printed(cell: dict) -> str:
    """The text that a cell of a notebook has printed."""
    return "".join("".join(o["text"]) for o in cell["outputs"] if o.get("name") == "stdout")


@each_tutorial
def test_tutorial_runs(path: Path):
    pytest.importorskip("matplotlib")
    needed = NEEDS.get(path.stem, "")
    if needed and find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    environment = {**os.environ, "TEXPR_TUTORIAL_FAST": "1", "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, str(path)], env=environment, capture_output=True, text=True, timeout=200
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


@each_tutorial
def test_notebook_is_of_this_tutorial(path: Path):
    cells, stored = tutorial_cells(path), notebook_cells(path)
    quotation = _quoted(next(c for c in stored if "result" in c["metadata"].get("tags", [])))
    expected = [(c.kind, c.text.replace(PLACEHOLDER, quotation)) for c in cells]
    assert [(c["cell_type"], "".join(c["source"])) for c in stored] == expected, "run: make notebooks"
    for cell, notebook_cell in zip(cells, stored):
        assert notebook_cell["metadata"].get("tags", [])[:1] == cell.tags


def _quoted(cell: dict) -> str:
    return "\n".join(f"> {line}  " for line in printed(cell).rstrip("\n").splitlines()).rstrip(" ")


@each_tutorial
def test_notebook_was_run_and_shows_no_machine(path: Path):
    cells = [cell for cell in notebook_cells(path) if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] == number for number, cell in enumerate(cells, 1))
    said = json.dumps([cell["outputs"] for cell in cells])
    assert "image/png" in said and '"output_type": "error"' not in said and "Traceback" not in said
    assert not [word for word in ("/home/", "/root/", "/usr/", "/tmp" + "/", "C:\\\\") if word in said]


@each_tutorial
def test_claim_quotes_its_run(path: Path):
    """The first cell has a claim and a place for the result, which one cell prints with the machine."""
    first, *others = tutorial_cells(path)
    assert first.kind == "markdown" and "**Claim:**" in first.text and f"\n{PLACEHOLDER}\n" in first.text
    results = [cell for cell in others if "result" in cell.tags]
    assert len(results) == 1 and "machine.describe(" in results[0].text
    (stored,) = [c for c in notebook_cells(path) if "result" in c["metadata"].get("tags", [])]
    said = printed(stored).splitlines()
    assert len(said) >= 2 and re.search(r"\d", said[0]) and "Python 3" in said[-1]


@each_tutorial
def test_no_figure_is_written_by_hand(path: Path):
    cells = [cell for cell in tutorial_cells(path) if cell.kind == "markdown"]
    assert not [m[0] for cell in cells for m in FIGURE.finditer(cell.text)]


def test_figures_are_found():
    assert all(
        FIGURE.search(f"it takes {text}.") for text in ("3 ms", "12 %", "2.5 times less", "300 GFLOP/s")
    )
    assert not any(FIGURE.search(text) for text in ("64 columns", "8 steps", "f32[2] s"))


@each_tutorial
def test_exercises_have_solutions(path: Path):
    """Each tutorial ends with two or three exercises, and a hidden cell that runs for each."""
    cells = tutorial_cells(path)
    at = next(k for k, cell in enumerate(cells) if cell.text.startswith("## Exercises"))
    exercises = re.findall(r"^\d\. ", cells[at].text, re.MULTILINE)
    solutions = [cell for cell in cells if "solution" in cell.tags]
    assert 2 <= len(exercises) <= 3 and len(solutions) == len(exercises)
    assert all(cell in cells[at:] for cell in solutions)


@each_tutorial
def test_lines_and_sentences_are_short(path: Path):
    cells = tutorial_cells(path)
    prose = "\n\n".join(cell.text for cell in cells if cell.kind == "markdown")
    assert not faults(prose.replace(PLACEHOLDER, ""))
    wide = [
        line
        for cell in cells
        for line in cell.text.splitlines()
        if len(line) > _limit(cell) and not line.startswith("|")
    ]
    assert not wide, wide


def _limit(cell: Cell) -> int:
    return CODE if cell.kind == "code" else PROSE - 2  # the script has `# ` before a line of prose


@each_tutorial
def test_code_is_python_alone(path: Path):
    """No magic of Jupyter, so that the scripts run by themselves."""
    for cell in tutorial_cells(path):
        if cell.kind == "code":
            ast.parse(cell.text)


def test_index_names_every_tutorial():
    text = (ROOT / "docs" / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"\((\d\d_\w+)\.ipynb\)", text) == [path.stem for path in TUTORIALS]

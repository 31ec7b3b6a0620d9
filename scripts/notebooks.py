"""Run the tutorials and write their notebooks, with outputs, beside them.

    python scripts/notebooks.py [--prose] [TUTORIAL.py...]

Needs the dependency group `docs`. Tutorials that compare with torch, or run a model of another
package, need that, too: without it their notebooks stay as they are, unless they are named. A cell that raises an error, or an output that
shows where this machine keeps its files, stops it.

Cells of a tutorial may have one of these tags:

* `result`: its printed text stands in the first cell of the notebook, in place of `{{result}}`. So the
  claim at the top quotes the run below, and no figure is written by hand.
* `setup`: its source is hidden until the reader asks for it.
* `solution`: its source and its outputs are hidden until the reader asks for them.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import socket
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
PLACEHOLDER = "{{result}}"
HIDDEN = {"setup": ("hide-input", "Show the setup"), "solution": ("hide-cell", "Show the solution")}
"""The tag that the site knows, and the text of the button, by the tag of a cell."""


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook of a tutorial, run from top to bottom, with its result in its first cell."""
    notebook = jupytext.read(path)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"  # the same in every run, so that differences show what changed
    NotebookClient(
        notebook,
        timeout=600,
        startup_timeout=300,  # a kernel on a machine with other work took more than nbclient's 60 s
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": ROOT}},
    ).execute()
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    for cell in notebook.cells:
        hide(cell)
    fill_in_result(notebook)
    return notebook


def with_new_prose(path: Path) -> nbformat.NotebookNode:
    """The stored notebook of a tutorial with today's Markdown, and the outputs that are there.

    Raises:
        SystemExit: the code is not what was run.
    """
    notebook, stored = jupytext.read(path), nbformat.read(path.with_suffix(".ipynb"), as_version=4)
    was, now = (
        [(c["cell_type"], c["source"] if c["cell_type"] == "code" else "") for c in each.cells]
        for each in (stored, notebook)
    )
    if was != now:
        raise SystemExit(f"{path.name}: the code has changed, so it has to run: leave --prose away")
    for cell, old in zip(notebook.cells, stored.cells):
        if cell["cell_type"] == "markdown":
            old["source"] = cell["source"]
    fill_in_result(stored)
    return stored


def fill_in_result(notebook: nbformat.NotebookNode) -> None:
    """Put the result of the run in its place in the first cell."""
    first = notebook.cells[0]
    first["source"] = first["source"].replace(PLACEHOLDER, quoted(result(notebook)))


def hide(cell: nbformat.NotebookNode) -> None:
    """Give a cell the metadata that hides it, in the site and in Jupyter, if its tags say so."""
    for tag in cell.metadata.get("tags", []):
        if tag in HIDDEN:
            known, prompt = HIDDEN[tag]
            cell.metadata["tags"] = [tag, known]
            cell.metadata["mystnb"] = {"code_prompt_show": prompt}
            cell.metadata["jupyter"] = {"source_hidden": True}


def result(notebook: nbformat.NotebookNode) -> str:
    """The text that the cell with the tag `result` printed."""
    (cell,) = [cell for cell in notebook.cells if "result" in cell.metadata.get("tags", [])]
    return "".join(
        o["text"] for o in cell["outputs"] if o["output_type"] == "stream" and o["name"] == "stdout"
    )


def quoted(text: str) -> str:
    """A quotation in Markdown, line by line."""
    return "\n".join(f"> {line}  " for line in text.rstrip("\n").splitlines()).rstrip(" ")


def private(text: str) -> list[str]:
    """Names and places of this machine that the text shows."""
    places = {str(ROOT), str(Path.home()), sys.prefix, socket.gethostname()}
    return [place for place in places if len(place) > 3 and place in text]


def missing_packages(path: Path) -> list[str]:
    """Packages that a tutorial looks for by `find_spec`, and that are not installed."""
    names = re.findall(r'find_spec\("(\w+)"\)', path.read_text(encoding="utf-8"))
    return [name for name in dict.fromkeys(names) if importlib.util.find_spec(name) is None]


def every_tutorial() -> list[Path]:
    """The tutorials that can be run here."""
    found = []
    for path in sorted((ROOT / "docs" / "tutorials").glob("*.py")):
        if missing := missing_packages(path):
            print(f"{path.stem}: {', '.join(missing)} is not installed, the notebook stays as it is")
        else:
            found.append(path)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tutorials", nargs="*", type=Path, metavar="TUTORIAL.py", help="default: all of them")
    parser.add_argument("--prose", action="store_true", help="new Markdown; outputs stay, nothing runs")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    for path in arguments.tutorials or every_tutorial():
        start = time.perf_counter()
        text = nbformat.writes(with_new_prose(path) if arguments.prose else executed(path))
        if places := private(text):
            raise SystemExit(f"{path.name} shows {', '.join(places)}")
        path.with_suffix(".ipynb").write_text(text + "\n", encoding="utf-8")
        print(f"{path.with_suffix('.ipynb').name}: {time.perf_counter() - start:.0f} s", flush=True)
    print(f"all: {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()

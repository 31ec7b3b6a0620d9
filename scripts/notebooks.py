"""Run the tutorials and write their notebooks, with outputs, beside them.

    python scripts/notebooks.py [TUTORIAL.py...]

Needs the dependency group `docs`. A cell that raises, or an output that shows where this machine
keeps its files, stops it.
"""

from __future__ import annotations

import argparse
import socket
import sys
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook of a tutorial, run from top to bottom."""
    notebook = jupytext.read(path)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"  # the same in every run, so that differences show what changed
    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": ROOT}},
    ).execute()
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return notebook


def private(text: str) -> list[str]:
    """Names and places of this machine that the text shows."""
    places = {str(ROOT), str(Path.home()), sys.prefix, socket.gethostname()}
    return [place for place in places if len(place) > 3 and place in text]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "tutorials",
        nargs="*",
        type=Path,
        default=sorted((ROOT / "docs" / "tutorials").glob("*.py")),
        metavar="TUTORIAL.py",
        help="default: all of them",
    )
    for path in parser.parse_args().tutorials:
        text = nbformat.writes(executed(path))
        if places := private(text):
            raise SystemExit(f"{path.name} shows {', '.join(places)}")
        path.with_suffix(".ipynb").write_text(text + "\n", encoding="utf-8")
        print(path.with_suffix(".ipynb").name)


if __name__ == "__main__":
    main()

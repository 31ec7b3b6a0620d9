"""Writes the pages of options, errors, the command line and the IRs: `python -m scripts.pages`."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from scripts.pages import commands, errors, intermediate, options
from texpr.support import options as process

ROOT = Path(__file__).parents[2]
PAGES = {module.PAGE: module.page for module in (options, errors, commands, intermediate)}


def written(path: str) -> str:
    """The text of a page. Its examples leave the options of the process as they are, and nothing
    that they print is seen.
    """
    before = process._process
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            return PAGES[path]()
    finally:
        process._process = before


if __name__ == "__main__":
    for path in PAGES:
        (ROOT / path).write_text(written(path), encoding="utf-8")
        print(path)

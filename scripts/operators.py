"""Writes docs/reference/operators.md from the comments of the operator library: `python
scripts/operators.py`.
"""

from __future__ import annotations

from pathlib import Path

from texpr import lang
from texpr.compiler.imports import library_files

HEAD = """# The operator library

`from texpr import ops`: operators written in the language of texpr, in `texpr/ops/library/*.tx`, called on NumPy arrays, on lazy tensors
and from networks. Written by `python scripts/operators.py`; edit the comments there.
"""


def page() -> str:
    """The page as it should be."""
    return "\n".join(
        [HEAD, *(_theme(f.name.removesuffix(".tx"), f.read_text(encoding="utf-8")) for f in library_files())]
    )


def _theme(name: str, text: str) -> str:
    """One file: its first comment, then its operators."""
    comment, _, _ = text.partition("\n\n")
    lines = [f"## {name.capitalize()}", "", _plain(comment), ""]
    for declaration in lang.parse(text, name).ops.values():
        signature, _, _ = declaration.text.partition(" {")
        lines += [
            f"### `{declaration.name}`",
            "",
            declaration.doc or "",
            "",
            "```",
            signature.rstrip(),
            "```",
            "",
        ]
    return "\n".join(lines)


def _plain(comment: str) -> str:
    return "\n".join(line.removeprefix("#").strip() for line in comment.splitlines())


if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "reference" / "operators.md").write_text(page(), encoding="utf-8")

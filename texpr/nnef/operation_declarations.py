"""The operations of NNEF 1.0 and of tract's extensions, by their declarations: texts in NNEF's own
language that lie beside this file.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from texpr.nnef.syntax.graph_parser import parse_declarations
from texpr.nnef.syntax.graph_tree import Fragment
from texpr.support.source import Source

STANDARD, TRACT = "standard.nnef", "tract.nnef"


@cache
def declared(text: str) -> dict[str, Fragment]:
    """The operations of one of the texts."""
    held = files("texpr.nnef").joinpath(text).read_text(encoding="utf-8")
    return {f.name: f for f in parse_declarations(Source(text, held))}

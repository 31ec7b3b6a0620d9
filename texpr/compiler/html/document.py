"""Panes side by side, as a piece of a notebook or a file of its own.

Kept by hand: three f-strings with escaped parts are no reason for a template engine at run time.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

from texpr.compiler.html.highlight import style
from texpr.support.frozen_dataclass import frozen


@frozen
class Pane:
    """A titled part of a row; `body` is HTML."""

    title: str
    body: str


def fragment(panes: Sequence[Pane]) -> str:
    """Panes side by side with the style and script they need: what `_repr_html_` returns."""
    script = f"<script>{_asset('page.js')}</script>"
    return f'<style>{_style()}</style><div class="texpr">{_row(panes)}</div>{script}'


def page(title: str, rows: Sequence[tuple[str, Sequence[Pane]]]) -> str:
    """A whole document: a row of panes for each named part, with links to them where there are
    several.
    """
    links = (
        " ".join(f'<a href="#{html.escape(name)}">{html.escape(name)}</a>' for name, _ in rows)
        if len(rows) > 1
        else ""
    )
    shown = "".join(
        f'<h1 id="{html.escape(name)}">{html.escape(name)}</h1>{_row(panes)}' for name, panes in rows
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{_style()}</style></head>"
        f'<body class="texpr '
        f'page"><nav>{links}</nav>{shown}<script>{_asset("page.js")}</script></body></html>\n'
    )


def _row(panes: Sequence[Pane]) -> str:
    shown = "".join(
        f'<section><h2>{html.escape(p.title)}</h2><div class="body">{p.body}</div></section>' for p in panes
    )
    return f'<div class="panes">{shown}</div>'


def _style() -> str:
    return _asset("page.css") + style()


@lru_cache
def _asset(name: str) -> str:
    return (files("texpr.compiler.html") / name).read_text(encoding="utf-8")

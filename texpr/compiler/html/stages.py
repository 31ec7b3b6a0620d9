"""A loop nest after each step of its schedule, with a slider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr.compiler.html.highlight import highlighted
from texpr.compiler.html.nest_boxes import nest_html
from texpr.ir.expr import Var
from texpr.ir.loop import Kernel

COLOURS = ("serial", "parallel", "vector", "unroll", "block", "thread", "guard")
"""Kinds of loops that have a colour of their own in `page.css`, and conditions."""


def stages_html(stages: Sequence[tuple[str, Kernel, Mapping[Var, str]]]) -> str:
    """A slider over stages: what was done, the kernel then, and notes on its loops. Without
    scripts the last stage shows.
    """
    last = len(stages) - 1
    items = [highlighted(done, "texpr") for done, _, _ in stages]
    steps = "".join(
        f'<li class="{"now" if k == last else ""}" data-stage="{k}">{item}</li>'
        for k, item in enumerate(items)
    )
    panes = "".join(
        f'<div class="stage"{"" if k == last else " hidden"}>{nest_html(kernel, notes)}</div>'
        for k, (_, kernel, notes) in enumerate(stages)
    )
    slider = (
        f'<input type="range" min="0" max="{last}" value="{last}" aria-label="step" '
        f"{'disabled' if last == 0 else ''}>"
    )
    steps_html = f'<div class="steps">{slider}<ol start="0">{steps}</ol></div>'
    return f'<div class="stages">{steps_html}{panes}{_legend(panes)}</div>'


def _legend(panes: str) -> str:
    """The colours that occur."""
    shown = [kind for kind in COLOURS if f'class="loop {kind}"' in panes]
    return (
        f'<p class="legend">{"".join(f"""<span class="loop {kind}">{kind}</span>""" for kind in shown)}</p>'
    )

"""Loop nests as nested boxes, and the equations they compute."""

from __future__ import annotations

import html
from collections.abc import Mapping

from texpr.compiler.html.highlight import highlighted
from texpr.ir.expr import Node, Var
from texpr.ir.loop import For, If, Kernel, Store
from texpr.ir.printing.loop import source_kernel
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Program


def nest_html(kernel: Kernel, notes: Mapping[Var, str]) -> str:
    """A box per loop and condition, a line per statement; `notes` stand behind their loops."""
    source, places = source_kernel(kernel)
    top = source.text[: min((places[id(s)].start for s in kernel.body), default=len(source.text))].rstrip()
    made = [f'<pre class="head">{highlighted(top, "texpr")}</pre>']
    stack: list[Node | str] = list(reversed(kernel.body))
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            made.append(node)
            continue
        line = highlighted(places[id(node)].text.strip(), "texpr")
        match node:
            case For(var, _, body, kind):
                family = str(kind).partition(".")[0]
                why = f'<span class="why">{html.escape(notes[var])}</span>' if var in notes else ""
                made.append(f'<div class="loop {family}"><div class="line">{line}{why}</div>')
                stack += ["</div>", *reversed(body)]
            case If(_, body):
                made.append(f'<div class="loop guard"><div class="line">{line}</div>')
                stack += ["</div>", *reversed(body)]
            case Store():
                made.append(f'<div class="line store" data-equation="{node.equation}">{line}</div>')
            case _:
                made.append(f'<div class="line">{line}</div>')
    return f'<div class="nest">{"".join(made)}</div>'


def equations_html(program: Program) -> str:
    """The program's text, each equation in an element that the stores of the nest refer to by
    its number.
    """
    lines = show_program(program).rstrip("\n").split("\n")
    first = len(lines) - 1 - len(program.equations)
    made = [highlighted("\n".join(lines[:first]), "texpr")]
    made += [
        f'<span class="equation" data-equation="{k}">{highlighted(line, "texpr")}</span>'
        for k, line in enumerate(lines[first:-1])
    ]
    return f"<pre>{chr(10).join([*made, highlighted(lines[-1], 'texpr')])}</pre>"

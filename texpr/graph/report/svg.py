"""A plan as a picture: kernels in layers, tensors as lines between them.

The layout by hand is for machines without Graphviz: no package of PyPI brings `dot`, and a notebook
should show a plan everywhere.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from texpr.graph.lowering.launch_sequence import Launch
from texpr.graph.report.dot import (
    EDGE,
    HEAVY,
    INK,
    LIGHT,
    QUIET,
    are_heavy,
    edges,
    is_result,
    laid_out,
    to_dot,
    words,
)
from texpr.ir.expr import Tensor

CHARACTER, LINE, PAD, GAP, RISE = 6.7, 15, 8, 26, 34
"""Pixels: of a character, a line of text, the frame inside a box, between boxes, between layers."""
SWEEPS = 8
_STYLE = f"""text {{ font: 11px ui-monospace, monospace; fill: {INK}; }} .name {{ font-weight: bold; }}
.quiet {{ fill: {QUIET}; }} rect {{ fill: {LIGHT[0]}; stroke: {LIGHT[1]}; rx: 4; }}
.heavy rect {{ fill: {HEAVY[0]}; stroke: {HEAVY[1]}; }} path {{ fill: none; stroke: {EDGE}; }}"""


def picture(launches: Sequence[Launch], views: Mapping[Tensor, Tensor]) -> str:
    """An SVG document: each kernel with what it computes and what it reads of the program's inputs.

    Graphviz lays it out where it is installed. Kernels of most arithmetic are marked.
    """
    return laid_out(to_dot(launches, views)) or draw(launches, views)


@dataclass(eq=False, slots=True)
class _Box:
    """A kernel, or the part of a line that passes a layer (without text), as high as the layer."""

    lines: tuple[str, ...] = ()
    heavy: bool = False
    layer: int = 0
    x: float = 0.0
    y: float = 0.0
    height: float = 0.0
    above: list[_Box] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.height = len(self.lines) * LINE + PAD if self.lines else 0.0

    @property
    def width(self) -> float:
        return max(map(len, self.lines)) * CHARACTER + 2 * PAD if self.lines else 2.0


def draw(launches: Sequence[Launch], views: Mapping[Tensor, Tensor]) -> str:
    """The picture without Graphviz.

    Layers are as deep as the longest way to them; lines that pass layers have a place there.
    Sugiyama, Tagawa and Toda, Methods for Visual Understanding of Hierarchical System Structures,
    1981.
    """
    boxes = [_Box(texts, heavy) for texts, heavy in zip(words(launches, views), are_heavy(launches))]
    pairs = [(boxes[maker], boxes[k]) for k, maker in edges(launches, views)]
    for box in boxes:
        box.layer = max((a.layer + 1 for a, b in pairs if b is box), default=0)
    layers: list[list[_Box]] = [[] for _ in range(max((b.layer for b in boxes), default=0) + 1)]
    for box in boxes:
        layers[box.layer].append(box)
    lines = [_bent(a, b, layers) for a, b in pairs]
    _place(layers)
    return _document(boxes, lines)


def _bent(start: _Box, end: _Box, layers: list[list[_Box]]) -> list[_Box]:
    """The line from one box to another, with a bend in every layer between."""
    line = [start]
    for layer in range(start.layer + 1, end.layer):
        bend = _Box(layer=layer, above=[line[-1]])
        layers[layer].append(bend)
        line.append(bend)
    end.above.append(line[-1])
    return [*line, end]


def _place(layers: list[list[_Box]]) -> None:
    """Each layer ordered by where its neighbours are, then boxes as near to them as others let
    them be.
    """
    below: dict[_Box, list[_Box]] = {}
    for box in (b for layer in layers for b in layer):
        for other in box.above:
            below.setdefault(other, []).append(box)
    for layer in layers:
        _spread(layer)
    alone = {b for b in layers[0] if b not in below}
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            for box in layer:
                near = box.above if sweep % 2 == 0 else below.get(box, [])
                if near:
                    box.x = sum(n.x + n.width / 2 for n in near) / len(near) - box.width / 2
                elif box in alone:  # beside the picture, not far from it
                    box.x = min((b.x for row in layers for b in row if b not in alone), default=0.0)
            layer.sort(key=lambda b: b.x)
            _apart(layer)
    left = min((b.x for layer in layers for b in layer), default=0.0)
    y = float(GAP)
    for layer in layers:
        height = max((b.height for b in layer), default=0.0)
        for box in layer:
            box.x += GAP - left
            box.y = y
            box.height = box.height or height
        y += height + RISE


def _spread(layer: list[_Box]) -> None:
    x = 0.0
    for box in layer:
        box.x = x
        x += box.width + GAP


def _apart(layer: list[_Box]) -> None:
    """No two boxes over each other: those that are pushed share the way to both sides."""
    wanted = [b.x for b in layer]
    for before, box in zip(layer, layer[1:]):
        box.x = max(box.x, before.x + before.width + GAP)
    shift = sum(w - b.x for w, b in zip(wanted, layer)) / max(1, len(layer))
    for box in layer:
        box.x += shift


def _document(boxes: Sequence[_Box], lines: Sequence[Sequence[_Box]]) -> str:
    width = max((b.x + b.width for b in (*boxes, *(b for line in lines for b in line))), default=0.0) + GAP
    height = max((b.y + b.height for b in boxes), default=0.0) + GAP
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', f"<style>{_STYLE}</style>"]
    parts += [f'<path d="{_curve(line)}"/>' for line in lines]
    for box in boxes:
        parts.append(
            f'<g class="{"heavy" if box.heavy else "light"}"><rect x="{box.x:.1f}" y="{box.y:.1f}" '
            f'width="{box.width:.1f}" '
            f'height="{box.height:.1f}"/>'
        )
        kinds = ["name" if is_result(text) else "quiet" for text in box.lines]
        parts += [
            f'<text class="{kind}" x="{box.x + PAD:.1f}" '
            f'y="{box.y + LINE * (k + 1):.1f}">{html.escape(text)}</text>'
            for k, (kind, text) in enumerate(zip(kinds, box.lines))
        ]
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"])


def _curve(line: Sequence[_Box]) -> str:
    """A smooth way from one box down to another, straight through the layers between."""
    x, y = line[0].x + line[0].width / 2, line[0].y + line[0].height
    text = f"M{x:.1f} {y:.1f}"
    for box in line[1:]:
        u, v = box.x + box.width / 2, box.y
        middle = (y + v) / 2
        text += f" C{x:.1f} {middle:.1f} {u:.1f} {middle:.1f} {u:.1f} {v:.1f}"
        x, y = u, v
        if not box.lines:
            y += box.height
            text += f" V{y:.1f}"
    return text

"""A plan as a picture: kernels in layers, tensors as lines between them."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from texpr.graph.fusion.producer_consumer import tensor_bytes
from texpr.graph.lowering.launches import Launch
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.expr import Tensor

CHARACTER, LINE, PAD, GAP, RISE = 6.7, 15, 8, 26, 34
"""Pixels: of a character, a line of text, the frame inside a box, between boxes, between layers."""
SWEEPS = 8
_UNITS = ((10**9, "Gflop"), (10**6, "Mflop"), (10**3, "kflop"), (1, "flop"))
MOST_NAMES = 3
_STYLE = """text { font: 11px ui-monospace, monospace; fill: #222; } .name { font-weight: bold; } .quiet { fill: #777; }
rect { fill: #f7f9fc; stroke: #5b7db1; rx: 4; } .heavy rect { fill: #fdeede; stroke: #c77d2f; } path { fill: none; stroke: #9aa7b8; }"""


@dataclass(eq=False, slots=True)
class _Box:
    """A kernel, or a bend of a line that passes a layer (without text)."""

    lines: tuple[str, ...] = ()
    heavy: bool = False
    layer: int = 0
    x: float = 0.0
    y: float = 0.0
    above: list[_Box] = field(default_factory=list)

    @property
    def width(self) -> float:
        return max(map(len, self.lines)) * CHARACTER + 2 * PAD if self.lines else 2.0

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + PAD if self.lines else 0.0


def draw(launches: Sequence[Launch], views: Mapping[Tensor, Tensor]) -> str:
    """An SVG document: each kernel with what it computes and what it reads of the program's inputs, those of most arithmetic marked.

    Layers are as deep as the longest way to them; lines that pass layers bend there. Sugiyama, Tagawa and Toda, Methods for Visual
    Understanding of Hierarchical System Structures, 1981.
    """
    made = {t: k for k, n in enumerate(launches) for t in n.outputs}
    total = sum(n.operations for n in launches)
    boxes = [_Box(_words(n, made, views), 10 * n.operations > total) for n in launches]
    edges = [(boxes[k], box) for n, box in zip(launches, boxes) for k in _makers(n, made, views)]
    for box in boxes:
        box.layer = max((a.layer + 1 for a, b in edges if b is box), default=0)
    layers: list[list[_Box]] = [[] for _ in range(max((b.layer for b in boxes), default=0) + 1)]
    for box in boxes:
        layers[box.layer].append(box)
    lines = [_bent(a, b, layers) for a, b in edges]
    _place(layers)
    return _document(boxes, lines)


def _words(launch: Launch, made: Mapping[Tensor, int], views: Mapping[Tensor, Tensor]) -> tuple[str, ...]:
    results = [f"{t.name}: {t.dtype}{list(shape_of(t))}" for t in launch.outputs]
    given = [t.name for t in launch.inputs if views.get(t, t) not in made]
    size = next(f"{launch.operations / n:.3g} {unit}" for n, unit in _UNITS if launch.operations >= n or n == 1)
    moved = sum(map(tensor_bytes, (*launch.inputs, *launch.outputs)))
    lines = [*results[:MOST_NAMES], *([f"and {len(results) - MOST_NAMES} more"] if len(results) > MOST_NAMES else []),
             f"{launch.program.name}, {size}, {moved / (1 << 20):.2f} MiB"]
    return (*lines, "of " + ", ".join([*given[:MOST_NAMES], *(["..."] if len(given) > MOST_NAMES else [])])) if given else tuple(lines)


def _makers(launch: Launch, made: Mapping[Tensor, int], views: Mapping[Tensor, Tensor]) -> list[int]:
    """Positions of the kernels whose results it reads, each once."""
    return list(dict.fromkeys(made[s] for t in launch.inputs if (s := views.get(t, t)) in made))


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
    """Each layer ordered by where its neighbours are, then boxes as near to them as others let them be."""
    below: dict[_Box, list[_Box]] = {}
    for box in (b for layer in layers for b in layer):
        for other in box.above:
            below.setdefault(other, []).append(box)
    for layer in layers:
        _spread(layer)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            for box in layer:
                near = box.above if sweep % 2 == 0 else below.get(box, [])
                if near:
                    box.x = sum(n.x + n.width / 2 for n in near) / len(near) - box.width / 2
            layer.sort(key=lambda b: b.x)
            _apart(layer)
    left = min((b.x for layer in layers for b in layer), default=0.0)
    y = float(GAP)
    for layer in layers:
        for box in layer:
            box.x += GAP - left
            box.y = y
        y += max((b.height for b in layer), default=0.0) + RISE


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
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
             f"<style>{_STYLE}</style>"]
    parts += [f'<path d="{_curve(line)}"/>' for line in lines]
    for box in boxes:
        parts.append(f'<g class="{"heavy" if box.heavy else "light"}"><rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
                     f'height="{box.height:.1f}"/>')
        kinds = ["name" if ": " in text else "quiet" for text in box.lines]
        parts += [f'<text class="{kind}" x="{box.x + PAD:.1f}" y="{box.y + LINE * (k + 1):.1f}">{html.escape(text)}</text>'
                  for k, (kind, text) in enumerate(zip(kinds, box.lines))]
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"])


def _curve(line: Sequence[_Box]) -> str:
    """A smooth way from the bottom of the first box through the bends to the top of the last one."""
    points = [(b.x + b.width / 2, b.y) for b in line]
    points[0] = points[0][0], line[0].y + line[0].height
    text = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x, y), (u, v) in zip(points, points[1:]):
        middle = (y + v) / 2
        text += f" C{x:.1f} {middle:.1f} {u:.1f} {middle:.1f} {u:.1f} {v:.1f}"
    return text


def to_dot(launches: Sequence[Launch], views: Mapping[Tensor, Tensor]) -> str:
    """The same for Graphviz."""
    made = {t: k for k, n in enumerate(launches) for t in n.outputs}
    lines = ["digraph plan {", '  node [shape=box, fontname="monospace"];']
    for k, n in enumerate(launches):
        label = "\\n".join(_words(n, made, views)).replace('"', "'")
        lines.append(f'  k{k} [label="{label}"];')
        lines += [f"  k{maker} -> k{k};" for maker in _makers(n, made, views)]
    return "\n".join([*lines, "}"])

"""Draws the loop nests of the guide as SVG: nested boxes with the colours of `texpr view`.

    python scripts/loop_pictures.py

A page shows a picture behind a block of Python: `![...](pictures/NAME.svg)`. It is the nest of the
variable `s` as that block leaves it. So pictures cannot differ from the code beside them.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import texpr as tx
from texpr.ir.expr import Node, Var
from texpr.ir.loop import For, If, Kernel
from texpr.ir.printing.loop import source_kernel

GUIDE = Path(__file__).parents[1] / "docs" / "guide"
PAGES = ("scheduling.md", "gpu_schedules.md")
PART = re.compile(
    r"^```python\n(?P<code>.*?)^```$|^!\[[^\]]*\]\(pictures/(?P<name>\w+)\.svg\)$", re.MULTILINE | re.DOTALL
)
MARKS = re.compile(r"  (?:start|reassoc|copy)?(?: ?eq \d+)?$")
"""Marks of statements that mean nothing to a reader of the picture."""
CHARACTER, LINE, GAP, INDENT = 7.4, 19.0, 5.0, 12.0
"""Pixels: width of a character, height of a line, between boxes, and to the text of a box."""
COLUMNS = 52
"""Characters of a statement before it goes on in the next line: a phone shows as many."""


class Box(NamedTuple):
    """A loop or a condition with what stands inside; a statement has no kind and no parts."""

    kind: str
    lines: Sequence[str]
    note: str = ""
    parts: Sequence[Box] = ()


def pictures() -> dict[Path, str]:
    """The pictures of all pages, by file."""
    return {path: svg for page in PAGES for path, svg in _of_page(GUIDE / page)}


def _of_page(page: Path) -> Iterator[tuple[Path, str]]:
    names: dict[str, object] = {}
    for part in PART.finditer(page.read_text(encoding="utf-8")):
        if part["code"]:
            with suppress(tx.Error):  # blocks that show an error
                exec(compile(part["code"], page.name, "exec"), names)
        else:
            s = names["s"]
            assert isinstance(s, tx.Schedule)
            _, kernel, notes = s.stages()[-1]
            yield GUIDE / "pictures" / f"{part['name']}.svg", drawn(kernel, notes)


def drawn(kernel: Kernel, notes: Mapping[Var, str]) -> str:
    """A loop nest as SVG, on a ground of its own: it is readable on light and on dark pages."""
    _, places = source_kernel(kernel)
    boxes = _boxes(kernel.body, places, notes)
    width = 2 * GAP + max(map(_width, boxes))
    shapes, end = _stacked(boxes, GAP, GAP, width - 2 * GAP)
    size = f"{width:.0f} {end:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{width:.0f}" '
        f'height="{end:.0f}" role="img">\n<style>{_style()}</style>\n'
        f'<rect class="paper" width="100%" height="100%" rx="6"/>\n{"".join(shapes)}</svg>\n'
    )


def _boxes(body: Sequence[Node], places: Mapping[int, object], notes: Mapping[Var, str]) -> list[Box]:
    return [_box(node, places, notes) for node in body]


def _box(node: Node, places: Mapping, notes: Mapping[Var, str]) -> Box:
    line = MARKS.sub("", places[id(node)].text.strip())
    match node:
        case For(var, _, body, kind):
            note = notes.get(var, "").partition(",")[0]
            note = note if note.startswith("in order") else ""  # others are independent
            return Box(str(kind).partition(".")[0], [line], note, _boxes(body, places, notes))
        case If(_, body):
            return Box("guard", [line], "", _boxes(body, places, notes))
    return Box("", _wrapped(line))


def _wrapped(line: str) -> list[str]:
    """Lines of a statement, none broken between the brackets of an index."""
    kept = re.sub(r"\[[^\[\]]*\]", lambda index: index[0].replace(" ", "\N{NO-BREAK SPACE}"), line)
    lines = textwrap.wrap(kept, COLUMNS, subsequent_indent="    ", break_long_words=False)
    return [each.replace("\N{NO-BREAK SPACE}", " ") for each in lines]


def _width(box: Box) -> float:
    text = max(map(len, box.lines)) + (len(box.note) + 2 if box.note else 0)
    inside = max(map(_width, box.parts), default=0.0)
    return max(text * CHARACTER + INDENT + GAP, inside + INDENT + GAP)


def _stacked(boxes: Sequence[Box], x: float, y: float, width: float) -> tuple[list[str], float]:
    """Shapes of boxes below each other, and where the next one would begin."""
    shapes: list[str] = []
    for k, box in enumerate(boxes):
        if k and box.kind and not boxes[k - 1].kind:
            y += GAP
        made, y = _shapes(box, x, y, width)
        shapes += made
    return shapes, y


def _shapes(box: Box, x: float, y: float, width: float) -> tuple[list[str], float]:
    texts = [
        _text(line, x + INDENT, y + LINE * k, "loop" if box.kind else "") for k, line in enumerate(box.lines)
    ]
    if box.note:
        texts.append(_text(box.note, x + INDENT + (len(box.lines[0]) + 2) * CHARACTER, y, "note"))
    inside, end = _stacked(
        box.parts, x + INDENT, y + LINE * len(box.lines) + (GAP if box.parts else 0), width - INDENT - GAP
    )
    if not box.kind:
        return texts, end
    ground = f'<rect class="box" x="{x:g}" y="{y:g}" width="{width:g}" height="{end - y:g}" rx="4"/>\n'
    edge = f'<rect class="{box.kind}" x="{x:g}" y="{y:g}" width="5" height="{end - y:g}" rx="2"/>\n'
    return [ground, edge, *texts, *inside], end + GAP


def _text(text: str, x: float, y: float, kind: str) -> str:
    shown = text.lstrip()
    x += (len(text) - len(shown)) * CHARACTER
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y + LINE - 5:.1f}" '
        f'textLength="{len(shown) * CHARACTER:.1f}">{html.escape(shown)}</text>\n'
    )


def _style() -> str:
    """Colours of the pages of `texpr view`, light and dark."""
    css = (files("texpr.compiler.html") / "page.css").read_text(encoding="utf-8")
    light, dark = ({**_colours(part)} for part in css.split("@media", 2)[:2])
    rules = _rules({**light}), _rules({**light, **dark})
    return f"{rules[0]}\n@media (prefers-color-scheme: dark) {{\n{rules[1]}\n}}"


def _colours(css: str) -> dict[str, str]:
    return dict(re.findall(r"--(\w+): (#\w+)", css))


def _rules(colours: Mapping[str, str]) -> str:
    kinds = ("serial", "parallel", "vector", "unroll", "block", "thread", "guard")
    lines = [
        "text { font: 12.3px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; }",
        f"text {{ fill: {colours['ink']}; }} .loop {{ font-weight: 600; }}",
        f".note {{ fill: {colours['muted']}; font-style: italic; }} .paper {{ fill: {colours['paper']}; }}",
        f".box {{ fill: {colours['soft']}; stroke: {colours['line']}; }}",
        " ".join(f".{kind} {{ fill: {colours[kind]}; }}" for kind in kinds),
    ]
    return "\n".join(lines)


def main() -> None:
    """Write the pictures, and remove those that no page shows."""
    made = pictures()
    for old in (GUIDE / "pictures").glob("*.svg"):
        if old not in made:
            old.unlink()
    for path, svg in made.items():
        path.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()

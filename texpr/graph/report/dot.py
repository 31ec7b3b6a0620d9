"""A plan for Graphviz: its text, and the picture that `dot` makes of it where that is installed.

The program `dot` is called as it is: the package `graphviz` of PyPI does not bring it, and saves
one line.
"""

from __future__ import annotations

import html
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from texpr.graph.fusion.producer_consumer import tensor_bytes
from texpr.graph.lowering.launch_sequence import Launch
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.expr import Tensor

LIGHT, HEAVY = ("#f7f9fc", "#5b7db1"), ("#fdeede", "#c77d2f")
"""Fill and frame of a kernel, and of one with more than a tenth of all arithmetic."""
EDGE, INK, QUIET = "#9aa7b8", "#222222", "#777777"
MOST_NAMES = 3
PATIENCE = 20.0
"""Seconds for a picture: laying out thousands of kernels has no bound."""
_UNITS = ((10**9, "Gflop"), (10**6, "Mflop"), (10**3, "kflop"), (1, "flop"))
_HEAD = f"""digraph plan {{
  graph [bgcolor="transparent", nodesep=0.25, ranksep=0.35];
  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=11, fontcolor="{INK}",
        margin="0.12,0.06", fillcolor="{LIGHT[0]}", color="{LIGHT[1]}"];
  edge [color="{EDGE}", arrowsize=0.6];"""


def to_dot(launches: Sequence[Launch], views: Mapping[Tensor, Tensor]) -> str:
    """A plan in the language of Graphviz: kernels with what they compute, edges for what they
    read of others.
    """
    lines = [_HEAD]
    for k, (texts, heavy) in enumerate(zip(words(launches, views), are_heavy(launches))):
        label = "".join(f'{_marked(line)}<br align="left"/>' for line in texts)
        colours = f', fillcolor="{HEAVY[0]}", color="{HEAVY[1]}"' if heavy else ""
        lines.append(f"  k{k} [label=<{label}>{colours}];")
    lines += [f"  k{maker} -> k{k};" for k, maker in edges(launches, views)]
    return "\n".join([*lines, "}"])


def laid_out(text: str) -> str | None:
    """The SVG that Graphviz makes of a text; None where it is not installed, fails, or takes too
    long.
    """
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "-Tsvg"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    _, start, rest = done.stdout.partition("<svg")  # the head of an XML file has no place in a page
    return start + rest or None


def words(launches: Sequence[Launch], views: Mapping[Tensor, Tensor]) -> list[tuple[str, ...]]:
    """Lines about each kernel: its results, its name and costs, and what it reads of the
    program's inputs.
    """
    computed = {views.get(t, t) for n in launches for t in n.outputs}
    return [_words(n, [t.name for t in n.inputs if views.get(t, t) not in computed]) for n in launches]


def _words(launch: Launch, given: Sequence[str]) -> tuple[str, ...]:
    results = [f"{t.name}: {t.dtype}{list(shape_of(t))}" for t in launch.outputs]
    unit, name = next(each for each in _UNITS if launch.operations >= each[0] or each[0] == 1)
    size = f"{launch.operations / unit:.3g} {name}"
    moved = sum(map(tensor_bytes, (*launch.inputs, *launch.outputs)))
    more = [f"and {len(results) - MOST_NAMES} more"] if len(results) > MOST_NAMES else []
    lines = [*results[:MOST_NAMES], *more, f"{launch.program.name}, {size}, {moved / (1 << 20):.2f} MiB"]
    named = [*given[:MOST_NAMES], *(["..."] if len(given) > MOST_NAMES else [])]
    return (*lines, "of " + ", ".join(named)) if given else tuple(lines)


def are_heavy(launches: Sequence[Launch]) -> list[bool]:
    """True for each kernel that has more than a tenth of all arithmetic."""
    total = sum(n.operations for n in launches)
    return [10 * n.operations > total for n in launches]


def edges(launches: Sequence[Launch], views: Mapping[Tensor, Tensor]) -> list[tuple[int, int]]:
    """Numbers of kernels that read results of others, and of those, each pair once."""
    made: dict[Tensor, list[int]] = {}
    for k, n in enumerate(launches):
        for t in n.outputs:
            for each in {t, views.get(t, t)}:
                made.setdefault(each, []).append(k)
    pairs = [
        (k, maker)
        for k, n in enumerate(launches)
        for t in n.inputs
        for maker in made.get(t if t in made else views.get(t, t), ())
        if maker < k
    ]
    return list(dict.fromkeys(pairs))


def is_result(line: str) -> bool:
    """True if a line of `words` is about a result."""
    return ": " in line


def _marked(line: str) -> str:
    text = html.escape(line)
    return f"<b>{text}</b>" if is_result(line) else f'<font color="{QUIET}">{text}</font>'

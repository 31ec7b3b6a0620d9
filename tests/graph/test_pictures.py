"""Pictures of plans: by Graphviz where it is installed, and by hand."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from texpr import ops
from texpr.graph import Capture, Plan, Variable
from texpr.graph.report import dot
from texpr.graph.report.svg import draw
from texpr.ir.dtypes import F32

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Two products, a sum of the first one's results, and a kernel that reads and gives nothing
    of others.
    """
    capture = Capture()
    x, y = capture.input("x", (8, 16), F32), capture.input("y", (5,), F32)
    hidden = ops.tanh(ops.linear(x, Variable(np.ones((4, 16), "f4"), "w")))
    product = ops.linear(hidden, Variable(np.ones((3, 4), "f4"), "v"))
    return Plan(capture, [hidden, product, ops.sum_all(hidden), ops.exp(y)])


def apart(boxes: list[tuple[float, ...]]) -> bool:
    """True if no two boxes overlap."""
    pairs = [(a, b) for k, a in enumerate(boxes) for b in boxes[:k]]
    return all(any(p[k] + p[k + 2] <= q[k] for k in (0, 1) for p, q in ((a, b), (b, a))) for a, b in pairs)


def test_a_picture_by_hand_shows_every_kernel(plan: Plan):
    text = draw(plan.launches, plan.views)
    picture = ElementTree.fromstring(text)
    boxes = [
        tuple(float(r.get(k, "")) for k in ("x", "y", "width", "height")) for r in picture.iter(f"{SVG}rect")
    ]
    assert len(boxes) == len(plan.launches) == 4 and apart(boxes)
    assert len(list(picture.iter(f"{SVG}path"))) == 2 and "tanh_1: f32[8, 4]" in text
    alone = next(k for k, n in enumerate(plan.launches) if n.outputs[0].name.startswith("exp"))
    assert boxes[alone][0] == min(x for x, *_ in boxes), "a kernel that is alone stands beside the others"


def test_lines_pass_beside_boxes():
    """Of a value that is read five layers below, and so passes four, straight down."""
    capture = Capture()
    x, w = capture.input("x", (8, 16), F32), Variable(np.ones((16, 16), "f4"), "w")
    first = ops.linear(x, w)
    second = ops.linear(first, w)
    third = ops.linear(second, w)
    plan = Plan(capture, [ops.matmul(ops.transpose(first), third)], disable=("fuse",))
    picture = ElementTree.fromstring(draw(plan.launches, plan.views))
    rects = [
        tuple(float(r.get(k, "")) for k in ("x", "y", "width", "height")) for r in picture.iter(f"{SVG}rect")
    ]
    straight = [path for p in picture.iter(f"{SVG}path") for path in _straight(p.get("d", ""))]
    passed = [(top, bottom - top) for _, top, bottom in straight]
    assert passed == [(y, height) for _, y, _, height in rects[2:6]]
    for x0, top, bottom in straight:
        assert not [r for r in rects if r[0] < x0 < r[0] + r[2] and r[1] < bottom and top < r[1] + r[3]]


def _straight(path: str) -> list[tuple[float, float, float]]:
    """The vertical parts: x, from, to."""
    found, last = [], (0.0, 0.0)
    for part in path.replace("M", "C").split("C")[1:]:
        numbers, _, down = part.partition(" V")
        *_, x, y = map(float, numbers.split())
        last = (x, y)
        if down:
            found.append((*last, float(down)))
    return found


def test_a_plan_for_graphviz(plan: Plan):
    text = plan.to_dot()
    assert text.startswith("digraph plan {") and text.count("->") == 2 and text.count("label=") == 4
    assert '<b>tanh_1: f32[8, 4]</b><br align="left"/>' in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_lays_it_out(plan: Plan):
    text = plan.svg()
    picture = ElementTree.fromstring(text.replace("xlink:", ""))
    classes = [g.get("class") for g in picture.iter(f"{SVG}g")]
    assert text.startswith("<svg") and classes.count("node") == 4 and classes.count("edge") == 2
    assert "tanh_1: f32[8, 4]" in text and plan._repr_html_() == text


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Install a `dot` that runs a script of the shell."""
    path = folder / "dot"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("script", ["cat >/dev/null; exit 1", "exec sleep 5", "echo nothing"])
def test_a_graphviz_that_fails_changes_nothing(plan: Plan, script: str, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(dot, "PATIENCE", 0.2)
    program(tmp_path, monkeypatch, script)
    assert plan.svg() == draw(plan.launches, plan.views)


def test_without_graphviz_the_picture_is_made_by_hand(plan: Plan, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert plan.svg() == draw(plan.launches, plan.views)


def test_what_graphviz_gives_is_shown_without_its_head(plan: Plan, tmp_path: Path, monkeypatch):
    program(tmp_path, monkeypatch, "cat >/dev/null; echo '<?xml version=\"1.0\"?><svg>it</svg>'")
    assert plan.svg() == "<svg>it</svg>\n"

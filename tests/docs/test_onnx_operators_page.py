"""The page of ONNX operators is what the tables of converters and writers say."""

from __future__ import annotations

import inspect
import re
import runpy

import pytest

from tests.repo.source import ROOT

pytest.importorskip("onnx")

from texpr.onnx.converters import CONVERTERS  # noqa: E402
from texpr.onnx.writing import layers  # noqa: E402

script = runpy.run_path(str(ROOT / "scripts" / "onnx_operators.py"))
TEXT = (ROOT / "docs" / "reference" / "onnx.md").read_text(encoding="utf-8")


def test_page_is_current():
    assert script["page"]() == TEXT, "run: python scripts/onnx_operators.py"


def test_every_converter_is_listed():
    listed = TEXT.partition("## Operators that are read")[2].partition("### Inputs with known values")[0]
    assert {name for _, name in CONVERTERS} <= set(re.findall(r"`(\w+)`", listed))


@pytest.mark.parametrize("name", sorted(layers.NAMES))
def test_writers_write_the_operators_that_they_name(name: str):
    rule = layers.RULES[name]
    if isinstance(rule, layers.Direct):
        written = {rule.op}
    elif name in layers._RECURRENT:
        written = {layers._RECURRENT[name][0]}
    else:
        written = set(re.findall(r'"([A-Z]\w+)"', inspect.getsource(rule)))
    assert set(layers.NAMES[name].split(", ")) <= written and set(layers.NAMES) == set(layers.RULES)

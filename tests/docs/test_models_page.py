"""The page about ONNX: its limits are as shown."""

from __future__ import annotations

import re

import pytest

from tests.repo.source import ROOT

pytest.importorskip("onnx")

from texpr.onnx import operators  # noqa: E402, F401  # fills the table of converters
from texpr.onnx.converters import CONVERTERS  # noqa: E402
from texpr.onnx.model_export import OLDEST_WRITTEN  # noqa: E402
from texpr.onnx.read import DEEPEST, MOST_BYTES  # noqa: E402

PAGE = ROOT / "docs" / "guide" / "models.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_operators_that_are_not_read():
    listed = re.findall(r"`(\w+)`", TEXT.partition("Not read are")[2].partition("From scikit-learn")[0])
    assert listed == ["ZipMap", "DictVectorizer", "CastMap"]
    assert not {name for _, name in CONVERTERS} & set(listed)


def test_limits():
    assert f"`opset=`, {OLDEST_WRITTEN} or later" in TEXT
    assert f"nested deeper than {DEEPEST}" in TEXT and f"files above {MOST_BYTES >> 30} GiB" in TEXT

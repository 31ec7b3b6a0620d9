"""The page about tensors: its Python runs, its error is as shown, the methods that it names are
there.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.page import run
from texpr.graph.lazy import Tensor
from texpr.graph.lazy.lazy_tensor import MOST_WAITING

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "tensors.md"


def test_python():
    assert {"step", "train", "sign"} <= set(run(PAGE))


def test_methods_are_there():
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-zA-Z0-9_ ]+?)(?: \.\.\.)?` \|", text, re.MULTILINE)
    names = {name for row in rows for name in row.split()}
    assert {"sum", "argmin", "swapaxes", "sigmoid"} <= names and all(hasattr(Tensor, n) for n in names)
    assert f"After {MOST_WAITING} operators" in text

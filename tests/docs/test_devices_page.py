"""The page about devices: its Python runs, on the emulated one."""

from __future__ import annotations

from pathlib import Path

import texpr as tx
from tests.docs.page import BLOCK

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "devices.md"


def test_python():
    names: dict[str, object] = {}
    texts = [
        m[3]
        for m in BLOCK.finditer(PAGE.read_text(encoding="utf-8"))
        if m[1] == "python" and not m[2].strip()
    ]
    with tx.options(certify=False):
        for text in texts:
            exec(compile(text, "example.py", "exec"), names)
    assert len(texts) == 4 and {"x", "kernel", "trainer", "device"} <= set(names)

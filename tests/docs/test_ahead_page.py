"""The page about code in files: its Python runs, its C compiles, its errors are as shown."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.aot.programs import needs_gcc
from tests.docs.page import blocks, run_python

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "ahead_of_time.md"


@needs_gcc
def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(PAGE):
        if block.kind == "python":
            run_python(block, names)
        elif block.kind == "c":
            Path("main.c").write_text(block.text)
        else:
            command = block.text.replace("gcc", "gcc -Wall -Werror").split()
            subprocess.run(command, check=True, timeout=60)
            subprocess.run(["./main"], check=True, timeout=60)
    assert Path("digits.so.weights").stat().st_size and Path("step.o.weights").stat().st_size

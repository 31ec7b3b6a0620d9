"""docs/developer/add_a_target.md: its code runs, and what it names is there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import texpr as tx
from texpr.ir.machine import Machine
from texpr.targets import emit_llvm
from texpr.targets.emit.statements import Emitter

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "developer" / "add_a_target.md").read_text(encoding="utf-8")


def test_its_code_runs():
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, scope)
    kernel = tx.schedule(tx.op("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")).kernel
    text, _ = emit_llvm(kernel, scope["target"]("riscv64"), alone=True)
    assert 'define i32 @"texpr_double"' in text
    assert issubclass(scope["Code"], Emitter)


def test_files_are_there():
    files = {each.removesuffix("/") for each in re.findall(r"`((?:texpr|tests|docs)/[\w./]+)`", PAGE)}
    missing = [each for each in files if "NAME" not in each and not (ROOT / each).exists()]
    assert not missing and len(files) > 12


def test_names_are_there():
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \(`([\w.]+)`\)", PAGE, re.MULTILINE)
    for classes, module in rows:
        found = import_module(f"texpr.targets.{module}")
        for each in re.findall(r"\w+", classes):
            kind = getattr(found, each)
            assert issubclass(kind, Emitter) or issubclass(Emitter, kind), each
    assert len(rows) == 9
    hooks = PAGE.partition("Usual methods to override: ")[2].partition("\n\n")[0]
    assert all(hasattr(Emitter, each) for each in re.findall(r"`(\w+)`", hooks))
    table = PAGE.partition("## 1.")[2].partition("## 2.")[0]
    fields = re.findall(
        r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    )
    assert set(fields) <= set(Machine.__dataclass_fields__) and len(fields) > 8

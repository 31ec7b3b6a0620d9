"""The support matrix is what the registry says; its rows name tests that exist, and each target has
each type.
"""

from __future__ import annotations

import runpy

import pytest

import texpr as tx
from tests.repo.source import ROOT
from texpr.ir.dtypes import DTYPES
from texpr.targets import find_target

support = runpy.run_path(str(ROOT / "scripts" / "support.py"))


def test_page_is_current():
    assert (ROOT / "docs/reference/support.md").read_text(encoding="utf-8") == support["page"](), (
        "run: python scripts/support.py"
    )


def test_rows_name_tests():
    shown = {row.shown for rows in support["FEATURES"].values() for row in rows}
    assert not [path for path in shown if not (ROOT / path).exists()]


@pytest.mark.parametrize("target", ["x86-64-v3", "aarch64", "armv7", "sm_80"])
def test_each_target_has_each_type(target: str):
    inputs = ", ".join(f"X{n}: {d}[N]" for n, d in enumerate(DTYPES))
    outputs = ", ".join(f"Y{n}: {d}[N]" for n, d in enumerate(DTYPES))
    equations = "\n".join(f"Y{n}[i] = if i > 0 then X{n}[i] else X{n}[0]" for n in range(len(DTYPES)))
    op = tx.op(f"op each({inputs}) -> ({outputs}) require N >= 1 {{ {equations} }}")
    assert tx.schedule(op).compile(find_target(target).name).asm

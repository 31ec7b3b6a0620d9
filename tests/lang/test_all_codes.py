"""Every kind of mistake that the package names is shown whole in some test, and wrong programs
are plenty.
"""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "texpr"
CODE = re.compile(r'code="([a-z]+)"')
SHOWN = re.compile(r"error\[([a-z]+)\]: ")
ELSEWHERE = {"link", "memory", "gpu", "emulator", "internal"}
"""Said of other machines only, where those are missing or refuse; by the language server, of faults of
texpr.
"""


def texts(root: Path, *suffixes: str) -> list[str]:
    return [
        p.read_text(encoding="utf-8", errors="replace")
        for p in sorted(root.rglob("*"))
        if p.suffix in suffixes and p.is_file()
    ]


def test_every_code_is_shown():
    raised = {code for text in texts(PACKAGE, ".py") for code in CODE.findall(text)} - {"replay"}
    shown = {code for text in texts(TESTS, ".py", ".txt") for code in SHOWN.findall(text)}
    shown |= {code for text in texts(TESTS.parent / "docs", ".md") for code in SHOWN.findall(text)}
    assert len(raised) > 30 and raised - ELSEWHERE <= shown, raised - ELSEWHERE - shown


def test_there_are_many_wrong_programs():
    listed = [
        t
        for t in texts(TESTS / "lang" / "syntax" / "golden" / "test_complaints", ".txt")
        for t in re.findall(r"^==== (.*)", t, re.MULTILINE)
    ]
    assert len(set(listed)) >= 120

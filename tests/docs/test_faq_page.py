"""The page of questions: its Python runs, its errors are as shown, its questions are questions."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.page import run

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "faq.md"


def test_python():
    assert "matmul" in run(PAGE)


def test_questions():
    questions = re.findall(r"^### (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(questions) >= 20 and all(q.endswith("?") for q in questions)

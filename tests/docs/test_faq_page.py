"""The page of questions: its questions are questions."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "faq.md"


def test_questions():
    questions = re.findall(r"^### (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(questions) >= 20 and all(q.endswith("?") for q in questions)

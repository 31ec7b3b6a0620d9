"""The grammar has no conflicts, and the shipped tables are the grammar's."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from texpr.lang.syntax import generate_tables as generate
from texpr.lang.syntax import parser


def test_the_tables_are_current():
    shipped = (Path(generate.__file__).parent / "grammar.json").read_text()
    assert generate.text() == shipped, "run python -m texpr.lang.syntax.generate_tables"


def test_tables_load_fast():
    times = []
    for _ in range(3):
        parser.load.cache_clear()
        start = time.perf_counter()
        parser.load()
        times.append(time.perf_counter() - start)
    assert min(times) < 0.1


def test_reading_needs_no_lark():
    code = "import sys, texpr.lang; texpr.lang.parse('fn f(x) = x'); sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2]).returncode == 0

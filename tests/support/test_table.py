"""Tables of text."""

from __future__ import annotations

import pytest

from texpr.support.table import Table, aligned


def test_columns_are_as_wide_as_their_longest_cell():
    rows = [("name", "n"), ("a", "100"), ("longer", "2")]
    assert aligned(rows, "<>") == "name      n\na       100\nlonger    2"
    assert aligned([("a", "1", "2"), ("b", "10", "20")], "<>") == "a   1   2\nb  10  20"
    assert aligned([], "<") == "" and aligned([("a", "")], "<<") == "a"


def test_rows_one_by_one_are_as_wide_as_their_formats():
    table = Table({"kernel": "<8", "ms": ">8.2f", "calls": ">3", "bound": "<"})
    assert table.header() == "kernel          ms  calls  bound"
    assert table.row("add", 1.234, 7, "memory") == "add           1.23      7  memory"
    assert table.row("add", None, "-") == "add                     -"
    assert table.row("longer than it", 0.5) == "longer than it      0.50"


def test_all_rows_at_once():
    table = Table({"kernel": "<20", "ms": ">8.1f"})
    assert table.text([("add", 12345.67), ("a", None)]) == "kernel       ms\nadd     12345.7\na"
    assert table.text([]) == "kernel  ms"


def test_a_format_has_a_side():
    with pytest.raises(AssertionError, match="begins with < or >"):
        Table({"ms": "8.1f"})

"""Grammar to tables: `python -m texpr.lang.generate` writes `grammar.json` after a change of `grammar.lark`.

The tables are shipped so that reading a text needs neither Lark nor its 400 ms; a test keeps them equal to the grammar.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lark import Lark
from lark.lexer import PatternStr
from lark.parsers.lalr_analysis import Shift

GOALS = ("program", "expression", "header", "declaration", "range", "store")
FOLDER = Path(__file__).parent


def tables(grammar: str) -> dict[str, Any]:
    """States (symbol -> shift to s >= 0, or reduce by rule -1-r), rules (origin, length, action), start and end state per goal."""
    lark = Lark(grammar, parser="lalr", strict=True, start=list(GOALS))
    table = lark.parser.parser._parse_table  # type: ignore[union-attr]
    names = {t.name: t.pattern.value for t in lark.terminals if isinstance(t.pattern, PatternStr)}
    rules: dict[Any, int] = {}
    states = []
    for number in sorted(table.states):
        row = {}
        for symbol, (action, argument) in table.states[number].items():
            row[names.get(symbol, symbol)] = argument if action is Shift else -1 - rules.setdefault(argument, len(rules))
        states.append(dict(sorted(row.items())))
    listed = [[str(rule.origin.name), len(rule.expansion), rule.alias and str(rule.alias)] for rule in rules]
    return {"rules": listed, "states": states, "start": dict(table.start_states), "end": dict(table.end_states)}


def text() -> str:
    """What `grammar.json` must hold."""
    return json.dumps(tables((FOLDER / "grammar.lark").read_text()), separators=(",", ":"), sort_keys=True) + "\n"


if __name__ == "__main__":
    (FOLDER / "grammar.json").write_text(text())

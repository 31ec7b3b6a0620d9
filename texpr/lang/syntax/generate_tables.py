"""Grammar to tables: `python -m texpr.lang.syntax.generate_tables` writes `grammar.json` after a change of `grammar.lark`.

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
    order = _numbered(table)
    rules: dict[Any, int] = {}
    states = []
    for state in order:
        row = {}
        for symbol, (action, argument) in sorted(table.states[state].items()):
            row[names.get(symbol, symbol)] = order[argument] if action is Shift else -1 - rules.setdefault(argument, len(rules))
        states.append(row)
    listed = [[str(rule.origin.name), len(rule.expansion), rule.alias and str(rule.alias)] for rule in rules]
    start, end = ({goal: order[found[goal]] for goal in GOALS} for found in (table.start_states, table.end_states))
    return {"rules": listed, "states": states, "start": start, "end": end}


def _numbered(table: Any) -> dict[int, int]:
    """States in the order in which they are reached; Lark numbers them as its sets are ordered, differently each time."""
    order = {table.start_states[goal]: k for k, goal in enumerate(GOALS)}
    queue = list(order)
    for state in queue:
        for _, (action, target) in sorted(table.states[state].items()):
            if action is Shift and target not in order:
                order[target] = len(order)
                queue.append(target)
    return order


def text() -> str:
    """What `grammar.json` must hold."""
    return json.dumps(tables((FOLDER / "grammar.lark").read_text()), separators=(",", ":"), sort_keys=True) + "\n"


if __name__ == "__main__":
    (FOLDER / "grammar.json").write_text(text())

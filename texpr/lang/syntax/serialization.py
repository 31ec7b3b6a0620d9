"""Lark's serialisation of the parser. After a change of `grammar.lark`:

    python -m texpr.lang.syntax.serialization

writes `parser.json`, in the form of `python -m lark.tools.serialize`. This is JSON; `Lark.save`
writes a pickle. States are numbered in the order in which they are reached, so that equal grammars
give equal files. The file loads in 8 ms, the grammar in 400 ms.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from lark import Lark
from lark.exceptions import LarkError
from lark.grammar import Rule
from lark.lexer import TerminalDef
from lark.parsers.lalr_analysis import IntParseTable, Shift

from texpr.lang.syntax.actions import TreeBuilder
from texpr.lang.syntax.lexer import SourceLexer

GOALS = ["program", "expression", "header", "declaration", "range", "store"]
_OPTIONS = {"parser": "lalr", "start": GOALS, "keep_all_tokens": True}
_WIDEST = 1 << 16
"""The largest width of a terminal: versions of Python differ in how they say that there is none."""


def load_lark() -> Lark:
    """The parser, which builds trees: from the serialisation, or else from the grammar."""
    folder = files("texpr.lang.syntax")
    try:
        return restored(folder.joinpath("parser.json").read_text(encoding="utf-8"))
    except (LarkError, LookupError, TypeError, ValueError, AttributeError, AssertionError):
        # Another version of Lark may serialise in another form. It can still read the grammar.
        return built(lexer=SourceLexer, transformer=TreeBuilder())


def restored(text: str) -> Lark:
    """The parser from the text of `parser.json`. Fails, in whichever way, if Lark expects
    another form.
    """
    written = json.loads(text)
    data, parser = written["data"], written["data"]["parser"]
    # Keys of JSON are texts.
    memo = {int(key): value for key, value in written["memo"].items()}
    parser["parser"]["states"] = {int(state): row for state, row in parser["parser"]["states"].items()}
    parser["lexer_conf"]["lexer_type"] = SourceLexer
    data["options"] |= {"lexer": SourceLexer, "transformer": TreeBuilder()}
    return Lark.load({"data": data, "memo": memo})  # type: ignore[arg-type]


def built(strict: bool = False, **options: Any) -> Lark:
    """The parser from the grammar itself.

    Args:
        strict: refuse conflicts, and terminals that overlap.
        options: further ones of Lark's.
    """
    grammar = files("texpr.lang.syntax").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, strict=strict, **_OPTIONS, **options)


def serialized() -> str:
    """The text of `parser.json`."""
    lark = built(strict=True)
    lark.parser.parser._parse_table = _numbered(lark.parser.parser._parse_table)  # type: ignore[attr-defined]
    data, memo = lark.memo_serialize([TerminalDef, Rule])
    data["options"] = _OPTIONS
    for terminal in memo.values():
        if "_width" in terminal.get("pattern", ()):
            terminal["pattern"]["_width"] = [min(width, _WIDEST) for width in terminal["pattern"]["_width"]]
    return json.dumps({"data": data, "memo": memo}, separators=(",", ":")) + "\n"


def _numbered(table: Any) -> IntParseTable:
    """The table with states in the order in which they are reached. Lark's own numbers change
    from run to run.
    """
    order = {table.start_states[goal]: k for k, goal in enumerate(GOALS)}
    queue = list(order)
    for state in queue:
        for _, (action, target) in sorted(table.states[state].items()):
            if action is Shift and target not in order:
                order[target] = len(order)
                queue.append(target)
    states = {}
    for state in queue:
        row = sorted(table.states[state].items())
        states[order[state]] = {
            symbol: (action, order[argument] if action is Shift else argument)
            for symbol, (action, argument) in row
        }
    starts, ends = (
        {goal: order[state[goal]] for goal in GOALS} for state in (table.start_states, table.end_states)
    )
    return IntParseTable(states, starts, ends)


if __name__ == "__main__":
    Path(__file__).with_name("parser.json").write_text(serialized(), encoding="utf-8")

"""The TextMate grammars in `editors/vscode/syntaxes`, from the words of the language:

    python scripts/grammar.py

The rules are those of the lexer for Pygments (`texpr/lang/pygments_lexer.py`), in its order, with the
same lists of words. TextMate reads line by line, so a head such as `op name` stands in one line.
Regular expressions are written in what Oniguruma and Python's `re` have in common.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from texpr.ir.dtypes import DTYPES
from texpr.ir.loop_kind import LOOP_WORDS, PARAMETRIC
from texpr.ir.printing.types import RESERVED
from texpr.lang.pygments_lexer import CONSTANTS, DECLARATIONS
from texpr.lang.pygments_python import MODULES
from texpr.lang.syntax.words import GUARD_WORDS, REDUCTIONS

FOLDER = Path(__file__).parents[1] / "editors" / "vscode" / "syntaxes"
SCHEMA = "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json"
_NAME = r"[A-Za-z_]\w*"
COMMENT, STRING = "comment.line.number-sign.texpr", "string.quoted.double.texpr"
DECLARATION, FUNCTION = "storage.type.texpr", "entity.name.function.texpr"
CONTROL, VARIABLE = "keyword.control.texpr", "variable.other.texpr"
LOOP_VARIABLE, OPERATOR = "variable.parameter.texpr", "keyword.operator.texpr"
CONSTANT, REDUCTION = "constant.language.texpr", "support.function.texpr"
TYPE, PUNCTUATION, MARK = "support.type.texpr", "punctuation.texpr", "storage.modifier.texpr"
FLOAT, INTEGER = "constant.numeric.float.texpr", "constant.numeric.integer.texpr"


def main() -> None:
    """Write the grammars."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, grammar in grammars().items():
        text = json.dumps(grammar, indent=2) + "\n"
        (FOLDER / name).write_text(text, encoding="utf-8")


def grammars() -> dict[str, dict[str, Any]]:
    """The grammars by the names of their files."""
    return {"texpr.tmLanguage.json": texpr(), "texpr-python.tmLanguage.json": python()}


def texpr() -> dict[str, Any]:
    """The grammar of the language, of listings of loops and of scripts."""
    return {
        "$schema": SCHEMA,
        "name": "texpr",
        "scopeName": "source.texpr",
        "fileTypes": ["tx"],
        "patterns": [{"include": "#rules"}],
        "repository": {"rules": {"patterns": [*_begins(), _loop(), *_words(), *_rest()]}},
    }


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=lambda w: (-len(w), w)))


def _match(scope: str, pattern: str) -> dict[str, Any]:
    return {"name": scope, "match": pattern}


def _captures(pattern: str, *scopes: str, key: str = "match", captures: str = "captures") -> dict[str, Any]:
    """A rule whose groups have scopes; an empty one has none."""
    named = {str(k): {"name": scope} for k, scope in enumerate(scopes, 1) if scope}
    return {key: pattern, captures: named}


def _begins() -> list[dict[str, Any]]:
    return [
        _match(COMMENT, r"#.*"),
        _match(STRING, r'"[^"]*"'),
        _captures(rf"\b(op|fn|kernel)(\s+)({_NAME})", DECLARATION, "", FUNCTION),
    ]


def _loop() -> dict[str, Any]:
    """A range, at whose end the kind of a loop may stand."""
    kinds = "|".join(rf"{word}\.\w+" for word in sorted(PARAMETRIC))
    begin = rf"\b(for)(\s+)((?:{_NAME}(?:\.\d+)?\.)?{_NAME})(\s+)(in)\b"
    rule = _captures(begin, CONTROL, "", LOOP_VARIABLE, "", CONTROL, key="begin", captures="beginCaptures")
    inside = [
        _match(MARK, rf"\b(?:{kinds})\b"),
        _match(MARK, rf"\b(?:{_alternatives(LOOP_WORDS)})\b(?!\s*[\[(])"),
        {"include": "#rules"},
    ]
    return {**rule, "end": r"$|(?=[#{}])", "patterns": inside}


def _words() -> list[dict[str, Any]]:
    guards = _alternatives(GUARD_WORDS)
    return [
        _match(OPERATOR, r"\b(?:max|min)=(?!=)"),
        _match(DECLARATION, rf"\b(?:{_alternatives(DECLARATIONS)})\b"),
        _match(CONSTANT, rf"\b(?:{_alternatives(CONSTANTS)})\b"),
        _match(REDUCTION, rf"\b(?:{_alternatives(REDUCTIONS)})\b(?=\s*[(<])"),
        _match(CONTROL, rf"\b(?:{_alternatives(RESERVED)})\b"),
        _match(TYPE, rf"\b(?:{_alternatives(DTYPES)})\b"),
        _captures(rf"(\|)(\s*)({guards})(?=\s*\])", PUNCTUATION, "", MARK),
    ]


def _rest() -> list[dict[str, Any]]:
    return [
        _match(FUNCTION, rf"{_NAME}(?=\()"),
        _match(VARIABLE, _NAME),
        _match(FLOAT, r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+"),
        _match(INTEGER, r"\d+"),
        _match(OPERATOR, r"->|\.\.|\*\*|//|[<>=!+*]=|[=+\-*/%<>]"),
        _match(PUNCTUATION, r"[()\[\]{},:;|@.]"),
    ]


def python() -> dict[str, Any]:
    """The grammar that is injected into Python: the first argument of `tx.op(...)`."""
    call = _captures(
        rf"\b({_alternatives(MODULES)})(\.)(op)(\()",
        "variable.other.python",
        "punctuation.separator.period.python",
        "meta.function-call.generic.python",
        "punctuation.definition.arguments.begin.python",
        key="begin",
        captures="beginCaptures",
    )
    end = _captures(r"(\))", "punctuation.definition.arguments.end.python", key="end", captures="endCaptures")
    first = {"begin": r"(?<=\()", "end": r"(?=[,)])", "patterns": [*_strings(), {"include": "source.python"}]}
    return {
        "$schema": SCHEMA,
        "name": "texpr in Python",
        "scopeName": "texpr.python.injection",
        "injectionSelector": "L:source.python -comment -string",
        "patterns": [{**call, **end, "patterns": [first, {"include": "source.python"}]}],
    }


def _strings() -> list[dict[str, Any]]:
    """Strings with the language in them: raw ones without escapes, never f-strings."""
    # Without this, the rule of Python for docstrings would take the space before a string, and the string.
    found: list[dict[str, Any]] = [{"match": r"^\s+(?=[rRuU]?['\"])"}]
    for raw, prefix in ((True, r"\b([rR])"), (False, r"(?<!\w)([uU]?)")):
        for quote, end in (('"""', '"""'), ("'''", "'''"), ('"', r'"|$'), ("'", r"'|$")):
            scope = f"string.quoted.{'multi' if len(quote) == 3 else 'single'}.python"
            escape = _match("constant.character.escape.python", r"\\.")
            rule = _captures(
                f"{prefix}({quote})",
                "storage.type.string.python",
                "punctuation.definition.string.begin.python",
                key="begin",
                captures="beginCaptures",
            )
            closing = _captures(
                f"({end})", "punctuation.definition.string.end.python", key="end", captures="endCaptures"
            )
            inside = [{"include": "source.texpr"}] if raw else [escape, {"include": "source.texpr"}]
            content = "meta.embedded.inline.texpr"
            found.append({"name": scope, **rule, **closing, "contentName": content, "patterns": inside})
    return found


if __name__ == "__main__":
    main()

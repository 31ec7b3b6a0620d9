"""The grammars for TextMate: current, and beside the lexer for Pygments, word by word.

`Tokenizer` reads a grammar as TextMate does, line by line, with Python's `re` in the place of
Oniguruma: the rule that matches first, of several the first of the list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.repo.source import ROOT
from texpr.compiler.imports import library_files

pytest.importorskip("pygments")

from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text  # noqa: E402

from scripts import grammar  # noqa: E402
from texpr.lang.pygments_lexer import TexprLexer  # noqa: E402

EXAMPLES = [*sorted((ROOT / "examples" / "operators").glob("*.tx")), *library_files()]
KINDS = {
    grammar.COMMENT: Comment.Single,
    grammar.STRING: String.Double,
    grammar.DECLARATION: Keyword.Declaration,
    grammar.FUNCTION: Name.Function,
    grammar.CONTROL: Keyword,
    grammar.VARIABLE: Name,
    grammar.LOOP_VARIABLE: Name.Variable,
    grammar.OPERATOR: Operator,
    grammar.CONSTANT: Keyword.Constant,
    grammar.REDUCTION: Name.Builtin,
    grammar.TYPE: Keyword.Type,
    grammar.PUNCTUATION: Punctuation,
    grammar.MARK: Keyword.Pseudo,
    grammar.FLOAT: Number.Float,
    grammar.INTEGER: Number.Integer,
    "": Text,
}
Lexed = tuple[str, str]


class Tokenizer:
    """A grammar applied to lines."""

    def __init__(self, given: dict[str, Any], others: dict[str, dict[str, Any]] | None = None) -> None:
        self.grammar, self.others = given, others or {}

    def lines(self, text: str) -> Iterator[Lexed]:
        """Words with their innermost scopes."""
        stack: list[dict[str, Any]] = [self.grammar]
        for line in text.split("\n"):
            yield from self._line(line + "\n", stack)

    def _line(self, line: str, stack: list[dict[str, Any]]) -> Iterator[Lexed]:
        place = 0
        while place < len(line):
            rules = [*([{"end": stack[-1]["end"], "top": stack[-1]}] if "end" in stack[-1] else [])]
            rules += self._flat(stack[-1].get("patterns", []))
            found = [(m, r) for r in rules if (m := self._first(r, line, place))]
            if not found:
                break
            match, rule = min(found, key=lambda each: each[0].start())
            scope = stack[-1].get("contentName", "")
            yield from [(line[place : match.start()], scope)] if match.start() > place else []
            yield from self._captured(match, rule)
            if "top" in rule:
                stack.pop()
            elif "begin" in rule:
                stack.append(rule)
            place = match.end() + (match.end() == place and "match" in rule)
        yield line[place:], ""

    def _first(self, rule: dict[str, Any], line: str, place: int) -> re.Match[str] | None:
        pattern = rule["end"] if "top" in rule else rule.get("begin") or rule["match"]
        return re.compile(pattern).search(line, place)

    def _flat(self, rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found = []
        for rule in rules:
            name = rule.get("include", "")
            if name.startswith("#"):
                found += self._flat(self.grammar["repository"][name[1:]]["patterns"])
            elif name:
                other = self.others.get(name, {})
                found += Tokenizer(other)._flat(other.get("patterns", []))
            else:
                found.append(rule)
        return found

    def _captured(self, match: re.Match[str], rule: dict[str, Any]) -> Iterator[Lexed]:
        owner = rule.get("top", rule)
        key = "endCaptures" if "top" in rule else "beginCaptures" if "begin" in rule else "captures"
        scopes = {int(k): v["name"] for k, v in owner.get(key, {}).items()}
        if not scopes:
            yield match.group(), owner.get("name", "") if "match" in owner else ""
            return
        place = match.start()
        for k in range(1, len(match.groups()) + 1):
            if match.start(k) >= place:
                yield match.string[place : match.start(k)], ""
                yield match.group(k), scopes.get(k, "")
                place = match.end(k)


def rules(node: object) -> Iterator[tuple[str, str]]:
    """All regular expressions of a grammar."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("match", "begin", "end") and isinstance(value, str):
                yield key, value
            yield from rules(value)
    elif isinstance(node, list):
        for each in node:
            yield from rules(each)


def characters(words: list[tuple[object, str]]) -> list[tuple[str, object]]:
    """Each character that is no space, with its kind."""
    return [(c, kind) for kind, word in words for c in word if c.strip()]


def test_they_are_current():
    for name, made in grammar.grammars().items():
        text = (grammar.FOLDER / name).read_text(encoding="utf-8")
        assert text == json.dumps(made, indent=2) + "\n", f"run python scripts/grammar.py: {name}"


def test_their_expressions_compile():
    for made in grammar.grammars().values():
        found = list(rules(made))
        assert len(found) > 15
        for _, pattern in found:
            re.compile(pattern)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_words_have_the_classes_of_the_lexer(path: Path):
    text = path.read_text(encoding="utf-8")
    expected = characters(list(TexprLexer(stripnl=False, ensurenl=False).get_tokens(text)))
    found = characters([(KINDS[scope], word) for word, scope in Tokenizer(grammar.texpr()).lines(text)])
    assert found == expected


def test_listings_have_kinds_of_loops():
    line = "for Y.0.io in 0..N // 2 block.x  # why"
    found = characters([(KINDS[s], w) for w, s in Tokenizer(grammar.texpr()).lines(line)])
    assert found == characters(list(TexprLexer().get_tokens(line)))
    assert ("x", Keyword.Pseudo) in found


def test_strings_of_python():
    text = (
        'f = tx.op(\n    """\nop f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }""", name="op g")\n'
        'g = tx.op(f"op {x}") + tx.load("op f") + tx.op(r"op q" "fn p\\n(v) = v")\n'
    )
    tokens = Tokenizer(grammar.python(), {"source.texpr": {"patterns": grammar._words()}})
    words = [word for word, scope in tokens.lines(text) if scope == grammar.DECLARATION]
    assert words == ["op", "op", "fn"]


def test_the_extension_names_files_that_are_there():
    folder = ROOT / "editors" / "vscode"
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    contributes = package["contributes"]
    named = [package["main"], contributes["languages"][0]["configuration"]]
    named += [each["path"] for each in contributes["grammars"]]
    assert all((folder / each).is_file() for each in named)
    scopes = {each["scopeName"] for each in contributes["grammars"]}
    assert scopes == {made["scopeName"] for made in grammar.grammars().values()}
    assert "'-m', 'texpr', 'lsp'".replace("'", '"') in (folder / "extension.js").read_text(encoding="utf-8")

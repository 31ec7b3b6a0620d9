"""The LALR(1) machine: tokens to syntax tree, with one stack and no recursion."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from texpr.lang.syntax.actions import LISTS, TREES
from texpr.lang.syntax.definitions import needed
from texpr.lang.syntax.lexer import GUARD_WORDS, MAX_NESTING, Token, as_source, tokenize, too_deep
from texpr.lang.syntax.messages import unexpected
from texpr.lang.syntax.tree import Tree
from texpr.support.errors import ParseError
from texpr.support.source import Source, Span

_NESTING = frozenset({"(", "[", "if", "not", "**"})


class Tables(NamedTuple):
    """The grammar as `generate_tables` wrote it."""

    states: list[dict[str, int]]
    rules: list[tuple[str, int, str | None]]
    start: dict[str, int]
    end: dict[str, int]


@cache
def load() -> Tables:
    """The shipped tables, read once per process (2 ms)."""
    found = json.loads(files("texpr.lang.syntax").joinpath("grammar.json").read_text())
    return Tables(found["states"], [tuple(rule) for rule in found["rules"]], found["start"], found["end"])


def parse_program(text: str, name: str, only: str | None = None) -> tuple[Source, list[Tree]]:
    """The operators and functions of a text, or those that one of them needs."""
    source = as_source(text, name)
    ranges = [(0, len(source.text))] if only is None else needed(source.text, only)
    items = _parsed(source, "program", [token for start, stop in ranges for token in tokenize(source, start, stop)[:-1]], ranges[-1][1])
    if not items:
        raise ParseError("empty program", Span(source, 0, 0),
                         help="an operator looks like: op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")
    return source, items


def parse_part(source: Source, goal: str, start: int = 0, stop: int | None = None) -> Any:
    """A part of a source as one of the goals of the grammar."""
    tokens = tokenize(source, start, stop)
    return _parsed(source, goal, tokens[:-1], tokens[-1].start)


def _parsed(source: Source, goal: str, tokens: list[Token], stop: int) -> Any:
    tables = load()
    machine = _Machine(source, tables, tables.start[goal], tables.end[goal])
    for token in tokens:
        machine.feed(token)
    machine.feed(Token("$END", "", stop, stop))
    return machine.values[-1]


class _Machine:
    """The stacks. `depth[k]` counts the brackets and prefixes that are open below entry k."""

    def __init__(self, source: Source, tables: Tables, start: int, end: int) -> None:
        self.source, self.tables, self.end = source, tables, end
        self.stack = [start]
        self.values: list[Any] = []
        self.begins: list[int] = []
        self.ends: list[int] = [0]
        self.depth = [0]

    def feed(self, token: Token) -> None:
        """Reduce until `token` can be shifted; `$END` ends the text."""
        while True:
            row = self.tables.states[self.stack[-1]]
            if token.type == "$END" and self.stack[-1] == self.end:
                return
            step = row["GUARD"] if "GUARD" in row and self._is_guard(token) else row.get(token.type)
            if step is None:
                raise unexpected(self.source, token, self._expected())
            if step >= 0:
                self._shift(token, step)
                return
            self._reduce(-1 - step)

    def _shift(self, token: Token, state: int) -> None:
        prefix = token.type == "-" and (not self.values or isinstance(self.values[-1], Token))
        deeper = token.type in _NESTING or prefix
        if deeper and self.depth[-1] >= MAX_NESTING:
            raise too_deep(self.source, token.start)
        self._push(state, token, token.start, token.stop, self.depth[-1] + deeper)

    def _push(self, state: int, value: Any, begin: int, end: int, depth: int) -> None:
        self.stack.append(state)
        self.values.append(value)
        self.begins.append(begin)
        self.ends.append(end)
        self.depth.append(depth)

    def _reduce(self, number: int) -> None:
        origin, length, action = self.tables.rules[number]
        if action is None:
            self.stack[-1] = self.tables.states[self.stack[-2]][origin]
            return
        end = self.ends[-1]
        begin = self.begins[-length] if length else end
        children = self.values[-length:] if length else []
        if length:
            for column in (self.stack, self.values, self.begins, self.ends, self.depth):
                del column[-length:]
        make = LISTS.get(action)
        value = make(children) if make else TREES[action](Span(self.source, begin, end), children)
        self._push(self.tables.states[self.stack[-1]][origin], value, begin, end, self.depth[-1])

    def _is_guard(self, token: Token) -> bool:
        return token.text in GUARD_WORDS and self.source.text[token.stop :].lstrip(" \t\r\n").startswith("]")

    def _expected(self) -> set[str]:
        """The symbols that could stand here: lookaheads of the state that really lead to a shift."""
        nonterminals = {origin for origin, _, _ in self.tables.rules}
        return {symbol for symbol in self.tables.states[self.stack[-1]] if symbol not in nonterminals and self._leads_on(symbol)}

    def _leads_on(self, symbol: str) -> bool:
        stack = list(self.stack)
        while (step := self.tables.states[stack[-1]].get(symbol)) is not None and step < 0:
            origin, length, _ = self.tables.rules[-1 - step]
            del stack[len(stack) - length :]
            stack.append(self.tables.states[stack[-1]][origin])
        return step is not None or (symbol == "$END" and stack[-1] == self.end)

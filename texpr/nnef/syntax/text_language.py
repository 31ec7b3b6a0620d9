"""Lark parses texts of a language to trees: LALR(1), with one stack and no recursion. Errors have their
places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedInput, UnexpectedToken

from texpr.nnef.syntax.text_builder import Refused
from texpr.support.errors import Error, ResourceError
from texpr.support.once import once
from texpr.support.source import Source, Span

_MOST_NAMED = 6
_WORDS = {"NAME": "a name", "STRING": "a text in quotes", "$END": "the end"}


@dataclass
class Language:
    """A language of texts.

    Attributes:
        grammar: the file beside this one.
        goals: what a text may be.
        builder: makes nodes of what Lark finds.
        error: the class of errors in texts.
        code: of errors.
        most_characters: of a text.
        words: tokens in words; those that stand for themselves have none.
        groups: a word for many tokens: where all of the first may stand, none of the second are named.
    """

    grammar: str
    goals: Sequence[str]
    builder: Callable[[], Any]
    error: type[Error]
    code: str
    most_characters: int
    words: Mapping[str, str]
    groups: Mapping[str, tuple[set[str], set[str]]]

    def parse(self, source: Source, goal: str) -> Any:
        """The tree of a text.

        Raises:
            Error: it is not in the language, with the place.
            ResourceError: it is longer than the limit.
        """
        if len(source.text) > self.most_characters:
            raise ResourceError(
                f"{source.name} has {len(source.text):,} characters, the limit is {self.most_characters:,}",
                code=self.code,
            )
        try:
            return self._lark.parse(source.text, start=goal)
        except UnexpectedInput as error:
            message, start, stop, advice = *self._unexpected(source.text, error), ""
        except Refused as error:
            message, start, stop, advice = error.message, error.start, error.stop, error.help
        # Outside of the handlers, without Lark's error, which holds the parser's stack.
        raise self.error(message, Span(source, start, stop), code=self.code, help=advice)

    @once
    def _lark(self) -> Lark:
        return Lark(
            files("texpr.nnef.syntax").joinpath(self.grammar).read_text(encoding="utf-8"),
            parser="lalr",
            start=list(self.goals),
            keep_all_tokens=True,
            maybe_placeholders=False,
            transformer=self.builder(),
        )

    def _unexpected(self, text: str, error: UnexpectedInput) -> tuple[str, int, int]:
        """Cause and place of a text that cannot stand where it was found."""
        start = error.pos_in_stream or 0
        if isinstance(error, UnexpectedToken):
            token = error.token
            ended = token.type == "$END"
            start = len(text) if ended else token.start_pos or 0
            stop = start + max(1, 0 if ended else len(token.value))
            found = "the end of the text" if ended else f"`{_short(token.value)}`"
            expected = error.accepts
        else:
            # What its lexer allows is more than what may stand there.
            found, stop, expected = f"`{text[start : start + 1]}`", start + 1, set()
        names = self._named(expected)
        if 0 < len(names) <= _MOST_NAMED:
            return f"found {found}, expected {', '.join(names)}", start, stop
        return f"found {found}, which cannot stand here", start, stop

    def _named(self, expected: set[str]) -> list[str]:
        """Tokens that may stand somewhere, in words."""
        rest, found = expected, set()
        for word, (all_of, covered) in self.groups.items():
            if all_of <= rest:
                found, rest = found | {word}, rest - covered
        literals = {t.name: f"`{t.pattern.value}`" for t in self._lark.terminals if t.pattern.type == "str"}
        words = {**literals, **_WORDS, **self.words}
        return sorted(found | {words.get(n, n) for n in rest})


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."

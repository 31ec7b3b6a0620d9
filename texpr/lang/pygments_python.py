"""A lexer of Pygments for Python with operators of texpr in it: strings that are arguments of
`tx.op` are read by the lexer for texpr.

f-strings stay strings of Python, and so do strings with escapes where an escape stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Name, String

from texpr.lang.pygments_lexer import TexprLexer

MODULES = ("tx", "texpr")
"""Names that modules of texpr have in Python, where a text does not import it by another."""
_IMPORTED = re.compile(r"^\s*import\s+texpr\s+as\s+(\w+)", re.MULTILINE)
_PREFIX = re.compile(r"[rRuU]")
Lexed = tuple[int, Any, str]


class TexprPythonLexer(PythonLexer):
    """Python in which the text of `tx.op(...)` is shown as texpr."""

    name = "Python with texpr"
    aliases: ClassVar = ["texpr-python"]
    filenames: ClassVar = []
    url = ""

    def get_tokens_unprocessed(self, text: str, *arguments: Any) -> Iterator[Lexed]:
        """Tokens of Python, with those of texpr in the place of its strings."""
        modules = {*MODULES, *_IMPORTED.findall(text)}
        tokens = list(super().get_tokens_unprocessed(text, *arguments))
        k = 0
        while k < len(tokens):
            begin = _argument(tokens, k, modules)
            if begin is None:
                yield tokens[k]
                k += 1
            while begin is not None:
                stop = _end_of_string(tokens, begin)
                yield from tokens[k:begin]
                yield from _texpr(tokens[begin:stop])
                k, begin = stop, _string_at(tokens, stop)


def _argument(tokens: list[Lexed], k: int, modules: set[str]) -> int | None:
    """The first token of the string that is an argument of the call at `k`, or None."""
    if tokens[k][1] not in Name or tokens[k][2] not in modules:
        return None
    for expected in (".", "op", "("):
        k += 1
        if k >= len(tokens) or tokens[k][2] != expected:
            return None
    return _string_at(tokens, k + 1)


def _string_at(tokens: list[Lexed], k: int) -> int | None:
    """The first token of the string that begins here, behind space and comments, or None."""
    while k < len(tokens) and (tokens[k][1] in Comment or _is_space(tokens[k])):
        k += 1
    plain = k < len(tokens) and tokens[k][1] in String and not _is_formatted(tokens[k])
    return k if plain else None


def _is_space(token: Lexed) -> bool:
    return not token[2].strip() and token[1] not in String


def _is_formatted(token: Lexed) -> bool:
    """True for the prefix of an f-string or of bytes."""
    return token[1] is String.Affix and not _PREFIX.fullmatch(token[2])


def _end_of_string(tokens: list[Lexed], begin: int) -> int:
    """The token behind a string: behind its closing quotes, which are like its opening ones."""
    opening = next((k for k in range(begin, len(tokens)) if tokens[k][1] is not String.Affix), begin)
    if tokens[opening][1] is String.Doc:
        return opening + 1
    quote = tokens[opening][2]
    for k in range(opening + 1, len(tokens)):
        if tokens[k][1] not in String:
            return k
        if tokens[k][2] == quote and tokens[k][1] is tokens[opening][1]:
            return k + 1
    return len(tokens)


def _texpr(tokens: list[Lexed]) -> Iterator[Lexed]:
    """The tokens of a string: quotes and escapes as they are, all else by the lexer for texpr."""
    lexer = TexprLexer(stripnl=False, ensurenl=False)
    opening, inside, closing = _parts(tokens)
    yield from opening
    pending: list[Lexed] = []
    for token in [*inside, (0, String.Escape, "")]:
        if token[1] is not String.Escape:
            pending.append(token)
            continue
        if pending:
            start, text = pending[0][0], "".join(t[2] for t in pending)
            yield from ((start + at, kind, word) for at, kind, word in lexer.get_tokens_unprocessed(text))
            pending = []
        if token[2]:
            yield token
    yield from closing


def _parts(tokens: list[Lexed]) -> tuple[list[Lexed], list[Lexed], list[Lexed]]:
    """A string's prefix and opening quotes, its text, its closing quotes."""
    if tokens[-1][1] is String.Doc:
        *before, (start, kind, text) = tokens
        width = 3 if text[:3] in ("'''", '"""') else 1
        closes = len(text) >= 2 * width and text[-width:] == text[:width]
        stop = len(text) - width if closes else len(text)
        return (
            [*before, (start, kind, text[:width])],
            [(start + width, kind, text[width:stop])],
            [(start + stop, kind, text[stop:])] if closes else [],
        )
    begin = next((k for k, t in enumerate(tokens) if t[1] is not String.Affix), 0) + 1
    closes = len(tokens) > begin and tokens[-1][2] == tokens[begin - 1][2]
    stop = len(tokens) - closes
    return tokens[:begin], tokens[begin:stop], tokens[stop:]

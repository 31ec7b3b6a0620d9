"""Operators, loop nests, LLVM IR and assembly as HTML, highlighted by Pygments where that is
installed.
"""

from __future__ import annotations

import html
from functools import lru_cache
from typing import Any

LEXERS = {"llvm": "llvm", "asm": "gas", "ptx": "ptx"}
"""Names that Pygments has for the lexers of languages; `texpr` has its own."""
LIGHT, DARK = "default", "github-dark"


@lru_cache(maxsize=4096)  # the same statements stand in the listings after many steps
def highlighted(text: str, language: str) -> str:
    """Escape `text`, with the words of its language in spans of Pygments' classes; without
    Pygments, no spans.

    Args:
        language: `texpr`, `llvm`, `asm` or `ptx`.
    """
    try:
        from pygments import highlight
    except ImportError:
        return html.escape(text)
    made = highlight(text, _lexer(language), _formatter(LIGHT))
    return made if text.endswith("\n") else made.removesuffix("\n")


@lru_cache
def style() -> str:
    """The CSS of the spans in an element of class `texpr`, light and dark; empty without
    Pygments.
    """
    try:
        light, dark = ("\n".join(_formatter(name).get_token_style_defs(".texpr")) for name in (LIGHT, DARK))
    except ImportError:
        return ""
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


@lru_cache
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name

    from texpr.lang.pygments_lexer import TexprLexer

    kept = {"stripnl": False, "ensurenl": False}  # the text stays as it is
    lexer = TexprLexer(**kept) if language == "texpr" else get_lexer_by_name(LEXERS[language], **kept)
    lexer.add_filter(_plain_names())
    return lexer


def _plain_names() -> Any:
    """A filter that leaves names, punctuation and space without spans: they have the colour of the
    text.

    Pages get half as long. What a lexer does not know, such as comments of some assembly, is no
    error either.
    """
    from pygments.filter import Filter
    from pygments.token import Error, Name, Punctuation, Text, Whitespace

    class PlainNames(Filter):
        def filter(self, lexer: Any, stream: Any) -> Any:
            plain = (Name, Punctuation, Whitespace, Error)
            return ((Text if kind in plain else kind, text) for kind, text in stream)

    return PlainNames()


@lru_cache
def _formatter(style: str) -> Any:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True, style=style)

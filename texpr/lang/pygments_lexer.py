"""A lexer of Pygments for the language, listings of loops and scripts of steps.

Pygments finds it by its entry point in `pyproject.toml`; texpr imports this module where it
highlights text. The parser has a lexer of its own, which refuses what is not in the language; this
one never does.
"""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, include, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from texpr.ir.dtypes import DTYPES
from texpr.ir.loop_kind import LOOP_WORDS, PARAMETRIC
from texpr.ir.printing.types import RESERVED
from texpr.lang.syntax.words import GUARD_WORDS, REDUCTIONS

CONSTANTS = ("inf", "nan", "true", "false")
DECLARATIONS = ("op", "fn", "extern", "use", "let", "kernel")
_NAME = r"[A-Za-z_]\w*"
_KINDS = "|".join(f"{word}\\.\\w+" for word in PARAMETRIC)


class TexprLexer(RegexLexer):
    """Words, numbers and comments of operators, listings and scripts."""

    name = "texpr"
    aliases: ClassVar = ["texpr"]
    filenames: ClassVar = ["*.tx"]
    url = ""
    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"#[^\n]*", Comment.Single),
            (r'"[^"\n]*"', String.Double),
            (rf"(op|fn|kernel)(\s+)({_NAME})", bygroups(Keyword.Declaration, Whitespace, Name.Function)),
            (
                rf"(for)(\s+)((?:{_NAME}(?:\.\d+)?\.)?{_NAME})(\s+)(in)\b",
                bygroups(Keyword, Whitespace, Name.Variable, Whitespace, Keyword),
                "range",
            ),
            (r"(?:max|min)=(?!=)", Operator),
            (words(DECLARATIONS, r"\b", r"\b"), Keyword.Declaration),
            (words(CONSTANTS, r"\b", r"\b"), Keyword.Constant),
            (words(tuple(REDUCTIONS), r"\b", r"(?=\s*[(<])"), Name.Builtin),
            (words(tuple(RESERVED), r"\b", r"\b"), Keyword),
            (words(tuple(DTYPES), r"\b", r"\b"), Keyword.Type),
            (
                rf"(\|)(\s*)({'|'.join(GUARD_WORDS)})(?=\s*\])",
                bygroups(Punctuation, Whitespace, Keyword.Pseudo),
            ),
            (rf"{_NAME}(?=\()", Name.Function),
            (_NAME, Name),
            (r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+", Number.Float),
            (r"\d+", Number.Integer),
            (r"->|\.\.|\*\*|//|[<>=!+*]=|[=+\-*/%<>]", Operator),
            (r"[()\[\]{},:;|@.]", Punctuation),
            (r".", Text),
        ],
        # Between `in` and the end of the line: the kind of a loop stands behind its range.
        "range": [
            (r"(?=[\n#{}])", Text, "#pop"),
            (rf"(?:{_KINDS})\b", Keyword.Pseudo),
            (words(LOOP_WORDS, r"\b", r"\b(?!\s*[\[(])"), Keyword.Pseudo),
            include("root"),
        ],
    }

"""Texts to try: bytes, soup, mutated operators. Text k of a seed is always the same for the same
operators.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from random import Random

from texpr.lang import parse
from texpr.tools.fuzz.programs import program_text

TOKEN = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|->|\.\.|\*\*|//|[<>=!+*]=|\s+|#[^\n]*|.",
    re.DOTALL,
)
_SYMBOLS = [*"()[]{}<>,:;=|+-*/%", "->", "..", "**", "//", "<=", ">=", "==", "!=", "+=", "*=", "max=", "min="]
_WORDS = [
    "op",
    "fn",
    "extern",
    "use",
    "let",
    "if",
    "then",
    "else",
    "for",
    "in",
    "where",
    "require",
    "distinct",
    "and",
    "or",
    "not",
    "inf",
    "nan",
    "true",
    "false",
    "sum",
    "prod",
    "max",
    "min",
    "argmax",
    "argmin",
    "any",
    "all",
    "clamp",
    "wrap",
    "reflect",
    "drop",
]
_NAMES = [
    "X",
    "Y",
    "Z",
    "i",
    "j",
    "k",
    "N",
    "M",
    "S",
    "s",
    "T",
    "f32",
    "f64",
    "i32",
    "i64",
    "u8",
    "bool",
    "f16",
    "bf16",
    "f8e4m3",
    "exp",
    "log",
    "f",
    "abs",
    "numel",
    "lowest",
    "uniform",
    "malloc",
    "main",
    "a" * 300,
]
_NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "100",
    "2147483647",
    "2147483648",
    "4294967297",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "9" * 40,
    "9" * 5000,
    "0.5",
    "2.5",
    "1e40",
    "1e-400",
    "1e999",
    "65536",
    "1.0",
    "0.0",
]
_STRANGE = [
    "\x00",
    "\ud800",
    "\u202e",
    "\ufeff",
    "\u200d",
    "е",
    "×",
    "١",
    "\r",
    "\t",
    "\n",
    '"',
    "'",
    "\\",
    "%s",
    "{}",
    "<script>",
    "\U0001f600",
]


@lru_cache(maxsize=4)
def operators(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Every operator of these files as a text of its own, with what it calls above it."""
    found: list[str] = []
    for path in paths:
        module = parse(
            Path(path).read_text(encoding="utf-8"), path, lambda use, word, importer: _nothing(word.text)
        )
        texts = {name: function.span.text for name, function in module.functions.items()} | {
            n: op.text for n, op in module.ops.items()
        }
        found += [_with_callees(name, texts) for name in module.ops]
    return tuple(found)


def _nothing(name: str):  # noqa: ANN202 - what stands for a text that is used
    from texpr.support.source import Source

    return Source(f"<{name}>", f"op {name}(X: f32[N]) -> Y: f32[N] {{ Y[i] = X[i] }}")


def _with_callees(name: str, texts: dict[str, str]) -> str:
    needed = [name]
    for each in needed:
        needed += [
            w
            for w in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", texts[each]))
            if w in texts and w not in needed
        ]
    return "\n".join(texts[each] for each in reversed(needed))


def text_of(seed: int, number: int, paths: tuple[str, ...]) -> str:
    """Text `number` of a seed."""
    rng = Random(f"{seed}:{number}")
    kind = rng.random()
    if kind < 0.05:
        return _bytes(rng)
    if kind < 0.15:
        return _soup(rng)
    if kind < 0.55:
        return _mutated(rng, rng.choice(operators(paths)))
    made = program_text(rng)
    return made if kind < 0.85 else _mutated(rng, made)


def _bytes(rng: Random) -> str:
    data = rng.randbytes(rng.randrange(200))
    return data.decode("utf-8", "surrogateescape") if rng.random() < 0.5 else data.decode("latin-1")


def _soup(rng: Random) -> str:
    pools = (_SYMBOLS, _WORDS, _NAMES, _NUMBERS, _NAMES, _SYMBOLS)
    words = [rng.choice(rng.choice(pools)) for _ in range(rng.randrange(1, 40))]
    soup = rng.choice(["", " "]).join(words) if rng.random() < 0.2 else " ".join(words)
    start, end = rng.choice(
        [
            ("", ""),
            ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = ", " }"),
            ("op f(X: f32[N], ", ") -> Y: f32[N] { Y[i] = X[i] }"),
            ("op f(X: f32[N]) -> Y: f32[N] { ", " }"),
            ("op f(X: f32[N]) -> Y: f32[N] require ", " { Y[i] = X[i] }"),
        ]
    )
    return start + soup + end


def _mutated(rng: Random, text: str) -> str:
    """A text with some tokens left out, doubled, swapped, exchanged, or made huge."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        places = [k for k, t in enumerate(tokens) if not t.isspace()]
        if not places:
            break
        at, other = rng.choice(places), rng.choice(places)
        _change(rng, tokens, at, other)
    return "".join(tokens)


def _change(rng: Random, tokens: list[str], at: int, other: int) -> None:
    word = tokens[at]
    match rng.randrange(8):
        case 0:
            del tokens[at]
        case 1:
            tokens.insert(at, f"{word} ")
        case 2:
            tokens[at], tokens[other] = tokens[other], word
        case 3:
            tokens[at] = tokens[other]
        case 4 | 5 if word[0].isdigit():
            tokens[at] = rng.choice((*_NUMBERS, f"(-{word})", f"{word}0", "-1"))
        case 4 | 5 if word[0].isalpha():
            tokens[at] = rng.choice((*_NAMES, *_WORDS, word + "0", word.swapcase()))
        case 6 if rng.random() < 0.3:
            tokens.insert(at, rng.choice(_STRANGE))
        case 7:
            tokens[at : at + 1] = [
                word,
                f" {rng.choice(('+', '-', '*', '//', '%', '**', '<', 'and', '==', '|'))} ",
                tokens[other],
            ]
        case _:
            tokens[at] = rng.choice(_SYMBOLS)

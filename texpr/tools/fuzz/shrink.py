"""Cutting a text down while the same thing still goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from texpr.tools.fuzz.texts import TOKEN


def shrunk(text: str, fails: Callable[[str], bool], seconds: float) -> str:
    """The shortest text found within `seconds` for which `fails` still holds: tokens are left out, in ever smaller pieces.

    Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, IEEE TSE 28(2), 2002.
    """
    deadline = monotonic() + seconds
    tokens = TOKEN.findall(text)
    piece = max(1, len(tokens) // 2)
    while piece and monotonic() < deadline:
        at, before = 0, len(tokens)
        while at < len(tokens) and monotonic() < deadline:
            candidate = tokens[:at] + tokens[at + piece :]
            if fails("".join(candidate)):
                tokens = candidate
            else:
                at += piece
        if piece > 1 or len(tokens) == before:
            piece //= 2
    return _simpler(tokens, fails, deadline)


def _simpler(tokens: list[str], fails: Callable[[str], bool], deadline: float) -> str:
    """Short numbers and names in place of long ones."""
    for at, token in enumerate(tokens):
        for simple in ("0", "1", "9" * 20) if token[:1].isdigit() else ("x",) if len(token) > 20 else (" ",) if token.isspace() else ():
            if len(simple) < len(token) and monotonic() < deadline and fails("".join([*tokens[:at], simple, *tokens[at + 1 :]])):
                tokens[at] = simple
                break
    return "".join(tokens)

"""Names that may be typed at a place: those in scope, functions of the language, reserved words."""

from __future__ import annotations

import re

from texpr.ir.dtypes import DTYPES
from texpr.lang.syntax.words import GUARD_WORDS, KEYWORDS
from texpr.support.frozen_dataclass import frozen
from texpr.tools.lsp.documents import View
from texpr.tools.lsp.function_documentation import DOCUMENTATION, signature
from texpr.tools.lsp.symbols import GLOBAL

_WORD = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"#[^\n]*")


@frozen
class Proposal:
    """A word that may stand at the place.

    Attributes:
        kind: that of the name (see `symbols.Symbol`), or function of the language, type, word.
    """

    name: str
    kind: str
    detail: str = ""


def complete(view: View, offset: int) -> list[Proposal]:
    """The words that may stand at a place, names of the declaration first. Inside a comment there
    are none.
    """
    line = view.text[view.text.rfind("\n", 0, offset) + 1 : offset]
    if "#" in line:
        return []
    found = {p.name: p for p in _words()}
    found |= {s.name: Proposal(s.name, s.kind) for s in view.symbols if s.kind in GLOBAL}
    found |= {n: Proposal(n, "tensor") for n in _written(view, offset) if n not in found}
    found |= {p.name: p for p in _names(view, offset)}
    order = {"function of the language": 1, "type": 1, "word": 2, "guard": 2}
    return sorted(found.values(), key=lambda p: (order.get(p.kind, 0), p.name))


def _names(view: View, offset: int) -> list[Proposal]:
    """Names of the operator or function around the place."""
    part = view.part_at(offset)
    if part is None:
        return []
    inside = [s for s in view.symbols if part.start <= s.declared[0] < part.stop]
    return [Proposal(s.name, s.kind) for s in inside if s.kind not in GLOBAL]


def _written(view: View, offset: int) -> list[str]:
    """Words of a declaration that does not parse, but the one that is being typed."""
    part = view.part_at(offset)
    if part is None or part.parsed.error is None:
        return []
    text = _COMMENT.sub(lambda m: " " * len(m.group()), part.text)
    at = offset - part.start
    return [m.group() for m in _WORD.finditer(text) if not m.start() <= at <= m.end()]


def _words() -> list[Proposal]:
    functions = [Proposal(n, "function of the language", signature(n)) for n in DOCUMENTATION]
    types = [Proposal(n, "type") for n in DTYPES]
    guards = [Proposal(n, "guard") for n in GUARD_WORDS]
    return [*(Proposal(n, "word") for n in KEYWORDS), *guards, *types, *functions]

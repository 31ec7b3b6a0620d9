"""Operators elaborated and proven as `texpr check` does it, kept by their texts.

An operator is proven in a text of its own: its declaration and those that it needs. The result
belongs to that text, so a change elsewhere in the document costs nothing.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from texpr.compiler.imports import Uses
from texpr.compiler.operator_records import Declarations
from texpr.compiler.operator_signature import Signature
from texpr.ir.tensor import Program
from texpr.support.errors import Error
from texpr.support.frozen_dataclass import frozen, frozen_by_identity
from texpr.support.source import Source, Span
from texpr.tools.lsp.declarations import NAME, Declared

_MOST = 2000
"""Results that are kept: a few hundred operators, each in a few versions."""
_MOST_STEPS = 3
"""Ways out that follow each other in one fix."""


@frozen
class Origin:
    """The place that texts are used from.

    Attributes:
        path: of the document; None where it is no file.
        texts: open documents by path: they are used as they are in the editor.
    """

    path: str | None = None
    texts: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return self.path or NAME

    def uses(self) -> Uses:
        """A finder of the texts that a `use` names."""
        root = None if self.path is None else Path(self.path).resolve().parent
        return Uses(root, dict(self.texts))


@frozen_by_identity
class Excerpt:
    """An operator with all it needs, as a text.

    Attributes:
        parts: the declarations, in the order of the document.
        complete: all declarations that it names parse.
    """

    text: str
    parts: tuple[Declared, ...]
    complete: bool

    def place(self, offset: int) -> int:
        """Offset in the document's text of an offset in this one."""
        for part in self.parts:
            if offset <= len(part.text):
                return part.start + offset
            offset -= len(part.text)
        return self.parts[-1].stop

    def part_of(self, start: int, stop: int) -> Declared | None:
        """The declaration that a range lies in."""
        begin = 0
        for part in self.parts:
            if begin <= start and stop <= begin + len(part.text):
                return part
            begin += len(part.text)
        return None


@frozen_by_identity
class Solution:
    """A way out of an error after which the operator is accepted. `text` is that of the excerpt."""

    words: str
    text: str


@frozen_by_identity
class Proof:
    """The result for one operator.

    Attributes:
        needs: constants that must be known before anything can be proven.
        program: None where there is an error, or constants are needed.
    """

    signature: Signature | None
    program: Program | None
    error: Error | None
    needs: tuple[str, ...] = ()
    solutions: tuple[Solution, ...] = ()


def excerpt(name: str, parts: list[Declared]) -> Excerpt:
    """The declarations that an operator needs, directly or by others."""
    owners = {n: part for part in reversed(parts) for n in part.names}
    wanted = [owners[name]]
    for part in wanted:
        needed = [owners[w] for w in owners if w in part.words]
        wanted += [p for p in dict.fromkeys(needed) if p not in wanted]
    words = frozenset[str]().union(*(p.words for p in wanted))
    uses = [p for p in parts if words & p.used]
    chosen = sorted(dict.fromkeys([*wanted, *uses]), key=lambda p: p.start)
    complete = all(p.parsed.error is None for p in chosen)
    return Excerpt("".join(p.text for p in chosen), tuple(chosen), complete)


class Proofs:
    """Results by text; the oldest are forgotten. Threads may share it."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple, Proof] = OrderedDict()
        self._lock = Lock()

    def known(self, text: str, name: str, origin: Origin) -> Proof | None:
        """The result for an operator of an excerpt, if it was asked for before."""
        with self._lock:
            return self._known.get((text, name, *_key(text, origin)))

    def prove(self, text: str, name: str, origin: Origin) -> Proof:
        """The result for an operator of an excerpt. It takes as long as the proofs take."""
        key = (text, name, *_key(text, origin))
        with self._lock:
            found = self._known.get(key)
        if found is None:
            found = _proof(text, name, origin)
            with self._lock:
                self._known[key] = found
                while len(self._known) > _MOST:
                    self._known.popitem(last=False)
        return found


def _key(text: str, origin: Origin) -> tuple:
    """The files that a text uses, with their times of change: a new one is a new question."""
    if '"' not in text:
        return ()
    paths = re.findall(r'"([^"\n]*)"', text)
    folder = Path(origin.path or ".").parent
    return (origin, *((p, _changed(folder / p)) for p in paths))


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except (OSError, ValueError):
        return 0


def _proof(text: str, name: str, origin: Origin) -> Proof:
    signature = None
    try:
        found = Declarations(text, origin.name, origin.uses())
        signature = found.operators[name].signature
        needs = tuple(c.name for c in signature.constants if c.required)
        if needs or found.operators[name].extern:
            return Proof(signature, None, None, needs)
        return Proof(signature, _program(found, name, signature), None)
    except Error as error:
        return Proof(signature, None, error, solutions=tuple(_solutions(error, text, name, origin)))
    except Exception as error:  # a fault of texpr: the editor shows it, and all else goes on
        return Proof(signature, None, _fault(error, text, name, origin))


def _fault(error: Exception, text: str, name: str, origin: Origin) -> Error:
    """A fault of texpr as an error of the operator's name."""
    found = re.search(rf"\b(?:op|fn)\s+({name})\b", text)
    span = None if found is None else Span(Source(origin.name, text), found.start(1), found.end(1))
    return Error(f"texpr failed here: {type(error).__name__}: {error}", span, code="internal")


def _program(found: Declarations, name: str, signature: Signature) -> Program:
    constants: Mapping[str, object] = signature.provable({})
    return found.program(name, signature.bind_dtypes({}), constants, frozenset())  # type: ignore[arg-type]


def _solutions(error: Error, text: str, name: str, origin: Origin) -> list[Solution]:
    """The ways out that texpr tried and after which the operator is accepted, each with the ways
    out of the errors that it leads to.
    """
    found: dict[str, Solution] = {}
    for fix, changed in error.tried if _is_here(error, origin) else ():
        words = [fix.words]
        for _ in range(_MOST_STEPS):
            left = _error_of(changed, name, origin)
            if left is None:
                found.setdefault(changed, Solution("; then ".join(words), changed))
                break
            if not left.tried or not _is_here(left, origin):
                break
            following, changed = left.tried[0]
            words.append(following.words)
    return list(found.values())


def _is_here(error: Error, origin: Origin) -> bool:
    return error.span is not None and error.span.source.name == origin.name


def _error_of(text: str, name: str, origin: Origin) -> Error | None:
    try:
        found = Declarations(text, origin.name, origin.uses())
        _program(found, name, found.operators[name].signature)
    except Error as error:
        return error
    return None

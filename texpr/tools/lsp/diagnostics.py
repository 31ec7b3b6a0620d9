"""Findings about a text: errors with their places, and the ways out that are proven."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from difflib import SequenceMatcher

from texpr import lang
from texpr.lang.syntax import tree
from texpr.support.errors import Error
from texpr.support.frozen_dataclass import frozen
from texpr.tools.lsp.declarations import NAME, Declared, declarations
from texpr.tools.lsp.operator_proofs import Excerpt, Origin, Proof, Proofs, excerpt

Range = tuple[int, int]
_PLACE = re.compile(r"(.*): (.+):(\d+):(\d+)")
_OPENED = re.compile(r"(.*) at line (\d+), column (\d+)")
_MARKED = re.compile(r"  +\d* \| ")
_MOST_COMPARED = 200 * 200
"""Pairs of words that are compared: a long line takes milliseconds then, not minutes."""
_PIECE = re.compile(r"\w+|\s+|.")


@frozen
class Edit:
    """The characters `start..stop` of a text become `new`."""

    start: int
    stop: int
    new: str


@frozen
class Related:
    """A second place of a finding. `file` is another text's path; None for the text itself.
    `line` and `column` are in that file, from 0.
    """

    message: str
    start: int
    stop: int
    file: str | None = None
    line: int = 0
    column: int = 0


@frozen
class Repair:
    """Edits after which the operator is accepted; texpr has proven it."""

    title: str
    edits: tuple[Edit, ...]


@frozen
class Finding:
    """An error of a text.

    Attributes:
        code: the kind of mistake, as in `error[code]`; `syntax` where the text does not parse.
        severity: `error`, or `information` for a text without operators.
        error: what it was made of. Its place is one in the excerpt that was proven.
    """

    start: int
    stop: int
    message: str
    code: str
    severity: str = "error"
    related: tuple[Related, ...] = ()
    repairs: tuple[Repair, ...] = ()
    error: Error | None = field(default=None, compare=False, repr=False)


def diagnose(
    text: str, proofs: Proofs, origin: Origin, stopped: Callable[[], bool] = lambda: False
) -> list[Finding]:
    """All findings about a text.

    Args:
        stopped: true once nobody waits for the answer; asked between operators.
    """
    parts = declarations(text)
    found = [_syntax(part, part.parsed.error) for part in parts if part.parsed.error is not None]
    if not parts:
        return [_empty(text)]
    good, problems = _consistent([p for p in parts if p.parsed.error is None], origin)
    found += problems
    fitting = set(good)
    for name in _operators(good):
        if stopped():
            break
        part = excerpt(name, parts)
        if part.complete and fitting.issuperset(part.parts):
            found += _of_proof(part, proofs.prove(part.text, name, origin), origin)
    unique = {(f.start, f.stop, f.message): f for f in reversed(found)}
    return sorted(unique.values(), key=lambda f: (f.start, f.stop))


def _operators(parts: list[Declared]) -> list[str]:
    items = [item for part in parts for item in part.parsed.items]
    return [item.name.text for item in items if isinstance(item, tree.Operator)]


def _empty(text: str) -> Finding:
    try:
        lang.parse(text)
    except Error as error:
        return Finding(0, 0, _message(error, []), "syntax", "information")
    return Finding(0, 0, "no operator", "syntax", "information")


def _syntax(part: Declared, error: Error) -> Finding:
    start, stop = (error.span.start, error.span.stop) if error.span is not None else (0, len(part.text))
    notes, related = [], []
    for note in error.notes:
        opened = _OPENED.fullmatch(note)
        if opened is None:
            notes.append(note)
            continue
        place = part.start + _offset(part.text, int(opened[2]), int(opened[3]))
        related.append(Related(opened[1], place, place + 1))
    message = _message(error, notes)
    return Finding(
        part.start + start, part.start + min(stop, len(part.text)), message, error.code or "syntax",
        related=tuple(related), error=error,
    )  # fmt: skip


def _offset(text: str, line: int, column: int) -> int:
    """Offset of a line and column from 1."""
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return start + column - 1


def _message(error: Error, notes: list[str]) -> str:
    head = f"{error.message}: {error.label}" if error.label else error.message
    return "\n".join([head, *notes, *([f"help: {error.help}"] if error.help else [])])


def _consistent(parts: list[Declared], origin: Origin) -> tuple[list[Declared], list[Finding]]:
    """The declarations that fit each other, and findings about the rest: names that are declared
    twice, a `use` that leads nowhere. Operators are left to their proofs, which read them anyway.
    """
    found: list[Finding] = []
    good: list[Declared] = []
    first: dict[str, Declared] = {}
    for part in parts:
        before = [first[n] for n in part.names if n in first]
        alone = not _operators([part])
        wrong = _module_error([*dict.fromkeys(before), part], origin) if before or alone else []
        found += wrong
        if not wrong:
            good.append(part)
            first.update(dict.fromkeys(part.names, part))
    return good, found


def _module_error(parts: list[Declared], origin: Origin) -> list[Finding]:
    """The error of some declarations as a text, before anything in them is elaborated."""
    whole = Excerpt("".join(p.text for p in parts), tuple(parts), True)
    try:
        lang.parse(whole.text, origin.name, origin.uses())
    except Error as error:
        return _of_proof(whole, Proof(None, None, error), origin)
    return []


def _of_proof(part: Excerpt, proof: Proof, origin: Origin) -> list[Finding]:
    error = proof.error
    if error is None:
        return []
    start, stop = 0, 0
    file = None
    if error.span is not None and error.span.source.name == origin.name:
        start, stop = part.place(error.span.start), part.place(error.span.stop)
    elif error.span is not None:
        file = error.span
    notes, related = _notes(error, part, origin)
    if file is not None:
        line, column = file.source.position(file.start)
        related.append(Related("the error", 0, 0, file.source.name, line - 1, column - 1))
    repairs = tuple(r for s in proof.solutions if (r := _repair(part, s.words, s.text)) is not None)
    return [
        Finding(
            start,
            stop,
            _message(error, notes),
            error.code or "check",
            "error",
            tuple(related),
            repairs,
            error,
        )
    ]


def _notes(error: Error, part: Excerpt, origin: Origin) -> tuple[list[str], list[Related]]:
    """The notes of an error, and the second places among them."""
    notes: list[str] = []
    related: list[Related] = []
    for note in error.notes:
        place = _PLACE.fullmatch(note)
        if place is None:
            notes += [] if related and _MARKED.match(note) else [note]
            continue
        line, column = int(place[3]), int(place[4])
        if place[2] in (origin.name, NAME):
            start = _offset(part.text, line, column)
            word = _PIECE.match(part.text, start)
            stop = word.end() if word else start
            related.append(Related(place[1], part.place(start), part.place(stop)))
        else:
            related.append(Related(place[1], 0, 0, place[2], line - 1, column - 1))
    return notes, related


def _repair(part: Excerpt, words: str, text: str) -> Repair | None:
    """The edits that make one text of another; None where an edit reaches over declarations."""
    edits = [Edit(*each) for each in differences(part.text, text)]
    if any(part.part_of(e.start, e.stop) is None for e in edits):
        return None
    placed = [Edit(part.place(e.start), part.place(e.start) + e.stop - e.start, e.new) for e in edits]
    return Repair(words, tuple(placed)) if placed else None


def differences(old: str, new: str) -> list[tuple[int, int, str]]:
    """The ranges of a text that change, with their new texts; unchanged ends are cut off."""
    a, b = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in a:
        starts.append(starts[-1] + len(line))
    found = []
    for kind, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind != "equal":
            found += _words(starts[i], "".join(a[i:j]), "".join(b[k:m]))
    return found


def _words(at: int, old: str, new: str) -> list[tuple[int, int, str]]:
    """Differences of two texts, word by word; of very different ones, all between their ends."""
    a, b = _PIECE.findall(old), _PIECE.findall(new)
    first = _common(a, b)
    last = _common(a[first:][::-1], b[first:][::-1])
    at += sum(map(len, a[:first]))
    a, b = a[first : len(a) - last], b[first : len(b) - last]
    if len(a) * len(b) > _MOST_COMPARED:
        return [(at, at + sum(map(len, a)), "".join(b))]
    starts = [at]
    for word in a:
        starts.append(starts[-1] + len(word))
    return [
        (starts[i], starts[j], "".join(b[k:m]))
        for kind, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        if kind != "equal"
    ]


def _common(a: list[str], b: list[str]) -> int:
    """Number of words that two lists begin with."""
    return next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))

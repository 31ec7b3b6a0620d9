"""The definitions of a text that one of them needs, found without parsing: of a library with
many operators, few are used.
"""

from __future__ import annotations

import re

_BEGIN = re.compile(r"^(?:op|fn|extern op|use)\b[ \t]*([A-Za-z_][A-Za-z0-9_]*)?", re.MULTILINE)
_WORD = re.compile(r"#[^\n]*|([A-Za-z_][A-Za-z0-9_]*)")

Range = tuple[int, int]


def needed(text: str, name: str) -> list[Range]:
    """Ranges of the definition of `name`, and of all names in it, in turn, in the order of the
    text.

    Every definition begins a line; up to the next one, all is its own. A `use` is needed by all.
    What is not found so is the whole text: whoever parses it then says what is wrong.
    """
    begins = list(_BEGIN.finditer(text))
    stops = [*(b.start() for b in begins[1:]), len(text)]
    uses = [k for k, b in enumerate(begins) if b.group().startswith("use")]
    places = {b[1]: k for k, b in enumerate(begins) if k not in uses}
    twice = len(places) + len(uses) < len(begins)
    if twice or name not in places or not _is_blank(text[: begins[0].start()]):
        return [(0, len(text))]
    wanted = [places[name]]
    for k in wanted:
        words = {m[1] for m in _WORD.finditer(text, begins[k].start(), stops[k])}
        wanted += [places[w] for w in words if w in places and places[w] not in wanted]
    return [(begins[k].start(), stops[k]) for k in sorted({*wanted, *uses})]


def _is_blank(text: str) -> bool:
    """True if nothing but comments stands there."""
    return all(line.lstrip().startswith("#") or not line.strip() for line in text.splitlines())

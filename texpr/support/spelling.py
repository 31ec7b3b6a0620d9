"""Did you mean: the known name nearest to an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is probably a misspelling of; a difference in case alone counts first."""
    candidates = [k for k in known if k != name]
    same = [k for k in candidates if k.lower() == name.lower()]
    return next(iter(same or get_close_matches(name[:60], candidates, 1, 0.6)), None)


def suggestion(name: str, known: Iterable[str]) -> str:
    """`did you mean ...?`, or nothing."""
    found = nearest(name, known)
    return f"did you mean `{found}`?" if found else ""

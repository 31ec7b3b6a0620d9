"""Words in messages: the known name nearest to an unknown one, and plurals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from texpr.support.late import late

if TYPE_CHECKING:
    import difflib
else:
    difflib = late("difflib")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is probably a misspelling of; a difference in case alone counts
    first.
    """
    candidates = [k for k in known if k != name]
    same = [k for k in candidates if k.lower() == name.lower()]
    return next(iter(same or difflib.get_close_matches(name[:60], candidates, 1, 0.6)), None)


def counted(n: int, word: str, plural: str = "") -> str:
    """`1 index`, `2 indices`."""
    return f"{n} {word if n == 1 else plural or word + 's'}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """`did you mean ...?`, or nothing."""
    found = nearest(name, known)
    return f"did you mean `{found}`?" if found else ""

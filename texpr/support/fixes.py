"""Ways out of an error: words, and the changes of the program's text that the words propose."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.support.frozen_dataclass import frozen


@frozen
class Write:
    """Write `new` in the place of `old`, which stands where the error is; spaces do not count."""

    old: str
    new: str


@frozen
class Require:
    """Add a condition on sizes to the operator's head."""

    condition: str


@frozen
class Declare:
    """Declare a tensor: `T: f32[N] in 0..K` in the place of its declaration, or as a `let` where
    it has none.
    """

    name: str
    type: str


@frozen
class Define:
    """Put an equation before the one with the error."""

    equation: str


@frozen
class Ranges:
    """Add ranges of indices: `i in 0..N, j in 0..M` to the end of the equation, that of a binder
    where it is bound.
    """

    text: str


@frozen
class Rename:
    """Give a name another name in the whole operator."""

    old: str
    new: str


@frozen
class Shift:
    """Let a dimension of an intermediate begin at 0: its index runs over 0..count and is
    `begins` where it was used; reads add `offset`.
    """

    tensor: str
    axis: int
    index: str
    count: str
    begins: str
    offset: str


@frozen
class Import:
    """Take an operator from the library: a `use ops: name` at the start of the text."""

    name: str


Edit = Import | Write | Require | Declare | Define | Ranges | Rename | Shift


@frozen
class Fix:
    """One way out.

    Attributes:
        words: the line of help.
        edits: the changes that the words propose; none where they propose no text.
        also: the words between this way and the next, where both are shown; empty where the next
            one is only for want of this one.
    """

    words: str
    edits: tuple[Edit, ...] = ()
    also: str = ""


def imported(name: str) -> Fix:
    """Advise an operator of the library."""
    return Fix(f"the library has it: write `use ops: {name}` before the operator", (Import(name),))


def require(condition: str) -> Fix:
    """Advise a condition on sizes."""
    return Fix(f"add `require {condition}`", (Require(condition),))


def said(fixes: Sequence[Fix], works: Sequence[bool] | None = None) -> str:
    """The line of help: the first ways that are shown together and of which one works, those of
    them that work.
    """
    group: list[Fix] = []
    for fix, good in zip(fixes, works or [True] * len(fixes)):
        group += [fix] if good else []
        if group and not fix.also:
            break
    return "".join(f.words + (f.also if f is not group[-1] else "") for f in group)

"""The record of a choice: which template scheduled a nest, and why those before it did not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True)
class Decision:
    """Which template took a nest.

    Attributes:
        label: of the nest, as its loops are named.
        template: its name; empty where none took it.
        rejected: templates that were tried before, in order, each with the reason.
    """

    label: str
    template: str
    rejected: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.label or 'kernel'}: {self.template or 'no template'}"]
        lines += [f"  not {', '.join(name for name, _ in same)}: {reason}" for reason, same in groupby(self.rejected, lambda each: each[1])]
        return "\n".join(lines)


def show_decisions(decisions: Iterable[Decision]) -> str:
    """Decisions as text, a nest after the other; empty without any."""
    return "\n".join(_lines(decisions))


def _lines(decisions: Iterable[Decision]) -> Iterator[str]:
    for each in decisions:
        for line in str(each).splitlines():
            yield f"  {line}"

"""The record of a choice: which template scheduled a nest, and why those before it did not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from texpr.support.frozen_dataclass import frozen


@frozen
class Decision:
    """The template that took a nest.

    Attributes:
        label: of the nest, as its loops are named; None for all nests together.
        template: its name; None where none took it.
        rejected: templates that were tried before, in order, each with the reason.
    """

    label: str | None
    template: str | None
    rejected: tuple[tuple[str, str], ...] = ()


def show_decisions(decisions: Iterable[Decision], steps: int) -> str:
    """Decisions as text: each nest with the templates that took it one after the other, then the
    reasons of the others.

    Args:
        steps: of the whole schedule.
    """
    by_label: dict[str | None, list[Decision]] = {}
    for each in decisions:
        by_label.setdefault(each.label, []).append(each)
    lines = [f"default schedule, {steps} steps"]
    for label, of_nest in by_label.items():
        lines += _of_nest(label, of_nest)
    return "\n".join(lines)


def _of_nest(label: str | None, decisions: Sequence[Decision]) -> list[str]:
    """The lines of one nest; a reason that several templates have is said once."""
    taken = list(dict.fromkeys(each.template for each in decisions if each.template is not None))
    rejected = {name: reason for each in decisions for name, reason in each.rejected if name not in taken}
    names: dict[str, list[str]] = {}
    for name, reason in rejected.items():
        names.setdefault(reason, []).append(name)
    head = f"  {label or 'all nests'}: {', then '.join(taken) or 'no template'}"
    return [head, *(f"    not {', '.join(same)}: {reason}" for reason, same in names.items())]

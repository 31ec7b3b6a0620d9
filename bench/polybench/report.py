"""The table of what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from bench.machine import Limits
from bench.polybench.measure import Outcome
from bench.tables import aligned, geometric_mean, percent, ratio, seconds

LEGEND = """gcc, openmp, texpr: median times. ratio: the faster of the others over texpr. of limit: the least time that arithmetic and
memory allow over texpr's. error: largest difference over largest element. first: until texpr's first result, compiling included.
notes: wrong: the error is above the bound of the type; unproven: the certificate does not cover the schedule; disturbed: other work
ran meanwhile."""


def table(outcomes: Sequence[Outcome | str], limits: Limits) -> str:
    """Rows of all kernels that were measured, the mean, a legend, and what failed."""
    measured = [o for o in outcomes if isinstance(o, Outcome)]
    others = ["gcc", "openmp"] if limits.threads > 1 else ["gcc"]
    header = ["kernel", *others, "texpr", "ratio", "of limit", "error", "first", "notes"]
    text = aligned(header, [_row(o, others, limits) for o in measured])
    mean = geometric_mean([advantage(o) for o in measured])
    faster = sum(advantage(o) >= 1 for o in measured)
    failed = "".join(f"failed: {o}\n" for o in outcomes if isinstance(o, str))
    return f"{text}\n\ngeometric mean of the ratios {mean:.2f}; {faster} of {len(measured)} at least 1\n{failed}\n{LEGEND}"


def advantage(outcome: Outcome) -> float:
    """How much faster texpr is than the fastest other."""
    return min(taken for name, taken in outcome.seconds.items() if name != "texpr") / outcome.seconds["texpr"]


def share_of_limit(outcome: Outcome, limits: Limits) -> float:
    """The least time that the machine allows over the time that texpr took."""
    return limits.seconds(outcome.work, outcome.dtype, outcome.moved) / outcome.seconds["texpr"]


def _row(outcome: Outcome, others: Sequence[str], limits: Limits) -> list[str]:
    notes = {"wrong": not outcome.correct, "unproven": not outcome.certified, "disturbed": not outcome.clean}
    return [outcome.kernel, *(seconds(outcome.seconds[name]) for name in others), seconds(outcome.seconds["texpr"]),
            ratio(advantage(outcome)), percent(share_of_limit(outcome, limits)), f"{outcome.error:.0e}", seconds(outcome.compiling),
            " ".join(note for note, holds in notes.items() if holds)]

"""The table of what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from bench.machine import Limits
from bench.polybench.measure import Outcome
from bench.tables import geometric_mean, percent, ratio, seconds
from texpr.support.table import aligned

LEGEND = """gcc, openmp, texpr: median times. ratio: the faster of the others over texpr. of limit: the least time that arithmetic and
memory allow over texpr's. error: largest difference over largest element. first: until texpr's first result, compiling included.
notes: wrong: the error is above the bound of the type; unproven: the certificate refuses the schedule, or takes too long; disturbed: other
work ran meanwhile."""


@dataclass(frozen=True)
class Result:
    """What is known of one kernel.

    Attributes:
        kernel: its name.
        outcome: what was measured, if that was possible.
        proven: whether the final loops are proven.
        failed: why there is no outcome.
    """

    kernel: str
    outcome: Outcome | None = None
    proven: bool = False
    failed: str = ""

    @property
    def progress(self) -> str:
        """A few words for who waits."""
        return self.failed if self.outcome is None else f"{advantage(self.outcome):.2f}"

    def as_json(self) -> dict[str, object]:
        """As plain data."""
        return asdict(self)


def table(results: Sequence[Result], limits: Limits) -> str:
    """Rows of all kernels that were measured, the mean, a legend, and what failed."""
    others = ["gcc", "openmp"] if limits.threads > 1 else ["gcc"]
    header = ["kernel", *others, "texpr", "ratio", "of limit", "error", "first", "notes"]
    rows = [_row(r.outcome, r.proven, others, limits) for r in results if r.outcome is not None]
    text = aligned([header, *rows], "<>")
    ratios = [advantage(r.outcome) for r in results if r.outcome is not None]
    failed = "".join(f"failed: {r.kernel}: {r.failed}\n" for r in results if r.outcome is None)
    counted = (
        f"geometric mean of the ratios {geometric_mean(ratios):.2f}; {sum(a >= 1 for a in ratios)} of "
        f"{len(ratios)} at least 1"
    )
    return f"{text}\n\n{counted}\n{failed}\n{LEGEND}"


def advantage(outcome: Outcome) -> float:
    """How much faster texpr is than the fastest other."""
    return min(taken for name, taken in outcome.seconds.items() if name != "texpr") / outcome.seconds["texpr"]


def share_of_limit(outcome: Outcome, limits: Limits) -> float:
    """The least time that the machine allows over the time that texpr took."""
    return limits.seconds(outcome.work, outcome.dtype, outcome.moved) / outcome.seconds["texpr"]


def _row(outcome: Outcome, proven: bool, others: Sequence[str], limits: Limits) -> list[str]:
    notes = {"wrong": not outcome.correct, "unproven": not proven, "disturbed": not outcome.clean}
    return [
        outcome.kernel,
        *(seconds(outcome.seconds[name]) for name in others),
        seconds(outcome.seconds["texpr"]),
        ratio(advantage(outcome)),
        percent(share_of_limit(outcome, limits)),
        f"{outcome.error:.0e}",
        seconds(outcome.compiling),
        " ".join(note for note, holds in notes.items() if holds),
    ]

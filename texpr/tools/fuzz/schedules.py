"""Random operators with random steps, tried in child processes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from texpr.support.frozen_dataclass import replace
from texpr.tools.fuzz.cases import Case, drawn_operator, drawn_steps, parse_case
from texpr.tools.fuzz.part import Part, alone, batched, file_name
from texpr.tools.fuzz.schedule_trial import Report, examine
from texpr.tools.fuzz.shrink import shrunk_case
from texpr.tools.fuzz.trial import Finding

SHRINK_SECONDS = 60.0
_NATIVE, _ALTERNATIVES = 8, 12
"""One case of so many is also compiled and run; asked for what would be legal where something is
refused.
"""


class Schedules(Part):
    """The part of the fuzzer that tries schedules."""

    what, size, seconds = "schedules", 10, (300.0, 90.0)

    def request(self, numbers: list[int]) -> tuple[object, ...]:
        return f"{__name__}:batch", self.seed, numbers

    def write(self, folder: Path, number: int, finding: Finding) -> Path:
        """A file with the smallest case that still shows the finding, and a file about it."""
        _, *text = finding.detail.split("\n\nfound in:\n", 1)
        case = parse_case(text[0]) if text else tried(self.seed, number).case

        def fails(candidate: Case) -> bool:
            again = replayed(candidate)
            return again is not None and again.kind == finding.kind

        small = shrunk_case(case, fails, SHRINK_SECONDS)
        name = file_name(finding, str(small))
        shown = "".join(f"  {line}\n" for line in str(small).splitlines())
        (folder / f"{name}.litmus").write_text(f"legal {name.replace('-', '_')}: {finding.kind}\n{shown}")
        again = replayed(small) or finding
        about = f"{finding.kind}\nseed {self.seed}, schedule {number}\n\n{small}\n\n{again.detail}\n"
        (folder / f"{name}.txt").write_text(about, encoding="utf-8", errors="backslashreplace")
        return folder / f"{name}.litmus"


def replayed(case: Case) -> Finding | None:
    """Try a case in a child process."""
    return alone(f"{__name__}:one", str(case), seconds=Schedules.seconds[1])


def tried(seed: int, number: int) -> Report:
    """Case `number` of a seed."""
    rng = Random(f"{seed}:{number}")
    return examine(
        drawn_operator(rng),
        drawn_steps(rng),
        native=number % _NATIVE == 0,
        alternatives=number % _ALTERNATIVES == 0,
    )


def batch(seed: int, numbers: list[int]) -> list[Any]:
    """Runs in a child."""

    def trial(number: int, counts: Counter[str]) -> Finding | None:
        report = tried(seed, number)
        counts.update(report.counts)
        return report.finding and replace(
            report.finding, detail=f"{report.finding.detail}\n\nfound in:\n{report.case}"
        )

    return batched(numbers, trial)


def one(text: str) -> list[str] | None:
    """Runs in a child."""
    case = parse_case(text)
    finding = examine(case, case.chooser(), native=True, alternatives=True).finding
    return None if finding is None else [finding.kind, finding.detail]

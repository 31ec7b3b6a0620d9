"""Default schedules of random operators at random sizes, tried in child processes: `auto()`
never raises, and leaves no nest behind.
"""

from __future__ import annotations

import re
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from texpr.autoschedule.driver import auto
from texpr.compiler.op import op
from texpr.compiler.schedule import Schedule, schedule
from texpr.ir.verifier.program import verify_kernel
from texpr.schedule.analysis.annotations import UNSCHEDULED
from texpr.support.errors import Error
from texpr.support.frozen_dataclass import replace
from texpr.support.options import options
from texpr.targets import find_target
from texpr.tools.fuzz.cases import Case, drawn_operator, parse_case
from texpr.tools.fuzz.part import Part, alone, batched, file_name
from texpr.tools.fuzz.schedule_trial import compared
from texpr.tools.fuzz.shrink import shrunk_case
from texpr.tools.fuzz.structures import short_text, structured_text
from texpr.tools.fuzz.trial import Finding, place_of

SHRINK_SECONDS = 60.0
NATIVE = 0.5
"""The share of default schedules that are for this machine; the others are for one of `OTHERS`."""
OTHERS = (
    "x86-64",
    "x86-64-v3",
    "x86-64-v4",
    "x86-64-v4+amx",
    "aarch64",
    "aarch64+i8mm",
    "aarch64+sve",
    "a64fx",
    "armv7",
    "sm_75",
    "sm_80",
    "sm_90a",
)
STRUCTURED = 0.4
"""The share of operators that default schedules have structures for."""
SHORT = 0.2
"""The share of contractions and convolutions with extents of 1 to 3."""
SYMBOLIC = 0.15
"""The share of sizes that are no constants."""
SIZES = (
    0,
    0,
    1,
    1,
    1,
    2,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    15,
    16,
    17,
    31,
    32,
    33,
    39,
    48,
    63,
    64,
    65,
    100,
    127,
    128,
    129,
    256,
    1000,
    1024,
)
"""Nothing, one, and numbers around the tiles and the vectors of default schedules, beside which
remainders and empty parts lie.
"""
_TARGET = re.compile(r"^# target (\S+)$", re.MULTILINE)


class Defaults(Part):
    """The part of the fuzzer that tries default schedules.

    Args:
        compiled: those for this machine are also compiled, run and compared with the interpreter,
            at sizes whose arrays are small.
    """

    what, size, seconds = "default schedules", 100, (600.0, 90.0)

    def __init__(self, seed: int, compiled: bool = False) -> None:
        super().__init__(seed)
        self.compiled = compiled

    def request(self, numbers: list[int]) -> tuple[object, ...]:
        return f"{__name__}:batch", self.seed, numbers, self.compiled

    def write(self, folder: Path, number: int, finding: Finding) -> Path:
        """A file with the smallest operator that still shows the finding, and a file about it."""
        case, target = drawn(self.seed, number)

        def fails(candidate: Case) -> bool:
            again = replayed(shown(candidate, target), self.compiled)
            return again is not None and again.kind == finding.kind

        small = shown(shrunk_case(case, fails, SHRINK_SECONDS), target)
        name = file_name(finding, small)
        (folder / f"{name}.default").write_text(small)
        about = (
            f"{finding.kind}\nseed {self.seed}, default schedule {number}\n\n{small}\n\n{finding.detail}\n"
        )
        (folder / f"{name}.txt").write_text(about, encoding="utf-8", errors="backslashreplace")
        return folder / f"{name}.default"


def shown(case: Case, target: str) -> str:
    """A case as text, with the target of its schedule."""
    return f"# target {target}\n{case}\n"


def drawn(seed: int, number: int) -> tuple[Case, str]:
    """Case `number` of a seed: an operator, sizes, and the target."""
    rng = Random(f"default {seed}:{number}")
    target = "native" if rng.random() < NATIVE else rng.choice(OTHERS)
    kind = rng.random()
    if kind < STRUCTURED + SHORT:
        return Case(structured_text(rng) if kind < STRUCTURED else short_text(rng)), target
    case = drawn_operator(rng)
    return replace(
        case, sizes=tuple((n, rng.choice(SIZES)) for n in _names(case.text) if rng.random() >= SYMBOLIC)
    ), target


def _names(text: str) -> list[str]:
    """The sizes of an operator; none of text that is refused."""
    try:
        return [v.name for v in schedule(op(text)).program.sizes]
    except Error:
        return []


def replayed(text: str, compiled: bool = True) -> Finding | None:
    """Try a case in a child process."""
    return alone(f"{__name__}:one", text, compiled, seconds=Defaults.seconds[1])


def examine(case: Case, target: str, compiled: bool, counts: Counter[str]) -> Finding | None:
    """Choose the default schedule; a finding where that raises, gives a part up, or gives a
    kernel that is not well-formed.
    """
    try:
        s = schedule(op(case.text), **dict(case.sizes))
        naive = s.kernel
    except Error as error:
        counts[f"programs refused | {error.code}"] += 1
        return None
    counts[f"default schedules | {target}"] += 1
    try:
        steps, kernel = auto(naive, find_target(target).machine)
        verify_kernel(kernel)
    except Exception as error:
        return _raised("auto() raises", error)
    given_up = [dict(step.options)[UNSCHEDULED] for step in steps if UNSCHEDULED in dict(step.options)]
    if given_up:
        return _given_up(s, target, str(given_up[0]))
    s.steps[:], s.kernel = steps, kernel
    return compared(s, counts) if compiled and target == "native" else None


def _given_up(s: Schedule, target: str, reason: str) -> Finding:
    """The finding where a part of the schedule failed: under `verify` it raises."""
    try:
        with options(verify=True):
            auto(s.naive, find_target(target).machine)
    except Exception as error:
        return _raised("auto() gives a part up", error)
    return Finding(f"auto() gives a part up: {reason}", reason)


def _raised(what: str, error: Exception) -> Finding:
    kind = f"{what}: {type(error).__name__} in {place_of(error)}"
    return Finding(kind, "".join(traceback.format_exception(error)))


def batch(seed: int, numbers: list[int], compiled: bool) -> list[Any]:
    """Runs in a child."""

    def trial(number: int, counts: Counter[str]) -> Finding | None:
        case, target = drawn(seed, number)
        finding = examine(case, target, compiled, counts)
        return finding and replace(finding, detail=f"{shown(case, target)}\n{finding.detail}")

    return batched(numbers, trial)


def one(text: str, compiled: bool) -> list[str] | None:
    """Runs in a child."""
    target = _TARGET.search(text)
    finding = examine(parse_case(text), target.group(1) if target else "native", compiled, Counter())
    return None if finding is None else [finding.kind, finding.detail]

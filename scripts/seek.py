"""Seek verdicts on schedules that notice changes of `mutants.py` which no recorded verdict notices.

    python scripts/seek.py FOUND [--cases FILE] [--state STATE] [--seed S] [--seconds N] [--trust]
    [--only TEXT]

Cases are given, drawn at random, or neighbours of cases that run the function of a change which
nothing has noticed: they differ in a number, an operation, a size, a step or the faults of their
loops. One run of a case tells of all changes at once whether it can notice them (`weak.py`); those
that few cases can notice are then put in place, one by one. A case that notices one is appended to
FOUND, for `verdicts.py record FOUND` to check and keep. What the recorded cases can notice is kept
in `weak.jsonl` in the folder of the state.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

from mutants import Mutant
from mutate import FILES, LISTED, ROOT, listed, sources
from mutation_runs import in_child, install
from verdicts import FAULTS_OF_ONE, SLOWEST, distinct_faults, drawn
from weak import Weak

from tests.verdicts.verdict import FAULTS, LOOPS, Fault, Record, final, recorded
from tests.verdicts.verdict import listed as records
from texpr.compiler.op import op
from texpr.compiler.schedule import schedule
from texpr.ir.loop import Kernel
from texpr.support.errors import Error
from texpr.tools.fuzz.cases import Case, parse_case
from texpr.tools.fuzz.random_steps import steps_for

TRIALS = 8
"""Cases that can notice a change, of which one should."""
NEIGHBOURS = 0.7
"""The share of cases that are neighbours of others."""
_EXCHANGED = {
    "+": "-",
    "-": "+",
    "<=": "<",
    "<": "<=",
    ">=": ">",
    ">": ">=",
    "max": "min",
    "min": "max",
    "==": "!=",
    "!=": "==",
}
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_OPERATION = re.compile(r"(?<= )(?:\+|-|<=|<|>=|>|==|!=)(?= )|\b(?:max|min)(?=\()")
WITH_FAULTS = "# faults"
Question = tuple[str, tuple[Fault, ...]]
"""A case and faults for its loops."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("found", type=Path)
    parser.add_argument(
        "--state", type=Path, default=Path(".mutants"), help="folder of what is known (default: .mutants)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600.0, help="processor time (default: 600)")
    parser.add_argument(
        "--trust", action="store_true", help="seek changes alone that no recorded case can notice"
    )
    parser.add_argument(
        "--cases",
        type=Path,
        help="cases to try first, an empty line between two; after `# faults` with every fault",
    )
    parser.add_argument(
        "--only", action="append", help="seek what notices the changes whose description has this in it"
    )
    given = parser.parse_args()
    end = time.process_time() + given.seconds
    seeker = Seeker(given.found, given.only or [""])
    seeker.known(given.state)
    if given.trust:
        seeker.left = {n: 0 for n, times in seeker.left.items() if not times}
    else:
        seeker.check(given.state)
    for text in given.cases.read_text(encoding="utf-8").split("\n\n") if given.cases else ():
        seeker.asked(text.strip())
    seeker.seek(given.seed, end)
    seeker.report()
    return 0


class Seeker:
    """Cases, and what they notice.

    Attributes:
        left: the changes that nothing has noticed, by number, each with the number of cases that
            could.
        altered_by: the cases that can notice a change, by its number.
        around: the cases that run a function, by its name.
    """

    def __init__(self, found: Path, only: list[str]) -> None:
        self.found = found
        self.weak = Weak(ROOT, list(sources(ROOT, FILES)), TRIALS)
        explained = listed((ROOT / LISTED).read_text(encoding="utf-8"))
        wanted = {
            n
            for n, m in enumerate(self.weak.mutants)
            if m.key not in explained and any(text in m.key for text in only)
        }
        self.left = dict.fromkeys(sorted(self.weak.known & wanted), 0)
        self.altered_by: defaultdict[int, list[Record]] = defaultdict(list)
        self.around: defaultdict[str, list[Record]] = defaultdict(list)
        self.made = self.kept = 0

    def known(self, state: Path) -> None:
        """Run what is recorded, unless it is known already which changes it can notice."""
        state.mkdir(parents=True, exist_ok=True)
        path = state / "weak.jsonl"
        told = dict(map(json.loads, path.read_text(encoding="utf-8").splitlines())) if path.exists() else {}
        numbers = {m.key: n for n, m in enumerate(self.weak.mutants)}
        with path.open("a", encoding="utf-8") as out:
            for r in records():
                if r.key not in told:
                    recorded(r.case, r.faults)
                    told[r.key] = [self.weak.mutants[n].key for n in sorted(self.weak.taken())]
                    out.write(json.dumps([r.key, told[r.key]]) + "\n")
                    out.flush()
                self._runs(r, {numbers[key] for key in told[r.key] if key in numbers})
        for n in self.left:
            self.left[n] = self.weak.times[n] = len(self.altered_by[n])
        gc.freeze()

    def check(self, state: Path) -> None:
        """Put the changes in place that recorded cases can notice, those first that few can."""
        path = state / "noticed.txt"
        noticed = set(path.read_text(encoding="utf-8").splitlines()) if path.exists() else set()
        with path.open("a", encoding="utf-8") as out:
            for n in sorted(self.left, key=self.left.__getitem__):
                key = self.weak.mutants[n].key
                if key in noticed:
                    del self.left[n]
                elif any(self._notices(n, r) for r in self.altered_by[n]):
                    del self.left[n]
                    out.write(f"{key}\n")
                    out.flush()

    def _runs(self, record: Record, hits: set[int]) -> None:
        for n in hits:
            self.altered_by[n].append(record)
        for name in {_function(self.weak.mutants[n]) for n in hits}:
            self.around[name].append(record)

    def _notices(self, number: int, record: Record) -> bool:
        """Whether a case says something else under a change."""

        def work(write: int) -> int:
            self.weak.enough = 0
            install(ROOT, self.weak.mutants[number])
            os.write(write, b".")
            return int(recorded(record.case, record.faults).differs(record))

        ended, said = in_child(work, 10, Path(os.devnull))
        return ended != "passed" and said == b"."

    def seek(self, seed: int, end: float) -> None:
        """Draw cases, and keep those that notice what nothing else has noticed."""
        rng = Random(seed)
        strangers = drawn(seed or 1)
        while self.left and time.process_time() < end:
            case, faults = self._near(rng) if rng.random() < NEIGHBOURS else next(strangers)
            for chosen in dict.fromkeys(((), faults)):
                self.consider(case, chosen)

    def _near(self, rng: Random) -> Question:
        """A neighbour of a case that runs the function of a change which nothing has noticed."""
        while True:
            name = _function(self.weak.mutants[rng.choice(list(self.left))])
            if near := self.around.get(name):
                return neighbour(
                    rng, min(rng.choices(near, k=3), key=lambda r: sum(r.work)), "certify" in name
                )

    def asked(self, text: str) -> None:
        """Consider a case that somebody has written."""
        case = text.removeprefix(WITH_FAULTS).strip()
        self.consider(case, ())
        kernel = _scheduled(parse_case(case), len(case)) if text.startswith(WITH_FAULTS) else None
        faults = list(distinct_faults(final(kernel))) if kernel is not None else []
        for k in range(0, len(faults), FAULTS_OF_ONE):
            self.consider(case, tuple(faults[k : k + FAULTS_OF_ONE]))

    def consider(self, case: str, faults: tuple[Fault, ...]) -> None:
        """Keep a case if it notices what nothing else has noticed."""
        self.made += 1
        try:
            with limited(2 * SLOWEST):
                recorded(case, faults)
        except (ZeroDivisionError, KeyError, IndexError, TimeoutError):
            return  # a fault divides by zero, or uses a variable outside its loop; or it takes too long
        finally:
            hits = self.weak.taken()
        wanted = [n for n in sorted(hits) if n in self.left]
        if not wanted:
            return
        self.weak.enough, enough = 0, self.weak.enough
        record = recorded(case, faults)
        self.weak.enough = enough
        noticed = [n for n in wanted if self._notices(n, record)]
        for n in wanted:
            self.left[n] += 1
        for n in noticed:
            del self.left[n]
            print(f"{self.made}: {self.weak.mutants[n].key}", flush=True)
        if noticed:
            self.kept += 1
            self._runs(record, hits)
            with self.found.open("a", encoding="utf-8") as out:
                out.write(f"{record.line()}\n")

    def report(self) -> None:
        """Print the changes that nothing has noticed, and how many cases could have."""
        for n, times in self.left.items():
            m = self.weak.mutants[n]
            print(f"{f'altered by {times}' if times else 'never altered'}: {m.key} (line {m.first})")
        print(
            f"{self.kept} of {self.made} cases kept; {len(self.left)} of {len(self.weak.known)} changes are "
            f"left"
        )


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Processor time for what is inside, which ends with a `TimeoutError`."""

    def end(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _function(mutant: Mutant) -> str:
    return f"{mutant.path} {mutant.function}"


def neighbour(rng: Random, record: Record, certificate: bool) -> Question:
    """A case like another one: with other faults, other numbers or operations in its text,
    another size, a step less or more.
    """
    case, faults = record.case, record.faults
    if case.startswith(LOOPS) or certificate and rng.random() < 0.5:
        return case, tuple(
            (rng.choice(list(FAULTS)), rng.randrange(40), rng.choice((1, -1))) for _ in range(FAULTS_OF_ONE)
        )
    given = parse_case(case)
    for _ in range(rng.choice((1, 1, 2))):
        given = rng.choice(
            (_other_number, _other_number, _other_operation, _other_size, _step_less, _step_more, _step_more)
        )(rng, given)
    return str(given), faults


def _other_number(rng: Random, case: Case) -> Case:
    return replace(
        case,
        text=_changed(rng, case.text, _NUMBER, lambda old: str(max(int(old) + rng.choice((1, 1, -1, 2)), 0))),
    )


def _other_operation(rng: Random, case: Case) -> Case:
    return replace(case, text=_changed(rng, case.text, _OPERATION, _EXCHANGED.__getitem__))


def _changed(rng: Random, text: str, what: re.Pattern[str], change) -> str:  # noqa: ANN001
    places = [m for m in what.finditer(text)]
    if not places:
        return text
    at = rng.choice(places)
    return text[: at.start()] + change(at.group()) + text[at.end() :]


def _other_size(rng: Random, case: Case) -> Case:
    names = sorted(set(re.findall(r"\b[A-Z][A-Z0-9]?\b", case.text.split("->")[0])) - {"X", "Y", "Z"})
    sizes = dict(case.sizes)
    if not names:
        return case
    name = rng.choice(names)
    if name in sizes and rng.random() < 0.5:
        del sizes[name]
    else:
        sizes[name] = rng.choice((1, 2, 3, 4, 5, 7, 8))
    return replace(case, sizes=tuple(sizes.items()))


def _step_less(rng: Random, case: Case) -> Case:
    k = rng.randrange(len(case.steps)) if case.steps else 0
    return replace(case, steps=case.steps[:k] + case.steps[k + 1 :])


def _step_more(rng: Random, case: Case) -> Case:
    """A random step, or several that belong together, among those of a case."""
    k = rng.randint(0, len(case.steps))
    kernel = _scheduled(case, k)
    return (
        case
        if kernel is None
        else replace(case, steps=(*case.steps[:k], *steps_for(rng, kernel), *case.steps[k:]))
    )


def _scheduled(case: Case, steps: int) -> Kernel | None:
    try:
        s = schedule(op(case.text), **dict(case.sizes))
        kernel = s.kernel
    except Error:
        return None
    for step in case.steps[:steps]:
        try:
            kernel = step.apply(kernel)
        except Error:
            pass
    return kernel


if __name__ == "__main__":
    sys.exit(main())

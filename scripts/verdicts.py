"""Recorded verdicts on schedules (`tests/verdicts`): draw cases, choose among them, record them.

    python scripts/verdicts.py draw POOL [--seed S] [--seconds N]     append cases to a file, with the lines that they run
    python scripts/verdicts.py choose POOL CHOSEN [--seconds N]       append those of them that make N seconds of the most diverse tests
    python scripts/verdicts.py hunt POOL CHOSEN [--state STATE]       append those that notice the survivors of a run of mutate.py
    python scripts/verdicts.py record [CHOSEN]                        say what has changed or is new, check it, and write it

What is written is checked before: steps against enumeration of all instances and the interpreter,
as the fuzzer does; every proof of loops that have a fault against enumeration.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, count, zip_longest
from pathlib import Path
from random import Random

from mutants import Mutant, mutants
from mutate import FILES, ROOT, sample, sources
from mutate import recorded as recorded_results
from mutation_runs import Mapped, in_child, install, lines_of, numbered

from tests.litmus.cases import cases as litmus
from tests.verdicts.checked import problem
from tests.verdicts.verdict import FAULTS, KERNELS, LOOPS, RECORDS, Fault, Record, listed, read, recorded
from texpr.compiler.imports import library_files
from texpr.compiler.op import load, op
from texpr.compiler.schedule import schedule
from texpr.ir.loop import Kernel
from texpr.ir.printing.loop import full_listing
from texpr.lang import parse_kernel
from texpr.schedule.script.script import parse_script
from texpr.support.errors import Error
from texpr.tools.bench.certificates import scheduled
from texpr.tools.fuzz.cases import Case, drawn_operator, drawn_steps, parse_case

SLOWEST = 0.25
"""Seconds of processor time that a record may take."""
EACH = 30
"""Records that should run each line, as far as there are so many."""
FAULTS_OF_ONE = 4
"""Faults that are recorded together."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record that could be kept: seconds that it takes, and numbers of the statements that it
    runs.
    """

    record: Record
    seconds: float
    hits: tuple[int, ...]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["draw", "choose", "hunt", "record"])
    parser.add_argument("pool", nargs="?", type=Path)
    parser.add_argument("chosen", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--state", type=Path, help="hunt the survivors that `mutate.py` wrote down there")
    given = parser.parse_args()
    match given.what:
        case "draw":
            draw(given.pool, given.seed, given.seconds)
        case "choose":
            _append(given.chosen, [c.record for c in chosen_of([*pooled(given.pool)], given.seconds)])
        case "hunt":
            hunt([*pooled(given.pool)], given.chosen, given)
        case "record":
            return record(
                map(read, given.pool.read_text(encoding="utf-8").splitlines()) if given.pool else ()
            )
    return 0


def _append(file: Path, records: Iterable[Record]) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.writelines(f"{r.line()}\n" for r in records)


def draw(pool: Path, seed: int, seconds: float) -> None:
    """Append candidates: the litmus suite first, then random ones with and without faults."""
    mapped = Mapped(ROOT, [str(p) for p in sources(ROOT, FILES)])
    end = time.process_time() + seconds
    with pool.open("a", encoding="utf-8") as out:
        for case, faults in drawn(seed):
            if time.process_time() > end:
                return
            for candidate in candidates(mapped, case, faults):
                out.write(json.dumps([candidate.record.line(), candidate.seconds, candidate.hits]) + "\n")
                out.flush()


def drawn(seed: int) -> Iterator[tuple[str, tuple[Fault, ...]]]:
    """Cases, and faults for their final loops. Those of seed 0 are given: loops by hand, the
    litmus suite, the library; others random.
    """
    if seed == 0:
        for name, given in KERNELS.items():
            faults = list(dict.fromkeys(distinct_faults(parse_kernel(given.loops))))
            yield from (
                (f"{LOOPS}{name}", tuple(faults[k : k + FAULTS_OF_ONE]))
                for k in range(0, len(faults), FAULTS_OF_ONE)
            )
        for case in (*_litmus(), *_library()):
            yield str(case), _faults(Random(str(case)))
        return
    for number in count():
        rng = Random(f"{seed}:{number}")
        case = _with_steps(rng)
        if case is not None and _is_readable(case):
            yield str(case), _faults(rng)


def distinct_faults(kernel: Kernel) -> Iterator[Fault]:
    """Every fault of loops once."""
    seen = {full_listing(kernel)}
    for name, change in FAULTS.items():
        for by in (1, -1):
            for number in range(60):
                listing = full_listing(change(kernel, number, by))
                if listing not in seen:
                    seen.add(listing)
                    yield name, number, by


def _litmus() -> Iterator[Case]:
    for c in litmus():
        yield Case(c.text, c.sizes, tuple(parse_script(c.script)))


def _library() -> Iterator[Case]:
    """Operators of the library as they are scheduled by default."""
    for path in library_files():
        for operator in vars(load(path)).values():
            made = scheduled(operator)
            case = made and Case(
                str(operator), tuple((v.name, n) for v, n in made.sizes.items()), tuple(made.steps)
            )
            if case and _is_readable(case):
                yield case


def _is_readable(case: Case) -> bool:
    """The case as text is the same case: a step with a NaN is not."""
    try:
        again = parse_case(str(case))
    except Error:
        return False
    return (again.sizes, again.steps) == (case.sizes, case.steps)


def _faults(rng: Random) -> tuple[Fault, ...]:
    return tuple(
        (rng.choice(list(FAULTS)), rng.randrange(40), rng.choice((1, -1))) for _ in range(FAULTS_OF_ONE)
    )


def _with_steps(rng: Random) -> Case | None:
    """A random operator with random steps; None where that is refused or fails."""
    case, choose, steps = drawn_operator(rng), drawn_steps(rng), []
    try:
        s = schedule(op(case.text), **dict(case.sizes))
        step = choose(s.kernel)
    except Error:
        return None
    while step is not None:
        steps.append(step)
        try:
            s.kernel = step.apply(s.kernel)
        except Error:
            pass
        step = choose(s.kernel)
    return replace(case, steps=tuple(steps))


def candidates(mapped: Mapped, case: str, faults: tuple[Fault, ...]) -> Iterator[Candidate]:
    """Records of a case, and of its final loops with faults."""
    for chosen in ((), faults):
        mapped.hits[:] = bytes(len(mapped.hits))
        start = time.process_time()
        try:
            made = recorded(case, chosen)
        except (ZeroDivisionError, KeyError):
            return  # a fault divides by zero, or uses a variable outside its loop
        seconds = round(time.process_time() - start, 4)
        if seconds > SLOWEST:
            return
        yield Candidate(made, seconds, tuple(k for k, hit in enumerate(mapped.hits) if hit))


def pooled(pool: Path) -> Iterator[Candidate]:
    """The candidates of a file."""
    for line in pool.read_text(encoding="utf-8").splitlines():
        text, seconds, hits = json.loads(line)
        yield Candidate(read(text), seconds, tuple(hits))


def chosen_of(found: Sequence[Candidate], seconds: float) -> list[Candidate]:
    """Candidates that run each statement several times, those first that add the most for their
    time.
    """
    times: Counter[int] = Counter()
    distinct = {(c.record.case, c.record.faults): k for k, c in enumerate(found)}
    left = [(float("inf"), k) for k in distinct.values()]
    chosen: list[Candidate] = []
    while left and seconds > 0:
        _, k = left.pop()
        c = found[k]
        worth = sum(1 / (1 + times[h]) for h in c.hits if times[h] < EACH) / (0.01 + c.seconds)
        if left and worth < left[-1][0]:  # worth less than it was: behind the others again
            insort(left, (worth, k))
            continue
        if worth == 0:
            break
        times.update(c.hits)
        seconds -= c.seconds
        chosen.append(c)
    return chosen


def hunt(pool: Sequence[Candidate], chosen: Path, given: argparse.Namespace) -> None:
    """Append the first candidate that each of some mutants makes say something else; print the
    mutants of which there is none.

    Args:
        given: `seconds` of candidates, as they take unchanged, that are tried for a mutant; `seed`
            and `limit` of the sample.
    """
    paths = [str(p) for p in sources(ROOT, FILES)]
    names = {p: numbered(ROOT, p) for p in paths}
    lines = [n for p in paths for n in lines_of(ROOT, p)]
    runs = [{line for h in c.hits for line in lines[h]} for c in pool]
    kills: Counter[int] = Counter()
    known: set[int] = set()
    every = [m for p in paths for m in mutants(ROOT, Path(p))]
    left = {r.key: r.verdict for r in recorded_results(given.state)} if given.state else {}
    for m in (
        [m for m in every if left.get(m.key, "caught") != "caught"]
        if given.state
        else sample(every, given.limit, given.seed)
    ):
        wanted = {names[str(m.path)][n] for n in range(m.first, m.last + 1) if n in names[str(m.path)]}
        reach = [k for k, run in enumerate(runs) if not run.isdisjoint(wanted)]
        reach.sort(key=lambda k: pool[k].seconds / (1 + kills[k]))
        k, tried, ended = noticed(m, pool, reach, given.seconds)
        if k is None:
            print(
                f"{'survived' if reach else 'unreached'} {tried} of {len(reach)}: {m.key} (line {m.first})",
                flush=True,
            )
            continue
        kills[k] += 1
        print(f"caught at {tried} ({ended}): {m.key} (line {m.first})", flush=True)
        if k not in known:
            known.add(k)
            _append(chosen, [pool[k].record])


def noticed(
    mutant: Mutant, pool: Sequence[Candidate], reach: Sequence[int], seconds: float
) -> tuple[int | None, int, str]:
    """The first candidate that says something else under a change, how many were tried, and how
    that ended.
    """
    within = list(accumulate(pool[k].seconds for k in reach))
    chosen = [k for k, total in zip(reach, within) if total <= seconds]

    def work(write: int) -> int:
        install(ROOT, mutant)
        for k in chosen:
            os.write(write, b"%d " % k)
            if recorded(pool[k].record.case, pool[k].record.faults).differs(pool[k].record):
                return 1
        return 0

    ended, said = in_child(work, 10 + 3 * sum(pool[k].seconds for k in chosen), Path(os.devnull))
    tried = [int(k) for k in said.split()]
    return (tried[-1] if ended != "passed" and tried else None), len(tried), ended


def record(added: Iterable[Record]) -> int:
    """Write what is said now, of what is recorded and of what is added; 1 if something is not
    right: that is not written.

    What is recorded already and has not changed is not checked again.
    """
    new: dict[tuple[str, tuple[Fault, ...]], Record] = {}
    wrong = 0
    for was, is_new in chain(((r, False) for r in listed()), ((r, True) for r in added)):
        if (was.case, was.faults) in new:
            continue
        now = recorded(was.case, was.faults)
        if now != was:
            _show(was, now)
        if is_new or now.says != was.says:
            if why := problem(now):
                wrong += 1
                print(f"WRONG: {why}\nin:\n{now.case}\n", flush=True)
                if is_new:
                    continue
                now = was
        new[was.case, was.faults] = now
    RECORDS.write_text("".join(f"{r.line()}\n" for r in new.values()), encoding="utf-8")
    return int(wrong > 0)


def _show(was: Record, now: Record) -> None:
    changed = [f"- {a}\n+ {b}" for a, b in zip_longest(was.says, now.says, fillvalue="") if a != b]
    changed += [f"calls {was.work} -> {now.work}"] if was.work != now.work else []
    if changed:
        print("\n".join([now.case, *changed, ""]), flush=True)


if __name__ == "__main__":
    sys.exit(main())

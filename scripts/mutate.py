"""Mutation testing of the code that decides legality, and of the certificate: each small change of
it should make a test fail.

    python scripts/mutate.py [FILE ...] [--limit N] [--seed S] [--kinds KIND ...] [--again]
    [--listed]

`mutants.py` says what is changed and what is not, `mutation_runs.py` how tests are run. A mutant is
caught if a test fails, dies, or takes three times its processor time. What no test runs, or
notices, survives; `tests/mutants.txt` explains survivors that are right to:

    texpr/poly/dependence/execution_order.py earlier: `first.order < second.order` with <=
      equivalent: a statement is not asked about itself

Results are appended to `results.jsonl` in the folder of the state, and mutants found there are not
run again. The sample has some mutants of every file and, of the rest, each with the same chance; a
larger limit extends it.

Kept by hand: mutmut and cosmic-ray start a test session for each mutant. Here tests are collected
once, a mutant is a fork, and a map of lines says which tests can notice it.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from mutants import KINDS, Mutant, mutants
from mutation_runs import Outcome, Runner, collected, numbered

ROOT = Path(__file__).parent.parent
PROVERS = {
    "poly/dependence": "legality execution_order instance_maps kernel_model value_flow last_writer footprint "
    "storage permutable_band",
    "poly/constraints": "elimination congruence access_sites conversion linear_forms",
    "poly/program": "recurrence",
}
"""Modules that decide whether steps are legal, by their folder."""
STEPS = {
    "schedule/legality": "independence",
    "schedule/steps/loops": "reorder fission skew",
    "schedule/steps/placement": "compute_at fold_storage pipeline inline",
    "schedule/steps/buffers": "layout cache_read cache_write cached_box",
    "schedule/steps/reductions": "rfactor",
}
FILES = [
    *(f"texpr/{folder}/{name}.py" for folder, names in PROVERS.items() for name in names.split()),
    "texpr/poly/certificate",
    *(f"texpr/{folder}/{name}.py" for folder, names in STEPS.items() for name in names.split()),
]
TESTS = [
    "tests/verdicts",
    "tests/litmus",
    "tests/poly",
    "tests/schedule",
    "tests/properties/poly",
    "tests/properties/schedule",
    "tests/autoschedule/cpu",
    "tests/autoschedule/rewrites/test_contraction_order.py",
    "tests/autoschedule/test_never_fails.py",
    "tests/lang/syntax/test_advice.py",
    "tests/examples/test_schedules.py",
    "tests/compiler/kernels/test_certified.py",
    "tests/regressions/test_steps.py",
    "tests/compiler/test_distinct.py",
    "tests/passes/lowering/test_orders.py",
    "tests/passes/lowering/test_recurrences.py",
    "tests/passes/lowering/test_naive_nest.py",
]
LISTED = Path("tests/mutants.txt")
OF_EACH = 4
"""Mutants of every file that a sample has."""


@dataclass(frozen=True)
class Result:
    """What became of a mutant: `caught`, `survived`, or `unreached` if no test runs its lines."""

    key: str
    verdict: str
    test: str
    seconds: float
    line: int


def main() -> int:
    """Run mutants; print those that survive without an explanation, and the share that was
    caught.
    """
    arguments = _arguments()
    paths = list(sources(ROOT, arguments.files))
    found = [m for path in paths for m in mutants(ROOT, path)]
    wanted = [m for m in found if m.kind in arguments.kinds]
    explained = listed((ROOT / LISTED).read_text(encoding="utf-8"))
    gone = explained.keys() - {m.key for m in found} if arguments.files == FILES else set()
    chosen = (
        [m for m in found if m.key in explained]
        if arguments.listed
        else sample(wanted, arguments.limit, arguments.seed)
    )
    if arguments.only:
        chosen = [m for m in found if any(text in m.key for text in arguments.only)]
    state = Path(arguments.state).resolve()
    state.mkdir(parents=True, exist_ok=True)
    known = {} if arguments.again else {r.key: r for r in recorded(state)}
    if arguments.survivors:
        known = {key: r for key, r in known.items() if r.verdict == "caught"}
    results = [known[m.key] for m in chosen if m.key in known]
    todo = [m for m in chosen if m.key not in known]
    with tempfile.TemporaryDirectory() as folder:
        results += run(Path(folder), state, [str(p) for p in paths], todo, arguments) if todo else []
    return report(results, {m.key: m.kind for m in wanted}, explained, gone)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", default=FILES)
    parser.add_argument(
        "--limit", type=int, default=300, help="how many mutants, drawn at random; 0 for all (default: 300)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--kinds", nargs="*", default=KINDS, choices=KINDS, help="what is changed (default: everything)"
    )
    parser.add_argument("--tests", nargs="*", default=TESTS)
    parser.add_argument(
        "--budget",
        type=float,
        default=math.inf,
        help="seconds of tests that a mutant may cost (default: all that run it)",
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--state", default=".mutants", help="folder of the map of tests and of results (default: .mutants)"
    )
    parser.add_argument("--only", action="append", help="run the mutants whose description has this in it")
    parser.add_argument(
        "--listed", action="store_true", help="run the explained survivors alone: do they survive?"
    )
    parser.add_argument("--again", action="store_true", help="run mutants again that have a result")
    parser.add_argument("--survivors", action="store_true", help="run mutants again that survived")
    parser.add_argument("--map", action="store_true", help="make the map of tests anew")
    return parser.parse_args()


def sources(root: Path, names: Iterable[str]) -> Iterator[Path]:
    """The named files and those of the named folders, relative to the project."""
    for name in names:
        path = root / name
        yield from (p.relative_to(root) for p in (sorted(path.rglob("*.py")) if path.is_dir() else [path]))


def sample(found: Sequence[Mutant], limit: int, seed: int) -> list[Mutant]:
    """Some of every file first, then the others as they come."""
    drawn = list(found)
    random.Random(seed).shuffle(drawn)
    taken: dict[Path, int] = {}
    early, late = [], []
    for m in drawn:
        taken[m.path] = taken.get(m.path, 0) + 1
        (early if taken[m.path] <= OF_EACH else late).append(m)
    return [*early, *late][: limit or None]


def listed(text: str) -> dict[str, str]:
    """The explained survivors: what each is, and why it survives."""
    found = re.findall(r"^(\S.*)\n((?:[ ]+.*\n?)+)", re.sub(r"^#.*\n", "", text, flags=re.M), re.M)
    return {key.strip(): " ".join(reason.split()) for key, reason in found}


def recorded(state: Path) -> Iterator[Result]:
    """The results of earlier runs, the last of a mutant last."""
    path = state / "results.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        yield Result(**json.loads(line))


def run(
    tree: Path, state: Path, paths: Sequence[str], todo: Sequence[Mutant], arguments: argparse.Namespace
) -> list[Result]:
    """Run mutants in a copy of the tree, and write down what becomes of each."""
    for part in ("texpr", "tests", "examples", "scripts", "docs", "pyproject.toml"):
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, tree / part)
    os.environ.update(TEXPR_CACHE_DIR=str(tree / "cache"), PYTHONPATH=str(tree))
    names = {p: numbered(tree, p) for p in paths}
    results: list[Result] = []

    def work(items: dict[str, pytest.Item]) -> None:
        runner = Runner(tree, state, items, arguments.budget, altered_by(state, items))
        runner.map(paths, arguments.map, lambda each: progress(each, "map of tests"))
        with open(state / "results.jsonl", "a", encoding="utf-8") as out:
            for result in progress(
                _judged(lambda m: judged(runner, m, names), todo, arguments.workers), "mutants", len(todo)
            ):
                out.write(json.dumps(vars(result)) + "\n")
                out.flush()
                results.append(result)

    collected(tree, [str(p) for p in sources(tree, arguments.tests) if p.name.startswith("test_")], work)
    return results


def altered_by(state: Path, items: dict[str, pytest.Item]) -> dict[str, list[str]]:
    """Of each mutant the recorded verdicts that it is known to alter, as tests: `seek.py` writes
    that down.
    """
    tests = {
        item.callspec.params.get("key"): name for name, item in items.items() if hasattr(item, "callspec")
    }  # type: ignore[attr-defined]
    found: dict[str, list[str]] = {}
    path = state / "weak.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        key, keys = json.loads(line)
        for m in keys if key in tests else ():
            found.setdefault(m, []).append(tests[key])
    return found


def _judged(judge: Callable[[Mutant], Result], todo: Sequence[Mutant], workers: int) -> Iterator[Result]:
    """The results of all, by so many processes, which share nothing."""
    if workers == 1:
        yield from map(judge, todo)
        return
    _SHARED.append(judge)
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
        yield from pool.map(_by_worker, todo)


_SHARED: list[Callable[[Mutant], Result]] = []


def _by_worker(mutant: Mutant) -> Result:
    return _SHARED[-1](mutant)


def judged(runner: Runner, mutant: Mutant, names: dict[str, dict[int, str]]) -> Result:
    """What the tests make of a mutant."""
    start = time.perf_counter()
    lines = names[str(mutant.path)]
    wanted = {lines[n] for n in range(mutant.first, mutant.last + 1) if n in lines}
    reached = runner.reached(wanted)
    outcome = runner.run(mutant, wanted) if reached else Outcome("passed", "", 0.0)
    verdict = "unreached" if not reached else "survived" if outcome.ended == "passed" else "caught"
    test = outcome.test if outcome.ended in ("failed", "passed") else f"{outcome.test} {outcome.ended}"
    return Result(mutant.key, verdict, test, round(time.perf_counter() - start, 2), mutant.first)


def progress(items: Iterable, what: str, total: int | None = None) -> Iterator:
    """The items, with a bar where tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return iter(items)
    return iter(tqdm(items, what, total))


def report(
    results: Sequence[Result], kinds: dict[str, str], explained: dict[str, str], gone: set[str]
) -> int:
    """Print what survives, of each kind; 1 if something does that nothing explains, or an
    explanation is of no use any more.
    """
    left = [r for r in results if r.verdict != "caught"]
    new = [r for r in left if r.key not in explained]
    noticed = [r.key for r in results if r.verdict == "caught" and r.key in explained]
    for r in new:
        print(f"{r.verdict}: {r.key} (line {r.line})")
    for key in gone:
        print(f"explained, but there is no such mutant: {key}")
    for key in noticed:
        print(f"explained, but caught now: {key}")
    for kind in KINDS:
        if of_kind := [r for r in results if kinds.get(r.key) == kind]:
            possible = sum(k == kind for k in kinds.values())
            print(f"{kind:<11}{_share(of_kind, explained)}; {possible} are possible")
    print(f"{'all':<11}{_share(results, explained)}; {len(kinds)} are possible")
    return int(bool(new or gone or noticed))


def _share(results: Sequence[Result], explained: dict[str, str]) -> str:
    caught = sum(r.verdict == "caught" for r in results)
    reasons = sum(r.verdict != "caught" and r.key in explained for r in results)
    of_others = (
        f", {caught / (len(results) - reasons):.1%} without {reasons} explained"
        if reasons < len(results)
        else ""
    )
    return f"{caught} of {len(results)} caught ({caught / max(len(results), 1):.1%}{of_others})"


if __name__ == "__main__":
    sys.exit(main())
